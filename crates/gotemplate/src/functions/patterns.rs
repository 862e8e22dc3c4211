//! Functions of regular expressions.

use regex::bytes::Regex;

use super::Type::{Int, Str};
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::value::{Element, List, Value};

mod syntax;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("regexMatch", &[Str, Str], |args| match matches(args) {
        Err(CallError::Failed(_)) => Ok(Value::Bool(false)),
        other => other,
    }),
    fixed("mustRegexMatch", &[Str, Str], matches),
    fixed("regexFind", &[Str, Str], find),
    fixed("mustRegexFind", &[Str, Str], find),
    fixed("regexFindAll", &[Str, Str, Int], find_all),
    fixed("mustRegexFindAll", &[Str, Str, Int], find_all),
    fixed("regexReplaceAll", &[Str, Str, Str], |args| {
        replace(args, true)
    }),
    fixed("mustRegexReplaceAll", &[Str, Str, Str], |args| {
        replace(args, true)
    }),
    fixed("regexReplaceAllLiteral", &[Str, Str, Str], |args| {
        replace(args, false)
    }),
    fixed("mustRegexReplaceAllLiteral", &[Str, Str, Str], |args| {
        replace(args, false)
    }),
    fixed("regexSplit", &[Str, Str, Int], split),
    fixed("mustRegexSplit", &[Str, Str, Int], split),
    fixed("regexQuoteMeta", &[Str], quote_meta),
];

/// The steps of a compilation in addition to the length of the pattern.
const COMPILE_STEPS: usize = 2_000;

/// Compiles the pattern in the first argument, and charges the search in the second argument.
fn compile(args: &Args<'_>) -> Result<Regex, CallError> {
    let pattern = args.text(0);
    args.budget
        .spend(COMPILE_STEPS + pattern.len().saturating_mul(16))?;
    args.reserve(pattern.len() / 8 + 1, args.bytes(1).len())?;
    let translated = syntax::translate(&pattern)?;
    let mut builder = regex::bytes::RegexBuilder::new(&translated);
    let regex = builder.size_limit(1 << 19).nest_limit(100).build();
    Ok(regex.map_err(|_| "the regular expression is invalid or too large")?)
}

fn matches(args: &Args<'_>) -> Result<Value, CallError> {
    Ok(Value::Bool(compile(args)?.is_match(args.bytes(1))))
}

fn find(args: &Args<'_>) -> Result<Value, CallError> {
    let found = compile(args)?
        .find(args.bytes(1))
        .map(|found| found.as_bytes());
    Ok(Value::str(found.unwrap_or_default()))
}

/// Converts Go's maximum number of results, where a negative number means no maximum.
fn limit(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn find_all(args: &Args<'_>) -> Result<Value, CallError> {
    let regex = compile(args)?;
    let mut found = Vec::new();
    for item in regex.find_iter(args.bytes(1)).take(limit(args.int(2))) {
        args.budget.spend_bytes(item.len())?;
        found.push(Value::str(item.as_bytes()));
    }
    if found.is_empty() {
        return Ok(Value::List(List::nil(Element::Str)));
    }
    Ok(Value::List(List::new(Element::Str, found)))
}

fn replace(args: &Args<'_>, expands: bool) -> Result<Value, CallError> {
    let regex = compile(args)?;
    let (text, replacement) = (args.bytes(1), args.bytes(2));
    let mut out = Vec::new();
    let mut end = 0;
    for captures in regex.captures_iter(text) {
        let Some(found) = captures.get(0) else {
            continue;
        };
        out.extend_from_slice(&text[end..found.start()]);
        let start = out.len();
        if expands {
            // A reference such as `$1` needs two characters and inserts at most the match.
            let references = replacement.split(|byte| *byte == b'$').count();
            args.budget.spend(references)?;
            args.reserve(references, found.len())?;
            captures.expand(replacement, &mut out);
        } else {
            out.extend_from_slice(replacement);
        }
        args.budget
            .spend_bytes(found.start() - end + out.len() - start)?;
        end = found.end();
    }
    out.extend_from_slice(&text[end..]);
    Ok(Value::str(out))
}

fn split(args: &Args<'_>) -> Result<Value, CallError> {
    let regex = compile(args)?;
    let (text, limit) = (args.bytes(1), limit(args.int(2)));
    if limit == 0 {
        return Ok(Value::List(List::nil(Element::Str)));
    }
    if text.is_empty() && !args.bytes(0).is_empty() {
        return Ok(Value::strings([""]));
    }
    let mut parts = Vec::new();
    let (mut start, mut end) = (0, 0);
    for found in regex.find_iter(text).take(limit) {
        args.budget.spend(1)?;
        if limit != usize::MAX && parts.len() == limit - 1 {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            parts.push(&text[start..end]);
        }
        start = found.end();
    }
    if end != text.len() {
        parts.push(&text[start..]);
    }
    Ok(Value::strings(parts))
}

fn quote_meta(args: &Args<'_>) -> Result<Value, CallError> {
    args.reserve(2, args.bytes(0).len())?;
    let mut out = Vec::new();
    for byte in args.bytes(0) {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    Ok(Value::str(out))
}
