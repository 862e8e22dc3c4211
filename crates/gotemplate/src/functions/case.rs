//! Functions that change the case of letters.

use super::Type::Str;
use super::{Args, Function, fixed};
use crate::error::CallError;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("upper", &[Str], |args| {
        convert(args, |it| it.chars().map(upper).collect())
    }),
    fixed("lower", &[Str], |args| {
        convert(args, |it| it.chars().map(lower).collect())
    }),
    fixed("title", &[Str], |args| convert(args, title)),
    fixed("untitle", &[Str], |args| convert(args, untitle)),
    fixed("swapcase", &[Str], |args| convert(args, swap)),
    fixed("camelcase", &[Str], |args| convert(args, pascal)),
    fixed("snakecase", &[Str], |args| {
        convert(args, |it| separated(it, '_'))
    }),
    fixed("kebabcase", &[Str], |args| {
        convert(args, |it| separated(it, '-'))
    }),
];

fn convert(args: &Args<'_>, convert: fn(&str) -> String) -> Result<Value, CallError> {
    args.reserve(args.bytes(0).len(), 4)?;
    Ok(Value::str(convert(&args.text(0))))
}

/// Converts a character as Go's `unicode.ToUpper` does, which never returns several characters.
fn upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => character,
    }
}

/// Converts a character as Go's `unicode.ToLower` does.
fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

fn title(text: &str) -> String {
    let mut after_separator = true;
    let convert = |character: char| {
        let converted = if after_separator {
            upper(character)
        } else {
            character
        };
        after_separator = if character.is_ascii() {
            !character.is_ascii_alphanumeric() && character != '_'
        } else {
            character.is_whitespace()
        };
        converted
    };
    text.chars().map(convert).collect()
}

fn untitle(text: &str) -> String {
    let mut after_space = true;
    let convert = |character: char| {
        let starts_word = after_space && !character.is_whitespace();
        after_space = character.is_whitespace();
        if starts_word {
            lower(character)
        } else {
            character
        }
    };
    text.chars().map(convert).collect()
}

fn swap(text: &str) -> String {
    let convert = |character: char| {
        if character.is_uppercase() {
            lower(character)
        } else if character.is_lowercase() {
            upper(character)
        } else {
            character
        }
    };
    text.chars().map(convert).collect()
}

fn is_connector(character: char) -> bool {
    character == '-' || character == '_' || character.is_whitespace()
}

/// Converts a text to `PascalCase`. Connectors at the start stay.
fn pascal(text: &str) -> String {
    let start = text.len() - text.trim_start_matches(is_connector).len();
    let mut out = text[..start].to_owned();
    let mut characters = text[start..].chars();
    let Some(first) = characters.next() else {
        // The Go library repeats the last connector of a text that contains only connectors.
        out.extend(text.chars().next_back());
        return out;
    };
    let mut after_upper = first.is_uppercase();
    let mut previous = upper(first);
    for mut character in characters {
        if is_connector(character) && is_connector(previous) {
            out.push(previous);
            previous = character;
            continue;
        }
        if is_connector(previous) {
            after_upper = character.is_uppercase();
            character = upper(character);
        } else {
            if after_upper {
                if character.is_uppercase() {
                    character = lower(character);
                } else {
                    after_upper = false;
                }
            }
            out.push(previous);
        }
        previous = character;
    }
    out.push(previous);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    End,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

fn is_punctuation(character: char) -> bool {
    if character.is_ascii() {
        // Unicode classifies these ASCII characters as symbols.
        return character.is_ascii_punctuation()
            && !matches!(
                character,
                '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~'
            );
    }
    matches!(character, '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3003}' | '¡' | '§' | '«' | '¶' | '·' | '»' | '¿')
}

/// Splits the first word from a text.
fn next_word(text: &str) -> (Word, &str, &str) {
    let Some(first) = text.chars().next() else {
        return (Word::End, "", "");
    };
    let after = &text[first.len_utf8()..];
    let run = |rest: &str, member: &dyn Fn(char) -> bool| {
        text.len() - rest.trim_start_matches(member).len()
    };
    let is_lower = |it: char| it.is_alphabetic() && !it.is_uppercase();
    let (word, end) = if is_connector(first) {
        (Word::Connector, run(after, &is_connector))
    } else if is_punctuation(first) {
        (Word::Punctuation, run(after, &is_punctuation))
    } else if first.is_uppercase() {
        (Word::Upper, upper_word(text, after))
    } else if first.is_alphabetic() {
        (Word::Alphabet, run(after, &is_lower))
    } else if first.is_numeric() {
        (Word::Number, run(after, &char::is_numeric))
    } else {
        let is_other = |it: char| {
            !is_connector(it) && !it.is_alphabetic() && !it.is_numeric() && !is_punctuation(it)
        };
        (Word::Other, run(after, &is_other))
    };
    let (first, rest) = text.split_at(end);
    (word, first, rest)
}

/// Returns the end of a word that starts with an upper case letter. The last of several upper case
/// letters belongs to the next word if a lower case letter follows.
fn upper_word(text: &str, after: &str) -> usize {
    let start = text.len() - after.len();
    match after.chars().next() {
        Some(second) if second.is_uppercase() => {
            let rest = after.trim_start_matches(char::is_uppercase);
            let end = text.len() - rest.len();
            if rest.starts_with(char::is_alphabetic) {
                let last = text[..end].chars().next_back().map_or(0, char::len_utf8);
                end - last
            } else {
                end
            }
        }
        Some(second) if second.is_alphabetic() => {
            let rest =
                after.trim_start_matches(|it: char| it.is_alphabetic() && !it.is_uppercase());
            text.len() - rest.len()
        }
        _ => start,
    }
}

fn push_word(out: &mut String, kind: Word, word: &str, connector: char) {
    if !matches!(kind, Word::Upper | Word::Connector) {
        out.push_str(word);
        return;
    }
    out.extend(word.chars().map(|character| {
        if is_connector(character) {
            connector
        } else if character.is_uppercase() {
            lower(character)
        } else {
            character
        }
    }));
}

/// Separates the words of a text with a connector and converts the words to lower case.
fn separated(text: &str, connector: char) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut kind, mut word, mut rest) = next_word(text);
    while !rest.is_empty() {
        if kind != Word::Connector {
            push_word(&mut out, kind, word, connector);
        }
        let previous = (kind, word);
        (kind, word, rest) = next_word(rest);
        match previous.0 {
            Word::Number => {
                while matches!(kind, Word::Alphabet | Word::Number) {
                    push_word(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, Word::End | Word::Punctuation | Word::Connector) {
                    out.push(connector);
                }
            }
            Word::Connector => push_word(&mut out, previous.0, previous.1, connector),
            Word::Punctuation => {}
            _ if kind != Word::Number => {
                if !matches!(kind, Word::Connector | Word::Punctuation) {
                    out.push(connector);
                }
            }
            _ if rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word, rest) = next_word(rest);
                if kind != Word::Alphabet {
                    push_word(&mut out, Word::Number, number, connector);
                    if !matches!(kind, Word::Connector | Word::Punctuation) {
                        out.push(connector);
                    }
                    continue;
                }
                out.push(connector);
                push_word(&mut out, Word::Number, number, connector);
                while matches!(kind, Word::Alphabet | Word::Number) {
                    push_word(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, Word::End | Word::Connector | Word::Punctuation) {
                    out.push(connector);
                }
            }
        }
    }
    push_word(&mut out, kind, word, connector);
    out
}
