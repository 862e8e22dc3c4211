//! Kubernetes' quantities, such as `500m` and `64Mi` (apimachinery `resource.Quantity`).

use std::fmt;

const NANO: i128 = 1_000_000_000;

/// A number of something, exact to a billionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// Why text is not a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a number and a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// A number, but no known suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// More digits than can be held.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
}

impl Quantity {
    /// Reads a quantity. What is finer than a billionth is rounded away from zero.
    ///
    /// # Errors
    /// See [`QuantityError`].
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (number, suffix) = split(text)?;
        let (format, base, exponent) = meaning(suffix).ok_or(QuantityError::Suffix)?;
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

    /// How the API server writes this text back: as it stands where that is canonical.
    ///
    /// # Errors
    /// See [`QuantityError`].
    pub fn canonical(text: &str) -> Result<String, QuantityError> {
        let text = text.trim();
        match Self::parse(text) {
            Ok(_) if is_kept(text) => Ok(text.to_owned()),
            Ok(quantity) => Ok(quantity.to_string()),
            // Beyond what can be held here, but right all the same.
            Err(QuantityError::Numeric) => Ok(text.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Billionths of one.
    pub const fn nano(&self) -> i128 {
        self.nano
    }

    /// Thousandths of one, rounded away from zero.
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

    /// Whole ones, rounded away from zero.
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
        while number % 1000 == 0 && power < 9 {
            number /= 1000;
            power += 1;
        }
        match self.format {
            Format::Exponent if power == 3 => write!(f, "{number}"),
            Format::Exponent => write!(f, "{number}e{}", power * 3 - 9),
            Format::Decimal | Format::Binary => {
                let suffix = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
                let suffix = suffix.get(usize::try_from(power).unwrap_or(3));
                write!(f, "{number}{}", suffix.copied().unwrap_or_default())
            }
        }
    }
}

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

fn meaning(suffix: &str) -> Option<(Format, u32, i32)> {
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

/// `value × 10^power`, rounded up, if it can be held.
fn scaled(value: i128, power: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return match factor {
            Some(factor) => value.checked_mul(factor),
            None => (value == 0).then_some(0),
        };
    }
    // A divisor beyond reach leaves the smallest amount there is.
    let Some(factor) = factor else {
        return Some(i128::from(value > 0));
    };
    Some(value / factor + i128::from(value % factor != 0))
}

/// Whether Go keeps the text: a number with no three zeros at its end, and a suffix of the series.
fn is_kept(text: &str) -> bool {
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
    // Nothing but zeros in front ends Go's reading early.
    let whole = if whole.is_empty() { "0" } else { whole };
    let shifted = format!("{whole}{fraction}");
    let Some((format, _, exponent)) = meaning(suffix) else {
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
    use super::{Quantity, QuantityError};

    #[test]
    fn quantities_are_written_back_as_kube_apiserver_does() {
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
    fn what_is_no_quantity_is_refused_in_the_words_of_apimachinery() {
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
}
