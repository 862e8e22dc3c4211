//! Paths of fields. An element of a path is a field name, the keys of a list item, the value of a
//! set item, or a list index.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::value;

/// An element of a path.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of an object, or a key of a map.
    Field(Arc<str>),
    /// The list item with these key fields. The key fields are sorted by name.
    Key(Arc<[(String, Value)]>),
    /// The set item with this value.
    Value(Arc<Value>),
    /// The list item at this index.
    Index(i64),
}

impl PathElement {
    /// Creates the path element of the field with this name.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Creates the path element of the list item with these key fields. The order of the key fields
    /// does not matter.
    pub fn key(mut fields: Vec<(String, Value)>) -> Self {
        fields.sort_by(|left, right| left.0.cmp(&right.0));
        Self::Key(fields.into())
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => value::compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

fn compare_keys(left: &[(String, Value)], right: &[(String, Value)]) -> Ordering {
    for (l, r) in left.iter().zip(right) {
        let order = l.0.cmp(&r.0).then_with(|| value::compare(&l.1, &r.1));
        if order != Ordering::Equal {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    /// Formats the element as in conflict messages: `.spec`, `[name="web"]`, `[="finalizer"]`,
    /// `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        match self {
            Self::Field(name) => return write!(f, ".{name}"),
            Self::Index(index) => return write!(f, "[{index}]"),
            Self::Key(fields) => {
                for (index, (name, field)) in fields.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(name);
                    text.push('=');
                    value::show(field, &mut text);
                }
            }
            Self::Value(item) => {
                text.push('=');
                value::show(item, &mut text);
            }
        }
        write!(f, "[{text}]")
    }
}

/// The path from an object to a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl Path {
    /// Creates a path of field names.
    pub fn fields(names: &[&str]) -> Self {
        Self(names.iter().map(|name| PathElement::field(name)).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}
