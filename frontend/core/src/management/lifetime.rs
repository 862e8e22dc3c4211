//! Parses and formats the lifetimes of tokens and sessions.

use crate::messages::{Unit, t};

/// The minimum lifetime in seconds.
pub const MIN_SECONDS: u64 = 60;

const UNITS: [(u64, &str, Unit); 4] = [
    (86_400, "d", Unit::Day),
    (3_600, "h", Unit::Hour),
    (60, "m", Unit::Minute),
    (1, "s", Unit::Second),
];

/// Parses `30d`, `12h`, `90m` or `60s` into seconds.
pub fn parse(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let (seconds, ..) = UNITS.into_iter().find(|(_, short, _)| *short == unit)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(seconds)
}

/// Formats a lifetime in the largest exact unit: `30 days`, `12 hours`.
pub fn words(seconds: u64) -> String {
    let (length, _, unit) = largest_unit(seconds);
    t().durations.of(seconds / length, unit)
}

/// Formats a lifetime in the largest exact unit, in the form that [`parse`] and the command line
/// accept: `30d`, `12h`.
pub fn short(seconds: u64) -> String {
    let (length, unit, _) = largest_unit(seconds);
    format!("{}{unit}", seconds / length)
}

fn largest_unit(seconds: u64) -> (u64, &'static str, Unit) {
    let fitting = UNITS
        .into_iter()
        .find(|(unit, ..)| seconds >= *unit && seconds.is_multiple_of(*unit));
    fitting.unwrap_or(UNITS[3])
}

/// Parses an entered token lifetime. Empty text means the default.
pub fn read(text: &str, longest: Option<u64>) -> Result<Option<u64>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let Some(seconds) = parse(text) else {
        return Err(t().durations.format_help().to_owned());
    };
    if seconds < MIN_SECONDS {
        return Err(t().durations.minimum().to_owned());
    }
    match longest {
        Some(longest) if seconds > longest => Err(t().durations.maximum(&words(longest))),
        _ => Ok(Some(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetime_durations_are_formatted_like_settings() {
        for (text, seconds, written) in [
            ("30d", 2_592_000, "30 days"),
            ("1d", 86_400, "1 day"),
            ("36h", 129_600, "36 hours"),
            ("90m", 5_400, "90 minutes"),
            ("60s", 60, "1 minute"),
            ("61s", 61, "61 seconds"),
            ("0s", 0, "0 seconds"),
        ] {
            assert_eq!(parse(text), Some(seconds));
            assert_eq!(words(seconds), written);
            assert_eq!(parse(&short(seconds)), Some(seconds));
        }
        assert_eq!(short(86_400), "1d");
        for text in [
            "",
            "d",
            "30",
            "-1d",
            "+1d",
            "1w",
            "1µ",
            "18446744073709551615d",
            "1 d",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn lifetime_outside_the_limits_is_rejected() {
        let longest = Some(86_400);
        assert_eq!(read("  ", longest), Ok(None));
        assert_eq!(read(" 1d ", longest), Ok(Some(86_400)));
        assert_eq!(read("9999d", None), Ok(Some(863_913_600)));
        for wrong in ["59s", "25h", "soon"] {
            assert!(read(wrong, longest).is_err(), "{wrong}");
        }
        assert!(read("2d", longest).unwrap_err().contains("1 day"));
    }
}
