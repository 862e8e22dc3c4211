//! Parses lists and watch events in the format `meta.k8s.io/v1` Table (KEP-2334).

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::column::{Column, Columns, Content};
pub use crate::names::Key;
use crate::names::MAX_NAME;
use crate::object::{Include, ObjectFields};
use crate::row::RowContent;
pub use crate::texts::truncated;

/// Maximum length of a cell in bytes.
const MAX_CELL: usize = 1024;
/// The column with the images of pods. The Tables of workloads have the same column.
const IMAGES: &str = "Images";
/// Maximum length of all cells of a row in bytes.
const MAX_CELLS: usize = 8192;
/// Maximum number of columns. Further columns are ignored.
const MAX_COLUMNS: usize = 64;
/// Maximum number of rows of a page. Some aggregated APIs send all objects in one page.
const MAX_ROWS: usize = 20_000;

/// A response of the API server that the server does not store.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The response is not a Table.
    #[error("the response of the API server is not a Table")]
    NotATable(#[from] serde_json::Error),
    /// The page has more rows than the server accepts.
    #[error("a page of the API server has more than {MAX_ROWS} rows")]
    TooManyRows,
}

/// Parses the pages and watch events of a list. The first response contains the columns. Later
/// responses can repeat the columns.
#[derive(Clone, Debug, Default)]
pub struct TableReader {
    include: Include,
    /// The number of columns of the cluster's Table. Additional columns follow.
    told: usize,
    columns: Columns,
}

/// A page of a list.
#[derive(Debug)]
pub struct TablePage {
    /// The rows of the page.
    pub rows: Vec<(Key, RowContent)>,
    /// The resource version of the list.
    pub version: Option<String>,
    /// The token for the next page. Absent on the last page.
    pub next: Option<String>,
    /// The number of objects on the following pages, if the server knows it.
    pub remaining: Option<u64>,
}

/// An event of a watch.
#[derive(Debug)]
pub enum TableEvent {
    /// The object was created or changed.
    Put(Key, RowContent, Option<String>),
    /// The object was deleted.
    Deleted(Key, Option<String>),
    /// The watch has sent all events up to a resource version.
    Bookmark(Option<String>),
    /// The watch failed. The event contains the status code and the message.
    Failed(u16, String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTable<'a> {
    #[serde(default)]
    metadata: ListMeta,
    column_definitions: Option<Vec<WireColumn>>,
    #[serde(borrow)]
    rows: Option<Vec<WireRow<'a>>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    resource_version: Option<String>,
    r#continue: Option<String>,
    remaining_item_count: Option<u64>,
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
struct WireRow<'a> {
    #[serde(default)]
    cells: Vec<Value>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct WireStatus {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

impl TableReader {
    /// Creates a reader of Tables with this part of the objects.
    pub fn new(include: Include) -> Self {
        Self {
            include,
            ..Self::default()
        }
    }

    /// Returns the part of the objects that the Tables contain.
    pub fn include(&self) -> Include {
        self.include
    }

    /// Returns the columns of the last response.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Parses a page of the list.
    pub fn page(&mut self, body: &[u8]) -> Result<TablePage, TableError> {
        self.page_with(body, |_| {})
    }

    /// Parses a page of the list, and passes the JSON of each object to `visit`.
    pub fn page_with(
        &mut self,
        body: &[u8],
        mut visit: impl FnMut(&str),
    ) -> Result<TablePage, TableError> {
        let table: WireTable<'_> = serde_json::from_slice(body)?;
        self.learn(table.column_definitions);
        let rows = table.rows.unwrap_or_default();
        if rows.len() > MAX_ROWS {
            return Err(TableError::TooManyRows);
        }
        for object in rows.iter().filter_map(|row| row.object) {
            visit(object.get());
        }
        let rows = rows.into_iter().map(|row| Ok(self.read(row)?.0));
        let has_name =
            |row: &Result<(Key, _), _>| row.as_ref().map_or(true, |(key, _)| is_short(key));
        Ok(TablePage {
            rows: rows.filter(has_name).collect::<Result<_, TableError>>()?,
            version: table.metadata.resource_version,
            next: table.metadata.r#continue.filter(|token| !token.is_empty()),
            remaining: table.metadata.remaining_item_count,
        })
    }

    /// Parses a line of the watch.
    pub fn event(&mut self, line: &[u8]) -> Result<TableEvent, TableError> {
        self.event_with(line, |_, _| {})
    }

    /// Parses a line of the watch. Passes the type of the event and the JSON of a created, changed or
    /// deleted object to `visit`.
    pub fn event_with(
        &mut self,
        line: &[u8],
        mut visit: impl FnMut(&str, &str),
    ) -> Result<TableEvent, TableError> {
        let event: WireEvent<'_> = serde_json::from_slice(line)?;
        if event.r#type == "ERROR" {
            let status: WireStatus = serde_json::from_str(event.object.get())?;
            return Ok(TableEvent::Failed(status.code, status.message));
        }
        let table: WireTable<'_> = serde_json::from_str(event.object.get())?;
        self.learn(table.column_definitions);
        let row = table
            .rows
            .and_then(|rows| rows.into_iter().next())
            .inspect(|row| {
                let object = row.object.filter(|_| event.r#type != "BOOKMARK");
                if let Some(object) = object {
                    visit(&event.r#type, object.get());
                }
            })
            .map(|row| self.read(row))
            .transpose()?
            .filter(|((key, _), _)| is_short(key));
        let list = table.metadata.resource_version;
        Ok(match (row, event.r#type.as_str()) {
            (Some(((key, _), version)), "DELETED") => TableEvent::Deleted(key, version.or(list)),
            (Some(((key, content), version)), "ADDED" | "MODIFIED") => {
                TableEvent::Put(key, content, version.or(list))
            }
            (row, _) => TableEvent::Bookmark(row.and_then(|(_, version)| version).or(list)),
        })
    }

    /// Stores the columns of a response. Repeated equal columns share one allocation.
    fn learn(&mut self, columns: Option<Vec<WireColumn>>) {
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
            return;
        };
        let columns = columns.into_iter().take(MAX_COLUMNS);
        let columns =
            columns.map(|it| Column::new(it.name, &it.r#type, it.description, it.priority > 0));
        let mut columns: Vec<Column> = columns.collect();
        if self.include == Include::Events {
            for column in &mut columns {
                column.content = match column.key.as_str() {
                    "type" => Content::EventType,
                    "last-seen" | "first-seen" => Content::Ago,
                    _ => column.content,
                };
            }
        }
        self.told = columns.len();
        if self.include == Include::Pods {
            let description = "The images of the containers.".to_owned();
            columns.push(Column::new(IMAGES.to_owned(), "string", description, true));
        }
        if *columns != *self.columns {
            self.columns = columns.into();
        }
    }

    /// Returns the key, the content and the resource version of a row.
    fn read(
        &self,
        row: WireRow<'_>,
    ) -> Result<((Key, RowContent), Option<String>), serde_json::Error> {
        let fields = row
            .object
            .map(|object| ObjectFields::read(object, self.include));
        let ObjectFields {
            metadata,
            notes,
            images,
            reserved,
            event,
        } = fields.transpose()?.unwrap_or_default();
        let namespace = metadata.namespace.unwrap_or_default();
        let name = metadata.name.unwrap_or_default();
        let key = (namespace.as_str().into(), name.as_str().into());
        let mut cells = row.cells;
        cells.truncate(self.told);
        if let Some(event) = event {
            for (column, cell) in self.columns.iter().zip(&mut cells) {
                if let Some(exact) = event.cell(&column.key) {
                    *cell = exact.into();
                }
            }
        }
        let mut cells = limited(cells);
        if let Some(images) = images {
            cells.resize(self.told, String::new());
            cells.push(images);
        }
        let content = RowContent {
            namespace,
            name,
            cells,
            labels: metadata.labels.unwrap_or_default().into_iter().collect(),
            notes,
            created: metadata.creation_timestamp,
            reserved,
        };
        Ok(((key, content), metadata.resource_version))
    }
}

/// Reports whether an object can have the name and the namespace. A cluster could fill the memory of
/// the server with longer names.
fn is_short((namespace, name): &Key) -> bool {
    namespace.len() <= MAX_NAME && name.len() <= MAX_NAME
}

/// Formats and limits the cells of a row, because a cluster could fill the memory of the server and
/// of the page.
fn limited(cells: Vec<Value>) -> Vec<String> {
    let mut remaining = MAX_CELLS;
    let cells = cells.into_iter().map(|cell| {
        let cell = truncated(text(cell), MAX_CELL.min(remaining));
        remaining -= cell.len().min(remaining);
        cell
    });
    cells.collect()
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

#[cfg(test)]
mod tests;
