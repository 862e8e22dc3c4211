//! Suggestions for the text filter of a list.

use std::collections::BTreeSet;

use drover_rows::{Row, Severity};

use super::KnownList;
use crate::completion::{LastTerm, Suggestion};

/// The maximum number of suggested values of a column.
const MAX_VALUES: usize = 12;

/// The properties that not all lists have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// True for a list of several clusters.
    pub cluster: bool,
    /// True for a list of a namespaced kind.
    pub namespace: bool,
}

/// Returns the terms that can complete the last term of a filter. The values come from the rows that
/// the page knows. Returns no term for an empty last term.
pub fn suggestions(text: &str, list: &KnownList, properties: Properties) -> Vec<Suggestion> {
    let typed = LastTerm::of(text);
    let (sign, term) = match typed.term.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", typed.term),
    };
    if term.is_empty() {
        return Vec::new();
    }
    let lower = term.to_lowercase();
    let Some((name, value)) = lower.split_once(':') else {
        let names = names(list, properties);
        let fitting = names.iter().filter(|name| name.starts_with(&lower));
        return fitting
            .map(|name| typed.replaced_by(format!("{sign}{name}:"), ""))
            .collect();
    };
    let values = values(name, list).into_iter();
    let fitting = values.filter(|it| {
        let shown = it.to_lowercase();
        shown.contains(value) && shown != value
    });
    fitting
        .take(MAX_VALUES)
        .map(|value| typed.replaced_by(format!("{sign}{name}:{value}"), ""))
        .collect()
}

/// Returns the names of properties: the properties of all rows, and the columns.
fn names(list: &KnownList, properties: Properties) -> Vec<&str> {
    let mut names = vec!["state", "name"];
    if properties.cluster {
        names.push("cluster");
    }
    if properties.namespace {
        names.push("namespace");
    }
    for column in list.columns.iter() {
        let key = match &*column.key {
            "images" => "image",
            key => key,
        };
        if !names.contains(&key) {
            names.push(key);
        }
    }
    names
}

/// Returns the values of a property in the known rows. A value with white space would be several
/// terms, so it is no suggestion.
fn values(name: &str, list: &KnownList) -> BTreeSet<String> {
    if name == "state" {
        return Severity::ALL.map(|it| it.word().to_owned()).into();
    }
    let place = list.columns.iter().position(|column| column.key == name);
    let value = |row: &Row| match name {
        "cluster" => Some(row.cluster.to_string()),
        "namespace" => row.namespace().map(str::to_owned),
        "name" => None,
        _ => row.cell(place?).map(str::to_owned),
    };
    let values = list.window().filter_map(|(_, row)| value(row));
    values
        .filter(|value| !value.is_empty() && !value.contains(char::is_whitespace))
        .collect()
}

#[cfg(test)]
mod tests {
    use drover_rows::Column;
    use drover_rows::protocol::{Update, WireRow};
    use jiff::Timestamp;

    use super::*;

    fn row(id: u64, namespace: &str, node: &str) -> WireRow {
        WireRow {
            id,
            cluster: "east".to_owned(),
            namespace: namespace.to_owned(),
            name: "web".to_owned(),
            created: None,
            observed: Timestamp::UNIX_EPOCH,
            cells: vec!["web".to_owned(), node.to_owned()],
            notes: Vec::new(),
            usage: None,
            reserved: drover_rows::Amounts::default(),
        }
    }

    fn list() -> KnownList {
        let column = |name: &str| Column::new(name.to_owned(), "string", String::new(), false);
        let mut list = KnownList::default();
        list.apply(Update {
            columns: Some(vec![column("Name"), column("Node")]),
            order: Some(vec![1, 2, 3]),
            rows: vec![
                row(1, "shop", "worker-1"),
                row(2, "bank", "worker-2"),
                row(3, "bank", "not yet assigned"),
            ],
            ..Update::default()
        });
        list
    }

    fn texts(text: &str) -> Vec<String> {
        let all = Properties {
            cluster: true,
            namespace: true,
        };
        let found = suggestions(text, &list(), all).into_iter();
        found.map(|it| it.text).collect()
    }

    #[test]
    fn names_of_properties_and_columns_complete_a_term() {
        assert_eq!(texts("web n"), ["web name:", "web namespace:", "web node:"]);
        assert_eq!(texts("-st"), ["-state:"]);
        assert_eq!(texts("C"), ["cluster:"]);
        assert_eq!(texts("web "), Vec::<String>::new());
        assert_eq!(texts(""), Vec::<String>::new());
    }

    #[test]
    fn values_of_known_rows_complete_a_term() {
        assert_eq!(texts("namespace:"), ["namespace:bank", "namespace:shop"]);
        assert_eq!(texts("node:w"), ["node:worker-1", "node:worker-2"]);
        assert_eq!(texts("x -state:fai"), ["x -state:failing"]);
        assert_eq!(texts("state:failing"), Vec::<String>::new());
        assert_eq!(texts("app=web"), Vec::<String>::new());
    }
}
