//! The sort order of rows.

use std::cmp::Ordering;

use crate::column::{Content, index_of};
use crate::natural::natural;
use crate::row::Row;
use crate::severity::Severity;
use crate::span;
use crate::usage::Resource;

/// The column by which a list is sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sorts rows by severity, then by namespace and name.
    Trouble,
    /// Sorts rows by namespace, then by name.
    Namespace,
    /// Sorts rows by cluster, then by namespace and name.
    Cluster,
    /// Sorts rows by the column with this key.
    Column(String),
}

impl Order {
    /// Returns the order for the key of a column in URLs. An empty key sorts by severity.
    pub fn of_key(key: &str) -> Self {
        match key {
            "" => Self::Trouble,
            "namespace" => Self::Namespace,
            "cluster" => Self::Cluster,
            key => Self::Column(key.to_owned()),
        }
    }
}

/// The sort order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorting {
    /// The column.
    pub order: Order,
    /// True for descending order. Rows of equal values are always sorted by name in ascending
    /// order.
    pub descending: bool,
}

/// The sort key of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// An unknown value. Unknown values sort before all known values.
    Nothing,
    Number(f64),
    Pair(f64, f64),
    Text(&'a str),
    /// A severity, and the status for rows of equal severity.
    State(Severity, &'a str),
}

impl Value<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Pair(a, b), Self::Pair(c, d)) => a.total_cmp(c).then(b.total_cmp(d)),
            (Self::Text(a), Self::Text(b)) => natural(a, b),
            (Self::State(a, left), Self::State(b, right)) => {
                a.cmp(b).then_with(|| natural(left, right))
            }
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Nothing => 0,
            Self::Number(_) => 1,
            Self::Pair(..) => 2,
            Self::Text(_) => 3,
            Self::State(..) => 4,
        }
    }
}

impl Sorting {
    /// Returns the sort key of a row.
    pub(crate) fn value<'a>(&self, row: &'a Row) -> Value<'a> {
        match &self.order {
            Order::Trouble => Value::State(row.severity, ""),
            Order::Namespace => Value::Text(row.namespace().unwrap_or_default()),
            Order::Cluster => Value::Text(&row.cluster),
            Order::Column(key) => match index_of(&row.columns, key) {
                Some(place) => value(row, place),
                None => usage(row, key),
            },
        }
    }

    /// Compares two rows with their sort keys. Different objects of a list are never equal.
    pub(crate) fn compare(
        &self,
        (a, left): (&Value<'_>, &Row),
        (b, right): (&Value<'_>, &Row),
    ) -> Ordering {
        let found = a.compare(b);
        let turned = if self.descending {
            found.reverse()
        } else {
            found
        };
        turned.then_with(|| left.by_name(right))
    }
}

fn value(row: &Row, place: usize) -> Value<'_> {
    let Some((column, cell)) = row.columns.get(place).zip(row.cell(place)) else {
        return Value::Nothing;
    };
    let number = |text: &str| text.parse().ok().map(Value::Number);
    let read = match column.content {
        // Ages sort by creation time, newest first.
        Content::Age => row.created.map(|created| Value::Number(-seconds(created))),
        Content::Ago => span::before(cell, row.observed).map(|then| Value::Number(-seconds(then))),
        Content::Duration => span::parse(cell).map(|span| Value::Number(span.as_secs_f64())),
        Content::Restarts => number(span::restarts(cell).0),
        Content::Ready | Content::Count | Content::Desired => match cell.split_once('/') {
            Some((a, b)) => a.parse().ok().zip(b.parse().ok()),
            None => None,
        }
        .map_or_else(|| number(cell), |(a, b)| Some(Value::Pair(a, b))),
        Content::Status => return Value::State(row.severity, cell),
        Content::Name
        | Content::Suspend
        | Content::Cpu
        | Content::Memory
        | Content::EventType
        | Content::Text => None,
    };
    read.unwrap_or(match cell {
        "" | "<none>" | "<unknown>" => Value::Nothing,
        text => Value::Text(text),
    })
}

/// Returns the sort key for a column of the usage, which the columns of a table do not contain.
#[expect(
    clippy::cast_precision_loss,
    reason = "amounts above 2^53 are not plausible"
)]
fn usage(row: &Row, key: &str) -> Value<'static> {
    let resource = match key {
        "cpu-usage" => Resource::Cpu,
        "memory-usage" => Resource::Memory,
        _ => return Value::Nothing,
    };
    let used = row.usage.map(|usage| usage.of(resource) as f64);
    used.map_or(Value::Nothing, Value::Number)
}

fn seconds(at: jiff::Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}
