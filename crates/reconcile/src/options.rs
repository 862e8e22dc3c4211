//! Concurrency, timeouts and delays of a controller.

use std::time::Duration;

use crate::backoff::Backoff;

/// The options of a controller. Start from [`Options::new`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Name in logs and metrics: lower case, words joined by `-`.
    pub name: &'static str,
    /// Maximum number of concurrent calls, for different keys.
    pub concurrency: usize,
    /// Timeout of one call. `None` means no timeout.
    pub timeout: Option<Duration>,
    /// Delays after failures.
    pub backoff: Backoff,
    /// Delay from the first trigger to the call. One call handles all changes within this time.
    pub debounce: Duration,
    /// Minimum delay from the end of a call to the next call for the same key.
    pub cooldown: Duration,
    /// Number of ready keys at which the controller stops reading streams.
    pub capacity: usize,
    /// Handling of running calls when the controller stops.
    pub shutdown: Shutdown,
}

/// The handling of running calls when the controller stops, see [`Options::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Aborts the calls at their next await.
    Abort,
    /// Waits for the calls, at most for [`Options::timeout`].
    Finish,
}

impl Options {
    /// Creates options for one call at a time with a timeout of two minutes, and retries after one
    /// second up to one minute.
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
