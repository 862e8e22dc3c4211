//! Patterns with the semantics of Go's `path/filepath`: `*`, `?`, `[a-z]` and `\`, in one path segment.

use thiserror::Error;

/// A pattern that is not valid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the pattern {0:?} is not valid: close each \"[\", and end no pattern with \"\\\"")]
pub struct PatternError(String);

/// Reports whether a name matches a pattern. `*` matches no `/`.
///
/// # Errors
///
/// The pattern is not valid.
pub fn matches(pattern: &str, name: &str) -> Result<bool, PatternError> {
    let parts = parse(pattern).ok_or_else(|| PatternError(pattern.to_owned()))?;
    let chars: Vec<char> = name.chars().collect();
    Ok(matches_parts(&parts, &chars))
}

/// Reports whether a text has characters with a special meaning in patterns.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '\\'])
}

#[derive(Debug)]
enum Part {
    Star,
    Any,
    Char(char),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

fn parse(pattern: &str) -> Option<Vec<Part>> {
    let mut chars = pattern.chars().peekable();
    let mut parts = Vec::new();
    while let Some(char) = chars.next() {
        parts.push(match char {
            '*' => Part::Star,
            '?' => Part::Any,
            '\\' => Part::Char(chars.next()?),
            '[' => {
                let negated = chars.next_if_eq(&'^').is_some();
                let mut ranges = Vec::new();
                loop {
                    if !ranges.is_empty() && chars.next_if_eq(&']').is_some() {
                        break;
                    }
                    let low = class_char(&mut chars)?;
                    let is_range = chars.next_if_eq(&'-').is_some();
                    let high = if is_range {
                        class_char(&mut chars)?
                    } else {
                        low
                    };
                    ranges.push((low, high));
                }
                Part::Class { negated, ranges }
            }
            char => Part::Char(char),
        });
    }
    Some(parts)
}

fn class_char(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match chars.next()? {
        '\\' => chars.next(),
        '-' | ']' => None,
        char => Some(char),
    }
}

/// Matches with one retry position, so the time is at most the product of both lengths.
fn matches_parts(parts: &[Part], name: &[char]) -> bool {
    let (mut part, mut char) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while char < name.len() || part < parts.len() {
        let step = match parts.get(part) {
            Some(Part::Star) => {
                retry = Some((part, char + 1));
                part += 1;
                continue;
            }
            Some(Part::Any) => name.get(char).is_some_and(|it| *it != '/'),
            Some(Part::Char(wanted)) => name.get(char) == Some(wanted),
            Some(Part::Class { negated, ranges }) => name.get(char).is_some_and(|it| {
                ranges.iter().any(|(low, high)| low <= it && it <= high) != *negated
            }),
            None => false,
        };
        if step {
            part += 1;
            char += 1;
            continue;
        }
        match retry {
            Some((star, next)) if next <= name.len() && name[next - 1] != '/' => {
                part = star;
                char = next;
            }
            _ => return false,
        }
    }
    true
}
