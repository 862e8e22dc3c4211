//! Durations in Go's format, `1h30m` or `15s`.

use std::time::Duration;

/// Units, longer names first.
const UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Parses a duration. Returns `None` if the text is not a non-negative duration in Go's format.
#[must_use]
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() || total.is_zero() {
        let digits = rest
            .find(|char: char| !char.is_ascii_digit() && char != '.')
            .filter(|end| *end > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, seconds) = UNITS.iter().find(|(unit, _)| {
            rest.strip_prefix(unit)
                .is_some_and(|after| !after.starts_with(char::is_alphabetic))
        })?;
        rest = &rest[unit.len()..];
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        if rest.is_empty() {
            return Some(total);
        }
    }
    Some(total)
}
