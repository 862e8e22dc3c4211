//! The functions of `text/template` without the comparisons.

use super::Type::{Any, Str};
use super::{Args, Function, fixed, variadic};
use crate::error::CallError;
use crate::format::{self, is_print};
use crate::value::{Element, UintType, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    // The evaluator evaluates `and` and `or`.
    variadic("and", &[Any], Any, |args| Ok(args.any(0).clone())),
    variadic("or", &[Any], Any, |args| Ok(args.any(0).clone())),
    fixed("not", &[Any], |args| {
        Ok(Value::Bool(!args.any(0).is_true()))
    }),
    variadic("call", &[Any], Any, |args| {
        Err(format!("call of a value of type {}", args.any(0).type_name()).into())
    }),
    fixed("len", &[Any], length),
    variadic("index", &[Any], Any, index),
    variadic("print", &[], Any, |args| {
        Ok(Value::str(format::print(args.values, args.budget)?))
    }),
    variadic("println", &[], Any, |args| {
        Ok(Value::str(format::println(args.values, args.budget)?))
    }),
    variadic("printf", &[Str], Any, |args| {
        let text = format::printf(args.bytes(0), args.rest(1), args.budget)?;
        Ok(Value::str(text))
    }),
    variadic("html", &[], Any, |args| escape(args, html)),
    variadic("js", &[], Any, |args| escape(args, js)),
    variadic("urlquery", &[], Any, |args| escape(args, urlquery)),
];

fn count(length: usize) -> Value {
    Value::int(i64::try_from(length).unwrap_or(i64::MAX))
}

fn length(args: &Args<'_>) -> Result<Value, CallError> {
    match args.any(0) {
        Value::Str(text) => Ok(count(text.len())),
        Value::List(list) => Ok(count(list.items.len())),
        Value::Dict(dict) => Ok(count(dict.len())),
        other => Err(format!("len of type {}", other.type_name()).into()),
    }
}

fn position(index: &Value, length: usize) -> Result<usize, CallError> {
    let position = match index {
        Value::Int(_, number) => usize::try_from(*number).ok(),
        Value::Uint(_, number) => usize::try_from(*number).ok(),
        other => {
            let kind = other.type_name();
            return Err(format!("cannot index slice/array with type {kind}").into());
        }
    };
    position
        .filter(|position| *position < length)
        .ok_or_else(|| "index out of range".into())
}

fn index(args: &Args<'_>) -> Result<Value, CallError> {
    let mut item = args.any(0).clone();
    if matches!(item, Value::Nil) {
        return Err("index of untyped nil".into());
    }
    for index in args.rest(1) {
        args.budget.spend(1)?;
        item = match &item {
            Value::Str(text) => {
                let byte = text[position(index, text.len())?];
                Value::Uint(UintType::Uint8, u64::from(byte))
            }
            Value::List(list) => {
                let at = position(index, list.items.len())?;
                list.items.get(at).cloned().unwrap_or(Value::Nil)
            }
            Value::Dict(dict) => {
                let Value::Str(key) = index else {
                    let kind = index.type_name();
                    return Err(format!("value has type {kind}; should be string").into());
                };
                let missing = if dict.of_strings {
                    Value::str("")
                } else {
                    Value::Nil
                };
                dict.get(key).unwrap_or(missing)
            }
            other => {
                return Err(format!("can't index item of type {}", other.type_name()).into());
            }
        };
    }
    Ok(item)
}

/// Prints the arguments as an action does, and escapes the result.
fn escape(args: &Args<'_>, escape: fn(&[u8]) -> Vec<u8>) -> Result<Value, CallError> {
    let values = args.values.iter().map(|value| match value {
        Value::Nil => Value::str("<no value>"),
        other => other.clone(),
    });
    let text = format::print(&values.collect::<Vec<_>>(), args.budget)?;
    args.reserve(text.len(), 6)?;
    Ok(Value::str(escape(&text)))
}

fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(*other),
        }
    }
    out
}

fn js(text: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                '\'' => out.push_str("\\'"),
                '"' => out.push_str("\\\""),
                '<' => out.push_str("\\u003C"),
                '>' => out.push_str("\\u003E"),
                '&' => out.push_str("\\u0026"),
                '=' => out.push_str("\\u003D"),
                ' '..='\x7f' => out.push(character),
                _ if !character.is_ascii() && is_print(character) => out.push(character),
                _ => {
                    let code = format!("\\u{:04X}", u32::from(character));
                    out.push_str(&code);
                }
            }
        }
        for _ in chunk.invalid() {
            out.push('\u{fffd}');
        }
    }
    out.into_bytes()
}

/// Escapes a text as Go's `url.QueryEscape` does.
pub(super) fn urlquery(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            other => out.extend_from_slice(format!("%{other:02X}").as_bytes()),
        }
    }
    out
}

/// Returns the type of the elements of a slice, for functions that keep the type.
pub(super) fn element_of(value: &Value) -> Element {
    match value {
        Value::List(list) => list.element,
        _ => Element::Any,
    }
}
