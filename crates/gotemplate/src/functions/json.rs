//! Functions of JSON, with the format of Go's `encoding/json`.

use super::Type::{Any, Str};
use super::{Args, Function, fixed};
use crate::budget::{Budget, Limit, check_depth};
use crate::error::CallError;
use crate::format::format_float;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("fromJson", &[Str], |args| match parse(args) {
        Err(CallError::Failed(_)) => Ok(Value::Nil),
        other => other,
    }),
    fixed("mustFromJson", &[Str], parse),
    fixed("toJson", &[Any], |args| or_empty(encode(args, true, false))),
    fixed("toPrettyJson", &[Any], |args| {
        or_empty(encode(args, true, true))
    }),
    fixed("toRawJson", &[Any], |args| encode(args, false, false)),
    fixed("mustToJson", &[Any], |args| encode(args, true, false)),
    fixed("mustToPrettyJson", &[Any], |args| encode(args, true, true)),
    fixed("mustToRawJson", &[Any], |args| encode(args, false, false)),
];

fn or_empty(result: Result<Value, CallError>) -> Result<Value, CallError> {
    match result {
        Err(CallError::Failed(_)) => Ok(Value::str("")),
        other => other,
    }
}

fn parse(args: &Args<'_>) -> Result<Value, CallError> {
    let text = args.text(0);
    args.reserve(1, text.len())?;
    let json: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("invalid JSON: {error}"))?;
    Ok(Value::from_json(&json, args.budget, 0)?)
}

fn encode(args: &Args<'_>, escapes_html: bool, pretty: bool) -> Result<Value, CallError> {
    let mut encoder = Encoder {
        budget: args.budget,
        escapes_html,
        pretty,
        out: String::new(),
    };
    encoder.value(args.any(0), 0)?;
    Ok(Value::str(encoder.out))
}

struct Encoder<'a> {
    budget: &'a Budget,
    /// Writes `<`, `>` and `&` as `\u003c`, `\u003e` and `\u0026`.
    escapes_html: bool,
    pretty: bool,
    out: String,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value, depth: u32) -> Result<(), CallError> {
        check_depth(depth)?;
        self.budget.spend(1)?;
        match value {
            _ if value.is_nil() => self.out.push_str("null"),
            Value::Nil => {}
            Value::Bool(truth) => self.out.push_str(&truth.to_string()),
            Value::Int(_, number) => self.out.push_str(&number.to_string()),
            Value::Uint(_, number) => self.out.push_str(&number.to_string()),
            Value::Float(number) => self.float(*number)?,
            Value::Str(text) => self.string(text)?,
            Value::List(list) => {
                self.out.push('[');
                for (at, item) in list.items.iter().enumerate() {
                    self.separator(at, depth + 1)?;
                    self.value(item, depth + 1)?;
                }
                self.end(list.items.len(), depth)?;
                self.out.push(']');
            }
            Value::Dict(dict) => {
                self.out.push('{');
                let pairs = dict.snapshot(self.budget)?;
                let count = pairs.len();
                for (at, (key, item)) in pairs.into_iter().enumerate() {
                    self.separator(at, depth + 1)?;
                    self.string(&key)?;
                    self.out.push_str(if self.pretty { ": " } else { ":" });
                    self.value(&item, depth + 1)?;
                }
                self.end(count, depth)?;
                self.out.push('}');
            }
            Value::Time(time) => {
                let text = super::dates::format(*time, "2006-01-02T15:04:05.999999999Z07:00");
                self.string(text.as_bytes())?;
            }
            Value::Version(version) => self.string(version.to_string().as_bytes())?,
        }
        Ok(())
    }

    fn separator(&mut self, at: usize, depth: u32) -> Result<(), Limit> {
        if at > 0 {
            self.out.push(',');
        }
        self.line_break(depth)
    }

    fn end(&mut self, count: usize, depth: u32) -> Result<(), Limit> {
        if count > 0 {
            self.line_break(depth)?;
        }
        Ok(())
    }

    fn line_break(&mut self, depth: u32) -> Result<(), Limit> {
        if self.pretty {
            let spaces = usize::try_from(depth).unwrap_or(0) * 2;
            self.budget.spend_bytes(spaces)?;
            self.out.push('\n');
            self.out.push_str(&" ".repeat(spaces));
        }
        Ok(())
    }

    fn float(&mut self, number: f64) -> Result<(), CallError> {
        if !number.is_finite() {
            return Err("JSON has no infinite numbers".into());
        }
        let size = number.abs();
        let text = if size != 0.0 && !(1e-6..1e21).contains(&size) {
            let text = format_float(number, 'e', None);
            // JSON in Go has exponents without leading zeros.
            text.replace("e-0", "e-").replace("e+0", "e+")
        } else {
            format_float(number, 'f', None)
        };
        self.out.push_str(&text);
        Ok(())
    }

    fn string(&mut self, text: &[u8]) -> Result<(), Limit> {
        self.budget.spend_bytes(text.len().saturating_mul(6))?;
        self.out.push('"');
        for chunk in text.utf8_chunks() {
            for character in chunk.valid().chars() {
                self.character(character);
            }
            for _ in chunk.invalid() {
                self.out.push_str("\\ufffd");
            }
        }
        self.out.push('"');
        Ok(())
    }

    fn character(&mut self, character: char) {
        match character {
            '"' => self.out.push_str("\\\""),
            '\\' => self.out.push_str("\\\\"),
            '\x08' => self.out.push_str("\\b"),
            '\x0c' => self.out.push_str("\\f"),
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            '<' | '>' | '&' if !self.escapes_html => self.out.push(character),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let code = u32::from(character);
                let escape = format!("\\u{code:04x}");
                self.out.push_str(&escape);
            }
            other => self.out.push(other),
        }
    }
}
