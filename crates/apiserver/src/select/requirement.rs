//! The requirements of label selectors.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

use crate::merge::quote;

/// The comparison operator of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// `key`: matches objects with the label
    Exists,
    /// `!key`: matches objects without the label
    DoesNotExist,
    /// `key in (a,b)`: matches objects with one of the label values
    In,
    /// `key notin (a,b)`: matches objects without the label, or with a value that is not in the
    /// list
    NotIn,
    /// `key=a`: matches objects with this label value
    Equals,
    /// `key==a`: matches objects with this label value
    DoubleEquals,
    /// `key!=a`: matches objects without the label, or with a value other than `a`
    NotEquals,
    /// `key>1`: matches objects whose label value is a number greater than 1
    GreaterThan,
    /// `key<1`: matches objects whose label value is a number less than 1
    LessThan,
}

/// An error of parsing a label selector, with kube-apiserver's message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub(super) String);

/// A requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    /// The values that the operator compares the label with, sorted. May contain duplicates.
    values: Vec<String>,
}

impl Requirement {
    /// Creates a requirement. `path` is the field path for errors, such as `spec.selector`.
    ///
    /// # Errors
    ///
    /// Fails if the key or a value is malformed, or if the operator does not allow this number of
    /// values.
    pub fn new(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = String>,
    ) -> Result<Self, SelectorError> {
        let mut values: Vec<String> = values.into_iter().collect();
        let faults = faults(key, operator, &values);
        match faults.as_slice() {
            [] => {
                values.sort_unstable();
                Ok(Self {
                    key: key.to_owned(),
                    operator,
                    values,
                })
            }
            [one] => Err(SelectorError(one.clone())),
            many => Err(SelectorError(format!("[{}]", many.join(", ")))),
        }
    }

    /// Returns the key of the label.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the comparison operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the values that the operator compares the label with.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str)
    }

    /// Reports whether the labels meet the requirement.
    pub fn matches(&self, labels: &Map<String, Value>) -> bool {
        let label = labels.get(&self.key).and_then(Value::as_str);
        match self.operator {
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                label.is_some_and(|label| self.has(label))
            }
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(|label| self.has(label)),
            Operator::GreaterThan => self.compared(label).is_some_and(|(l, r)| l > r),
            Operator::LessThan => self.compared(label).is_some_and(|(l, r)| l < r),
        }
    }

    fn has(&self, label: &str) -> bool {
        self.values.iter().any(|value| value == label)
    }

    fn compared(&self, label: Option<&str>) -> Option<(i64, i64)> {
        let bound = self.values.first()?;
        Some((label?.parse().ok()?, bound.parse().ok()?))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = self.values().collect();
        let values = values.join(",");
        let key = &self.key;
        match self.operator {
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// Returns all distinct validation errors of a requirement.
fn faults(key: &str, operator: Operator, values: &[String]) -> Vec<String> {
    let mut faults: Vec<String> = key_fault("key", key).into_iter().collect();
    if let Some(reason) = count_fault(operator, values.len()) {
        faults.push(format!(
            "values: Invalid value: {}: {reason}",
            go_strings(values)
        ));
    }
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (index, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                faults.push(format!(
                    "values[{index}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must \
                     be an integer",
                    quote(value)
                ));
            }
        }
    }
    for (index, value) in values.iter().enumerate() {
        let reason = label_value_faults(value);
        if !reason.is_empty() {
            faults.push(format!(
                "values[{index}][{key}]: Invalid value: {}: {}",
                quote(value),
                reason.join("; ")
            ));
        }
    }
    let mut seen = BTreeSet::new();
    faults.retain(|fault| seen.insert(fault.clone()));
    faults
}

fn count_fault(operator: Operator, count: usize) -> Option<&'static str> {
    match operator {
        Operator::In | Operator::NotIn if count == 0 => {
            Some("for 'in', 'notin' operators, values set can't be empty")
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if count != 1 => {
            Some("exact-match compatibility requires one single value")
        }
        Operator::Exists | Operator::DoesNotExist if count != 0 => {
            Some("values set must be empty for exists and does not exist")
        }
        Operator::GreaterThan | Operator::LessThan if count != 1 => {
            Some("for 'Gt', 'Lt' operators, exactly one value is required")
        }
        _ => None,
    }
}

/// Formats a list of strings as Go's errors do.
fn go_strings(values: &[String]) -> String {
    if values.is_empty() {
        return "null".to_owned();
    }
    let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
    format!("[{}]", quoted.join(","))
}

/// Returns the error for a malformed key, as a field error at a path.
pub(super) fn key_fault(path: &str, key: &str) -> Option<String> {
    let reason = label_key_faults(key);
    (!reason.is_empty()).then(|| {
        format!(
            "{path}: Invalid value: {}: {}",
            quote(key),
            reason.join("; ")
        )
    })
}

const NAME_LIMIT: usize = 63;
const SUBDOMAIN_LIMIT: usize = 253;

const NAME_WRONG: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
     and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
     used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const SUBDOMAIN_WRONG: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
     alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
     (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const VALUE_WRONG: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
     'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Returns the errors of a label or annotation key. The result is empty if the key is valid.
pub fn label_key_faults(key: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > SUBDOMAIN_LIMIT {
                    faults.push(format!(
                        "prefix part must be no more than {SUBDOMAIN_LIMIT} bytes"
                    ));
                }
                if !is_subdomain(prefix) {
                    faults.push(format!("prefix part {SUBDOMAIN_WRONG}"));
                }
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key {NAME_WRONG} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_LIMIT {
        faults.push(format!("name part must be no more than {NAME_LIMIT} bytes"));
    }
    if !is_name(name) {
        faults.push(format!("name part {NAME_WRONG}"));
    }
    faults
}

/// Returns the errors of a label value. The result is empty if the value is valid.
pub fn label_value_faults(value: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() > NAME_LIMIT {
        faults.push(format!("must be no more than {NAME_LIMIT} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        faults.push(VALUE_WRONG.to_owned());
    }
    faults
}

fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first())
        && ends(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn is_subdomain(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.split('.').all(|label| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
            && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
    })
}
