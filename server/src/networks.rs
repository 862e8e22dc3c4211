//! Where strangers come from, and how much of a thing one place may hold at once.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::ConnectInfo;
use http::Extensions;
use parking_lot::Mutex;

/// What one person commands: an IPv4 address, or a whole IPv6 /64.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Where a request comes from. Those of which the listener does not tell it share one place.
pub fn sender(request: &Extensions) -> IpAddr {
    let peer = request.get::<ConnectInfo<SocketAddr>>();
    let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    peer.map_or(nowhere, |ConnectInfo(peer)| peer.ip())
}

/// A bounded number of places, of which each network holds at most a part; clones share them.
#[derive(Clone, Debug)]
pub struct Shares(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    all: usize,
    each: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// A place; free again when dropped.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Share {
    of: Shares,
    network: IpAddr,
}

impl Shares {
    /// `all` places, of which one network may hold `each`.
    pub fn new(all: usize, each: usize) -> Self {
        Self(Arc::new(Inner {
            all,
            each,
            held: Mutex::default(),
        }))
    }

    /// A place for somebody at this address; `None` while all, or their network's, are taken.
    pub fn take(&self, address: IpAddr) -> Option<Share> {
        let network = network(address);
        let mut held = self.0.held.lock();
        let mine = held.by_network.get(&network).copied().unwrap_or(0);
        if held.all >= self.0.all || mine >= self.0.each {
            return None;
        }
        held.all += 1;
        held.by_network.insert(network, mine + 1);
        Some(Share {
            of: self.clone(),
            network,
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.of.0.held.lock();
        held.all = held.all.saturating_sub(1);
        match held.by_network.get_mut(&self.network) {
            Some(mine) if *mine > 1 => *mine -= 1,
            _ => drop(held.by_network.remove(&self.network)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_ipv6_network_is_one_place() {
        let one: IpAddr = "2001:db8::1".parse().unwrap();
        let two: IpAddr = "2001:db8::ffff:1".parse().unwrap();
        let other: IpAddr = "2001:db8:0:1::1".parse().unwrap();
        assert_eq!(network(one), network(two));
        assert_ne!(network(one), network(other));
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        assert_eq!(network(mapped), IpAddr::from([192, 0, 2, 1]));
    }

    #[test]
    fn one_network_leaves_places_to_others_and_gives_its_own_back() {
        let shares = Shares::new(3, 2);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let first = shares.take(address(1));
        let second = shares.take(address(1));
        assert!(first.is_some() && second.is_some());
        assert!(shares.take(address(1)).is_none());
        let other = shares.take(address(2));
        assert!(other.is_some());
        assert!(shares.take(address(3)).is_none(), "all are taken");
        drop((first, second));
        assert!(shares.take(address(1)).is_some());
        drop(other);
        assert!(
            shares.0.held.lock().by_network.is_empty(),
            "nothing is kept"
        );
    }
}
