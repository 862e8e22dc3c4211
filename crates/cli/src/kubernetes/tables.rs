//! Tables that API servers create (`meta.k8s.io/v1` Table), and lists of objects.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::discovery::Resource;
use crate::table::age;

/// Accepts the table that the API server creates.
pub(crate) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// A table or a page of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TablePage {
    /// The columns. Empty in events of a watch after the first event.
    pub(crate) columns: Vec<Column>,
    /// The rows.
    pub(crate) rows: Vec<Row>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) struct Column {
    /// Heading of the column.
    pub(crate) name: String,
    /// 0 for columns of the normal output. All other columns belong to the wide output.
    #[serde(default)]
    pub(crate) priority: i64,
}

/// A row of a table.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
pub(crate) struct Row {
    /// The cells: texts, numbers, booleans or null.
    #[serde(default)]
    pub(crate) cells: Vec<Value>,
    /// The metadata of the object, or the complete object.
    #[serde(default)]
    pub(crate) object: Value,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTable {
    column_definitions: Option<Vec<Column>>,
    rows: Option<Vec<Row>>,
}

impl TablePage {
    /// Reads a response. API servers that do not create tables return the objects: the table then
    /// has the name and the age.
    pub(crate) fn from_response(response: Value, now: Timestamp) -> Self {
        if response["kind"] == "Table" {
            let table: WireTable = serde_json::from_value(response).unwrap_or_default();
            return Self {
                columns: table.column_definitions.unwrap_or_default(),
                rows: table.rows.unwrap_or_default(),
            };
        }
        let column = |name: &str| Column {
            name: name.to_owned(),
            priority: 0,
        };
        let row = |object: Value| {
            let created = object["metadata"]["creationTimestamp"].as_str();
            let created = created.and_then(|text| text.parse::<Timestamp>().ok());
            let age = created.map_or_else(|| "<unknown>".to_owned(), |at| age(at, now));
            Row {
                cells: vec![object["metadata"]["name"].clone(), age.into()],
                object,
            }
        };
        Self {
            columns: vec![column("Name"), column("Age")],
            rows: objects(response).into_iter().map(row).collect(),
        }
    }
}

/// Objects of a response.
#[derive(Debug)]
pub(crate) struct ObjectList;

impl ObjectList {
    /// Returns the objects of a list, or a single object. Adds the API version and the kind, which
    /// objects in lists do not have, and the annotation with the name of the cluster. Removes
    /// `managedFields`, as kubectl does.
    pub(crate) fn from_response(response: Value, resource: &Resource, cluster: &str) -> Vec<Value> {
        let mut found = objects(response);
        for object in &mut found {
            complete(object, resource, cluster);
        }
        found
    }
}

/// The annotation with the name of the cluster of an object in the output.
const CLUSTER_ANNOTATION: &str = "drover.dev/cluster";

fn complete(object: &mut Value, resource: &Resource, cluster: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    if !fields.contains_key("kind") {
        fields.insert("apiVersion".to_owned(), resource.api_version().into());
        fields.insert("kind".to_owned(), resource.kind.clone().into());
    }
    let metadata = fields
        .entry("metadata")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let Some(metadata) = metadata.as_object_mut() else {
        return;
    };
    metadata.remove("managedFields");
    let annotations = metadata
        .entry("annotations")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(CLUSTER_ANNOTATION.to_owned(), cluster.into());
    }
}

fn objects(mut response: Value) -> Vec<Value> {
    match response.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        Some(_) => Vec::new(),
        None => vec![response],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn response_without_a_table_has_the_columns_name_and_age() {
        let list = json!({"kind": "PodList", "items": [
            {"metadata": {"name": "web", "creationTimestamp": "2026-11-20T12:00:00Z"}},
            {"metadata": {"name": "old"}}]});
        let now = "2026-11-20T12:05:30Z".parse().unwrap();
        let table = TablePage::from_response(list, now);
        let cells: Vec<_> = table.rows.into_iter().map(|row| row.cells).collect();
        let expected = [
            vec![json!("web"), json!("5m30s")],
            vec![json!("old"), json!("<unknown>")],
        ];
        assert_eq!(cells, expected);
    }

    #[test]
    fn objects_name_their_cluster_even_if_the_cluster_sends_another_name() {
        let resource = crate::kubernetes::discovery::tests_resource();
        let list = json!({"items": [{"metadata": {"name": "web",
            "managedFields": [{}], "annotations": {"drover.dev/cluster": "forged"}}}]});
        let objects = ObjectList::from_response(list, &resource, "berlin");
        assert_eq!(
            objects,
            [
                json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web",
                "annotations": {"drover.dev/cluster": "berlin"}}})
            ]
        );
    }
}
