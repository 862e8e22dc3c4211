//! The options of a controller.

use std::time::Duration;

use crate::backoff::Backoff;

/// The options of a controller; start from [`Options::new`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The name in logs and metrics: lower case, words joined by `-`.
    pub name: &'static str,
    /// Maximum number of concurrent calls, for different keys.
    pub concurrency: usize,
    /// Timeout of one call.
    pub timeout: Option<Duration>,
    /// Delays after failures.
    pub backoff: Backoff,
    /// Delay from the first trigger to the call, which combines several changes.
    pub debounce: Duration,
    /// Minimum delay from the end of a call to the next call of the same key.
    pub cooldown: Duration,
    /// Number of ready keys at which the controller stops reading streams.
    pub capacity: usize,
    /// The treatment of running calls when the controller stops.
    pub shutdown: Shutdown,
}

/// See [`Options::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Abort the calls at their next await.
    Abort,
    /// Wait for the calls, up to [`Options::timeout`].
    Finish,
}

impl Options {
    /// One call at a time, of two minutes at most; retries after one second up to a minute.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            concurrency: 1,
            timeout: Some(Duration::from_mins(2)),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_mins(1)),
            debounce: Duration::ZERO,
            cooldown: Duration::ZERO,
            capacity: 10_000,
            shutdown: Shutdown::Abort,
        }
    }
}
