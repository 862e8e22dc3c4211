//! Lists of permitted values, and the objects that contain them.

use std::collections::BTreeSet;
use std::fmt;

use regex::RegexBuilder;

use super::Refusal;

/// Maximum number of permitted values in a message.
const MAX_SHOWN: usize = 10;
/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// Kinds and names of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origins(BTreeSet<String>);

impl Origins {
    pub(super) fn add(&mut self, origin: &str) {
        self.0.insert(origin.to_owned());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Origins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.0.iter()))
    }
}

/// The part of a value that a pattern matches.
#[derive(Clone, Copy)]
pub(super) enum Anchors {
    /// The pattern matches a part of the value.
    None,
    /// The pattern matches the complete value.
    Complete,
}

/// A list of permitted values or patterns. An empty list permits all values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    values: Vec<String>,
    origins: Origins,
}

impl List {
    pub(super) fn add(&mut self, values: &[String], origin: &str) {
        if !values.is_empty() {
            self.values.extend_from_slice(values);
            self.origins.add(origin);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn origins(&self) -> &Origins {
        &self.origins
    }

    /// Reports a value that is not in the list. An empty value is permitted.
    pub(super) fn check(
        &self,
        field: &str,
        value: &str,
        list: &'static str,
    ) -> Result<(), Refusal> {
        if value.is_empty() || self.is_empty() || self.values.iter().any(|it| it == value) {
            return Ok(());
        }
        Err(self.refusal(field, value, list))
    }

    /// Reports a value that no pattern matches. An entry that equals the value is sufficient.
    pub(super) fn check_pattern(
        &self,
        field: &str,
        value: &str,
        list: &'static str,
        anchors: Anchors,
    ) -> Result<(), Refusal> {
        if value.is_empty() || self.is_empty() {
            return Ok(());
        }
        for pattern in &self.values {
            if pattern == value {
                return Ok(());
            }
            let text = match anchors {
                Anchors::None => pattern.clone(),
                Anchors::Complete => format!("^(?:{pattern})$"),
            };
            let regex = RegexBuilder::new(&text).size_limit(MAX_PATTERN).build();
            let regex = regex.map_err(|_| Refusal::Pattern {
                list,
                origins: self.origins.to_string(),
                pattern: pattern.clone(),
            })?;
            if regex.is_match(value) {
                return Ok(());
            }
        }
        Err(self.refusal(field, value, list))
    }

    fn refusal(&self, field: &str, value: &str, list: &'static str) -> Refusal {
        Refusal::NotPermitted {
            field: field.to_owned(),
            value: value.to_owned(),
            list,
            origins: self.origins.to_string(),
            permitted: shown(self.values.iter()),
        }
    }
}

fn shown<'a>(values: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = values.len().saturating_sub(MAX_SHOWN);
    let shown: Vec<&str> = values.take(MAX_SHOWN).map(String::as_str).collect();
    let text = shown.join(", ");
    if more == 0 {
        text
    } else {
        format!("{text} and {more} more")
    }
}
