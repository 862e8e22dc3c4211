//! Returns the path of the field in each line of a manifest in YAML, in the format of API servers:
//! block mappings and lists, two spaces per level, and list items at the indentation of their key.

use serde_json::Value;

/// A segment of the path of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// The key of a mapping.
    Key(String),
    /// The index of a list item.
    Item(usize),
}

impl Segment {
    /// Returns the child of a value, or `null`.
    pub(super) fn of<'a>(&self, value: &'a Value) -> &'a Value {
        let child = match self {
            Self::Key(key) => value.get(key),
            Self::Item(index) => value.get(index),
        };
        child.unwrap_or(&Value::Null)
    }
}

/// A segment with the column of its text.
struct Open {
    column: usize,
    segment: Segment,
}

/// Returns the path of the field in each line. Lines of a text with several lines have the path of
/// its field.
pub(super) fn paths(yaml: &str) -> Vec<Vec<Segment>> {
    let mut open: Vec<Open> = Vec::new();
    // The column of the key whose value is a text with several lines.
    let mut text: Option<usize> = None;
    let mut paths = Vec::new();
    for line in yaml.lines() {
        let column = line.len() - line.trim_start_matches(' ').len();
        let is_text = text.is_some_and(|key| column > key || line.trim().is_empty());
        if !is_text {
            text = open_line(&mut open, line, column);
        }
        paths.push(open.iter().map(|it| it.segment.clone()).collect());
    }
    paths
}

/// Opens the items and the key of a line. Returns the column of the key if its value can continue
/// in the next lines.
fn open_line(open: &mut Vec<Open>, line: &str, mut column: usize) -> Option<usize> {
    let mut rest = &line[column..];
    // An item of a list, also an item that is a list.
    while let Some(item) = rest
        .strip_prefix("- ")
        .or_else(|| (rest == "-").then_some(""))
    {
        // The item is inside of a key of the same column.
        let is_inside = |it: &Open| {
            it.column < column || (it.column == column && matches!(it.segment, Segment::Key(_)))
        };
        let last = close(open, |it| {
            is_inside(it) || (it.column == column && matches!(it.segment, Segment::Item(_)))
        });
        match last.map(|last| (&mut last.segment, last.column)) {
            Some((Segment::Item(index), at)) if at == column => *index += 1,
            _ => open.push(Open {
                column,
                segment: Segment::Item(0),
            }),
        }
        let spaces = item.len() - item.trim_start_matches(' ').len();
        column += 2 + spaces;
        rest = item.trim_start_matches(' ');
    }
    let key = key(rest);
    let Some((key, value)) = key else {
        // A scalar item, or the continuation of a text.
        return column.checked_sub(1);
    };
    close(open, |it| it.column < column);
    open.push(Open {
        column,
        segment: Segment::Key(key),
    });
    (!value.is_empty()).then_some(column)
}

/// Closes the segments at the end that do not contain the line. Returns the last open segment.
fn close(open: &mut Vec<Open>, contains: impl Fn(&Open) -> bool) -> Option<&mut Open> {
    while open.last().is_some_and(|last| !contains(last)) {
        open.pop();
    }
    open.last_mut()
}

/// Splits a line into the key and the value. Keys with quotation marks are in JSON or in single
/// quotation marks.
fn key(line: &str) -> Option<(String, &str)> {
    let quoted = |mark: char| {
        let end = line[1..].find(mark)? + 1;
        let value = line[end + 1..].strip_prefix(':')?;
        Some((line[1..end].to_owned(), value.trim()))
    };
    if let mark @ ('"' | '\'') = line.chars().next()? {
        return quoted(mark);
    }
    let end = line.find(": ").or_else(|| {
        let end = line.len().checked_sub(1)?;
        line.ends_with(':').then_some(end)
    })?;
    Some((line[..end].to_owned(), line[end + 1..].trim()))
}
