//! Parses and formats Kubernetes quantities.

use drover_quantity::Quantity;

use crate::messages::t;

/// Parses a quantity into its base unit (cores, bytes, pieces). Returns `None` for malformed text.
pub fn parse(text: &str) -> Option<f64> {
    Quantity::parse(text).ok().map(|quantity| quantity.as_f64())
}

/// Formats cores with the decimal separator of the language: `0.25`, `3.5`, `128`.
pub fn cores(value: f64) -> String {
    rounded(value)
}

/// Formats cores with their unit: `1 core`, `3.5 cores`.
pub fn cores_with_unit(value: f64) -> String {
    t().chart.cores(&cores(value))
}

/// Formats bytes with the decimal separator of the language: `512 MiB`, `1.5 TiB`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = value.max(0.0);
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", rounded(value), UNITS[unit])
}

/// Formats a count with the thousands separators of the language: `12,000`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push_str(t().numbers.thousands());
        }
        text.push(digit);
    }
    text
}

/// Rounds a number to two or three significant digits.
fn rounded(value: f64) -> String {
    let digits = match value.abs() {
        ..1.0 => 2,
        ..10.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        let text = text.trim_end_matches('0').trim_end_matches('.');
        text.replace('.', t().numbers.decimal())
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::messages::{Language, set_language};

    #[test]
    fn german_numbers_have_decimal_commas_and_thousands_points() {
        set_language(Language::German);
        assert_eq!(cores(0.254), "0,25");
        assert_eq!(bytes(1.5 * 1_099_511_627_776.0), "1,5 TiB");
        assert_eq!(count(1_234_567), "1.234.567");
    }

    #[test]
    fn one_core_is_singular() {
        for (value, expected) in [
            (0.0, "0 cores"),
            (0.5, "0.5 cores"),
            (1.0, "1 core"),
            (1.004, "1 core"),
            (2.0, "2 cores"),
        ] {
            assert_eq!(cores_with_unit(value), expected);
        }
        set_language(Language::German);
        assert_eq!(cores_with_unit(1.0), "1 Kern");
        assert_eq!(cores_with_unit(1.5), "1,5 Kerne");
    }

    #[test]
    fn kubernetes_quantities_are_parsed() {
        for (text, expected) in [
            ("3500m", Some(3.5)),
            ("12", Some(12.0)),
            ("1Ki", Some(1024.0)),
            ("2Gi", Some(2_147_483_648.0)),
            ("1e3", Some(1000.0)),
            ("1E", Some(1e18)),
            ("1E2", Some(100.0)),
            ("-5k", Some(-5000.0)),
            (".5", Some(0.5)),
            ("", None),
            ("x", None),
            ("1 Gi", None),
            ("1Zi", None),
        ] {
            let read = parse(text);
            let same = match (read, expected) {
                (Some(read), Some(expected)) => (read - expected).abs() <= expected.abs() * 1e-9,
                (read, expected) => read == expected,
            };
            assert!(same, "{text}: {read:?}");
        }
    }

    #[test]
    fn quantities_are_rounded_for_display() {
        for (value, expected) in [
            (0.0, "0"),
            (0.254, "0.25"),
            (3.5, "3.5"),
            (3.04, "3"),
            (127.6, "128"),
        ] {
            assert_eq!(cores(value), expected);
        }
        for (value, expected) in [
            (0.0, "0 B"),
            (1023.0, "1 KiB"),
            (536_870_912.0, "512 MiB"),
            (1.5 * 1_099_511_627_776.0, "1.5 TiB"),
        ] {
            assert_eq!(bytes(value), expected);
        }
    }

    #[test]
    fn counts_are_displayed_with_thousands_separators() {
        for (value, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(value), expected);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_quantities_do_not_panic(text in "\\PC{0,24}") {
            if let Some(value) = parse(&text) {
                let _ = (cores(value), bytes(value));
            }
        }
    }
}
