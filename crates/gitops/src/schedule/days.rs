//! The days of cron expressions.

use std::collections::BTreeSet;

use jiff::civil::{Date, Weekday};

use super::cron::CronError;
use super::fields::{Field, WEEKDAYS, parse_values};

/// The days on which an expression matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Days {
    /// All days.
    All,
    /// Days of the month.
    OfMonth(BTreeSet<i16>),
    /// The number of days before the last day of the month.
    BeforeLast(i16),
    /// The working day closest to a day, in the same month.
    Workday(i16),
    /// The working day closest to the last day of the month.
    LastWorkday,
    /// Days of the week, 1 is Sunday.
    OfWeek(BTreeSet<i16>),
    /// The n-th day of the week in the month.
    Nth(i16, i16),
    /// The last day of the week in the month.
    LastOfWeek(i16),
}

impl Days {
    pub(super) fn contains(&self, date: Date) -> bool {
        let day = i16::from(date.day());
        let last = i16::from(date.days_in_month());
        let weekday = i16::from(date.weekday().to_sunday_one_offset());
        match self {
            Self::All => true,
            Self::OfMonth(days) => days.contains(&day),
            Self::BeforeLast(offset) => day == last - offset,
            Self::Workday(wanted) => day == closest_workday(date, (*wanted).min(last)),
            Self::LastWorkday => day == closest_workday(date, last),
            Self::OfWeek(days) => days.contains(&weekday),
            Self::Nth(wanted, n) => weekday == *wanted && (day - 1) / 7 + 1 == *n,
            Self::LastOfWeek(wanted) => weekday == *wanted && day + 7 > last,
        }
    }
}

/// Returns the working day that is closest to `day` in the month of `date`.
fn closest_workday(date: Date, day: i16) -> i16 {
    let last = i16::from(date.days_in_month());
    let weekday = |day: i16| {
        let day = i8::try_from(day).ok()?;
        let date = Date::new(date.year(), date.month(), day).ok()?;
        Some(date.weekday())
    };
    match weekday(day) {
        Some(Weekday::Saturday) if day == 1 => 3,
        Some(Weekday::Saturday) => day - 1,
        Some(Weekday::Sunday) if day == last => day - 2,
        Some(Weekday::Sunday) => day + 1,
        _ => day,
    }
}

/// Parses the day of month: values, `L`, `L-3`, `15W` or `LW`.
pub(super) fn days_of_month(text: &str) -> Result<Days, CronError> {
    let field = Field::new("day of month", 1, 31, &[]);
    let value = |text| field.value(text).ok_or_else(|| field.error(text));
    if text == "L" {
        return Ok(Days::BeforeLast(0));
    }
    if text == "LW" {
        return Ok(Days::LastWorkday);
    }
    if let Some(offset) = text.strip_prefix("L-") {
        return value(offset).map(Days::BeforeLast);
    }
    if let Some(day) = text.strip_suffix('W') {
        return value(day).map(Days::Workday);
    }
    parse_values(&field, text).map(Days::OfMonth)
}

/// Parses the day of week: values, `L`, `6L` or `6#3`.
pub(super) fn days_of_week(text: &str) -> Result<Days, CronError> {
    let field = Field::new("day of week", 1, 7, WEEKDAYS);
    let value = |part| field.value(part).ok_or_else(|| field.error(text));
    if text == "L" {
        return Ok(Days::LastOfWeek(7));
    }
    if let Some(day) = text.strip_suffix('L') {
        return value(day).map(Days::LastOfWeek);
    }
    if let Some((day, n)) = text.split_once('#') {
        let n = n.parse().ok().filter(|n| (1..=5).contains(n));
        return Ok(Days::Nth(value(day)?, n.ok_or_else(|| field.error(text))?));
    }
    parse_values(&field, text).map(Days::OfWeek)
}
