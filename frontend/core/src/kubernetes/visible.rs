//! The visible columns of a list: columns of the Kubernetes table, and columns that the page adds.

use drover_rows::{Columns, Content};

use crate::kind::Kind;
use crate::messages::t;

/// The URL key of the sort order by severity.
pub const TROUBLE: &str = "";
/// The key of the namespace column.
const NAMESPACE: &str = "namespace";
/// The key of the cluster column.
const CLUSTER: &str = "cluster";

/// The source of a column's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// A cell of the Kubernetes Table row, with its column index and its content type.
    Cell(usize, Content),
    /// The cluster of the object.
    Cluster,
    /// The namespace of the object.
    Namespace,
    /// The notes about the object, such as the taints of a node.
    Notes,
}

/// A visible column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleColumn {
    /// The source of the content.
    pub source: ColumnSource,
    /// The key of the column in URLs.
    pub key: String,
    /// The heading of the column.
    pub heading: String,
    /// The description of the column from the server.
    pub hint: Option<String>,
}

/// The scope of a list, which selects additional columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListScope {
    /// True if the list contains objects of several clusters.
    pub several_clusters: bool,
    /// True if the list contains objects of several namespaces.
    pub several_namespaces: bool,
}

/// Returns the visible columns. The cluster and the namespace follow the name, and the notes of
/// nodes follow.
pub fn visible(columns: &Columns, kind: Kind, scope: ListScope, wide: bool) -> Vec<VisibleColumn> {
    let added = |source, key: &str, heading: &str| VisibleColumn {
        source,
        key: key.to_owned(),
        heading: heading.to_owned(),
        hint: None,
    };
    let mut shown: Vec<VisibleColumn> = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| wide || !column.wide)
        .map(|(index, column)| VisibleColumn {
            source: ColumnSource::Cell(index, column.content),
            key: column.key.clone(),
            heading: column.name.clone(),
            hint: Some(column.description.clone()).filter(|hint| !hint.is_empty()),
        })
        .collect();
    let second = shown.len().min(1);
    if kind.namespaced && scope.several_namespaces {
        let namespace = added(ColumnSource::Namespace, NAMESPACE, t().labels.namespace());
        shown.insert(second, namespace);
    }
    if scope.several_clusters {
        let cluster = added(ColumnSource::Cluster, CLUSTER, t().labels.cluster());
        shown.insert(second, cluster);
    }
    if kind == Kind::NODES {
        let notes = added(ColumnSource::Notes, "", t().kinds.notes());
        shown.insert((second + 1).min(shown.len()), notes);
    }
    shown
}

#[cfg(test)]
mod tests {
    use drover_rows::Column;

    use super::*;

    fn columns() -> Columns {
        let column =
            |name: &str, wide| Column::new(name.to_owned(), "string", format!("The {name}."), wide);
        [
            column("Name", false),
            column("Status", false),
            column("Nominated Node", true),
            column("Age", false),
        ]
        .into()
    }

    fn keys(kind: Kind, several_namespaces: bool, wide: bool) -> Vec<String> {
        let scope = ListScope {
            several_namespaces,
            ..ListScope::default()
        };
        let shown = visible(&columns(), kind, scope, wide);
        shown.into_iter().map(|column| column.key).collect()
    }

    #[test]
    fn wide_list_shows_additional_columns_with_their_own_cells() {
        assert_eq!(keys(Kind::PODS, false, false), ["name", "status", "age"]);
        let wide = ["name", "status", "nominated-node", "age"];
        assert_eq!(keys(Kind::PODS, false, true), wide);
        let age = visible(&columns(), Kind::PODS, ListScope::default(), false).pop();
        // The index of the cell counts hidden columns.
        let source = age.map(|column| column.source);
        assert_eq!(source, Some(ColumnSource::Cell(3, Content::Age)));
    }

    #[test]
    fn list_of_all_namespaces_shows_the_namespace_in_the_second_column() {
        let expected = ["name", "namespace", "status", "age"];
        assert_eq!(keys(Kind::PODS, true, false), expected);
        let nodes = ["name", "status", "", "age"];
        assert_eq!(keys(Kind::NODES, true, false), nodes);
    }

    #[test]
    fn list_without_columns_shows_only_added_columns() {
        let none = Columns::from([]);
        let keys = |kind| {
            let scope = ListScope {
                several_clusters: false,
                several_namespaces: true,
            };
            let shown = visible(&none, kind, scope, true);
            shown.into_iter().map(|it| it.source).collect::<Vec<_>>()
        };
        assert_eq!(keys(Kind::PODS), [ColumnSource::Namespace]);
        assert_eq!(keys(Kind::NODES), [ColumnSource::Notes]);
    }
}
