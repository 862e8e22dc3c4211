//! Prints values with a verb and flags.

use super::{format_float, is_print, quote};
use crate::budget::{Budget, check_depth};
use crate::error::CallError;
use crate::value::{Dict, List, Value};

/// The flags, the width and the precision of a verb.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is one character of the format"
)]
pub(super) struct Flags {
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// The verb is `%#v`.
    pub(super) go_syntax: bool,
}

pub(super) struct Printer<'a> {
    budget: &'a Budget,
    pub(super) flags: Flags,
    pub(super) out: Vec<u8>,
}

fn unsupported(verb: char) -> CallError {
    CallError::Failed(format!("the verb %{verb} is not supported for this type"))
}

impl<'a> Printer<'a> {
    pub(super) fn new(budget: &'a Budget) -> Self {
        Self {
            budget,
            flags: Flags::default(),
            out: Vec::new(),
        }
    }

    pub(super) fn write(&mut self, text: &[u8]) -> Result<(), CallError> {
        self.budget.spend_bytes(text.len())?;
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn padding(&mut self, count: usize) -> Result<(), CallError> {
        self.budget.spend_bytes(count)?;
        let byte = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        self.out.resize(self.out.len() + count, byte);
        Ok(())
    }

    /// Writes a text with the padding of the width, which counts characters.
    fn pad(&mut self, text: &[u8]) -> Result<(), CallError> {
        let length = text.utf8_chunks().map(|chunk| {
            let invalid = usize::from(!chunk.invalid().is_empty()) * chunk.invalid().len();
            chunk.valid().chars().count() + invalid
        });
        let length: usize = length.sum();
        let missing = self.flags.width.unwrap_or(0).saturating_sub(length);
        if self.flags.minus {
            self.write(text)?;
            self.padding(missing)
        } else {
            self.padding(missing)?;
            self.write(text)
        }
    }

    fn pad_without_zeros(&mut self, text: &[u8]) -> Result<(), CallError> {
        let zero = std::mem::take(&mut self.flags.zero);
        let result = self.pad(text);
        self.flags.zero = zero;
        result
    }

    /// Prints an argument of a function.
    pub(super) fn argument(&mut self, value: &Value, verb: char) -> Result<(), CallError> {
        match (value, verb) {
            (Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Nil, _) => self.bad_verb(value, verb, 0),
            (_, 'T') => {
                let text = self.truncate(value.type_name().as_bytes()).to_vec();
                self.pad(&text)
            }
            (Value::List(_) | Value::Dict(_) | Value::Version(_), 'p') => Err(unsupported(verb)),
            (_, 'p') => self.bad_verb(value, verb, 0),
            _ => self.value(value, verb, 0),
        }
    }

    fn value(&mut self, value: &Value, verb: char, depth: u32) -> Result<(), CallError> {
        check_depth(depth)?;
        self.budget.spend(1)?;
        match value {
            Value::Nil if self.flags.go_syntax => self.write(b"interface {}(nil)"),
            Value::Nil => self.write(b"<nil>"),
            Value::Bool(truth) if matches!(verb, 't' | 'v') => {
                self.pad(if *truth { b"true" } else { b"false" })
            }
            Value::Int(_, number) => {
                self.integer(number.unsigned_abs(), *number < 0, true, verb, value)
            }
            Value::Uint(_, number) => self.integer(*number, false, false, verb, value),
            Value::Float(number) => self.float(*number, verb, value),
            Value::Str(text) => self.string(text, verb, value),
            Value::List(list) => self.list(list, value, verb, depth),
            Value::Dict(dict) => self.dict(dict, value, verb, depth),
            Value::Time(_) | Value::Version(_) => {
                if self.flags.go_syntax || !matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
                    return Err(unsupported(verb));
                }
                let text = match value {
                    Value::Time(time) => time.to_string(),
                    Value::Version(version) => version.to_string(),
                    _ => String::new(),
                };
                self.string(text.as_bytes(), verb, value)
            }
            Value::Bool(_) => self.bad_verb(value, verb, depth),
        }
    }

    pub(super) fn bad_verb(
        &mut self,
        value: &Value,
        verb: char,
        depth: u32,
    ) -> Result<(), CallError> {
        self.write(format!("%!{verb}(").as_bytes())?;
        if matches!(value, Value::Nil) {
            self.write(b"<nil>")?;
        } else {
            self.write(value.type_name().as_bytes())?;
            self.write(b"=")?;
            self.value(value, 'v', depth + 1)?;
        }
        self.write(b")")
    }

    /// Writes the type of a list or map in Go's syntax (`%#v`), and `(nil)` for a nil value. Reports
    /// whether the value is complete.
    fn is_nil_in_go_syntax(&mut self, value: &Value, is_nil: bool) -> Result<bool, CallError> {
        if !self.flags.go_syntax {
            return Ok(false);
        }
        self.write(value.type_name().as_bytes())?;
        if is_nil {
            self.write(b"(nil)")?;
        }
        Ok(is_nil)
    }

    fn list(
        &mut self,
        list: &List,
        value: &Value,
        verb: char,
        depth: u32,
    ) -> Result<(), CallError> {
        let go_syntax = self.flags.go_syntax;
        if self.is_nil_in_go_syntax(value, list.is_nil)? {
            return Ok(());
        }
        self.write(if go_syntax { b"{" } else { b"[" })?;
        for (at, item) in list.items.iter().enumerate() {
            if at > 0 {
                self.write(if go_syntax { b", " } else { b" " })?;
            }
            self.value(item, verb, depth + 1)?;
        }
        self.write(if go_syntax { b"}" } else { b"]" })
    }

    fn dict(
        &mut self,
        dict: &Dict,
        value: &Value,
        verb: char,
        depth: u32,
    ) -> Result<(), CallError> {
        let go_syntax = self.flags.go_syntax;
        if self.is_nil_in_go_syntax(value, dict.entries.is_none())? {
            return Ok(());
        }
        self.write(if go_syntax { b"{" } else { b"map[" })?;
        for (at, (key, item)) in dict.snapshot(self.budget)?.into_iter().enumerate() {
            if at > 0 {
                self.write(if go_syntax { b", " } else { b" " })?;
            }
            self.value(&Value::Str(key), verb, depth + 1)?;
            self.write(b":")?;
            self.value(&item, verb, depth + 1)?;
        }
        self.write(if go_syntax { b"}" } else { b"]" })
    }

    /// Cuts a text to the precision, which counts characters.
    fn truncate<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(mut left) = self.flags.precision else {
            return text;
        };
        let mut end = 0;
        for chunk in text.utf8_chunks() {
            let sizes = chunk.valid().chars().map(char::len_utf8);
            for size in sizes.chain(chunk.invalid().iter().map(|_| 1)) {
                if left == 0 {
                    return &text[..end];
                }
                left -= 1;
                end += size;
            }
        }
        text
    }

    fn string(&mut self, text: &[u8], verb: char, value: &Value) -> Result<(), CallError> {
        match verb {
            'v' if !self.flags.go_syntax => self.pad(self.truncate(text)),
            's' => self.pad(self.truncate(text)),
            'v' | 'q' => {
                let text = self.truncate(text);
                self.budget.spend_bytes(text.len())?;
                let raw = self.flags.sharp && can_use_backquotes(text);
                let quoted = if raw {
                    [b"`", text, b"`"].concat()
                } else {
                    quote(text, '"', self.flags.plus).into_bytes()
                };
                self.pad(&quoted)
            }
            'x' | 'X' => self.hex(text, verb == 'X'),
            _ => self.bad_verb(value, verb, 0),
        }
    }

    fn hex(&mut self, text: &[u8], upper: bool) -> Result<(), CallError> {
        let length = self
            .flags
            .precision
            .map_or(text.len(), |it| it.min(text.len()));
        let text = &text[..length];
        self.budget.spend_bytes(length.saturating_mul(5))?;
        let prefix = match (self.flags.sharp, upper) {
            (false, _) => "",
            (true, false) => "0x",
            (true, true) => "0X",
        };
        let mut out = String::new();
        for (at, byte) in text.iter().enumerate() {
            if at > 0 && self.flags.space {
                out.push(' ');
            }
            if at == 0 || self.flags.space {
                out.push_str(prefix);
            }
            let digits = if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            };
            out.push_str(&digits);
        }
        self.pad(out.as_bytes())
    }

    fn integer(
        &mut self,
        number: u64,
        negative: bool,
        signed: bool,
        verb: char,
        value: &Value,
    ) -> Result<(), CallError> {
        let character = u32::try_from(number).ok().filter(|_| !negative);
        let character = character.and_then(char::from_u32).unwrap_or('\u{fffd}');
        let digits = match verb {
            'v' if self.flags.go_syntax && !signed => format!("0x{number:x}"),
            'v' | 'd' => format!("{number}"),
            'b' => format!("{number:b}"),
            'o' | 'O' => format!("{number:o}"),
            'x' => format!("{number:x}"),
            'X' => format!("{number:X}"),
            'c' => return self.pad(character.encode_utf8(&mut [0; 4]).as_bytes()),
            'q' => {
                let text = character.to_string();
                return self.pad(quote(text.as_bytes(), '\'', self.flags.plus).as_bytes());
            }
            'U' => return self.unicode(number, negative),
            _ => return self.bad_verb(value, verb, 0),
        };
        self.digits(&digits, number == 0, negative, verb)
    }

    /// Writes the digits of an integer with leading zeros, a prefix and a sign.
    fn digits(
        &mut self,
        digits: &str,
        is_zero: bool,
        negative: bool,
        verb: char,
    ) -> Result<(), CallError> {
        let flags = self.flags;
        let has_sign = negative || flags.plus || flags.space;
        let mut minimum = 0;
        if let Some(precision) = flags.precision {
            if precision == 0 && is_zero {
                self.flags.zero = false;
                let result = self.padding(flags.width.unwrap_or(0));
                self.flags.zero = flags.zero;
                return result;
            }
            minimum = precision;
        } else if let Some(width) = flags.width.filter(|_| flags.zero && !flags.minus) {
            minimum = width.saturating_sub(usize::from(has_sign));
        }
        self.budget.spend_bytes(minimum)?;
        let mut text = format!("{digits:0>minimum$}");
        if flags.sharp {
            let prefix = match verb {
                'b' => "0b",
                'o' | 'O' if !text.starts_with('0') => "0",
                'x' => "0x",
                'X' => "0X",
                _ => "",
            };
            text.insert_str(0, prefix);
        }
        if verb == 'O' {
            text.insert_str(0, "0o");
        }
        if negative {
            text.insert(0, '-');
        } else if flags.plus {
            text.insert(0, '+');
        } else if flags.space {
            text.insert(0, ' ');
        }
        self.pad_without_zeros(text.as_bytes())
    }

    fn unicode(&mut self, number: u64, negative: bool) -> Result<(), CallError> {
        let code = if negative {
            number.wrapping_neg()
        } else {
            number
        };
        let width = self.flags.precision.unwrap_or(4).max(4);
        self.budget.spend_bytes(width)?;
        let mut text = format!("U+{code:0>width$X}");
        let character = u32::try_from(code).ok().and_then(char::from_u32);
        if let Some(character) = character.filter(|it| self.flags.sharp && is_print(*it)) {
            text.extend([' ', '\'', character, '\'']);
        }
        self.pad_without_zeros(text.as_bytes())
    }

    fn float(&mut self, number: f64, verb: char, value: &Value) -> Result<(), CallError> {
        let (verb, default) = match verb {
            'v' => ('g', None),
            'g' | 'G' => (verb, None),
            'e' | 'E' => (verb, Some(6)),
            'f' | 'F' => ('f', Some(6)),
            'b' | 'x' | 'X' => return Err(unsupported(verb)),
            _ => return self.bad_verb(value, verb, 0),
        };
        let precision = self.flags.precision.or(default);
        self.budget.spend_bytes(precision.unwrap_or(0) + 320)?;
        let text = format_float(number, verb, precision);
        let unsigned = text.trim_start_matches(['+', '-']);
        let sign = if text.starts_with('-') {
            "-"
        } else if self.flags.plus {
            "+"
        } else if self.flags.space {
            " "
        } else {
            ""
        };
        if !number.is_finite() {
            let sign = if number.is_infinite() && number > 0.0 && sign.is_empty() {
                "+"
            } else {
                sign
            };
            return self.pad_without_zeros(format!("{sign}{unsigned}").as_bytes());
        }
        if self.flags.sharp {
            return Err(unsupported(verb));
        }
        let width = self.flags.width.unwrap_or(0);
        let missing = width.saturating_sub(sign.len() + unsigned.len());
        if self.flags.zero && !self.flags.minus && !sign.is_empty() {
            self.write(sign.as_bytes())?;
            self.padding(missing)?;
            return self.write(unsigned.as_bytes());
        }
        self.pad(format!("{sign}{unsigned}").as_bytes())
    }
}

fn can_use_backquotes(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.chars().all(|character| {
            character != '`'
                && character != '\u{feff}'
                && character != '\x7f'
                && (character >= ' ' || character == '\t')
        })
    })
}
