//! Field selectors: `metadata.name=a,spec.nodeName!=b`.

use std::fmt;
use std::str::FromStr;

/// The reason why a field selector cannot be parsed. The messages are kube-apiserver's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// A term of the selector has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The complete text of the selector.
        selector: String,
        /// The term that has no operator.
        term: String,
    },
    /// A backslash precedes a character that needs no escape.
    #[error("invalid field selector: invalid escape sequence: {cause}", cause = .0)]
    Escape(String),
    /// A character lacks the required backslash. The message contains its code point.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

/// A requirement on one field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldTerm {
    /// A field path such as `metadata.name`.
    pub field: String,
    /// True if the operator is `!=`.
    pub negated: bool,
    /// The value after the operator.
    pub value: String,
}

/// A field selector. An object matches if the object meets all requirements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<FieldTerm>);

impl FieldSelector {
    /// Returns the requirements of the selector.
    pub fn terms(&self) -> &[FieldTerm] {
        &self.0
    }

    /// Reports whether the selector matches all objects.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports whether an object matches. `field` returns the value of a field. An absent field is
    /// empty.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<std::borrow::Cow<'a, str>>) -> bool {
        self.0.iter().all(|term| {
            let same = match field(&term.field) {
                Some(value) => value == term.value.as_str(),
                None => term.value.is_empty(),
            };
            same != term.negated
        })
    }

    /// Returns the value of the first requirement that a field equals a value. Returns `None` if
    /// the selector has no such requirement on the field.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|term| term.field == field && !term.negated)
            .map(|term| term.value.as_str())
    }
}

impl FromStr for FieldSelector {
    type Err = FieldSelectorError;

    fn from_str(selector: &str) -> Result<Self, FieldSelectorError> {
        let mut parts = split_terms(selector);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts {
            if part.is_empty() {
                continue;
            }
            let Some((field, negated, value)) = split_term(part) else {
                return Err(FieldSelectorError::Term {
                    selector: selector.to_owned(),
                    term: part.to_owned(),
                });
            };
            let value = unescape(value)?;
            // A term without field and value is not a condition.
            if !field.is_empty() || !value.is_empty() {
                terms.push(FieldTerm {
                    field: field.to_owned(),
                    negated,
                    value,
                });
            }
        }
        Ok(Self(terms))
    }
}

fn split_terms(selector: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, letter) in selector.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[start..]);
    parts
}

/// Splits a term at its first operator into field, negation and value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    for (at, _) in term.char_indices() {
        let rest = &term[at..];
        for (operator, negated) in [("!=", true), ("==", false), ("=", false)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((&term[..at], negated, value));
            }
        }
    }
    None
}

fn unescape(text: &str) -> Result<String, FieldSelectorError> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return Err(FieldSelectorError::Escape(format!("\\{other}"))),
                None => return Err(FieldSelectorError::Escape("\\".to_owned())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(letter)),
            letter => out.push(letter),
        }
    }
    Ok(out)
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace(',', "\\,")
        .replace('=', "\\=")
}

impl fmt::Display for FieldTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.negated { "!=" } else { "=" };
        write!(f, "{}{operator}{}", self.field, escape(&self.value))
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}
