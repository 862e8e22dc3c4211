//! How often somebody may try a password.
//!
//! Three budgets, each refilling steadily so that none locks anybody out for ever: one for each
//! address, one for each user from each address, and one for each user from everywhere. The first
//! stops trying many names, the last guessing from many addresses; neither binds a user at an
//! address from which they have logged in before, so that strangers, there or elsewhere, cannot
//! lock a user out of their usual place.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use parking_lot::Mutex;

use crate::networks::network;

/// Attempts a minute from one address.
const ADDRESS: NonZeroU32 = NonZeroU32::new(60).expect("60 is not zero");
/// Attempts a minute for one user from one address.
const PAIR: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");
/// Attempts a minute for one user from all unfamiliar addresses.
const USER: NonZeroU32 = NonZeroU32::new(40).expect("40 is not zero");
/// Budgets that are kept before full ones are forgotten.
const KEPT: usize = 20_000;
/// Users whose familiar addresses are remembered, and addresses for each.
const FAMILIAR_USERS: usize = 10_000;
const FAMILIAR_ADDRESSES: usize = 32;

/// Try again after this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter(pub Duration);

impl RetryAfter {
    /// Whole seconds, at least one.
    pub fn seconds(self) -> u32 {
        u32::try_from(self.0.as_secs())
            .unwrap_or(u32::MAX)
            .saturating_add(1)
    }
}

/// The budgets; cheap to clone.
#[derive(Clone)]
pub struct LoginLimits(Arc<Budgets>);

struct Budgets {
    clock: DefaultClock,
    address: DefaultKeyedRateLimiter<IpAddr>,
    pair: DefaultKeyedRateLimiter<(String, IpAddr)>,
    user: DefaultKeyedRateLimiter<String>,
    familiar: Mutex<HashMap<String, HashSet<IpAddr>>>,
}

impl std::fmt::Debug for LoginLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginLimits").finish_non_exhaustive()
    }
}

impl Default for LoginLimits {
    fn default() -> Self {
        Self(Arc::new(Budgets {
            clock: DefaultClock::default(),
            address: RateLimiter::keyed(Quota::per_minute(ADDRESS)),
            pair: RateLimiter::keyed(Quota::per_minute(PAIR)),
            user: RateLimiter::keyed(Quota::per_minute(USER)),
            familiar: Mutex::new(HashMap::new()),
        }))
    }
}

impl LoginLimits {
    /// Counts an attempt, whether the user exists or not; refused if a budget is spent.
    pub fn check(&self, user: &str, address: IpAddr) -> Result<(), RetryAfter> {
        let address = network(address);
        let user = key(user);
        self.forget_if_many();
        let budgets = &*self.0;
        let spent =
            |not_until: NotUntil<_>| RetryAfter(not_until.wait_time_from(budgets.clock.now()));
        let familiar = self.is_familiar(&user, address);
        if !familiar {
            budgets.address.check_key(&address).map_err(spent)?;
        }
        budgets
            .pair
            .check_key(&(user.clone(), address))
            .map_err(spent)?;
        if familiar {
            return Ok(());
        }
        budgets.user.check_key(&user).map_err(spent)
    }

    /// Remembers that the user logged in from there.
    pub fn succeeded(&self, user: &str, address: IpAddr) {
        let mut familiar = self.0.familiar.lock();
        if familiar.len() >= FAMILIAR_USERS && !familiar.contains_key(&key(user)) {
            familiar.clear();
        }
        let addresses = familiar.entry(key(user)).or_default();
        if addresses.len() >= FAMILIAR_ADDRESSES {
            addresses.clear();
        }
        addresses.insert(network(address));
    }

    fn is_familiar(&self, user: &str, address: IpAddr) -> bool {
        let familiar = self.0.familiar.lock();
        familiar
            .get(user)
            .is_some_and(|addresses| addresses.contains(&address))
    }

    fn forget_if_many(&self) {
        let budgets = &*self.0;
        if budgets.address.len() > KEPT {
            budgets.address.retain_recent();
        }
        if budgets.pair.len() > KEPT {
            budgets.pair.retain_recent();
        }
        if budgets.user.len() > KEPT {
            budgets.user.retain_recent();
        }
    }
}

/// No name of a user is longer; the rest of a longer one must not fill memory.
fn key(user: &str) -> String {
    user.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn allowed(limits: &LoginLimits, user: &str, from: IpAddr, attempts: u32) -> u32 {
        (0..attempts)
            .map(|_| u32::from(limits.check(user, from).is_ok()))
            .sum()
    }

    #[test]
    fn guessing_one_password_from_one_place_is_slow() {
        let limits = LoginLimits::default();
        assert_eq!(allowed(&limits, "ann", address(1), 100), PAIR.get());
        assert!(limits.check("ann", address(1)).unwrap_err().seconds() <= 60);
        assert!(
            limits.check("ann", address(2)).is_ok(),
            "another place is not bound"
        );
    }

    #[test]
    fn spraying_names_from_one_place_is_slow() {
        let limits = LoginLimits::default();
        let passed = (0..200).filter(|i| limits.check(&format!("u{i}"), address(1)).is_ok());
        assert_eq!(passed.count(), ADDRESS.get() as usize);
    }

    #[test]
    fn strangers_cannot_lock_a_user_out_of_their_usual_place() {
        let limits = LoginLimits::default();
        limits.succeeded("ann", address(200));
        let passed: u32 = (0..100)
            .map(|i| allowed(&limits, "ann", address(i), 10))
            .sum();
        assert_eq!(passed, USER.get(), "guessing from many places is bounded");
        assert!(limits.check("ann", address(201)).is_err());
        assert!(limits.check("ann", address(200)).is_ok());
    }

    #[test]
    fn strangers_behind_the_same_address_cannot_lock_a_user_out_of_it() {
        let limits = LoginLimits::default();
        limits.succeeded("ann", address(1));
        for stranger in 0..200 {
            let _ = limits.check(&format!("u{stranger}"), address(1));
        }
        assert!(limits.check("ann", address(1)).is_ok());
    }

    #[test]
    fn a_long_name_does_not_fill_memory() {
        assert_eq!(key(&"x".repeat(100_000)).len(), 64);
    }
}
