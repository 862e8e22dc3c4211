//! Concurrency limits for expensive operations: one operation per user, and a maximum number of
//! users.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The users with a running operation. Clones share this list.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimiter {
    max_users: usize,
    users: Arc<Mutex<HashSet<Box<str>>>>,
}

/// A permit for one operation of a user. The user can start the next operation after the permit is
/// dropped.
#[derive(Debug)]
pub struct ConcurrencyGuard {
    user_uid: Box<str>,
    users: Arc<Mutex<HashSet<Box<str>>>>,
}

/// The reason why no permit is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// The user already holds a permit.
    SameUser,
    /// The number of users with a permit is at the maximum.
    AllUsers,
}

impl ConcurrencyLimiter {
    /// Creates a limiter for `max_users` concurrent users.
    pub fn of(max_users: usize) -> Self {
        Self {
            max_users,
            users: Arc::default(),
        }
    }

    /// Acquires a permit for the user with this UID.
    pub fn take(&self, user_uid: &str) -> Result<ConcurrencyGuard, LimitReached> {
        let mut users = self.users.lock();
        if users.contains(user_uid) {
            return Err(LimitReached::SameUser);
        }
        if users.len() >= self.max_users {
            return Err(LimitReached::AllUsers);
        }
        users.insert(user_uid.into());
        Ok(ConcurrencyGuard {
            user_uid: user_uid.into(),
            users: Arc::clone(&self.users),
        })
    }
}

impl Drop for ConcurrencyGuard {
    fn drop(&mut self) {
        self.users.lock().remove(&self.user_uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_at_most_one_concurrent_request_and_the_total_is_limited() {
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
            "dropping the guard releases the permit"
        );
    }
}
