//! Exponential backoff of retries.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const MAX_LENGTH: Duration = Duration::from_secs(30);

/// Exponential backoff from 0.5 s to 30 s, with jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the next delay; `chance` is a random number between 0 and 1.
    pub fn after_failure(&mut self, chance: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1).min(16);
        let whole = doubled.min(MAX_LENGTH);
        let chance = if chance.is_nan() { 0.5 } else { chance };
        whole / 2 + (whole / 2).mul_f64(chance.clamp(0.0, 1.0))
    }

    /// Resets the delay after a success.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_delay_doubles_up_to_the_limit_and_resets_after_success() {
        let mut backoff = Backoff::default();
        let mut waits = |chance| -> Vec<u128> {
            let mut some = || backoff.after_failure(chance).as_millis();
            let seen = (0..40).map(|_| some()).collect();
            backoff.reset();
            seen
        };
        assert_eq!(waits(1.0)[..4], [500, 1_000, 2_000, 4_000]);
        assert_eq!(waits(0.0)[..2], [250, 500]);
        assert_eq!(waits(1.0).last(), Some(&30_000));
        assert_eq!(waits(f64::NAN).len(), 40);
    }
}
