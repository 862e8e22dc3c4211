//! Parses lists in the format `meta.k8s.io/v1` Table.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Form, Head, Limit, ListMeta, Page, of, read};
use crate::column::{Column, Columns};
use crate::messages::t;
use crate::node::{self, NodeSpec, NodeStatus};
use crate::problem::Problem;
use crate::row::Row;

/// The maximum number of rows that a feed keeps.
const MAX_ROWS: usize = 50_000;

/// Parses the rows of a Table. The first response contains the columns. Later responses can repeat
/// the columns.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    columns: Columns,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTable {
    #[serde(default)]
    metadata: ListMeta,
    column_definitions: Option<Vec<WireColumn>>,
    rows: Option<Vec<WireRow>>,
}

#[derive(Deserialize)]
struct WireColumn {
    name: String,
    r#type: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    priority: i32,
}

#[derive(Deserialize)]
struct WireRow {
    #[serde(default)]
    cells: Vec<Value>,
    object: Option<WireObject>,
}

/// The fields of the object that the page needs for a row.
#[derive(Default, Deserialize)]
struct WireObject {
    metadata: WireMeta,
    spec: Option<NodeSpec>,
    status: Option<NodeStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    name: Option<String>,
    namespace: Option<String>,
    resource_version: Option<String>,
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

impl Form<Arc<Row>> for Rows {
    const LIMIT: Limit<Arc<Row>> = Limit::First(MAX_ROWS);

    fn page(&mut self, body: &[u8], now: Timestamp) -> Result<Page<Arc<Row>>, Problem> {
        let table: WireTable = read(body)?;
        self.learn(table.column_definitions);
        let rows = table.rows.unwrap_or_default().into_iter();
        let items = rows.map(|row| {
            let (head, row) = self.row(row, now);
            (head.key, row)
        });
        Ok(Page {
            items: items.collect(),
            meta: table.metadata,
        })
    }

    fn item(&mut self, object: &RawValue, now: Timestamp) -> Result<(Head, Arc<Row>), Problem> {
        let table: WireTable = of(object)?;
        self.learn(table.column_definitions);
        let row = table.rows.and_then(|rows| rows.into_iter().next());
        let row = row.ok_or_else(|| Problem::strange(t().problems.no_row()))?;
        Ok(self.row(row, now))
    }

    fn head(&self, object: &RawValue) -> Result<Head, Problem> {
        let table: WireTable = of(object)?;
        let row = table.rows.and_then(|rows| rows.into_iter().next());
        let object = row.and_then(|row| row.object).unwrap_or_default();
        let mut head = head(&object.metadata);
        head.version = head.version.or(table.metadata.resource_version);
        Ok(head)
    }
}

impl Rows {
    /// Stores the columns of a response. Repeated equal columns share one allocation.
    fn learn(&mut self, told: Option<Vec<WireColumn>>) {
        let Some(told) = told.filter(|told| !told.is_empty()) else {
            return;
        };
        let told = told.into_iter();
        let told = told.map(|it| Column::new(it.name, &it.r#type, it.description, it.priority > 0));
        let columns: Columns = told.collect();
        if *columns != *self.columns {
            self.columns = columns;
        }
    }

    fn row(&self, row: WireRow, now: Timestamp) -> (Head, Arc<Row>) {
        let object = row.object.unwrap_or_default();
        let head = head(&object.metadata);
        let (namespace, name) = head.key.clone();
        let notes = node::notes(object.spec.as_ref(), object.status.as_ref());
        let row = Row::new(
            Arc::clone(&self.columns),
            row.cells.into_iter().map(text).collect(),
            name,
            Some(namespace).filter(|it| !it.is_empty()),
        );
        let row = row
            .made(object.metadata.creation_timestamp, now)
            .labelled(object.metadata.labels.into_iter().collect())
            .noted(notes);
        (head, Arc::new(row))
    }
}

fn head(metadata: &WireMeta) -> Head {
    Head {
        key: (
            metadata.namespace.clone().unwrap_or_default(),
            metadata.name.clone().unwrap_or_default(),
        ),
        version: metadata.resource_version.clone(),
    }
}

/// Formats a cell like kubectl.
fn text(cell: Value) -> String {
    match cell {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}
