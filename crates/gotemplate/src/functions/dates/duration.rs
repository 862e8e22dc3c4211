//! Go's durations such as `1h30m`, in nanoseconds.

pub(super) const SECOND: i64 = 1_000_000_000;

fn unit(name: &str) -> Option<i64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

/// Parses a duration as Go's `time.ParseDuration` does.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|it: char| it.is_ascii_digit() || it == '.');
        let (name, after) = after.split_at(end.unwrap_or(after.len()));
        let unit = i128::from(unit(name)?);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let whole: i128 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok()?
        };
        sum = sum.checked_add(whole.checked_mul(unit)?)?;
        let fraction = &fraction[..fraction.len().min(18)];
        if !fraction.is_empty() {
            let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
            sum += fraction.parse::<i128>().ok()? * unit / scale;
        }
        rest = after;
    }
    i64::try_from(if negative { -sum } else { sum }).ok()
}

/// Prints a duration as Go's `Duration.String` does.
pub(super) fn print(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let amount = nanoseconds.unsigned_abs();
    let second = SECOND.unsigned_abs();
    let with_fraction = |amount: u64, unit: u64, digits: usize| {
        let fraction = format!("{:0digits$}", amount % unit);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{point}{fraction}", amount / unit)
    };
    let text = match amount {
        0 => "0s".to_owned(),
        1..1_000 => format!("{amount}ns"),
        1_000..1_000_000 => with_fraction(amount, 1_000, 3) + "µs",
        1_000_000..1_000_000_000 => with_fraction(amount, 1_000_000, 6) + "ms",
        _ => {
            let minutes = amount / second / 60;
            let seconds = with_fraction(amount % (60 * second), second, 9);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            }
        }
    };
    format!("{sign}{text}")
}

/// Rounds a duration down to its largest unit.
pub(super) fn round(nanoseconds: u64) -> String {
    let seconds = SECOND.unsigned_abs();
    let units = [
        (365 * 86_400 * seconds, "y"),
        (30 * 86_400 * seconds, "mo"),
        (86_400 * seconds, "d"),
        (3_600 * seconds, "h"),
        (60 * seconds, "m"),
        (seconds, "s"),
    ];
    let unit = units.iter().find(|(size, _)| nanoseconds > *size);
    unit.map_or_else(
        || "0s".to_owned(),
        |(size, name)| format!("{}{name}", nanoseconds / size),
    )
}
