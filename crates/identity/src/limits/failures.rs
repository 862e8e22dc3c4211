//! Counts the failed passwords of directory accounts with the same rule as directories, to stay
//! below the directory's lockout limit.
//!
//! Active Directory and OpenLDAP lock an account after a number of failed passwords. The directory
//! resets the count after a correct password, or after a period without failures. Drover allows
//! unknown addresses fewer failures than known addresses. An unknown address is an address from
//! which the account has not signed in. The owner of the account can therefore still sign in from a
//! known address.
//!
//! All functions are pure: the caller passes the current time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Maximum number of failed passwords of an account from all addresses. Many directories lock an
/// account after five failures.
const MAX_FAILURES: u32 = 4;
/// Maximum number of failures from unknown addresses, out of [`MAX_FAILURES`].
const MAX_UNFAMILIAR: u32 = 2;
/// The time without a failure after which Drover resets the count. Directories reset their count
/// after 30 minutes or less.
const RESET_AFTER: Duration = Duration::from_mins(30);
/// The number of stored accounts above which Drover removes expired accounts.
const MAX_ACCOUNTS: usize = 20_000;

/// The origin of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// An address from which the account has signed in.
    Familiar,
    /// An address from which the account has not signed in.
    Unfamiliar,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The password was correct. The directory resets its count.
    Right,
    /// The password was wrong, or the outcome is unknown.
    Failed,
    /// The server did not send the password to the directory.
    NotSent,
}

/// The failed and pending attempts of all accounts.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<String, Account>);

#[derive(Debug)]
struct Account {
    failed: Count,
    /// Number of attempts whose outcome is pending.
    pending: Count,
    last_failure: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    familiar: u32,
    unfamiliar: u32,
}

impl Count {
    fn of(&mut self, origin: Origin) -> &mut u32 {
        match origin {
            Origin::Familiar => &mut self.familiar,
            Origin::Unfamiliar => &mut self.unfamiliar,
        }
    }

    fn all(self) -> u32 {
        self.familiar + self.unfamiliar
    }
}

impl Failures {
    /// Reserves an attempt. The caller must [end](Self::end) the attempt. The error contains the
    /// time after which the client may retry.
    pub(super) fn begin(
        &mut self,
        account: &str,
        origin: Origin,
        now: Instant,
    ) -> Result<(), Duration> {
        if self.0.len() >= MAX_ACCOUNTS {
            self.0.retain(|_, account| !account.is_expired(now));
        }
        let account = self.0.entry(account.to_owned()).or_insert_with(|| Account {
            failed: Count::default(),
            pending: Count::default(),
            last_failure: now,
        });
        if account.is_expired(now) {
            account.failed = Count::default();
        }
        let unfamiliar = account.failed.unfamiliar + account.pending.unfamiliar;
        let is_spent = account.failed.all() + account.pending.all() >= MAX_FAILURES
            || origin == Origin::Unfamiliar && unfamiliar >= MAX_UNFAMILIAR;
        if is_spent {
            let since = now.saturating_duration_since(account.last_failure);
            return Err(RESET_AFTER.saturating_sub(since));
        }
        *account.pending.of(origin) += 1;
        Ok(())
    }

    /// Ends an attempt that [`Self::begin`] reserved.
    pub(super) fn end(&mut self, name: &str, origin: Origin, outcome: Outcome, now: Instant) {
        let Some(account) = self.0.get_mut(name) else {
            return;
        };
        let pending = account.pending.of(origin);
        *pending = pending.saturating_sub(1);
        match outcome {
            Outcome::Right => account.failed = Count::default(),
            Outcome::Failed => {
                *account.failed.of(origin) += 1;
                account.last_failure = now;
            }
            Outcome::NotSent => {}
        }
        if account.failed.all() + account.pending.all() == 0 {
            self.0.remove(name);
        }
    }
}

impl Account {
    /// Reports whether the count has expired. The count does not expire during pending attempts,
    /// because the directory can count these attempts at any time.
    fn is_expired(&self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.last_failure);
        self.pending.all() == 0 && since > RESET_AFTER
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fail(failures: &mut Failures, origin: Origin, now: Instant) -> bool {
        let allowed = failures.begin("ann", origin, now).is_ok();
        if allowed {
            failures.end("ann", origin, Outcome::Failed, now);
        }
        allowed
    }

    #[test]
    fn password_attempts_from_known_addresses_stay_below_the_lockout_threshold() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let tried = (0..100).filter(|_| fail(&mut failures, Origin::Familiar, now));
        assert_eq!(tried.count(), 4);
        assert!(!fail(&mut failures, Origin::Unfamiliar, now));
        let later = now + RESET_AFTER + Duration::from_secs(1);
        assert!(fail(&mut failures, Origin::Familiar, later));
    }

    #[test]
    fn password_attempts_from_unknown_addresses_do_not_block_known_addresses() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let tried = (0..100).filter(|_| fail(&mut failures, Origin::Unfamiliar, now));
        assert_eq!(tried.count(), 2);
        let tried = (0..100).filter(|_| fail(&mut failures, Origin::Familiar, now));
        assert_eq!(tried.count(), 2);
    }

    #[test]
    fn correct_password_resets_failure_count() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for _ in 0..100 {
            assert!(fail(&mut failures, Origin::Unfamiliar, now));
            assert_eq!(failures.begin("ann", Origin::Familiar, now), Ok(()));
            failures.end("ann", Origin::Familiar, Outcome::Right, now);
        }
        assert!(failures.0.is_empty());
    }

    #[test]
    fn password_attempts_not_sent_to_the_directory_are_not_counted() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for _ in 0..100 {
            assert_eq!(failures.begin("ann", Origin::Familiar, now), Ok(()));
            failures.end("ann", Origin::Familiar, Outcome::NotSent, now);
        }
        assert!(failures.0.is_empty());
    }

    /// A step of the test. The simulated directory decides immediately, and Drover records the
    /// outcome in a later step.
    #[derive(Clone, Debug)]
    struct Step {
        wait: u64,
        origin: Origin,
        right: bool,
        answered: bool,
    }

    fn step() -> impl Strategy<Value = Step> {
        (0..40 * 60_u64, any::<bool>(), 0..10_u8, any::<bool>()).prop_map(
            |(wait, familiar, right, answered)| Step {
                wait: if wait % 3 == 0 { wait } else { wait % 90 },
                origin: if familiar {
                    Origin::Familiar
                } else {
                    Origin::Unfamiliar
                },
                right: right == 0,
                answered,
            },
        )
    }

    proptest! {
        /// Simulates a directory that locks an account after five failures. The directory resets
        /// its count after `window` without a failure.
        #[test]
        fn directory_account_is_never_locked_by_any_sequence_of_password_attempts(
            steps in proptest::collection::vec(step(), 1..60),
            window in 5..=30_u64,
        ) {
            let window = Duration::from_secs(window * 60);
            let (mut failures, mut now) = (Failures::default(), Instant::now());
            let (mut counted, mut counted_at) = (0, now);
            let mut open: Vec<(Origin, Outcome)> = Vec::new();
            for step in steps {
                now += Duration::from_secs(step.wait);
                if failures.begin("ann", step.origin, now).is_ok() {
                    if now.duration_since(counted_at) > window || step.right {
                        counted = 0;
                    }
                    let outcome = if step.right { Outcome::Right } else { Outcome::Failed };
                    if outcome == Outcome::Failed {
                        (counted, counted_at) = (counted + 1, now);
                    }
                    open.push((step.origin, outcome));
                }
                prop_assert!(counted < 5, "the account is locked");
                if step.answered {
                    for (origin, outcome) in open.drain(..) {
                        failures.end("ann", origin, outcome, now);
                    }
                }
            }
        }
    }
}
