//! Concurrency, timeouts and delays of a controller.

use std::time::Duration;

use crate::backoff::Backoff;

/// The options of a controller. Start from [`Options::new`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Name in logs and metrics: lower case, words joined by `-`.
    pub name: &'static str,
    /// Maximum number of concurrent calls. Each call has a different key.
    pub concurrency: usize,
    /// Timeout of one call. `None` disables the timeout.
    pub timeout: Option<Duration>,
    /// Delays before retries of a failed call.
    pub backoff: Backoff,
    /// Debounce: delay between the first trigger and the call. All triggers during this delay cause
    /// a single call.
    pub debounce: Duration,
    /// Minimum delay from the end of a call to the next call for the same key.
    pub cooldown: Duration,
    /// Number of ready keys at which the controller pauses the streams of its triggers.
    pub capacity: usize,
    /// Policy for running calls when the controller stops.
    pub shutdown: Shutdown,
}

/// Policy for running calls when the controller stops, see [`Options::shutdown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// Abort the calls at their next await.
    Abort,
    /// Wait for the calls, at most for [`Options::timeout`].
    Finish,
}

impl Options {
    /// Creates options with one call at a time and a timeout of two minutes. Delays between retries
    /// increase from one second to one minute.
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
