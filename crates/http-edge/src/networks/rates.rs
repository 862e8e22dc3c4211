//! Rate limits per network.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Prefix, prefixes};

/// Number of tracked prefixes at which the server begins to remove prefixes without recent
/// requests.
const SWEEP_THRESHOLD: usize = 30_000;
/// Maximum number of tracked prefixes. At this number, the server refuses requests of new prefixes.
const MAX_PREFIXES: usize = 4 * SWEEP_THRESHOLD;
/// Minimum interval between removals of prefixes without recent requests.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A burst size and a refill interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    burst: u32,
    every: Duration,
}

impl Quota {
    /// Creates a quota per minute with a burst of the same size.
    pub const fn per_minute(requests: u32) -> Self {
        Self {
            burst: requests,
            every: Duration::from_nanos(60_000_000_000 / requests as u64),
        }
    }

    /// Creates a quota per second with a burst of the same size.
    pub const fn per_second(requests: u32) -> Self {
        Self {
            burst: requests,
            every: Duration::from_nanos(1_000_000_000 / requests as u64),
        }
    }

    /// Returns a quota with the same rate and this burst size.
    #[must_use]
    pub const fn burst(self, requests: u32) -> Self {
        Self {
            burst: requests,
            every: self.every,
        }
    }

    /// Counts a request. Returns the time at which the full burst is available. If the quota is
    /// exhausted, returns the time to wait.
    fn next(self, free_at: Instant, now: Instant) -> Result<Instant, Duration> {
        let next = free_at.max(now) + self.every;
        let tolerated = now + self.every * self.burst;
        match next.checked_duration_since(tolerated) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(next),
        }
    }
}

/// The time to wait until the server accepts the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

/// Rate limits of a client's network and its two wider networks. Each key of type `K` has separate
/// rate limits.
#[derive(Debug)]
pub struct Rates<K = ()> {
    quotas: [Quota; 3],
    buckets: Mutex<Buckets<K>>,
}

#[derive(Debug)]
struct Buckets<K> {
    free_at: HashMap<(K, Prefix), Instant>,
    swept: Instant,
}

impl<K: Clone + Eq + Hash> Rates<K> {
    /// Creates the quotas of three prefix lengths: /64, /56 and /48 for IPv6, and /32, /24 and /16
    /// for IPv4.
    pub fn new(quotas: [Quota; 3]) -> Self {
        Self {
            quotas,
            buckets: Mutex::new(Buckets {
                free_at: HashMap::new(),
                swept: Instant::now(),
            }),
        }
    }

    /// Counts a request unless a quota is exhausted. A refused request consumes no quota.
    pub fn check(&self, of: &K, address: IpAddr) -> Result<(), Wait> {
        self.check_at(of, address, Instant::now())
    }

    fn check_at(&self, of: &K, address: IpAddr, now: Instant) -> Result<(), Wait> {
        let mut buckets = self.buckets.lock();
        let has_room = buckets.make_room(now);
        let keys = prefixes(address).map(|prefix| (of.clone(), prefix));
        let mut next = [now; 3];
        for ((key, quota), next) in keys.iter().zip(self.quotas).zip(&mut next) {
            let known = buckets.free_at.get(key).copied();
            if known.is_none() && !has_room {
                return Err(Wait(SWEEP_EVERY));
            }
            *next = quota.next(known.unwrap_or(now), now).map_err(Wait)?;
        }
        buckets.free_at.extend(keys.into_iter().zip(next));
        Ok(())
    }
}

impl<K: Eq + Hash> Buckets<K> {
    /// Removes prefixes without recent requests if the number of tracked prefixes is high. Returns
    /// true if the table has space for a new prefix.
    fn make_room(&mut self, now: Instant) -> bool {
        let is_due = now.saturating_duration_since(self.swept) >= SWEEP_EVERY;
        if self.free_at.len() >= SWEEP_THRESHOLD && is_due {
            self.free_at.retain(|_, free_at| *free_at > now);
            self.swept = now;
        }
        self.free_at.len() < MAX_PREFIXES
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const QUOTAS: [Quota; 3] = [
        Quota::per_minute(60),
        Quota::per_minute(120),
        Quota::per_minute(240),
    ];

    fn of_one_site(n: u16) -> IpAddr {
        IpAddr::from([0x2001, 0xdb8, 0, n, 0, 0, 0, 1])
    }

    #[test]
    fn ipv6_slash_48_prefix_has_four_times_the_rate_limit_of_a_slash_64_prefix() {
        let (rates, now) = (Rates::new(QUOTAS), Instant::now());
        let requested = |addresses: &mut dyn Iterator<Item = IpAddr>| {
            let passed = addresses.filter(|from| rates.check_at(&(), *from, now).is_ok());
            passed.count()
        };
        assert_eq!(requested(&mut (0..1000).map(|_| of_one_site(0))), 60);
        assert_eq!(requested(&mut (0..1000).map(|n| of_one_site(n & 0xff))), 60);
        assert_eq!(requested(&mut (0..=u16::MAX).map(of_one_site)), 120);
        let other = IpAddr::from([0x2001, 0xdb8, 1, 0, 0, 0, 0, 1]);
        assert_eq!(requested(&mut (0..1000).map(|_| other)), 60);
    }

    #[test]
    fn rate_limit_tokens_are_refilled_at_a_constant_rate() {
        let (rates, now) = (Rates::new(QUOTAS), Instant::now());
        let from = of_one_site(0);
        for _ in 0..60 {
            assert_eq!(rates.check_at(&(), from, now), Ok(()));
        }
        let wait = rates.check_at(&(), from, now).unwrap_err();
        assert_eq!(wait, Wait(Duration::from_secs(1)));
        let later = now + wait.0;
        assert_eq!(rates.check_at(&(), from, later), Ok(()));
        assert!(rates.check_at(&(), from, later).is_err());
    }

    #[test]
    fn number_of_rate_limited_networks_in_memory_is_limited() {
        let (rates, mut now) = (Rates::new(QUOTAS), Instant::now());
        for n in 0..300_000_u32 {
            let [a, b, c, d] = n.reverse_bits().to_be_bytes();
            let _ = rates.check_at(&(), IpAddr::from([a, b, c, d]), now);
        }
        assert!(rates.buckets.lock().free_at.len() < MAX_PREFIXES + 3);
        now += Duration::from_mins(1);
        assert_eq!(rates.check_at(&(), of_one_site(0), now), Ok(()));
        assert_eq!(
            rates.buckets.lock().free_at.len(),
            3,
            "idle prefixes are removed"
        );
    }

    proptest! {
        /// Checks that in any time window, the accepted requests of a prefix do not exceed its
        /// burst plus its rate.
        #[test]
        fn network_prefix_never_exceeds_its_request_rate_limit(
            steps in proptest::collection::vec((0..3000_u64, 0..3_u16, 0..4_u16), 0..400),
        ) {
            let (rates, start) = (Rates::new(QUOTAS), Instant::now());
            let mut now = start;
            let mut passed = HashMap::<Prefix, u32>::new();
            for (wait, wide, narrow) in steps {
                now += Duration::from_millis(wait / 10);
                let from = of_one_site(wide << 8 | narrow);
                if rates.check_at(&(), from, now).is_err() {
                    continue;
                }
                for (prefix, quota) in prefixes(from).into_iter().zip(QUOTAS) {
                    let count = passed.entry(prefix).or_default();
                    *count += 1;
                    let refilled = (now - start).as_nanos() / quota.every.as_nanos();
                    prop_assert!(u128::from(*count) <= u128::from(quota.burst) + refilled);
                }
            }
        }
    }
}
