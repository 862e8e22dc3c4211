//! Sorts the rows of a table.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Row, restarts};
use crate::column::Content;
use crate::severity::Severity;
use crate::span;

/// The sort order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sorts rows by severity, then by namespace and name.
    Trouble,
    /// Sorts rows by namespace, then by name.
    Namespace,
    /// Sorts rows by the column with this index.
    Column(usize),
}

/// The sort key of a row.
#[derive(Clone, Debug, PartialEq)]
enum Value<'a> {
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

/// Sorts rows. Equal rows are sorted by namespace and name.
pub fn sort(rows: &[Arc<Row>], by: Order, descending: bool) -> Vec<Arc<Row>> {
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    // The function computes each sort key once per row.
    let mut places: Vec<usize> = (0..rows.len()).collect();
    match by {
        Order::Trouble => places.sort_by(|a, b| {
            let (a, b) = (&rows[*a], &rows[*b]);
            turned(a.severity.cmp(&b.severity)).then_with(|| by_name(a, b))
        }),
        Order::Namespace => places.sort_by(|a, b| turned(by_name(&rows[*a], &rows[*b]))),
        Order::Column(column) => {
            let values: Vec<Value<'_>> = rows.iter().map(|row| value(row, column)).collect();
            places.sort_by(|a, b| {
                let found = values[*a].compare(&values[*b]);
                turned(found).then_with(|| by_name(&rows[*a], &rows[*b]))
            });
        }
    }
    places.into_iter().map(|at| Arc::clone(&rows[at])).collect()
}

fn by_name(a: &Row, b: &Row) -> Ordering {
    a.namespace
        .cmp(&b.namespace)
        .then_with(|| natural(&a.name, &b.name))
}

fn value(row: &Row, place: usize) -> Value<'_> {
    let Some((column, cell)) = row.columns.get(place).zip(row.cells.get(place)) else {
        return Value::Nothing;
    };
    let number = |text: &str| text.parse().ok().map(Value::Number);
    let read = match column.content {
        // Ages sort by creation time, newest first.
        Content::Age => row.made.map(|created| Value::Number(-seconds(created))),
        Content::Ago => span::before(cell, row.told).map(|then| Value::Number(-seconds(then))),
        Content::Duration => span::parse(cell).map(|span| Value::Number(span.as_secs_f64())),
        Content::Restarts => number(restarts(cell).0),
        Content::Ready | Content::Count | Content::Desired => match cell.split_once('/') {
            Some((a, b)) => a.parse().ok().zip(b.parse().ok()),
            None => None,
        }
        .map_or_else(|| number(cell), |(a, b)| Some(Value::Pair(a, b))),
        Content::Status => return Value::State(row.severity, cell),
        Content::Name | Content::Suspend | Content::Text => None,
    };
    read.unwrap_or(match cell.as_str() {
        "" | "<none>" | "<unknown>" => Value::Nothing,
        text => Value::Text(text),
    })
}

fn seconds(at: jiff::Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// Compares names in natural order: `web-9` before `web-10`, `v1.9` before `v1.10`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (number_a, number_b) = (digits(a), digits(b));
        if number_a > 0 && number_b > 0 {
            let (left, right) = (trimmed(&a[..number_a]), trimmed(&b[..number_b]));
            let found = left.len().cmp(&right.len()).then_with(|| left.cmp(right));
            if found != Ordering::Equal {
                return found;
            }
            (a, b) = (&a[number_a..], &b[number_b..]);
            continue;
        }
        match (a.split_first(), b.split_first()) {
            (Some((left, rest_a)), Some((right, rest_b))) if left == right => {
                (a, b) = (rest_a, rest_b);
            }
            (left, right) => return left.map(|it| it.0).cmp(&right.map(|it| it.0)),
        }
    }
}

fn digits(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| !byte.is_ascii_digit());
    end.unwrap_or(text.len())
}

fn trimmed(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|digit| **digit == b'0').count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_with_numbers_are_sorted_numerically() {
        for (less, more) in [
            ("web-9", "web-10"),
            ("v1.9.3", "v1.10.0"),
            ("a", "b"),
            ("a", "a1"),
            ("a1", "ab"),
            ("", "0"),
        ] {
            assert_eq!(natural(less, more), Ordering::Less, "{less} {more}");
            assert_eq!(natural(more, less), Ordering::Greater, "{more} {less}");
        }
        assert_eq!(natural("a-007", "a-7"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn natural_name_order_is_a_total_order(mut names in prop::collection::vec("[a-b0-2-]{0,6}", 0..24)) {
            // An inconsistent comparison would panic or leave rows unsorted.
            names.sort_by(|a, b| natural(a, b));
            for pair in names.windows(2) {
                prop_assert_ne!(natural(&pair[0], &pair[1]), Ordering::Greater);
            }
        }
    }
}
