//! Concurrency limits per network.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Prefix, prefixes};

/// A concurrency limit with lower limits per network. Clones share the limits. All clients of a /56
/// or IPv4 /24 can hold at most a quarter of the slots. All clients of a /48 or IPv4 /16 can hold
/// at most half of the slots. The limits of these wider networks are at least twice the limit of
/// one network.
#[derive(Clone, Debug)]
pub struct NetworkLimits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: usize,
    /// The limits of an address's three prefixes.
    each: [usize; 3],
    held: Mutex<SlotCounts>,
}

#[derive(Debug, Default)]
struct SlotCounts {
    all: usize,
    by_prefix: HashMap<Prefix, usize>,
}

/// A held slot. Dropping the guard releases the slot.
#[derive(Debug)]
#[must_use = "dropping the guard releases the slot"]
pub struct NetworkSlot {
    of: NetworkLimits,
    prefixes: [Prefix; 3],
}

impl NetworkLimits {
    /// Creates a limit of `all` slots in total, and of `each` slots per network.
    pub fn new(all: usize, each: usize) -> Self {
        Self(Arc::new(Inner {
            all,
            each: most(all, each),
            held: Mutex::default(),
        }))
    }

    /// Takes a slot for this address. Returns `None` if the total limit or a network's limit is
    /// reached.
    pub fn take(&self, address: IpAddr) -> Option<NetworkSlot> {
        let prefixes = prefixes(address);
        let mut counts = self.0.held.lock();
        let is_free = |(prefix, most): (&Prefix, &usize)| {
            counts.by_prefix.get(prefix).copied().unwrap_or(0) < *most
        };
        let is_full = counts.all >= self.0.all || !prefixes.iter().zip(&self.0.each).all(is_free);
        if is_full {
            return None;
        }
        counts.all += 1;
        for prefix in prefixes {
            *counts.by_prefix.entry(prefix).or_default() += 1;
        }
        Some(NetworkSlot {
            of: self.clone(),
            prefixes,
        })
    }
}

/// Reports whether a new slot for `address` complies with [`NetworkLimits`]. The addresses in
/// `addresses` already hold slots. `limits` contains the total limit and the limit of one network.
pub fn has_room(
    addresses: impl Iterator<Item = IpAddr>,
    address: IpAddr,
    limits: (usize, usize),
) -> bool {
    let (mine, most) = (prefixes(address), most(limits.0, limits.1));
    let (mut all, mut counts) = (0, [0; 3]);
    for other in addresses {
        all += 1;
        for ((count, mine), other) in counts.iter_mut().zip(mine).zip(prefixes(other)) {
            *count += usize::from(mine == other);
        }
    }
    all < limits.0 && counts.iter().zip(most).all(|(count, most)| *count < most)
}

/// Returns the limits of an address's three prefixes, from the total limit and the limit of one
/// network.
fn most(all: usize, each: usize) -> [usize; 3] {
    let of_wider = |part: usize| part.max(each.saturating_mul(2)).min(all);
    [each, of_wider(all / 4), of_wider(all / 2)]
}

impl Drop for NetworkSlot {
    fn drop(&mut self) {
        let mut counts = self.of.0.held.lock();
        counts.all = counts.all.saturating_sub(1);
        for prefix in &self.prefixes {
            match counts.by_prefix.get_mut(prefix) {
                Some(mine) if *mine > 1 => *mine -= 1,
                _ => drop(counts.by_prefix.remove(prefix)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_network_cannot_use_all_slots() {
        let limits = NetworkLimits::new(3, 2);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let first = limits.take(address(1));
        let second = limits.take(address(1));
        assert!(first.is_some() && second.is_some());
        assert!(limits.take(address(1)).is_none());
        let other = limits.take(address(2));
        assert!(other.is_some());
        assert!(limits.take(address(3)).is_none(), "all slots are taken");
        drop((first, second));
        assert!(limits.take(address(1)).is_some());
        drop(other);
        assert!(
            limits.0.held.lock().by_prefix.is_empty(),
            "no entry is left"
        );
    }

    /// Returns the `n`th /64 of 2001:db8::/48.
    fn of_one_site(n: u16) -> IpAddr {
        IpAddr::from([0x2001, 0xdb8, 0, n, 0, 0, 0, 1])
    }

    /// Requests slots for the addresses in `from`, then a slot for `other`. The limits are 512
    /// slots in total and 32 slots per network. Returns the number of slots for `from`, and true if
    /// `other` receives a slot.
    fn flood(from: impl Iterator<Item = IpAddr>, other: IpAddr) -> (usize, bool) {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in from {
            if has_room(addresses.iter().copied(), address, (512, 32)) {
                addresses.push(address);
            }
        }
        let other = has_room(addresses.iter().copied(), other, (512, 32));
        (addresses.len(), other)
    }

    #[test]
    fn requests_from_one_ipv6_slash_48_prefix_use_at_most_half_of_the_slots() {
        let other = "2001:db8:1::1".parse().unwrap();
        assert_eq!(
            flood((0..3000).map(|n| of_one_site(n * 20)), other),
            (256, true)
        );
    }

    #[test]
    fn requests_from_one_ipv6_slash_56_prefix_use_at_most_a_quarter_of_the_slots() {
        let other = of_one_site(0x100);
        assert_eq!(
            flood((0..3000).map(|n| of_one_site(n & 0xff)), other),
            (128, true)
        );
    }

    #[test]
    fn requests_from_one_ipv4_slash_16_prefix_use_at_most_half_of_the_slots() {
        let of_one = |n: u16| {
            let [high, low] = (n * 20).to_be_bytes();
            IpAddr::from([198, 51, high, low])
        };
        let other = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(flood((0..3000).map(of_one), other), (256, true));
    }

    fn address() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            (0..3_u16, 0..0x300_u16, 0..2_u16)
                .prop_map(|(site, net, host)| [0x2001, 0xdb8, site, net, 0, 0, 0, host].into()),
            (0..3_u8, 0..3_u8, 0..4_u8).prop_map(|(a, b, c)| [10, a, b, c].into()),
        ]
    }

    proptest! {
        #[test]
        fn network_prefix_never_uses_more_slots_than_its_limit(
            all in 1..64_usize,
            each in 1..16_usize,
            steps in proptest::collection::vec((address(), any::<u8>()), 0..200),
        ) {
            let limits = NetworkLimits::new(all, each);
            let mut taken: Vec<(IpAddr, NetworkSlot)> = Vec::new();
            for (address, n) in steps {
                if n < 64 && !taken.is_empty() {
                    drop(taken.swap_remove(usize::from(n) % taken.len()));
                } else if let Some(network_slot) = limits.take(address) {
                    taken.push((address, network_slot));
                }
                prop_assert!(taken.len() <= all);
                let mut counts = HashMap::<Prefix, usize>::new();
                for (address, _) in &taken {
                    for (prefix, most) in prefixes(*address).into_iter().zip(limits.0.each) {
                        let count = counts.entry(prefix).or_default();
                        *count += 1;
                        prop_assert!(*count <= most, "{prefix:?} holds {count} of {most}");
                    }
                }
                prop_assert_eq!(&counts, &limits.0.held.lock().by_prefix);
            }
        }
    }
}
