//! Kubernetes quantities such as `500m` and `64Mi` (apimachinery `resource.Quantity`).
//!
//! A quantity is a decimal number with a suffix. The suffix is binary (`Ki`…`Ei`), decimal
//! (`n`…`E`) or an exponent (`e3`).

use std::fmt;

const NANO: i128 = 1_000_000_000;
/// The decimal suffixes with their powers of ten, from the smallest to the largest.
const DECIMAL_SUFFIXES: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// A quantity in billionths, with the family of its suffix.
///
/// The operator `==` compares the amount and the family. Compare the results of [`Self::nano`] to
/// ignore the family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Format {
    #[default]
    Decimal,
    Exponent,
    Binary,
}

/// Parse errors with the messages of apimachinery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with an optional suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The amount in billionths does not fit into 128 bits.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
}

impl Quantity {
    /// Parses a quantity. Fractions below a billionth are rounded away from zero.
    ///
    /// # Errors
    /// See [`QuantityError`].
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (number, suffix) = split(text)?;
        let (format, base, exponent) = parse_suffix(suffix).ok_or(QuantityError::Suffix)?;
        let (negative, digits) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if fraction.contains('.') {
            return Err(QuantityError::Format);
        }
        let shifted = format!("0{whole}{fraction}");
        let value: i128 = shifted.parse().map_err(|_| QuantityError::Numeric)?;
        let places = i32::try_from(fraction.len()).map_err(|_| QuantityError::Numeric)?;
        let nano = match base {
            10 => scaled(value, exponent.saturating_add(9).saturating_sub(places)),
            _ => 1_i128
                .checked_shl(exponent.unsigned_abs())
                .and_then(|factor| value.checked_mul(factor))
                .and_then(|value| scaled(value, 9 - places)),
        };
        let nano = nano.ok_or(QuantityError::Numeric)?;
        Ok(Self {
            nano: if negative { -nano } else { nano },
            format,
        })
    }

    /// Returns the canonical text of the quantity `text`, as the API server returns it.
    ///
    /// # Errors
    /// See [`QuantityError`].
    pub fn canonical(text: &str) -> Result<String, QuantityError> {
        let text = text.trim();
        match Self::parse(text) {
            Ok(_) if is_canonical(text) => Ok(text.to_owned()),
            Ok(quantity) => Ok(quantity.to_string()),
            // Valid in Kubernetes, but too large for 128 bits.
            Err(QuantityError::Numeric) => Ok(text.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Returns the amount in billionths.
    pub const fn nano(&self) -> i128 {
        self.nano
    }

    /// Returns the amount in whole units as a floating-point number.
    #[expect(
        clippy::cast_precision_loss,
        reason = "for display; callers need no more than 15 digits"
    )]
    pub fn as_f64(&self) -> f64 {
        self.nano as f64 / NANO as f64
    }

    /// Reports whether the amount is zero.
    pub const fn is_zero(&self) -> bool {
        self.nano == 0
    }

    /// Returns the sum. The result has the suffix family of `self`. If `self` is zero, the result
    /// has the suffix family of `other`.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_add(other.nano),
            format: if self.nano == 0 {
                other.format
            } else {
                self.format
            },
        }
    }

    /// Returns the difference, with the suffix family of `self`.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            nano: self.nano.saturating_sub(other.nano),
            format: self.format,
        }
    }

    /// Returns the quantity with the larger amount.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.nano > self.nano { other } else { self }
    }

    /// Returns the amount in thousandths, rounded away from zero.
    pub const fn milli(&self) -> i128 {
        let rest = self.nano % 1_000_000;
        self.nano / 1_000_000
            + if rest > 0 {
                1
            } else if rest < 0 {
                -1
            } else {
                0
            }
    }

    /// Returns the amount in whole units, rounded away from zero.
    pub const fn value(&self) -> i128 {
        let rest = self.nano % NANO;
        self.nano / NANO
            + if rest > 0 {
                1
            } else if rest < 0 {
                -1
            } else {
                0
            }
    }
}

impl fmt::Display for Quantity {
    /// Formats the canonical form. This form has the largest suffix for which the number is an
    /// integer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nano == 0 {
            return f.write_str("0");
        }
        let whole = self.nano / NANO;
        let as_binary = self.format == Format::Binary
            && self.nano % NANO == 0
            && !(-1024 < whole && whole < 1024);
        if as_binary {
            let mut number = whole;
            let mut power = 0;
            while number % 1024 == 0 && power < 6 {
                number /= 1024;
                power += 1;
            }
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power];
            return write!(f, "{number}{suffix}");
        }
        let mut number = self.nano;
        let mut power = 0;
        while number % 1000 == 0 && power + 1 < DECIMAL_SUFFIXES.len() {
            number /= 1000;
            power += 1;
        }
        let (suffix, exponent) = DECIMAL_SUFFIXES[power];
        match self.format {
            Format::Exponent if exponent == 0 => write!(f, "{number}"),
            Format::Exponent => write!(f, "{number}e{exponent}"),
            Format::Decimal | Format::Binary => write!(f, "{number}{suffix}"),
        }
    }
}

/// Splits the text into the signed number and the suffix.
fn split(text: &str) -> Result<(&str, &str), QuantityError> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let number = text[sign..]
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(text.len(), |end| end + sign);
    let suffix = &text[number..];
    let letters = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
    if text.is_empty() || number == sign || !exponent.chars().all(|c| c.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    Ok((&text[..number], suffix))
}

/// Returns the suffix family, the base and the exponent of a suffix.
fn parse_suffix(suffix: &str) -> Option<(Format, u32, i32)> {
    let decimal = |exponent| Some((Format::Decimal, 10, exponent));
    let binary = |exponent| Some((Format::Binary, 2, exponent));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            Some((Format::Exponent, 10, exponent.parse().ok()?))
        }
    }
}

/// Returns `value × 10^power`, rounded up; `None` on overflow.
fn scaled(value: i128, power: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return match factor {
            Some(factor) => value.checked_mul(factor),
            None => (value == 0).then_some(0),
        };
    }
    // The divisor exceeds 128 bits: round up to one billionth.
    let Some(factor) = factor else {
        return Some(i128::from(value > 0));
    };
    Some(value / factor + i128::from(value % factor != 0))
}

/// Reports whether apimachinery's `Quantity` formats the parsed text unchanged. Such a text has at
/// most 15 digits, at most two zeros at the end, and an exponent that is a multiple of three.
fn is_canonical(text: &str) -> bool {
    let Ok((number, suffix)) = split(text) else {
        return false;
    };
    let digits = number
        .trim_start_matches(['+', '-'])
        .trim_start_matches('0');
    if text == "0" {
        return true;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // Go parses a number without digits other than zero as zero.
    let whole = if whole.is_empty() { "0" } else { whole };
    let shifted = format!("{whole}{fraction}");
    let Some((format, _, exponent)) = parse_suffix(suffix) else {
        return false;
    };
    if digits.is_empty() || shifted.len() > 15 {
        return false;
    }
    match format {
        Format::Binary => {
            let value: i128 = shifted.parse().unwrap_or(0);
            fraction.is_empty() && value & 7 != 0
        }
        Format::Decimal | Format::Exponent => {
            let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
            let scale = exponent.saturating_sub(places);
            scale >= -9 && scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0')
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Quantity, QuantityError};

    #[test]
    fn canonical_quantity_form_matches_kube_apiserver() {
        for (written, read) in [
            ("0", "0"),
            ("0Mi", "0"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("64Mi", "64Mi"),
            ("1024Ki", "1Mi"),
            ("1000Ki", "1000Ki"),
            ("0.5Gi", "512Mi"),
            ("1.5Gi", "1536Mi"),
            ("1e3", "1e3"),
            ("2000000000", "2G"),
            ("-100Mi", "-100Mi"),
            ("0.0000000001", "1n"),
            ("100Ki", "100Ki"),
            ("512Ki", "512Ki"),
        ] {
            assert_eq!(Quantity::canonical(written).unwrap(), read, "{written}");
        }
    }

    #[test]
    fn malformed_quantity_returns_the_error_of_apimachinery() {
        assert_eq!(Quantity::parse(""), Err(QuantityError::Format));
        assert_eq!(Quantity::parse("abc"), Err(QuantityError::Format));
        assert_eq!(Quantity::parse("1.2.3"), Err(QuantityError::Format));
        assert_eq!(Quantity::parse("10Zi"), Err(QuantityError::Format));
        assert_eq!(Quantity::parse("10mm"), Err(QuantityError::Suffix));
        assert_eq!(Quantity::parse("1e2147483647"), Err(QuantityError::Numeric));
        assert_eq!(Quantity::parse("0.1e-2147483648").unwrap().nano(), 1);
        assert_eq!(Quantity::parse("250m").unwrap().milli(), 250);
        assert_eq!(Quantity::parse("1Gi").unwrap().value(), 1 << 30);
    }

    #[test]
    fn quantity_is_displayed_with_its_largest_exact_suffix() {
        for (text, written) in [
            ("1", "1"),
            (".5", "500m"),
            ("5.", "5"),
            ("1k", "1k"),
            ("1Ki", "1Ki"),
            ("1023Ki", "1023Ki"),
            ("0.5Ki", "512"),
            ("1E3", "1e3"),
            ("12E", "12E"),
            ("1e-3", "1e-3"),
            ("1n", "1n"),
            ("-2Ki", "-2Ki"),
            ("+3", "3"),
            ("24642172Ki", "24642172Ki"),
            ("8Ei", "8Ei"),
            ("110", "110"),
            ("1025", "1025"),
        ] {
            let read = Quantity::parse(text).unwrap();
            assert_eq!(read.to_string(), written, "{text}");
        }
    }

    #[test]
    fn malformed_quantities_are_rejected() {
        for text in [
            "-", "Ki", "1ki", "1 Ki", "1KiB", "0x10", "1e", "1e99", "e3", "１", "NaN", "--1", "1K",
        ] {
            assert!(Quantity::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sum_of_quantities_is_exact_and_has_a_suffix_of_its_terms() {
        for (terms, sum) in [
            (&["100m", "250m", "2"][..], "2350m"),
            (&["1Gi", "512Mi"], "1536Mi"),
            (&["1Gi", "1"], "1073741825"),
            (&["900m", "100m"], "1"),
            (&["500u", "500u"], "1m"),
            (&["12Ei", "12Ei"], "24Ei"),
        ] {
            let total = terms
                .iter()
                .map(|text| Quantity::parse(text).unwrap())
                .fold(Quantity::default(), Quantity::saturating_add);
            assert_eq!(total.to_string(), sum, "{terms:?}");
        }
    }

    proptest! {
        #[test]
        fn displayed_quantity_parses_to_the_same_amount(
            number in -1_000_000_i64..1_000_000,
            suffix in proptest::sample::select(vec![
                "n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
            ]),
        ) {
            let quantity = Quantity::parse(&format!("{number}{suffix}")).unwrap();
            let again = Quantity::parse(&quantity.to_string()).unwrap();
            prop_assert_eq!(quantity.nano(), again.nano());
        }

        #[test]
        fn quantity_parser_does_not_panic_on_arbitrary_text(text in ".*") {
            let _ = Quantity::parse(&text);
        }
    }
}
