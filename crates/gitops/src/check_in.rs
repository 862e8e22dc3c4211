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
/// Time after a check-in until which the window of an interval can be open. An agent checks in every 5
/// minutes.
const NEXT_REPORT: SignedDuration = SignedDuration::from_mins(6);
/// Longest part of an interval, in percent, by which the windows of a cluster start earlier.
const JITTER: i32 = 10;

/// Windows that cannot be evaluated.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum CheckInError {
    /// The schedule or the duration is not valid.
    #[error("checkIn.{0}")]
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

/// The expected access of an agent to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The agent is in a window.
    Connected,
    /// The agent connects again at this time, or before.
    Later(Timestamp),
    /// The agent missed a window, or does not check in during a window.
    Missed,
}

/// The windows of one cluster.
///
/// The windows of a schedule start at fixed times. The first window of an interval starts with the agent,
/// and each next window one interval after the last, so that a device that is switched on only at times
/// also connects.
#[derive(Clone, Debug)]
pub struct CheckIns {
    duration: SignedDuration,
    starts: Starts,
}

#[derive(Clone, Debug)]
enum Starts {
    Schedule(Windows),
    Interval {
        /// Maximum time between two starts.
        interval: SignedDuration,
        /// Time between two starts of this cluster.
        own: SignedDuration,
    },
}

impl CheckIns {
    /// Parses the windows. `cluster` is the UID of the Cluster: with an interval, the time between two
    /// windows differs by up to 10 %, so that agents that started together do not stay together. `zone`
    /// finds a time zone by its name.
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
        let starts = match (&spec.schedule, &spec.interval) {
            (Some(schedule), None) => {
                let location = spec.location.as_deref().unwrap_or(DEFAULT_LOCATION);
                let zone =
                    zone(location).ok_or_else(|| CheckInError::Location(location.to_owned()))?;
                let windows = ScheduleSpec {
                    schedule: schedule.clone(),
                    duration: spec.duration.clone(),
                    ..ScheduleSpec::default()
                };
                Starts::Schedule(Windows::new(&windows, zone)?)
            }
            (None, Some(text)) => {
                let interval = go_duration::parse(text).filter(|it| INTERVALS.contains(it));
                let interval = interval.ok_or_else(|| CheckInError::Interval(text.clone()))?;
                if duration >= interval {
                    return Err(wrong());
                }
                let interval = signed(interval)?;
                let hash = i32::from_str_radix(&key_hash(cluster)[..4], 16).unwrap_or_default();
                // The hash has 16 bits.
                let earlier = interval / (100 / JITTER) * hash / (1 << 16);
                Starts::Interval {
                    interval,
                    own: interval - earlier,
                }
            }
            _ => return Err(CheckInError::Choice),
        };
        Ok(Self {
            duration: signed(duration)?,
            starts,
        })
    }

    /// Returns the agent's window at `now`. `last_start` is the start of the agent's last window, if the
    /// agent had one.
    ///
    /// # Errors
    ///
    /// No window starts after `now`, or windows overlap.
    pub fn at(
        &self,
        now: Timestamp,
        last_start: Option<Timestamp>,
    ) -> Result<Window, CheckInError> {
        let own = match &self.starts {
            Starts::Schedule(windows) => return Ok(windows.at(now)?),
            Starts::Interval { own, .. } => *own,
        };
        // After a correction of the clock, the last start can be in the future.
        let is_last = |start: &Timestamp| *start <= now && now.duration_since(*start) < own;
        let start = last_start.filter(is_last).unwrap_or(now);
        let end = after(start, self.duration);
        Ok(Window {
            active_until: (end > now).then_some(end),
            next_start: after(start, own),
        })
    }

    /// Returns the start of a window. `None` outside of windows.
    #[must_use]
    pub fn start_of(&self, window: &Window) -> Option<Timestamp> {
        let end = window.active_until?;
        end.checked_sub(self.duration).ok()
    }

    /// Returns the access that the hub expects at `now`. An agent that has not checked in for `silence`
    /// during a window does not run.
    ///
    /// # Errors
    ///
    /// As [`CheckIns::at`].
    pub fn expected(
        &self,
        last_seen: Timestamp,
        now: Timestamp,
        silence: SignedDuration,
    ) -> Result<Expected, CheckInError> {
        let (next, is_open) = match &self.starts {
            Starts::Interval { interval, .. } => {
                let is_open = now < after(last_seen, self.duration.min(NEXT_REPORT));
                (after(last_seen, *interval), is_open)
            }
            Starts::Schedule(windows) => {
                let window = windows.at(now)?;
                let started = self.start_of(&window);
                if started.is_some_and(|start| now > after(start.max(last_seen), silence)) {
                    return Ok(Expected::Missed);
                }
                (windows.at(last_seen)?.next_start, started.is_some())
            }
        };
        Ok(if now > after(next, self.duration + GRACE) {
            Expected::Missed
        } else if is_open {
            Expected::Connected
        } else {
            Expected::Later(next.max(now))
        })
    }
}

fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
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

    const SILENCE: SignedDuration = SignedDuration::from_mins(16);

    #[test]
    fn schedule_opens_windows_and_a_missed_window_means_missed() {
        let nightly = parse(&spec(Some("0 0 2 * * *"), None, "30m")).unwrap();
        let inside = nightly.at(time("2026-11-29T02:10:00Z"), None).unwrap();
        assert_eq!(inside.active_until, Some(time("2026-11-29T02:30:00Z")));
        let start = nightly.start_of(&inside);
        assert_eq!(start, Some(time("2026-11-29T02:00:00Z")));
        let outside = nightly.at(time("2026-11-29T03:00:00Z"), start).unwrap();
        assert_eq!(outside.active_until, None);
        let next = time("2026-11-30T02:00:00Z");
        assert_eq!(outside.next_start, next);
        // The agent checked in at the end of the window of the 29th.
        for (now, expected) in [
            ("2026-11-29T02:29:30Z", Expected::Connected),
            ("2026-11-29T12:00:00Z", Expected::Later(next)),
            ("2026-11-30T02:10:00Z", Expected::Connected),
            ("2026-11-30T02:17:00Z", Expected::Missed),
            ("2026-11-30T12:00:00Z", Expected::Missed),
        ] {
            let seen = time("2026-11-29T02:29:00Z");
            assert_eq!(
                nightly.expected(seen, time(now), SILENCE),
                Ok(expected),
                "{now}"
            );
        }
        let short = parse(&spec(Some("0 0 2 * * *"), None, "5m")).unwrap();
        let seen = time("2026-11-29T02:01:00Z");
        let expected = |now| short.expected(seen, time(now), SILENCE);
        let missed = ("2026-11-30T02:05:30Z", "2026-11-30T02:06:01Z");
        assert!(matches!(expected(missed.0), Ok(Expected::Later(_))));
        assert_eq!(expected(missed.1), Ok(Expected::Missed));
    }

    #[test]
    fn interval_starts_with_the_agent_and_after_each_pause() {
        let windows = parse(&spec(None, Some("6h"), "10m")).unwrap();
        let start = time("2026-11-29T07:00:00Z");
        let first = windows.at(start, None).unwrap();
        assert_eq!(first.active_until, Some(time("2026-11-29T07:10:00Z")));
        assert_eq!(windows.start_of(&first), Some(start));
        let closed = windows
            .at(time("2026-11-29T07:10:00Z"), Some(start))
            .unwrap();
        assert_eq!(
            (closed.active_until, closed.next_start),
            (None, first.next_start)
        );
        // The device was switched off at the time of the next window.
        let on_again = time("2026-11-30T19:30:00Z");
        let late = windows.at(on_again, Some(start)).unwrap();
        assert_eq!(windows.start_of(&late), Some(on_again));
        // The clock was wrong.
        let earlier = windows
            .at(time("2026-11-01T00:00:00Z"), Some(start))
            .unwrap();
        assert!(earlier.active_until.is_some());
    }

    #[test]
    fn cluster_with_an_interval_is_missed_one_interval_and_one_window_after_its_check_in() {
        let windows = parse(&spec(None, Some("6h"), "10m")).unwrap();
        let seen = time("2026-11-29T07:00:00Z");
        let next = Expected::Later(time("2026-11-29T13:00:00Z"));
        for (now, expected) in [
            ("2026-11-29T07:05:00Z", Expected::Connected),
            ("2026-11-29T07:11:00Z", next),
            (
                "2026-11-29T13:10:00Z",
                Expected::Later(time("2026-11-29T13:10:00Z")),
            ),
            ("2026-11-29T13:11:01Z", Expected::Missed),
        ] {
            assert_eq!(
                windows.expected(seen, time(now), SILENCE),
                Ok(expected),
                "{now}"
            );
        }
    }

    #[test]
    fn intervals_of_clusters_differ() {
        let spec = spec(None, Some("6h"), "10m");
        let now = time("2026-11-29T00:00:00Z");
        let starts: std::collections::BTreeSet<_> = (0..20)
            .map(|number| {
                let windows = CheckIns::new(&spec, &format!("uid-{number}"), |_| None).unwrap();
                windows.at(now, None).unwrap().next_start
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
            (spec(Some("0 2 * * *"), None, "10m"), "checkIn.schedule: "),
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
        fn agent_with_an_interval_connects_before_the_hub_expects_it(
            minutes in 2..10_000_i64, now in 0..2_000_000_000_i64, uid in "[a-z]{1,8}",
        ) {
            let spec = spec(None, Some(&format!("{minutes}m")), "1m");
            let windows = CheckIns::new(&spec, &uid, |_| None).unwrap();
            let start = Timestamp::from_second(now).unwrap();
            let window = windows.at(start, None).unwrap();
            prop_assert_eq!(windows.start_of(&window), Some(start));
            let pause = window.next_start.duration_since(start);
            prop_assert!(pause <= SignedDuration::from_mins(minutes));
            prop_assert!(pause >= SignedDuration::from_mins(minutes) / 10 * 9);
            let before = window.next_start - SignedDuration::from_millis(1);
            let next = windows.at(window.next_start, Some(start)).unwrap();
            prop_assert_eq!(windows.start_of(&next), Some(window.next_start));
            let is_closed = windows.at(before, Some(start)).unwrap().active_until.is_none();
            prop_assert!(is_closed);
            let expected = windows.expected(start, before, SILENCE).unwrap();
            prop_assert!(matches!(expected, Expected::Later(next) if next >= before));
        }
    }
}
