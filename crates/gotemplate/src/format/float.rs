//! Go's `strconv.FormatFloat`.

/// Formats a number with one of the verbs `e`, `E`, `f`, `g` and `G`. Without a precision, the
/// result has the smallest number of digits that identifies the number.
pub(crate) fn format_float(number: f64, verb: char, precision: Option<usize>) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    match verb {
        'f' | 'F' => match precision {
            Some(precision) => format!("{number:.precision$}"),
            None => format!("{number}"),
        },
        'e' => exponent_form(number, precision, 'e'),
        'E' => exponent_form(number, precision, 'E'),
        'G' => shortest_form(number, precision, 'E'),
        _ => shortest_form(number, precision, 'e'),
    }
}

/// Formats a number as `d.ddde±dd`.
fn exponent_form(number: f64, precision: Option<usize>, letter: char) -> String {
    let text = match precision {
        Some(precision) => format!("{number:.precision$e}"),
        None => format!("{number:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}{letter}{sign}{digits:0>2}")
}

fn shortest_form(number: f64, precision: Option<usize>, letter: char) -> String {
    let precision = precision.map(|precision| precision.max(1));
    let text = match precision {
        Some(precision) => format!("{number:.*e}", precision - 1),
        None => format!("{number:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_end_matches('0').len().max(1);
    let count = i64::try_from(significant).unwrap_or(i64::MAX);
    let threshold = match precision {
        None => 6,
        Some(precision) => {
            let precision = i64::try_from(precision).unwrap_or(i64::MAX);
            if precision > count && count > exponent {
                count
            } else {
                precision
            }
        }
    };
    if exponent < -4 || exponent >= threshold {
        return exponent_form(number, Some(significant - 1), letter);
    }
    let fraction = usize::try_from(count - 1 - exponent).unwrap_or(0);
    format!("{number:.fraction$}")
}
