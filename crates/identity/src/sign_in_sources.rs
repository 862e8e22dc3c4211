//! Counts the users who sign in from each network, to detect a proxy that hides client addresses.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drover_api::ids::UserUid;
use drover_api::rest::SharedAddress;
use parking_lot::Mutex;

use drover_http_edge::networks::network;

/// The duration after a sign-in in which the user is included in the number of users of the
/// network.
const COUNTED_FOR: Duration = Duration::from_hours(24);
/// Minimum number of users of a network before the server reports the network.
const MANY_USERS: usize = 5;
/// Maximum number of stored pairs of a network and a user. The server does not store further pairs.
const MAX_PAIRS: usize = 10_000;

/// The latest sign-in of each user from each network since the start of this server. Clones share
/// the state.
#[derive(Clone, Debug, Default)]
pub struct SignInSources(Arc<Sources>);

#[derive(Debug, Default)]
struct Sources {
    /// Time of the latest sign-in, by network and user.
    latest: Mutex<HashMap<(IpAddr, UserUid), Instant>>,
    logged: AtomicBool,
}

impl SignInSources {
    /// Records a sign-in. Logs a warning when, for the first time, most users signed in from the
    /// same network.
    pub fn record(&self, user: &UserUid, address: IpAddr) {
        self.record_at(user, address, Instant::now());
        if self.0.logged.load(Ordering::Relaxed) {
            return;
        }
        if let Some(shared) = self.shared()
            && !self.0.logged.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                address = shared.address,
                users = shared.users,
                "most users sign in from one address; if the address is a proxy, set \
                 --trusted-proxy or --proxy-protocol-from"
            );
        }
    }

    /// Returns the network from which more than half of all users, and at least five users, signed
    /// in within the last 24 hours.
    pub fn shared(&self) -> Option<SharedAddress> {
        self.shared_at(Instant::now())
    }

    fn record_at(&self, user: &UserUid, address: IpAddr, now: Instant) {
        let mut latest = self.0.latest.lock();
        if latest.len() >= MAX_PAIRS {
            latest.retain(|_, at| counts(*at, now));
        }
        let key = (network(address), user.clone());
        if latest.len() < MAX_PAIRS || latest.contains_key(&key) {
            latest.insert(key, now);
        }
    }

    fn shared_at(&self, now: Instant) -> Option<SharedAddress> {
        let latest = self.0.latest.lock();
        let mut users = HashSet::new();
        let mut by_network = HashMap::<IpAddr, usize>::new();
        for ((network, user), _) in latest.iter().filter(|(_, at)| counts(**at, now)) {
            users.insert(user);
            *by_network.entry(*network).or_default() += 1;
        }
        let (address, count) = by_network.into_iter().max_by_key(|(_, count)| *count)?;
        (count >= MANY_USERS && count * 2 > users.len()).then(|| SharedAddress {
            address: address.to_string(),
            users: count,
        })
    }
}

fn counts(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < COUNTED_FOR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(n: usize) -> UserUid {
        UserUid::new(format!("u{n}"))
    }

    fn address(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    fn from_one(users: usize) -> SharedAddress {
        SharedAddress {
            address: "10.0.0.1".to_owned(),
            users,
        }
    }

    #[test]
    fn shared_address_is_reported_after_sign_ins_of_five_users_within_a_day() {
        let (sources, now) = (SignInSources::default(), Instant::now());
        for n in 0..4 {
            sources.record_at(&user(n), address(1), now);
            sources.record_at(&user(n), address(1), now);
        }
        assert_eq!(sources.shared_at(now), None);
        sources.record_at(&user(4), address(1), now);
        assert_eq!(sources.shared_at(now), Some(from_one(5)));
        assert_eq!(sources.shared_at(now + COUNTED_FOR), None);
    }

    #[test]
    fn address_is_reported_only_if_more_than_half_of_all_users_share_the_address() {
        let (sources, now) = (SignInSources::default(), Instant::now());
        for n in 0..5 {
            sources.record_at(&user(n), address(1), now);
        }
        for n in 5..10 {
            sources.record_at(&user(n), address(u8::try_from(n).unwrap()), now);
        }
        assert_eq!(sources.shared_at(now), None);
        sources.record_at(&user(9), address(1), now);
        assert_eq!(sources.shared_at(now), Some(from_one(6)));
    }

    #[test]
    fn ipv6_addresses_of_one_slash_64_prefix_count_as_one_sign_in_address() {
        let (sources, now) = (SignInSources::default(), Instant::now());
        for n in 0..5_u16 {
            let address = IpAddr::from([0x2001, 0xdb8, 0, 0, n, 0, 0, 1]);
            sources.record_at(&user(n.into()), address, now);
        }
        let shared = sources.shared_at(now).unwrap();
        assert_eq!((shared.address.as_str(), shared.users), ("2001:db8::", 5));
    }

    #[test]
    fn number_of_stored_sign_ins_is_limited_and_expired_entries_are_removed() {
        let (sources, now) = (SignInSources::default(), Instant::now());
        for n in 0..MAX_PAIRS + 10 {
            sources.record_at(&user(n), address(1), now);
        }
        assert_eq!(sources.0.latest.lock().len(), MAX_PAIRS);
        let later = now + COUNTED_FOR;
        for n in 0..5 {
            sources.record_at(&user(n), address(1), later);
        }
        assert_eq!(sources.0.latest.lock().len(), 5);
        assert_eq!(sources.shared_at(later), Some(from_one(5)));
    }
}
