//! Parses durations in Kubernetes tables: `45s`, `3d4h`, `2y190d`.

use jiff::{SignedDuration, Timestamp};

/// Parses a duration. Returns `None` for other text, such as `<none>` and `<unknown>`.
pub fn parse(text: &str) -> Option<SignedDuration> {
    let (mut seconds, mut number) = (0_i64, None::<i64>);
    for letter in text.chars() {
        if let Some(digit) = letter.to_digit(10) {
            let so_far = number.unwrap_or(0).checked_mul(10)?;
            number = Some(so_far.checked_add(i64::from(digit))?);
            continue;
        }
        let unit = match letter {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'y' => 31_536_000,
            _ => return None,
        };
        seconds = seconds.checked_add(number.take()?.checked_mul(unit)?)?;
    }
    let whole = number.is_none() && !text.is_empty();
    whole.then(|| SignedDuration::from_secs(seconds))
}

/// Returns the time that precedes `reported_at` by the duration `text`. An exact time stays unchanged.
pub fn before(text: &str, reported_at: Timestamp) -> Option<Timestamp> {
    if text.contains('T') {
        return text.parse().ok();
    }
    reported_at.checked_sub(parse(text)?).ok()
}

/// Splits a cell such as `3 (5m ago)` into count and age.
pub(crate) fn restarts(cell: &str) -> (&str, Option<&str>) {
    match cell.split_once(" (") {
        Some((count, ago)) => (count, ago.strip_suffix(" ago)")),
        None => (cell, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ages_in_kubernetes_tables_are_parsed() {
        for (text, seconds) in [
            ("0s", Some(0)),
            ("119s", Some(119)),
            ("3m10s", Some(190)),
            ("2d3h", Some(183_600)),
            ("2y1d", Some(63_158_400)),
            ("", None),
            ("5", None),
            ("s", None),
            ("<none>", None),
            ("5m ago", None),
            ("99999999999999999999d", None),
        ] {
            let read = parse(text).map(|span| span.as_secs());
            assert_eq!(read, seconds, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_durations_do_not_panic(text in "[0-9smhdy]{0,30}|\\PC{0,12}") {
            let _ = before(&text, Timestamp::MIN);
            let _ = before(&text, Timestamp::MAX);
        }
    }
}
