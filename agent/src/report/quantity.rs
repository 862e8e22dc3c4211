//! Arithmetic on Kubernetes quantities, exact to a billionth.
//!
//! Grammar: apimachinery's `resource.Quantity`: a decimal number and a suffix that is binary
//! (`Ki`…`Ei`), decimal (`n`…`E`) or an exponent (`e3`).

use std::collections::BTreeMap;

/// A quantity in billionths, with the family of suffixes it is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantity {
    nanos: i128,
    binary: bool,
}

const NANO: i128 = 1_000_000_000;
/// More digits than any real quantity; keeps the arithmetic inside 128 bits.
const MOST_DIGITS: usize = 19;
const BINARY: [(&str, u32); 6] = [
    ("Ei", 60),
    ("Pi", 50),
    ("Ti", 40),
    ("Gi", 30),
    ("Mi", 20),
    ("Ki", 10),
];
/// Suffix and power of ten, in billionths.
const DECIMAL: [(&str, u32); 10] = [
    ("E", 27),
    ("P", 24),
    ("T", 21),
    ("G", 18),
    ("M", 15),
    ("k", 12),
    ("", 9),
    ("m", 6),
    ("u", 3),
    ("n", 0),
];

impl Quantity {
    /// Reads a quantity; `None` for anything that the API server would not accept.
    ///
    /// Fractions below a billionth are rounded up, as Kubernetes does.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = whole.len() + fraction.len();
        if digits == 0 || digits > MOST_DIGITS || fraction.contains('.') {
            return None;
        }
        let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
        let (multiplier, binary) = multiplier(suffix)?;
        let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        let product = mantissa.checked_mul(multiplier)?;
        let nanos = product / scale + i128::from(product % scale != 0);
        Some(Self {
            nanos: if negative { -nanos } else { nanos },
            binary,
        })
    }

    /// The sum; keeps the left side's suffixes unless it is zero.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let binary = if self.nanos == 0 {
            other.binary
        } else {
            self.binary
        };
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
            binary,
        }
    }

    /// The difference, in the left side's suffixes.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
            ..self
        }
    }

    /// The greater of two.
    #[must_use]
    pub fn or_more(self, other: Self) -> Self {
        if other.nanos > self.nanos {
            other
        } else {
            self
        }
    }

    /// Whether nothing is left.
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }
}

/// What a suffix multiplies by, in billionths, and whether it is binary.
fn multiplier(suffix: &str) -> Option<(i128, bool)> {
    if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((NANO << shift, true));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((10_i128.pow(*power), false));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = u32::try_from(exponent.checked_add(9)?).ok()?;
    (power <= 27).then(|| (10_i128.pow(power), false))
}

impl std::fmt::Display for Quantity {
    /// The canonical form: the largest suffix that leaves a whole number.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let whole = self.nanos / NANO;
        if self.binary && self.nanos % NANO == 0 && whole.unsigned_abs() >= 1024 {
            let fits = BINARY
                .iter()
                .find(|(_, shift)| whole % (1_i128 << shift) == 0);
            return match fits {
                Some((suffix, shift)) => write!(f, "{}{suffix}", whole >> shift),
                None => write!(f, "{whole}"),
            };
        }
        let (suffix, power) = DECIMAL
            .iter()
            .find(|(_, power)| self.nanos % 10_i128.pow(*power) == 0)
            .expect("every number of billionths is a multiple of one billionth");
        write!(f, "{}{suffix}", self.nanos / 10_i128.pow(*power))
    }
}

/// Quantities by resource name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(BTreeMap<String, Quantity>);

impl Amounts {
    /// Reads the quantities that parse; a resource that does not is left out.
    pub fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self(
            pairs
                .into_iter()
                .filter_map(|(name, text)| Some((name.to_owned(), Quantity::parse(text)?)))
                .collect(),
        )
    }

    /// Adds every resource of `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let sum = self.0.entry(name.clone()).or_default();
            *sum = sum.plus(*amount);
        }
    }

    /// Takes every resource of `other` away; what reaches zero is dropped.
    pub fn remove(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            if let Some(sum) = self.0.get_mut(name) {
                *sum = sum.minus(*amount);
            }
        }
        self.0.retain(|_, amount| !amount.is_zero());
    }

    /// Raises each resource to what `other` has of it.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let most = self.0.entry(name.clone()).or_default();
            *most = most.or_more(*amount);
        }
    }

    /// Replaces each resource that `other` names.
    pub fn overlay(&mut self, other: &Self) {
        self.0
            .extend(other.0.iter().map(|(name, amount)| (name.clone(), *amount)));
    }

    /// As Kubernetes writes them.
    pub fn written(&self) -> BTreeMap<String, String> {
        self.0
            .iter()
            .map(|(name, amount)| (name.clone(), amount.to_string()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_are_read_and_written_as_kubernetes_does() {
        for (text, written) in [
            ("0", "0"),
            ("1", "1"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("5.", "5"),
            ("1k", "1k"),
            ("1000", "1k"),
            ("1Ki", "1Ki"),
            ("1024Ki", "1Mi"),
            ("1023Ki", "1023Ki"),
            ("1.5Gi", "1536Mi"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1e3", "1k"),
            ("1E3", "1k"),
            ("12E", "12E"),
            ("1e-3", "1m"),
            ("1n", "1n"),
            ("0.0000000001", "1n"),
            ("-2Ki", "-2Ki"),
            ("+3", "3"),
            ("24642172Ki", "24642172Ki"),
            ("8Ei", "8Ei"),
            ("110", "110"),
            ("1025", "1025"),
        ] {
            let read = Quantity::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(read.to_string(), written, "{text}");
        }
    }

    #[test]
    fn malformed_quantities_are_refused() {
        for text in [
            "",
            "-",
            ".",
            "Ki",
            "1ki",
            "1 Ki",
            "1KiB",
            "1.2.3",
            "0x10",
            "1e",
            "1e99",
            "e3",
            "１",
            "99999999999999999999",
            "NaN",
            "--1",
            "1K",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn sums_are_exact_and_keep_their_suffixes() {
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
                .fold(Quantity::default(), Quantity::plus);
            assert_eq!(total.to_string(), sum, "{terms:?}");
        }
    }

    #[test]
    fn what_is_added_and_removed_again_leaves_nothing() {
        let mut sum = Amounts::read([("cpu", "1"), ("memory", "1Gi")]);
        let pod = Amounts::read([("cpu", "250m"), ("nvidia.com/gpu", "2"), ("bad", "x")]);
        sum.add(&pod);
        assert_eq!(sum.written()["cpu"], "1250m");
        assert!(!sum.written().contains_key("bad"));
        sum.remove(&pod);
        assert_eq!(sum, Amounts::read([("cpu", "1"), ("memory", "1Gi")]));
    }

    proptest! {
        #[test]
        fn writing_and_reading_again_changes_nothing(number in -1_000_000_i64..1_000_000, suffix in 0..16_usize) {
            let all: Vec<&str> =
                BINARY.iter().chain(DECIMAL.iter()).map(|(name, _)| *name).collect();
            let one = Quantity::parse(&format!("{number}{}", all[suffix])).unwrap();
            let again = Quantity::parse(&one.to_string()).unwrap();
            prop_assert_eq!(one.nanos, again.nanos);
        }

        #[test]
        fn no_text_panics_the_parser(text in ".*") {
            let _ = Quantity::parse(&text);
        }
    }
}
