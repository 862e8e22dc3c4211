//! Reads the verbs of a format.

use super::printer::{Flags, Printer};
use crate::budget::Budget;
use crate::error::CallError;
use crate::value::Value;

/// The maximum width and precision.
const MAX_NUMBER: usize = 1_000_000;

pub(super) struct Verbs<'a> {
    format: &'a [u8],
    values: &'a [Value],
    printer: Printer<'a>,
    /// The position in the format.
    at: usize,
    /// The index of the next value.
    next: usize,
    /// The format contains an index such as `[1]`.
    reordered: bool,
    /// The indexes of the current verb are valid.
    is_index_valid: bool,
    /// The last part of the current verb is an index.
    after_index: bool,
}

impl<'a> Verbs<'a> {
    pub(super) fn new(format: &'a [u8], values: &'a [Value], budget: &'a Budget) -> Self {
        Self {
            format,
            values,
            printer: Printer::new(budget),
            at: 0,
            next: 0,
            reordered: false,
            is_index_valid: true,
            after_index: false,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    pub(super) fn print(mut self) -> Result<Vec<u8>, CallError> {
        while self.at < self.format.len() {
            let rest = &self.format[self.at..];
            let text = rest.iter().position(|byte| *byte == b'%');
            let text = text.unwrap_or(rest.len());
            self.printer.write(&rest[..text])?;
            self.at += text;
            if self.at < self.format.len() {
                self.at += 1;
                self.verb()?;
            }
        }
        self.extra()?;
        Ok(self.printer.out)
    }

    fn verb(&mut self) -> Result<(), CallError> {
        self.printer.flags = Flags::default();
        self.is_index_valid = true;
        self.after_index = false;
        self.flags();
        self.index();
        self.width()?;
        self.precision()?;
        if !self.after_index {
            self.index();
        }
        let rest = &self.format[self.at..];
        let Some(chunk) = rest.utf8_chunks().next() else {
            return self.printer.write(b"%!(NOVERB)");
        };
        let verb = chunk.valid().chars().next().unwrap_or('\u{fffd}');
        let is_valid = !chunk.valid().is_empty();
        self.at += if is_valid { verb.len_utf8() } else { 1 };
        if verb == '%' {
            return self.printer.write(b"%");
        }
        if !self.is_index_valid {
            return self.printer.write(format!("%!{verb}(BADINDEX)").as_bytes());
        }
        let Some(value) = self.values.get(self.next) else {
            return self.printer.write(format!("%!{verb}(MISSING)").as_bytes());
        };
        self.next += 1;
        let flags = &mut self.printer.flags;
        if verb == 'v' {
            flags.go_syntax = std::mem::take(&mut flags.sharp);
            flags.plus = false;
        }
        if verb == 'w' {
            return self.printer.bad_verb(value, verb, 0);
        }
        self.printer.argument(value, verb)
    }

    fn flags(&mut self) {
        let flags = &mut self.printer.flags;
        while let Some(byte) = self.format.get(self.at) {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => return,
            }
            self.at += 1;
        }
    }

    fn width(&mut self) -> Result<(), CallError> {
        if self.peek() == Some(b'*') {
            self.at += 1;
            self.after_index = false;
            match self.number_argument() {
                None => self.printer.write(b"%!(BADWIDTH)")?,
                Some(width) => {
                    let flags = &mut self.printer.flags;
                    if width < 0 {
                        flags.minus = true;
                        flags.zero = false;
                    }
                    flags.width = usize::try_from(width.unsigned_abs()).ok();
                }
            }
            return Ok(());
        }
        self.printer.flags.width = self.number();
        if self.after_index && self.printer.flags.width.is_some() {
            self.is_index_valid = false;
        }
        Ok(())
    }

    fn precision(&mut self) -> Result<(), CallError> {
        if self.peek() != Some(b'.') || self.at + 1 >= self.format.len() {
            return Ok(());
        }
        self.at += 1;
        if self.after_index {
            self.is_index_valid = false;
        }
        self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            self.after_index = false;
            let precision = self.number_argument();
            self.printer.flags.precision = precision.and_then(|it| usize::try_from(it).ok());
            if self.printer.flags.precision.is_none() {
                self.printer.write(b"%!(BADPREC)")?;
            }
            return Ok(());
        }
        self.printer.flags.precision = Some(self.number().unwrap_or(0));
        Ok(())
    }

    /// Reads a decimal number.
    fn number(&mut self) -> Option<usize> {
        let rest = &self.format[self.at..];
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        let end = end.unwrap_or(rest.len());
        let digits = std::str::from_utf8(&rest[..end]).ok()?;
        let number = digits.parse().ok().filter(|it| *it <= MAX_NUMBER)?;
        self.at += end;
        Some(number)
    }

    /// Returns the next value as a width or a precision.
    fn number_argument(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        let number = match value {
            Value::Int(_, number) => *number,
            Value::Uint(_, number) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        let size = usize::try_from(number.unsigned_abs()).ok()?;
        (size <= MAX_NUMBER).then_some(number)
    }

    /// Reads an index such as `[1]`.
    fn index(&mut self) {
        self.after_index = false;
        if self.peek() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == b']') else {
            self.is_index_valid = false;
            self.at += 1;
            return;
        };
        let digits = std::str::from_utf8(&rest[1..end]).unwrap_or_default();
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: Option<usize> = digits.parse().ok().filter(|_| is_number);
        self.at += end + 1;
        self.after_index = number.is_some();
        match number.and_then(|number| number.checked_sub(1)) {
            Some(index) if index < self.values.len() => self.next = index,
            _ => self.is_index_valid = false,
        }
    }

    /// Prints the values that no verb used.
    fn extra(&mut self) -> Result<(), CallError> {
        if self.reordered || self.next >= self.values.len() {
            return Ok(());
        }
        self.printer.flags = Flags::default();
        self.printer.write(b"%!(EXTRA ")?;
        for (at, value) in self.values[self.next..].iter().enumerate() {
            if at > 0 {
                self.printer.write(b", ")?;
            }
            if matches!(value, Value::Nil) {
                self.printer.write(b"<nil>")?;
            } else {
                self.printer.write(value.type_name().as_bytes())?;
                self.printer.write(b"=")?;
                self.printer.argument(value, 'v')?;
            }
        }
        self.printer.write(b")")
    }
}
