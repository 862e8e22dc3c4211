//! Schedule: windows in which clusters receive new deployments.

mod cron;
mod days;
mod fields;

use std::time::Duration;

use drover_api::fleet::{ScheduleSpec, go_duration};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

pub use cron::{Cron, CronError};

/// Name of the time zone of schedules without `spec.location`.
pub const DEFAULT_LOCATION: &str = "UTC";

/// A schedule that cannot be evaluated. The text starts with the name of a field of the specification.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ScheduleError {
    /// The cron expression is not valid.
    #[error("schedule: {0}")]
    Cron(#[from] CronError),
    /// The duration is not valid.
    #[error(
        "duration: {0:?} is not a duration between 1 second and 1 year in Go's format, for example \
         1h30m"
    )]
    Duration(String),
    /// A window starts before the previous window ends.
    #[error(
        "duration: the window is longer than the time between two starts, {0} and {1}; use a shorter \
         duration"
    )]
    Overlap(Timestamp, Timestamp),
    /// No window starts in the future.
    #[error("schedule: no window starts in the next years")]
    NoStart,
}

/// The state of a schedule at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// End of the current window. `None` outside of windows.
    pub active_until: Option<Timestamp>,
    /// Start of the next window.
    pub next_start: Timestamp,
}

impl Window {
    /// Returns the time of the next change of [`Window::active_until`].
    #[must_use]
    pub fn next_change(&self) -> Timestamp {
        self.active_until
            .map_or(self.next_start, |end| end.min(self.next_start))
    }
}

/// A valid schedule.
#[derive(Clone, Debug)]
pub struct Windows {
    cron: Cron,
    duration: SignedDuration,
    zone: TimeZone,
}

impl Windows {
    /// Parses a schedule. `zone` is the time zone of `spec.location`.
    ///
    /// # Errors
    ///
    /// The expression or the duration is not valid.
    pub fn new(spec: &ScheduleSpec, zone: TimeZone) -> Result<Self, ScheduleError> {
        let cron: Cron = spec.schedule.parse()?;
        let duration = go_duration::parse(&spec.duration)
            .filter(|it| (Duration::from_secs(1)..=Duration::from_hours(24 * 366)).contains(it))
            .and_then(|it| SignedDuration::try_from(it).ok())
            .ok_or_else(|| ScheduleError::Duration(spec.duration.clone()))?;
        Ok(Self {
            cron,
            duration,
            zone,
        })
    }

    /// Returns the state at `now`. The result depends only on the schedule and `now`, so a restart inside of
    /// a window continues the window.
    ///
    /// # Errors
    ///
    /// No window starts after `now`, or windows overlap.
    pub fn at(&self, now: Timestamp) -> Result<Window, ScheduleError> {
        let next = |after| self.cron.next_after(after, &self.zone);
        let next_start = next(now).ok_or(ScheduleError::NoStart)?;
        if let Some(following) = next(next_start) {
            self.check_overlap(next_start, following)?;
        }
        // A window that contains `now` started less than one duration ago.
        let earliest = now.checked_sub(self.duration).unwrap_or(Timestamp::MIN);
        let started = next(earliest).filter(|start| *start <= now);
        if let Some(start) = started {
            // Two starts in one duration.
            let following = next(start).unwrap_or(next_start);
            self.check_overlap(start, following)?;
        }
        let active_until = started
            .and_then(|start| start.checked_add(self.duration).ok())
            .filter(|end| *end > now);
        Ok(Window {
            active_until,
            next_start,
        })
    }

    fn check_overlap(&self, first: Timestamp, second: Timestamp) -> Result<(), ScheduleError> {
        if second.duration_since(first) <= self.duration {
            return Err(ScheduleError::Overlap(first, second));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
