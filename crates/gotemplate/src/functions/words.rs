//! Functions that shorten and wrap texts. Positions count bytes, as in Go.

use super::Type::{Int, Str};
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("abbrev", &[Int, Str], |args| {
        let (width, text) = (args.int(0), args.bytes(1));
        Ok(Value::str(if width < 4 {
            text.to_vec()
        } else {
            abbreviate(text, 0, width)
        }))
    }),
    fixed("abbrevboth", &[Int, Int, Str], |args| {
        let (left, right, text) = (args.int(0), args.int(1), args.bytes(2));
        let unchanged = right < 4 || (left > 0 && right < 7);
        Ok(Value::str(if unchanged {
            text.to_vec()
        } else {
            abbreviate(text, left, right)
        }))
    }),
    fixed("initials", &[Str], |args| {
        Ok(Value::str(initials(args.bytes(0))))
    }),
    fixed("nospace", &[Str], |args| {
        Ok(Value::str(without_spaces(args.bytes(0))))
    }),
    fixed("plural", &[Str, Str, Int], |args| {
        Ok(args.any(usize::from(args.int(2) != 1)).clone())
    }),
    fixed("wrap", &[Int, Str], |args| {
        wrap(args, args.bytes(1), args.int(0), b"", false)
    }),
    fixed("wrapWith", &[Int, Str, Str], |args| {
        wrap(args, args.bytes(2), args.int(0), args.bytes(1), true)
    }),
];

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn abbreviate(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    const MARK: &[u8] = b"...";
    let width = size(width);
    if text.len() <= width {
        return text.to_vec();
    }
    let kept = width - 3;
    let mut offset = offset.min(i64::try_from(text.len()).unwrap_or(i64::MAX));
    let after = text.len() - size(offset);
    if offset >= 0 && after < kept {
        offset = i64::try_from(text.len() - kept).unwrap_or(i64::MAX);
    }
    if offset <= 4 {
        return [&text[..kept], MARK].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    let offset = size(offset);
    if offset + kept < text.len() {
        let rest = abbreviate(&text[offset..], 0, i64::try_from(kept).unwrap_or(0));
        return [MARK, &rest].concat();
    }
    [MARK, &text[text.len() - kept..]].concat()
}

/// Go reads each byte as a character.
fn is_space(byte: u8) -> bool {
    char::from(byte).is_whitespace()
}

fn initials(text: &[u8]) -> String {
    let mut after_space = true;
    let mut out = String::new();
    for byte in text {
        if is_space(*byte) {
            after_space = true;
        } else if std::mem::take(&mut after_space) {
            out.push(char::from(*byte));
        }
    }
    out
}

fn without_spaces(text: &[u8]) -> Vec<u8> {
    if !text.iter().any(|byte| is_space(*byte)) {
        return text.to_vec();
    }
    let kept = text.iter().filter(|byte| !is_space(**byte));
    kept.map(|byte| char::from(*byte))
        .collect::<String>()
        .into()
}

fn wrap(
    args: &Args<'_>,
    text: &[u8],
    width: i64,
    separator: &[u8],
    breaks_words: bool,
) -> Result<Value, CallError> {
    let separator = if separator.is_empty() {
        b"\n"
    } else {
        separator
    };
    let width = size(width).max(1);
    let mut out = Vec::new();
    let mut rest = text;
    while rest.len() > width {
        args.budget.spend_bytes(separator.len() + width)?;
        if rest[0] == b' ' {
            rest = &rest[1..];
            continue;
        }
        let space = rest[..=width].iter().rposition(|byte| *byte == b' ');
        let (line, next) = if let Some(at) = space {
            (at, at + 1)
        } else if breaks_words {
            (width, width)
        } else {
            let space = rest[width..].iter().position(|byte| *byte == b' ');
            let Some(at) = space else { break };
            (width + at, width + at + 1)
        };
        out.extend_from_slice(&rest[..line]);
        out.extend_from_slice(separator);
        rest = &rest[next..];
    }
    out.extend_from_slice(rest);
    Ok(Value::str(out))
}
