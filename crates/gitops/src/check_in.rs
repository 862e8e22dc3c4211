//! Check-ins: the windows in which the agent of an intermittently connected cluster accesses the hub.

use std::time::Duration;

use drover_api::fleet::{ScheduleSpec, go_duration};
use drover_api::kinds::CheckInSpec;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::ids::key_hash;
use crate::schedule::{DEFAULT_LOCATION, ScheduleError, Window, Windows};

/// Shortest and longest permitted interval.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_mins(1)..=Duration::from_hours(24 * 366);
/// Shortest permitted window.
const MIN_WINDOW: Duration = Duration::from_secs(5);
/// Time after a missed window from which on a cluster is offline. The clocks can differ, and an agent may
/// need several attempts to connect.
const GRACE: SignedDuration = SignedDuration::from_mins(1);

/// Windows that cannot be evaluated.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CheckInError {
    /// The schedule or the duration is not valid.
    #[error("checkIn: {0}")]
    Schedule(#[from] ScheduleError),
    /// The interval is not valid.
    #[error("checkIn.interval: {0:?} is not a duration between 1m and 366 days, for example 6h")]
    Interval(String),
    /// The duration is not valid.
    #[error(
        "checkIn.duration: {0:?} is not a duration of at least 5s that is shorter than the interval"
    )]
    Duration(String),
    /// The time zone is unknown.
    #[error(
        "checkIn.location: the time zone {0:?} is unknown; use a name such as Europe/Berlin, or UTC"
    )]
    Location(String),
    /// There are two schedules, or none.
    #[error("checkIn: set either schedule or interval")]
    Choice,
}

/// The windows of one cluster.
#[derive(Clone, Debug)]
pub struct CheckIns(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Schedule(Windows, SignedDuration),
    Interval {
        /// Time between two starts, in seconds.
        interval: i64,
        duration: SignedDuration,
        /// Seconds from 1970 to a start.
        phase: i64,
    },
}

impl CheckIns {
    /// Parses the windows. `cluster` is the UID of the Cluster: with an interval, each cluster has other
    /// times, so that not all agents connect at the same time. `zone` finds a time zone by its name.
    ///
    /// # Errors
    ///
    /// A field is not valid.
    pub fn new(
        spec: &CheckInSpec,
        cluster: &str,
        zone: impl Fn(&str) -> Option<TimeZone>,
    ) -> Result<Self, CheckInError> {
        let wrong = || CheckInError::Duration(spec.duration.clone());
        let duration = go_duration::parse(&spec.duration).ok_or_else(wrong)?;
        if duration < MIN_WINDOW {
            return Err(wrong());
        }
        let signed = |duration| SignedDuration::try_from(duration).map_err(|_| wrong());
        match (&spec.schedule, &spec.interval) {
            (Some(schedule), None) => {
                let location = spec.location.as_deref().unwrap_or(DEFAULT_LOCATION);
                let zone =
                    zone(location).ok_or_else(|| CheckInError::Location(location.to_owned()))?;
                let windows = ScheduleSpec {
                    schedule: schedule.clone(),
                    duration: spec.duration.clone(),
                    ..ScheduleSpec::default()
                };
                let windows = Windows::new(&windows, zone)?;
                Ok(Self(Kind::Schedule(windows, signed(duration)?)))
            }
            (None, Some(text)) => {
                let interval = go_duration::parse(text).filter(|it| INTERVALS.contains(it));
                let interval = interval.ok_or_else(|| CheckInError::Interval(text.clone()))?;
                if duration >= interval {
                    return Err(wrong());
                }
                let interval = signed(interval)?.as_secs();
                let hash = u64::from_str_radix(&key_hash(cluster)[..8], 16).unwrap_or_default();
                Ok(Self(Kind::Interval {
                    interval,
                    duration: signed(duration)?,
                    phase: i64::try_from(hash).unwrap_or_default().rem_euclid(interval),
                }))
            }
            _ => Err(CheckInError::Choice),
        }
    }

    /// Returns the state at `now`. The result depends only on the windows and `now`.
    ///
    /// # Errors
    ///
    /// No window starts after `now`, or windows overlap.
    pub fn at(&self, now: Timestamp) -> Result<Window, CheckInError> {
        match &self.0 {
            Kind::Schedule(windows, _) => Ok(windows.at(now)?),
            Kind::Interval {
                interval,
                duration,
                phase,
            } => {
                let seconds = now.as_second();
                let start = seconds - (seconds - phase).rem_euclid(*interval);
                let time = |second| {
                    Timestamp::from_second(second)
                        .map_err(|_| CheckInError::Schedule(ScheduleError::NoStart))
                };
                let end = time(start)?.checked_add(*duration).ok();
                Ok(Window {
                    active_until: end.filter(|end| *end > now),
                    next_start: time(start + interval)?,
                })
            }
        }
    }

    /// Returns the time from which on a cluster is offline: the end of the first complete window after
    /// its last check-in, and a grace period.
    ///
    /// # Errors
    ///
    /// As [`CheckIns::at`].
    pub fn offline_from(&self, last_seen: Timestamp) -> Result<Timestamp, CheckInError> {
        let (Kind::Schedule(_, duration) | Kind::Interval { duration, .. }) = &self.0;
        let start = self.at(last_seen)?.next_start;
        let end = start.checked_add(*duration + GRACE);
        Ok(end.unwrap_or(Timestamp::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(schedule: Option<&str>, interval: Option<&str>, duration: &str) -> CheckInSpec {
        CheckInSpec {
            schedule: schedule.map(str::to_owned),
            interval: interval.map(str::to_owned),
            duration: duration.to_owned(),
            location: None,
        }
    }

    fn parse(spec: &CheckInSpec) -> Result<CheckIns, CheckInError> {
        CheckIns::new(spec, "uid", |name| (name == "UTC").then_some(TimeZone::UTC))
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn schedule_opens_windows_and_a_missed_window_means_offline() {
        let nightly = parse(&spec(Some("0 0 2 * * *"), None, "30m")).unwrap();
        let inside = nightly.at(time("2026-11-29T02:10:00Z")).unwrap();
        assert_eq!(inside.active_until, Some(time("2026-11-29T02:30:00Z")));
        let outside = nightly.at(time("2026-11-29T03:00:00Z")).unwrap();
        assert_eq!(outside.active_until, None);
        assert_eq!(outside.next_start, time("2026-11-30T02:00:00Z"));
        // Seen in the window of the 29th, so the window of the 30th is the first to miss.
        let offline = nightly.offline_from(time("2026-11-29T02:29:00Z"));
        assert_eq!(offline, Ok(time("2026-11-30T02:31:00Z")));
    }

    #[test]
    fn intervals_of_clusters_start_at_different_times() {
        let spec = spec(None, Some("6h"), "10m");
        let starts: std::collections::BTreeSet<_> = (0..20)
            .map(|number| {
                let windows = CheckIns::new(&spec, &format!("uid-{number}"), |_| None).unwrap();
                windows.at(time("2026-11-29T00:00:00Z")).unwrap().next_start
            })
            .collect();
        assert!(starts.len() > 15, "{starts:?}");
    }

    #[test]
    fn wrong_windows_have_an_error_that_names_the_field() {
        for (wrong, expected) in [
            (
                spec(None, None, "10m"),
                "checkIn: set either schedule or interval",
            ),
            (
                spec(Some("0 0 2 * * *"), Some("6h"), "10m"),
                "checkIn: set either",
            ),
            (spec(None, Some("10s"), "5s"), "checkIn.interval: \"10s\""),
            (spec(None, Some("6h"), "6h"), "checkIn.duration: \"6h\""),
            (spec(None, Some("6h"), "1s"), "checkIn.duration: \"1s\""),
            (spec(None, Some("6h"), "soon"), "checkIn.duration: \"soon\""),
            (
                spec(Some("0 2 * * *"), None, "10m"),
                "checkIn: spec.schedule: ",
            ),
        ] {
            let error = parse(&wrong).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let elsewhere = CheckInSpec {
            location: Some("Mars/Olympus".to_owned()),
            ..spec(Some("0 0 2 * * *"), None, "10m")
        };
        assert_eq!(
            parse(&elsewhere).unwrap_err(),
            CheckInError::Location("Mars/Olympus".to_owned())
        );
    }

    proptest! {
        #[test]
        fn windows_of_an_interval_have_its_length_and_distance(
            minutes in 2..10_000_i64, now in 0..2_000_000_000_i64, uid in "[a-z]{1,8}",
        ) {
            let spec = spec(None, Some(&format!("{minutes}m")), "1m");
            let windows = CheckIns::new(&spec, &uid, |_| None).unwrap();
            let now = Timestamp::from_second(now).unwrap();
            let window = windows.at(now).unwrap();
            let until_next = window.next_start.duration_since(now);
            prop_assert!(until_next > SignedDuration::ZERO);
            prop_assert!(until_next <= SignedDuration::from_mins(minutes));
            let is_open = until_next > SignedDuration::from_mins(minutes - 1);
            prop_assert_eq!(window.active_until.is_some(), is_open);
            let next = windows.at(window.next_start).unwrap();
            let one_minute = window.next_start + SignedDuration::from_mins(1);
            prop_assert_eq!(next.active_until, Some(one_minute));
            prop_assert!(windows.offline_from(now).unwrap() > window.next_start);
        }
    }
}
