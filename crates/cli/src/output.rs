//! Lists and things as tables, JSON or YAML.

use drover_api::rest::List;
use jiff::Timestamp;
use serde::Serialize;

use crate::args::Format;
use crate::table::Table;
use crate::terminal::PrintError;

/// Something that is a line of a table.
pub(crate) trait Listed: Serialize {
    /// The headings of its table.
    const HEADINGS: &'static [&'static str];

    /// Its line, one cell for each heading.
    fn cells(&self, now: Timestamp) -> Vec<String>;
}

/// Something that has a page of its own.
pub trait Page: Serialize {
    /// Its page.
    fn page(&self, now: Timestamp) -> String;
}

/// A list in the wanted form; `none` is said instead of an empty table.
pub(crate) fn list<T: Listed>(
    items: Vec<T>,
    format: Format,
    now: Timestamp,
    none: &str,
) -> Result<String, PrintError> {
    match format {
        Format::Table if items.is_empty() => {
            crate::terminal::notice(none);
            Ok(String::new())
        }
        Format::Table => {
            let mut table = Table::new(T::HEADINGS);
            for item in &items {
                table.row(&item.cells(now));
            }
            Ok(table.render())
        }
        Format::Json | Format::Yaml => encode(
            &List {
                items,
                continue_token: None,
            },
            format,
        ),
    }
}

/// One thing in the wanted form.
pub fn one<T: Page>(item: &T, format: Format, now: Timestamp) -> Result<String, PrintError> {
    match format {
        Format::Table => Ok(item.page(now)),
        Format::Json | Format::Yaml => encode(item, format),
    }
}

/// JSON or YAML with a line end; a table is no encoding and gives JSON.
pub(crate) fn encode(value: &impl Serialize, format: Format) -> Result<String, PrintError> {
    let failed = |format, reason: String| PrintError::Encode { format, reason };
    match format {
        Format::Yaml => {
            serde_saphyr::to_string(value).map_err(|error| failed("YAML", error.to_string()))
        }
        Format::Json | Format::Table => {
            let mut text = serde_json::to_string_pretty(value)
                .map_err(|error| failed("JSON", error.to_string()))?;
            text.push('\n');
            Ok(text)
        }
    }
}

/// JSON on one line, with its end.
pub(crate) fn encode_line(value: &impl Serialize) -> Result<String, PrintError> {
    let mut text = serde_json::to_string(value).map_err(|error| PrintError::Encode {
        format: "JSON",
        reason: error.to_string(),
    })?;
    text.push('\n');
    Ok(text)
}
