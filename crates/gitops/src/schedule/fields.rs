//! Values, lists, ranges and steps in the fields of cron expressions.

use std::collections::BTreeSet;

use super::cron::CronError;

/// Names of months, from 1 on.
pub(super) const MONTHS: &[&str] = &[
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
/// Names of days of the week, from 1 on.
pub(super) const WEEKDAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The permitted values of a field.
pub(super) struct Field<'a> {
    name: &'static str,
    first: i16,
    last: i16,
    /// Names of the values, from 1 on.
    names: &'a [&'a str],
}

impl<'a> Field<'a> {
    pub(super) fn new(name: &'static str, first: i16, last: i16, names: &'a [&'a str]) -> Self {
        Self {
            name,
            first,
            last,
            names,
        }
    }

    pub(super) fn error(&self, text: &str) -> CronError {
        CronError::Field {
            field: self.name,
            value: text.to_owned(),
        }
    }

    /// Parses one number or name.
    pub(super) fn value(&self, text: &str) -> Option<i16> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = if is_number {
            text.parse().ok()?
        } else {
            let mut names = self.names.iter();
            let index = names.position(|name| name.eq_ignore_ascii_case(text))?;
            i16::try_from(index + 1).ok()?
        };
        (self.first..=self.last).contains(&value).then_some(value)
    }

    fn range(&self, text: &str) -> Option<(i16, i16)> {
        match text.split_once('-') {
            Some((first, last)) => Some((self.value(first)?, self.value(last)?)),
            None if text == "*" => Some((self.first, self.last)),
            None => self.value(text).map(|value| (value, value)),
        }
    }

    fn entry(&self, text: &str) -> Option<BTreeSet<i16>> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (text, None),
        };
        let (first, mut last) = self.range(range)?;
        let mut step_size = 1;
        if let Some(step) = step {
            step_size = step
                .parse::<i16>()
                .ok()
                .filter(|it| (1..=self.last).contains(it))?;
            if !range.contains('-') {
                last = self.last;
            }
        }
        if first > last {
            return None;
        }
        let step_size = usize::try_from(step_size).ok()?;
        Some((first..=last).step_by(step_size).collect())
    }
}

/// Parses the values of a field: `*`, `?`, or a list of values, ranges `a-b` and steps `a/n`, `*/n`, `a-b/n`.
pub(super) fn parse_values(field: &Field<'_>, text: &str) -> Result<BTreeSet<i16>, CronError> {
    let text = if text == "?" { "*" } else { text };
    let mut values = BTreeSet::new();
    for entry in text.split(',') {
        values.extend(field.entry(entry).ok_or_else(|| field.error(text))?);
    }
    Ok(values)
}
