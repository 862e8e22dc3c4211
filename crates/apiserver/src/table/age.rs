//! Ages as kubectl prints them (apimachinery `util/duration`).

use jiff::Timestamp;

/// Formats the time since `time`; `<unknown>` for an empty text.
pub(super) fn since(time: &str, now: Timestamp) -> String {
    match time.parse::<Timestamp>() {
        Ok(then) => human_duration(seconds(then, now)),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// Returns the difference of two times in whole seconds, rounded towards zero as in Go.
pub(super) fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    let nanoseconds = to.as_nanosecond() - from.as_nanosecond();
    i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX)
}

/// Formats seconds in one or two units: `3d4h`, `12m`, `2y190d`.
pub fn human_duration(seconds: i64) -> String {
    // A time less than two seconds in the future counts as clock skew.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    if seconds < 0 {
        return "0s".to_owned();
    }
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let days = hours / 24;
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, "d", hours % 24, "h"),
        () if hours < 24 * 365 * 2 => format!("{days}d"),
        () if hours < 24 * 365 * 8 => two(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::human_duration;

    #[test]
    fn age_format_matches_kubectl() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (3 * 3_600 - 1, "179m"),
            (3 * 3_600 + 61, "3h1m"),
            (8 * 3_600, "8h"),
            (48 * 3_600, "2d"),
            (50 * 3_600, "2d2h"),
            (9 * 86_400, "9d"),
            (800 * 86_400, "2y70d"),
            (3_000 * 86_400, "8y"),
        ] {
            assert_eq!(human_duration(seconds), text);
        }
    }
}
