//! Formats ages like kubectl.

use jiff::Timestamp;

use crate::messages::{Unit, t};

/// Formats the time between two moments like kubectl: `40s`, `12m`, `5h`, `3d`, `2y`.
pub fn age(from: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(from.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..120 => t().durations.short(seconds, Unit::Second),
        120..7_200 => t().durations.short(minutes, Unit::Minute),
        7_200..172_800 => t().durations.short(hours, Unit::Hour),
        172_800..63_072_000 => t().durations.short(days, Unit::Day),
        _ => t().durations.short_years(days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_shown_in_one_unit() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (seconds, expected) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7_199, "119m"),
            (7_200, "2h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
        ] {
            assert_eq!(age(at(1_000), at(1_000 + seconds)), expected);
        }
        assert_eq!(age(at(10), at(0)), "0s", "a time in the future has age 0");
    }
}
