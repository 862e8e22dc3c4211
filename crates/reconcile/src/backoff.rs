//! Delays between retries.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// A delay that doubles with each failure, up to an upper bound. The second half of each delay is
/// random, so that keys with simultaneous failures are not retried at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates a backoff with delays between `first` and `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the delay before the next retry. `failures` is the number of failures since the last
    /// success. `jitter` is in `0..=1`.
    pub fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(failures));
        doubled.min(self.longest).mul_f64(0.5 + jitter / 2.0)
    }

    /// Returns the upper bound of the first delay.
    pub const fn first(&self) -> Duration {
        self.first
    }
}

/// Returns a random number in `0..=1`. The number is not suitable for secrets, because the system
/// seeds `RandomState` once per thread.
pub(crate) fn jitter() -> f64 {
    let number = u32::try_from(RandomState::new().hash_one(0_u8) >> 32);
    let number = number.expect("the upper half of a u64 fits into a u32");
    f64::from(number) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_delay_doubles_up_to_its_maximum() {
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let longest: Vec<u64> = (0..6).map(|n| backoff.delay(n, 1.0).as_secs()).collect();
        assert_eq!(longest, [1, 2, 4, 8, 10, 10]);
        assert_eq!(backoff.delay(2, 0.0), Duration::from_secs(2));
        assert_eq!(backoff.delay(u32::MAX, 1.0), Duration::from_secs(10));
    }

    #[test]
    fn backoff_jitter_differs_between_calls() {
        let drawn: Vec<f64> = (0..64).map(|_| jitter()).collect();
        assert!(drawn.iter().all(|one| (0.0..=1.0).contains(one)));
        let different: std::collections::BTreeSet<u64> =
            drawn.iter().map(|one| one.to_bits()).collect();
        assert!(different.len() > 32, "{drawn:?}");
    }
}
