//! Go's literals of strings, characters and numbers.

/// A number literal with all types that can represent the number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) int: Option<i64>,
    pub(crate) float: f64,
    /// The literal has a fraction or an exponent, so its type is `float64` by default.
    pub(crate) is_float: bool,
}

/// Decodes a literal in double quotes or backquotes, including the quotes.
pub(crate) fn unquote(literal: &str) -> Option<Vec<u8>> {
    if let Some(raw) = literal
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'))
    {
        return Some(raw.bytes().filter(|byte| *byte != b'\r').collect());
    }
    let mut rest = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unit, tail) = unescape(rest, '"')?;
        unit.append_to(&mut out);
        rest = tail;
    }
    Some(out)
}

/// Decodes a character literal, including the quotes.
pub(crate) fn character(literal: &str) -> Option<Number> {
    let rest = literal.strip_prefix('\'')?;
    let (unit, tail) = unescape(rest, '\'')?;
    let code = match unit {
        Unit::Byte(byte) => u32::from(byte),
        Unit::Char(character) => u32::from(character),
    };
    (tail == "'").then(|| Number {
        int: Some(i64::from(code)),
        float: f64::from(code),
        is_float: false,
    })
}

/// A decoded part of a literal. The escapes `\xFF` and `\377` encode single bytes.
enum Unit {
    Byte(u8),
    Char(char),
}

impl Unit {
    fn append_to(self, out: &mut Vec<u8>) {
        match self {
            Self::Byte(byte) => out.push(byte),
            Self::Char(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
}

fn unescape(text: &str, quote: char) -> Option<(Unit, &str)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    if first == quote || first == '\n' {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Char(first), characters.as_str()));
    }
    let escape = characters.next()?;
    let rest = characters.as_str();
    let simple = match escape {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '\\' => '\\',
        'x' => return hex(rest, 2),
        'u' => return hex(rest, 4),
        'U' => return hex(rest, 8),
        '0'..='7' => return octal(&text[1..]),
        other if other == quote => other,
        _ => return None,
    };
    Some((Unit::Char(simple), rest))
}

fn hex(text: &str, digits: usize) -> Option<(Unit, &str)> {
    let code = text.get(..digits)?;
    if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(code, 16).ok()?;
    let unit = if digits == 2 {
        Unit::Byte(u8::try_from(code).ok()?)
    } else {
        Unit::Char(char::from_u32(code)?)
    };
    Some((unit, &text[digits..]))
}

fn octal(text: &str) -> Option<(Unit, &str)> {
    let code = text.get(..3)?;
    if !code.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return None;
    }
    let code = u8::from_str_radix(code, 8).ok()?;
    Some((Unit::Byte(code), &text[3..]))
}

/// Decodes a number literal.
pub(crate) fn number(text: &str) -> Result<Number, String> {
    if text.ends_with('i') {
        return Err(format!("complex numbers such as {text} are not supported"));
    }
    let int = parse_int(text, 0);
    let uint = int.is_none().then(|| parse_uint(text, 0)).flatten();
    let has_float_form = text.contains(['.', 'e', 'E', 'p', 'P']);
    let is_hex_int = (text.starts_with("0x") || text.starts_with("0X"))
        && text.len() > 2
        && !text.contains(['p', 'P']);
    if let Some(int) = int {
        return Ok(Number {
            int: Some(int),
            float: to_float(int),
            is_float: false,
        });
    }
    if uint.is_some() {
        return Err(format!("{text} overflows int"));
    }
    let float = parse_float(text).ok_or_else(|| format!("illegal number syntax: {text:?}"))?;
    if !has_float_form {
        return Err(format!("integer overflow: {text:?}"));
    }
    let whole = float.fract() == 0.0 && float.abs() < 9.3e18;
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    let int = (whole && float < 9_223_372_036_854_775_808.0).then_some(float as i64);
    Ok(Number {
        int,
        float,
        is_float: !is_hex_int,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Go's conversion of int to float64 rounds too"
)]
fn to_float(int: i64) -> f64 {
    int as f64
}

/// Parses an integer as Go's `strconv.ParseInt` does with 64 bits. The base 0 means a prefix.
pub(crate) fn parse_int(text: &str, base: u32) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = parse_uint(digits, base)?;
    let value = i128::from(magnitude);
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Parses an integer without a sign as Go's `strconv.ParseUint` does with 64 bits.
pub(crate) fn parse_uint(text: &str, base: u32) -> Option<u64> {
    if base != 0 {
        let valid = text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return valid
            .then(|| u64::from_str_radix(text, base).ok())
            .flatten();
    }
    let lower = text.to_ascii_lowercase();
    let (base, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    let has_prefix = lower.starts_with('0') && lower.len() > 1;
    if digits.contains('_') {
        let bad = digits.ends_with('_')
            || digits.contains("__")
            || (digits.starts_with('_') && !has_prefix);
        if bad {
            return None;
        }
    }
    let digits: String = digits.chars().filter(|digit| *digit != '_').collect();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(&digits, base).ok()
}

/// Reports whether each underscore separates two digits or a prefix and a digit.
fn are_underscores_valid(text: &str) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = text.as_bytes();
    (0..bytes.len()).all(|at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let follows = is_digit(before) || (at == 2 && matches!(before, Some(b'x' | b'X')));
        bytes[at] != b'_' || (follows && is_digit(bytes.get(at + 1)))
    })
}

/// Parses a number as Go's `strconv.ParseFloat` does. Overflows are errors.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    if ["inf", "infinity", "nan"].contains(&lower.as_str()) {
        return text.to_ascii_lowercase().parse().ok();
    }
    if !are_underscores_valid(&lower) {
        return None;
    }
    let digits = lower.replace('_', "");
    let is_decimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-');
    let value: f64 = if let Some(hex) = digits.strip_prefix("0x") {
        parse_hex_float(hex)?
    } else if digits.bytes().all(is_decimal) && !digits.starts_with(['+', '-']) {
        digits.parse().ok()?
    } else {
        return None;
    };
    let value = if text.starts_with('-') { -value } else { value };
    value.is_finite().then_some(value)
}

/// Parses a hexadecimal number after its prefix. The mantissa has at most 64 bits.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().ok()?;
    let digits = format!("{whole}{fraction}");
    if digits.starts_with('+') {
        return None;
    }
    let mantissa = u64::from_str_radix(&digits, 16).ok()?;
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    let exponent = exponent.checked_sub(shift)?.clamp(-3_000, 3_000);
    #[expect(
        clippy::cast_precision_loss,
        reason = "the nearest number is the result"
    )]
    let mantissa = mantissa as f64;
    Some(mantissa * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2))
}
