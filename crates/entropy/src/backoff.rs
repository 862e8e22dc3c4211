//! Retry delays: exponential, with an upper bound and full jitter.

use std::time::Duration;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};

/// Delays that double up to an upper bound. Each delay is uniformly random between zero and the
/// current bound, so that clients that failed together do not retry together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    bound: Duration,
}

impl Backoff {
    /// Creates delays. The first delay is below `first`, and no delay exceeds `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            bound: first,
        }
    }

    /// Returns the next delay and doubles the bound.
    pub fn next_delay(&mut self) -> Duration {
        let delay = full_jitter(self.bound);
        self.bound = (self.bound * 2).min(self.longest);
        delay
    }

    /// Resets the bound after a success.
    pub fn reset(&mut self) {
        self.bound = self.first;
    }
}

/// Returns a uniformly random delay between zero and `bound`.
pub fn full_jitter(bound: Duration) -> Duration {
    let mut bytes = [0_u8; 4];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        return bound;
    }
    bound.mul_f64(f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_delays_are_bounded_and_random() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(8));
        let delays: Vec<_> = (0..64).map(|_| backoff.next_delay()).collect();
        assert!(delays[0] <= Duration::from_secs(1));
        assert!(delays.iter().all(|d| *d <= Duration::from_secs(8)));
        let distinct: std::collections::BTreeSet<_> = delays.iter().collect();
        assert!(distinct.len() > 32, "{delays:?}");
        backoff.reset();
        assert!(backoff.next_delay() <= Duration::from_secs(1));
    }
}
