//! Label selectors.

use std::collections::{BTreeMap, BTreeSet};

use drover_api::fleet::LabelSelector;
use thiserror::Error;

/// A label selector that is not valid.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SelectorError {
    /// The operator is unknown.
    #[error("the operator {0:?} is unknown: use In, NotIn, Exists or DoesNotExist")]
    Operator(String),
    /// The operator needs values.
    #[error("the operator {operator} of the label {key:?} needs at least one value")]
    NoValues {
        /// Key of the label.
        key: String,
        /// The operator.
        operator: String,
    },
    /// The operator permits no values.
    #[error("the operator {operator} of the label {key:?} permits no values")]
    Values {
        /// Key of the label.
        key: String,
        /// The operator.
        operator: String,
    },
    /// The key is not the key of a label.
    #[error(
        "{0:?} is not the key of a label: use at most 63 letters, digits, \"-\", \"_\" and \".\" after an optional DNS name and \"/\""
    )]
    Key(String),
    /// The value is not the value of a label.
    #[error(
        "{0:?} is not the value of a label: use at most 63 letters, digits, \"-\", \"_\" and \".\""
    )]
    Value(String),
}

#[derive(Clone, Debug)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
}

/// A compiled label selector. A selector without requirements matches all labels.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    requirements: Vec<(String, Test)>,
}

impl Selector {
    /// Compiles a selector.
    ///
    /// # Errors
    ///
    /// An operator, key or value is not valid.
    pub fn new(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let mut requirements = Vec::new();
        for (key, value) in &selector.match_labels {
            check_value(value)?;
            requirements.push((key.clone(), Test::In([value.clone()].into())));
        }
        for expression in &selector.match_expressions {
            let (key, operator) = (&expression.key, &expression.operator);
            let values: BTreeSet<String> = expression.values.iter().cloned().collect();
            values.iter().try_for_each(|value| check_value(value))?;
            let test = match (operator.as_str(), values.is_empty()) {
                ("In", false) => Test::In(values),
                ("NotIn", false) => Test::NotIn(values),
                ("Exists", true) => Test::Exists,
                ("DoesNotExist", true) => Test::DoesNotExist,
                ("In" | "NotIn", true) => {
                    let (key, operator) = (key.clone(), operator.clone());
                    return Err(SelectorError::NoValues { key, operator });
                }
                ("Exists" | "DoesNotExist", false) => {
                    let (key, operator) = (key.clone(), operator.clone());
                    return Err(SelectorError::Values { key, operator });
                }
                _ => return Err(SelectorError::Operator(operator.clone())),
            };
            requirements.push((key.clone(), test));
        }
        requirements
            .iter()
            .try_for_each(|(key, _)| check_key(key))?;
        Ok(Self { requirements })
    }

    /// Reports whether the selector matches labels.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|(key, test)| {
            let value = labels.get(key);
            match test {
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Test::Exists => value.is_some(),
                Test::DoesNotExist => value.is_none(),
            }
        })
    }
}

fn check_key(key: &str) -> Result<(), SelectorError> {
    let (prefix, name) = key
        .split_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let valid_prefix = prefix.is_none_or(|prefix| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix.split('.').all(|part| {
                let inner =
                    |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
                !part.is_empty()
                    && part.bytes().all(inner)
                    && !part.starts_with('-')
                    && !part.ends_with('-')
            })
    });
    if valid_prefix && !name.is_empty() && is_label_text(name) {
        return Ok(());
    }
    Err(SelectorError::Key(key.to_owned()))
}

fn check_value(value: &str) -> Result<(), SelectorError> {
    if value.is_empty() || is_label_text(value) {
        return Ok(());
    }
    Err(SelectorError::Value(value.to_owned()))
}

fn is_label_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}
