//! Concurrency limits of expensive work: one task per user, and few users at once.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The users with a running task; clones network_slot them.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimiter {
    most: usize,
    among: Arc<Mutex<HashSet<Box<str>>>>,
}

/// A held permit; released when dropped.
#[derive(Debug)]
pub struct ConcurrencyGuard {
    who: Box<str>,
    among: Arc<Mutex<HashSet<Box<str>>>>,
}

/// Why no permit is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The user already has one.
    SameUser,
    /// The limit of users is reached.
    AllUsers,
}

impl ConcurrencyLimiter {
    /// A limiter for this number of users.
    pub fn of(most: usize) -> Self {
        Self {
            most,
            among: Arc::default(),
        }
    }

    /// Acquires a permit for the user with this UID.
    pub fn take(&self, who: &str) -> Result<ConcurrencyGuard, LimitReached> {
        let mut among = self.among.lock();
        if among.contains(who) {
            return Err(LimitReached::SameUser);
        }
        if among.len() >= self.most {
            return Err(LimitReached::AllUsers);
        }
        among.insert(who.into());
        Ok(ConcurrencyGuard {
            who: who.into(),
            among: Arc::clone(&self.among),
        })
    }
}

impl Drop for ConcurrencyGuard {
    fn drop(&mut self) {
        self.among.lock().remove(&self.who);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_holds_one_guard_and_few_users_hold_one_at_once() {
        let limiter = ConcurrencyLimiter::of(2);
        let ann = limiter.take("ann").ok();
        assert_eq!(limiter.take("ann").err(), Some(LimitReached::SameUser));
        let bob = limiter.clone().take("bob").ok();
        assert!(bob.is_some());
        assert_eq!(limiter.take("eve").err(), Some(LimitReached::AllUsers));
        drop(ann);
        let eve = limiter.take("eve").ok();
        assert!(eve.is_some());
        assert_eq!(limiter.take("ann").err(), Some(LimitReached::AllUsers));
        drop(bob);
        assert!(
            limiter.take("ann").is_ok(),
            "a turn is over when it is dropped"
        );
    }
}
