//! Functions of strings. Positions count bytes, as in Go.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Type::{Any, Int, Str};
use super::{Args, Function, fixed, variadic};
use crate::error::CallError;
use crate::format::{self, quote};
use crate::value::{Bytes, Dict, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("hello", &[], |_| Ok(Value::str("Hello!"))),
    fixed("trim", &[Str], |args| Ok(Value::str(trim(args.bytes(0))))),
    fixed("trimAll", &[Str, Str], trim_all),
    fixed("trimall", &[Str, Str], trim_all),
    fixed("trimSuffix", &[Str, Str], |args| {
        let text = args.bytes(1);
        Ok(Value::str(text.strip_suffix(args.bytes(0)).unwrap_or(text)))
    }),
    fixed("trimPrefix", &[Str, Str], |args| {
        let text = args.bytes(1);
        Ok(Value::str(text.strip_prefix(args.bytes(0)).unwrap_or(text)))
    }),
    fixed("contains", &[Str, Str], |args| {
        Ok(Value::Bool(find(args.bytes(1), args.bytes(0)).is_some()))
    }),
    fixed("hasPrefix", &[Str, Str], |args| {
        Ok(Value::Bool(args.bytes(1).starts_with(args.bytes(0))))
    }),
    fixed("hasSuffix", &[Str, Str], |args| {
        Ok(Value::Bool(args.bytes(1).ends_with(args.bytes(0))))
    }),
    variadic("quote", &[], Any, |args| {
        join_values(args, |args, value| {
            let text = args.string_of(value)?;
            args.reserve(text.len(), 4)?;
            Ok(quote(&text, '"', false).into_bytes())
        })
    }),
    variadic("squote", &[], Any, |args| {
        join_values(args, |args, value| {
            let text = format::display(value, args.budget)?;
            Ok([b"'", text.as_slice(), b"'"].concat())
        })
    }),
    variadic("cat", &[], Any, |args| {
        join_values(args, |args, value| format::display(value, args.budget))
    }),
    fixed("indent", &[Int, Str], |args| indent(args, "")),
    fixed("nindent", &[Int, Str], |args| indent(args, "\n")),
    fixed("replace", &[Str, Str, Str], replace),
    fixed("repeat", &[Int, Str], repeat),
    fixed("substr", &[Int, Int, Str], substring),
    fixed("trunc", &[Int, Str], |args| Ok(truncate(args))),
    fixed("toString", &[Any], |args| {
        Ok(Value::Str(args.string_of(args.any(0))?))
    }),
    fixed("toStrings", &[Any], |args| {
        Ok(Value::strings(strings_of(args, args.any(0))?))
    }),
    fixed("join", &[Str, Any], join),
    fixed("split", &[Str, Str], |args| {
        split_to_dict(args, args.bytes(1), None)
    }),
    fixed("splitn", &[Str, Int, Str], |args| {
        split_to_dict(args, args.bytes(2), usize::try_from(args.int(1)).ok())
    }),
    fixed("splitList", &[Str, Str], |args| {
        Ok(Value::strings(split(
            args,
            args.bytes(1),
            args.bytes(0),
            None,
        )?))
    }),
    fixed("sortAlpha", &[Any], sort),
];

/// Returns the position of `part` in a text.
pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

fn trim(text: &[u8]) -> &[u8] {
    std::str::from_utf8(text).map_or_else(|_| text.trim_ascii(), |text| text.trim().as_bytes())
}

fn trim_all(args: &Args<'_>) -> Result<Value, CallError> {
    let (characters, text) = (args.text(0), args.text(1));
    args.reserve(text.len(), characters.len())?;
    Ok(Value::str(text.trim_matches(|it| characters.contains(it))))
}

fn join_values(
    args: &Args<'_>,
    convert: impl Fn(&Args<'_>, &Value) -> Result<Vec<u8>, CallError>,
) -> Result<Value, CallError> {
    let values = args.values.iter().filter(|it| !matches!(it, Value::Nil));
    let texts = values.map(|value| convert(args, value));
    Ok(Value::str(
        texts.collect::<Result<Vec<_>, _>>()?.join(&b' '),
    ))
}

fn count(number: i64) -> Result<usize, CallError> {
    usize::try_from(number).map_err(|_| "negative count".into())
}

fn indent(args: &Args<'_>, before: &str) -> Result<Value, CallError> {
    let (width, text) = (count(args.int(0))?, args.bytes(1));
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    args.reserve(lines.len(), width)?;
    let pad = " ".repeat(width);
    let mut out = before.as_bytes().to_vec();
    for (at, line) in lines.into_iter().enumerate() {
        if at > 0 {
            out.push(b'\n');
        }
        out.extend_from_slice(pad.as_bytes());
        out.extend_from_slice(line);
    }
    Ok(Value::str(out))
}

fn replace(args: &Args<'_>) -> Result<Value, CallError> {
    let (old, new, text) = (args.bytes(0), args.bytes(1), args.bytes(2));
    args.reserve(1, text.len())?;
    let mut out = Vec::new();
    if old.is_empty() {
        args.reserve(text.len() + 1, new.len())?;
        for character in characters(text) {
            out.extend_from_slice(new);
            out.extend_from_slice(character);
        }
        out.extend_from_slice(new);
        return Ok(Value::str(out));
    }
    let mut rest = text;
    while let Some(at) = find(rest, old) {
        args.budget.spend_bytes(at + new.len())?;
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    Ok(Value::str(out))
}

fn repeat(args: &Args<'_>) -> Result<Value, CallError> {
    let (times, text) = (count(args.int(0))?, args.bytes(1));
    args.reserve(times, text.len())?;
    if text.is_empty() {
        return Ok(Value::str(""));
    }
    Ok(Value::str(text.repeat(times)))
}

fn substring(args: &Args<'_>) -> Result<Value, CallError> {
    let (start, end, text) = (args.int(0), args.int(1), args.bytes(2));
    let part = match (usize::try_from(start), usize::try_from(end)) {
        (Err(_), Ok(end)) => text.get(..end),
        (Err(_), Err(_)) => None,
        (Ok(start), Ok(end)) if end <= text.len() => text.get(start..end),
        (Ok(start), _) => text.get(start..),
    };
    Ok(Value::str(part.ok_or("slice bounds out of range")?))
}

fn truncate(args: &Args<'_>) -> Value {
    let (limit, text) = (args.int(0), args.bytes(1));
    let length = usize::try_from(limit.unsigned_abs()).unwrap_or(usize::MAX);
    Value::str(if length >= text.len() {
        text
    } else if limit < 0 {
        &text[text.len() - length..]
    } else {
        &text[..length]
    })
}

/// Splits a text into its characters. Invalid bytes are separate parts.
fn characters(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        let characters = valid.char_indices();
        parts.extend(characters.map(|(at, it)| &valid.as_bytes()[at..at + it.len_utf8()]));
        parts.extend(chunk.invalid().chunks(1));
    }
    parts
}

/// Splits a text at a separator into at most `limit` parts.
fn split<'t>(
    args: &Args<'_>,
    text: &'t [u8],
    separator: &[u8],
    limit: Option<usize>,
) -> Result<Vec<&'t [u8]>, CallError> {
    args.budget.spend(text.len() / 8 + 1)?;
    let limit = limit.unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Vec::new());
    }
    if separator.is_empty() {
        args.budget.spend(text.len())?;
        let mut parts = characters(text);
        if parts.len() > limit {
            let start: usize = parts[..limit - 1].iter().map(|part| part.len()).sum();
            parts.truncate(limit - 1);
            parts.push(&text[start..]);
        }
        return Ok(parts);
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = find(rest, separator).filter(|_| parts.len() + 1 < limit) {
        args.budget.spend(1)?;
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    Ok(parts)
}

fn split_to_dict(args: &Args<'_>, text: &[u8], limit: Option<usize>) -> Result<Value, CallError> {
    let mut entries = BTreeMap::new();
    for (at, part) in split(args, text, args.bytes(0), limit)?
        .into_iter()
        .enumerate()
    {
        args.budget.spend_bytes(part.len())?;
        entries.insert(Rc::from(format!("_{at}").as_bytes()), Value::str(part));
    }
    Ok(Value::Dict(Dict {
        of_strings: true,
        ..Dict::new(args.budget, entries)
    }))
}

/// Converts a value to a list of strings as sprig does.
fn strings_of(args: &Args<'_>, value: &Value) -> Result<Vec<Bytes>, CallError> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::List(list) => {
            args.budget.spend(list.items.len())?;
            let items = list.items.iter().filter(|it| !matches!(it, Value::Nil));
            items.map(|item| args.string_of(item)).collect()
        }
        other => Ok(vec![args.string_of(other)?]),
    }
}

fn join(args: &Args<'_>) -> Result<Value, CallError> {
    let parts = strings_of(args, args.any(1))?;
    let size: usize = parts.iter().map(|part| part.len()).sum();
    args.reserve(1, size)?;
    args.reserve(parts.len(), args.bytes(0).len())?;
    Ok(Value::str(parts.join(args.bytes(0))))
}

fn sort(args: &Args<'_>) -> Result<Value, CallError> {
    let mut texts = match args.any(0) {
        // A nil value has no kind of a list, so sprig prints the value.
        Value::Nil => vec![args.string_of(&Value::Nil)?],
        value => strings_of(args, value)?,
    };
    args.budget.spend(texts.len())?;
    texts.sort();
    Ok(Value::strings(texts))
}
