//! Cron expressions with seconds in the syntax of Fleet's scheduler, go-quartz.
//!
//! `<second> <minute> <hour> <day of month> <month> <day of week> [<year>]`. Days of the week are 1 (Sunday)
//! to 7 (Saturday). One of the two fields for days must be `*` or `?`.

use std::collections::BTreeSet;
use std::str::FromStr;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use thiserror::Error;

use super::days::{Days, days_of_month, days_of_week};
use super::fields::{Field, MONTHS, parse_values};

/// Number of days in which [`Cron::next_after`] searches: each date occurs once in 8 years, and each date
/// with each day of the week once in 28 or 40 years.
const DAYS_SEARCHED: usize = 41 * 366;

/// A cron expression that is not valid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CronError {
    /// The number of fields is wrong.
    #[error(
        "the cron expression has {0} fields; write 6 fields: second, minute, hour, day of month, month, day \
         of week"
    )]
    FieldCount(usize),
    /// Both fields for days have values.
    #[error("the cron expression has a day of month and a day of week; write ? for one of them")]
    TwoDays,
    /// A field is not valid.
    #[error("the cron expression has an invalid {field}: {value:?}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Text of the field.
        value: String,
    },
}

/// A valid cron expression.
#[derive(Clone, Debug)]
pub struct Cron {
    seconds: BTreeSet<i16>,
    minutes: BTreeSet<i16>,
    hours: BTreeSet<i16>,
    days: Days,
    months: BTreeSet<i16>,
    /// The years. Without values, all years.
    years: BTreeSet<i16>,
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, CronError> {
        let text = match text.trim() {
            "@yearly" => "0 0 0 1 1 *",
            "@monthly" => "0 0 0 1 * *",
            "@weekly" => "0 0 0 * * 1",
            "@daily" => "0 0 0 * * *",
            "@hourly" => "0 0 * * * *",
            text => text,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (six, year) = match fields.as_slice() {
            [six @ .., year] if six.len() == 6 => (six, *year),
            six => (six, "*"),
        };
        let &[second, minute, hour, day, month, weekday] = six else {
            return Err(CronError::FieldCount(fields.len()));
        };
        let is_any = |field: &str| matches!(field, "*" | "?");
        let days = match (is_any(day), is_any(weekday)) {
            (false, false) => return Err(CronError::TwoDays),
            (false, true) => days_of_month(day)?,
            (true, false) => days_of_week(weekday)?,
            (true, true) => Days::All,
        };
        let years = Field::new("year", 1970, 9999, &[]);
        Ok(Self {
            seconds: parse_values(&Field::new("second", 0, 59, &[]), second)?,
            minutes: parse_values(&Field::new("minute", 0, 59, &[]), minute)?,
            hours: parse_values(&Field::new("hour", 0, 23, &[]), hour)?,
            days,
            months: parse_values(&Field::new("month", 1, 12, MONTHS), month)?,
            years: if is_any(year) {
                BTreeSet::new()
            } else {
                parse_values(&years, year)?
            },
        })
    }
}

impl Cron {
    /// Returns the first time after `after`.
    ///
    /// If a clock change skips a local time, the result is the time of the clock change. If a clock change
    /// repeats a local time, the result is its first occurrence.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let start = after.to_zoned(zone.clone()).datetime();
        let mut date = self.next_year(start.date())?;
        for _ in 0..DAYS_SEARCHED {
            if self.is_on(date) {
                // Later local times are never earlier times, so earlier local times are not necessary.
                let first = if date == start.date() {
                    start.time()
                } else {
                    Time::midnight()
                };
                let times = self.times(first);
                let mut times = times.filter_map(|time| timestamp(date.to_datetime(time), zone));
                let found = times.find(|time| *time > after);
                if found.is_some() {
                    return found;
                }
            }
            date = self.next_year(date.tomorrow().ok()?)?;
        }
        None
    }

    /// Returns `date`, or the first day of the next permitted year.
    fn next_year(&self, date: Date) -> Option<Date> {
        if self.years.is_empty() || self.years.contains(&date.year()) {
            return Some(date);
        }
        let year = *self.years.range(date.year()..).next()?;
        Date::new(year, 1, 1).ok()
    }

    fn is_on(&self, date: Date) -> bool {
        self.months.contains(&i16::from(date.month())) && self.days.contains(date)
    }

    /// Returns the times of one day from the hour of `first` on, in order.
    fn times(&self, first: Time) -> impl Iterator<Item = Time> + '_ {
        let hours = self.hours.range(i16::from(first.hour())..);
        let times = hours.flat_map(move |&hour| {
            self.minutes.iter().flat_map(move |&minute| {
                let times = self.seconds.iter().map(move |&second| {
                    let part = |value: i16| i8::try_from(value).unwrap_or_default();
                    Time::new(part(hour), part(minute), part(second), 0)
                });
                times.filter_map(Result::ok)
            })
        });
        // The fraction of a second of `first` does not matter.
        times.filter(move |time| time.duration_since(first) > SignedDuration::from_secs(-1))
    }
}

/// Returns the time of a local time.
fn timestamp(local: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let is_skipped = matches!(ambiguous.offset(), AmbiguousOffset::Gap { .. });
    let time = ambiguous.compatible().ok()?;
    if !is_skipped {
        return Some(time);
    }
    let after = time.checked_add(1.second()).ok()?;
    let change = zone.preceding(after).next()?;
    Some(change.timestamp())
}
