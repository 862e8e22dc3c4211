//! The output of `drover get` in all formats.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::columns::{self, CustomColumn};
use super::is_server_table;
use super::objects::ListWriter;
use super::rows::RowWriter;
use super::sort_key::compare;
use super::stored::{StoredBytes, value_bytes};
use crate::args::{Format, GetArgs, ObjectFormat};
use crate::failure::Failure;
use crate::jsonpath::{Path, Template};
use crate::kubernetes::{ClusterApi, Column, JSON, ObjectList, Resource, Row, TABLE, TablePage};
use crate::output::encode;
use crate::table::{one_line, printable_layout};
use crate::terminal::{output_is_terminal, print};

/// Maximum number of rows that --sort-by sorts, and of objects that a JSONPath template reads.
const MAX_SORTED: usize = 100_000;

/// Returns the header `Accept` for a format.
pub(super) const fn accept(format: &ObjectFormat) -> &'static str {
    match format {
        ObjectFormat::Table | ObjectFormat::Wide => TABLE,
        _ => JSON,
    }
}

/// The parts of the output that depend on the command line.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent parts of the output"
)]
pub(super) struct Style {
    /// True if the name contains the kind, because the output has several kinds.
    pub(super) shows_kind: bool,
    /// True if the table has the column NAMESPACE.
    pub(super) shows_namespace: bool,
    /// True if the format `name` starts with the cluster.
    pub(super) names_cluster: bool,
    /// True if the output is one object and not a list.
    pub(super) is_single_object: bool,
    /// True if the output has no end.
    pub(super) is_watch: bool,
}

/// Prints objects in the selected format.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent parts of the output"
)]
pub(super) struct Printer {
    style: Style,
    output: Output,
    rows: RowWriter,
    is_wide: bool,
    shows_labels: bool,
    shows_events: bool,
    sort_by: Option<Path>,
    sorted: Vec<SortedRow>,
    /// The memory of the stored rows or objects.
    stored: StoredBytes,
    is_terminal: bool,
    is_empty: bool,
}

#[derive(Debug)]
struct SortedRow {
    key: Value,
    headings: Arc<[String]>,
    cells: Vec<String>,
}

#[derive(Debug)]
enum Output {
    Table,
    Name,
    List(ListWriter),
    /// One document for each object.
    Documents(Format),
    JsonPath(Template, Vec<Value>),
    Columns(Vec<CustomColumn>),
}

impl Printer {
    /// Creates a printer. Returns an error if a template or path cannot be parsed.
    pub(super) fn new(args: &GetArgs, style: Style) -> Result<Self, Failure> {
        let usage = |error: crate::jsonpath::JsonPathError| Failure::Usage(error.to_string());
        let encoded = |format| {
            if style.is_watch || style.is_single_object {
                Output::Documents(format)
            } else {
                Output::List(ListWriter::new(format))
            }
        };
        let output = match &args.output {
            ObjectFormat::Table | ObjectFormat::Wide => Output::Table,
            ObjectFormat::Name => Output::Name,
            ObjectFormat::Json => encoded(Format::Json),
            ObjectFormat::Yaml => encoded(Format::Yaml),
            ObjectFormat::JsonPath(text) => {
                Output::JsonPath(Template::parse(text).map_err(usage)?, Vec::new())
            }
            ObjectFormat::Columns(text) => Output::Columns(columns::parse(text)?),
        };
        if args.sort_by.is_some() && !is_server_table(&args.output) {
            return Err(Failure::Usage(
                "--sort-by is only available with -o table and -o wide".to_owned(),
            ));
        }
        let sort_by = args.sort_by.as_deref().map(Path::parse).transpose();
        Ok(Self {
            style,
            output,
            rows: RowWriter::new(!args.no_headers),
            is_wide: args.output == ObjectFormat::Wide,
            shows_labels: args.show_labels,
            shows_events: args.output_watch_events,
            sort_by: sort_by.map_err(usage)?,
            sorted: Vec::new(),
            stored: StoredBytes::default(),
            is_terminal: output_is_terminal(),
            is_empty: true,
        })
    }

    /// Reports whether the printer has received no object of a table or list of names.
    pub(super) const fn is_empty(&self) -> bool {
        self.is_empty
            && matches!(
                self.output,
                Output::Table | Output::Name | Output::Columns(_)
            )
    }

    /// Prints a response of a cluster: a table, a list or an object.
    pub(super) fn page(
        &mut self,
        cluster: &str,
        resource: &Resource,
        response: Value,
    ) -> Result<(), Failure> {
        if matches!(self.output, Output::Table) {
            let page = TablePage::from_response(response, Timestamp::now());
            return self.table(cluster, resource, &page.columns, page.rows, None);
        }
        for object in ObjectList::from_response(response, resource, cluster) {
            self.object(cluster, resource, object)?;
        }
        Ok(())
    }

    /// Prints rows of a table.
    pub(super) fn table(
        &mut self,
        cluster: &str,
        resource: &Resource,
        columns: &[Column],
        rows: Vec<Row>,
        event: Option<&str>,
    ) -> Result<(), Failure> {
        self.is_empty &= rows.is_empty();
        let headings: Arc<[String]> = self.headings(columns, resource).into();
        let mut cells = Vec::new();
        for row in rows {
            let row_cells = self.cells(cluster, resource, columns, &row, event);
            match &self.sort_by {
                None => cells.push(row_cells),
                Some(path) => {
                    let key = path.find(&row.object, &row.object);
                    let key = key.ok().and_then(|found| found.first().copied().cloned());
                    let headings = Arc::clone(&headings);
                    let key = key.unwrap_or_default();
                    let texts = row_cells
                        .iter()
                        .map(|cell| cell.len() + size_of::<String>());
                    self.stored
                        .add(value_bytes(&key) + texts.sum::<usize>(), "--sort-by")?;
                    self.sorted.push(SortedRow {
                        key,
                        headings,
                        cells: row_cells,
                    });
                }
            }
        }
        if self.sorted.len() > MAX_SORTED {
            return Err(too_many("--sort-by"));
        }
        let text = self.rows.add(&headings, cells);
        Ok(print(&text)?)
    }

    fn headings(&self, columns: &[Column], resource: &Resource) -> Vec<String> {
        let own = [
            ("CLUSTER", true),
            ("EVENT", self.shows_events),
            (
                "NAMESPACE",
                self.style.shows_namespace && resource.namespaced,
            ),
        ];
        let own = own.into_iter().filter(|(_, shown)| *shown);
        let own = own.map(|(name, _)| name.to_owned());
        let columns = columns.iter().filter(|column| self.shows(column));
        let labels = self.shows_labels.then(|| "LABELS".to_owned());
        own.chain(columns.map(|column| column.name.to_uppercase()))
            .chain(labels)
            .collect()
    }

    const fn shows(&self, column: &Column) -> bool {
        self.is_wide || column.priority == 0
    }

    fn cells(
        &self,
        cluster: &str,
        resource: &Resource,
        columns: &[Column],
        row: &Row,
        event: Option<&str>,
    ) -> Vec<String> {
        let metadata = &row.object["metadata"];
        let mut cells = vec![cluster.to_owned()];
        if self.shows_events {
            cells.push(event.unwrap_or("ADDED").to_owned());
        }
        if self.style.shows_namespace && resource.namespaced {
            cells.push(
                metadata["namespace"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
        }
        for (column, cell) in columns.iter().zip(&row.cells) {
            if !self.shows(column) {
                continue;
            }
            let text = crate::jsonpath::text_of(cell);
            let is_name = self.style.shows_kind && column.name.eq_ignore_ascii_case("name");
            cells.push(if is_name {
                format!("{}/{text}", resource.short_kind())
            } else {
                text
            });
        }
        if self.shows_labels {
            cells.push(labels(&metadata["labels"]));
        }
        cells
    }

    /// Prints an object.
    pub(super) fn object(
        &mut self,
        cluster: &str,
        resource: &Resource,
        object: Value,
    ) -> Result<(), Failure> {
        self.is_empty = false;
        let text = match &mut self.output {
            Output::Table => return Ok(()),
            Output::Name => {
                let kind = resource.short_kind();
                // A newline in a name would add a line with the name of another object.
                let name = one_line(object["metadata"]["name"].as_str().unwrap_or_default());
                if self.style.names_cluster {
                    format!("{cluster}:{kind}/{name}\n")
                } else {
                    format!("{kind}/{name}\n")
                }
            }
            Output::List(writer) => writer.add(&object)?,
            Output::Documents(format) => {
                let is_stream = self.style.is_watch && matches!(format, Format::Yaml);
                let start = if is_stream { "---\n" } else { "" };
                format!("{start}{}", encode(&object, *format)?)
            }
            Output::JsonPath(template, _) if self.style.is_watch => rendered(template, &object)?,
            Output::JsonPath(_, objects) => {
                self.stored.add(value_bytes(&object), "-o jsonpath")?;
                objects.push(object);
                if objects.len() > MAX_SORTED {
                    return Err(too_many("-o jsonpath"));
                }
                String::new()
            }
            Output::Columns(columns) => {
                let own = ["CLUSTER".to_owned()].into_iter();
                let headings: Vec<String> = own
                    .chain(columns.iter().map(|c| c.heading.clone()))
                    .collect();
                let own = [cluster.to_owned()].into_iter();
                let cells = own.chain(columns.iter().map(|c| c.cell(&object))).collect();
                self.rows.add(&headings, vec![cells])
            }
        };
        self.write(&text)
    }

    /// Sets the width of the column CLUSTER.
    pub(super) fn set_clusters(&mut self, clusters: &[ClusterApi]) {
        let widths = clusters.iter().map(|cluster| cluster.name().len());
        self.rows.set_first_width(widths.max().unwrap_or_default());
    }

    /// Prints the rows that wait for their widths.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        Ok(print(&self.rows.flush())?)
    }

    /// Prints the end of the output.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.sorted.sort_by(|a, b| compare(&a.key, &b.key));
        for row in std::mem::take(&mut self.sorted) {
            let text = self.rows.add(&row.headings, vec![row.cells]);
            print(&text)?;
        }
        self.flush()?;
        let text = match &mut self.output {
            Output::List(writer) => writer.finish()?,
            Output::JsonPath(template, objects) if !self.style.is_watch => {
                let mut objects = std::mem::take(objects);
                let value = match (self.style.is_single_object, objects.pop()) {
                    (true, Some(object)) => object,
                    (true, None) => return Ok(()),
                    (false, last) => {
                        objects.extend(last);
                        serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects})
                    }
                };
                rendered(template, &value)?
            }
            _ => return Ok(()),
        };
        self.write(&text)
    }

    /// Prints text. Names and values come from clusters, so control characters are replaced on a
    /// terminal.
    fn write(&self, text: &str) -> Result<(), Failure> {
        if self.is_terminal {
            Ok(print(&printable_layout(text))?)
        } else {
            Ok(print(text)?)
        }
    }
}

fn rendered(template: &Template, value: &Value) -> Result<String, Failure> {
    let text = template.render(value);
    text.map_err(|error| Failure::Other(error.to_string()))
}

fn too_many(option: &str) -> Failure {
    Failure::Other(format!(
        "{option} reads at most {MAX_SORTED} objects; select fewer objects with -l, -n or --clusters"
    ))
}

fn labels(labels: &Value) -> String {
    let pairs = labels.as_object().into_iter().flatten();
    let pairs: Vec<String> = pairs
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        "<none>".to_owned()
    } else {
        pairs.join(",")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_of_an_object_are_listed() {
        assert_eq!(labels(&json!({"a": "1", "b": ""})), "a=1,b=");
        assert_eq!(labels(&json!(null)), "<none>");
    }
}
