//! Lists and objects as tables, JSON or YAML.

use drover_api::rest::List;
use jiff::Timestamp;
use serde::Serialize;

use crate::args::Format;
use crate::table::Table;
use crate::terminal::PrintError;

/// An item of a list, with its table row.
pub(crate) trait Listed: Serialize {
    /// The headings of the table.
    const HEADINGS: &'static [&'static str];

    /// Returns the row, with one cell for each heading.
    fn cells(&self, now: Timestamp) -> Vec<String>;
}

/// An object that a command can print as a page.
pub trait Page: Serialize {
    /// Renders the object as text.
    fn page(&self, now: Timestamp) -> String;
}

/// Renders a list. Prints `none` to standard error if the list is empty and the format is a table.
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

/// Renders an object.
pub fn one<T: Page>(item: &T, format: Format, now: Timestamp) -> Result<String, PrintError> {
    match format {
        Format::Table => Ok(item.page(now)),
        Format::Json | Format::Yaml => encode(item, format),
    }
}

/// Encodes a value as JSON or YAML with a final line feed. Uses JSON if the format is
/// [`Format::Table`].
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

/// Encodes a value as one line of JSON.
pub(crate) fn encode_line(value: &impl Serialize) -> Result<String, PrintError> {
    let mut text = serde_json::to_string(value).map_err(|error| PrintError::Encode {
        format: "JSON",
        reason: error.to_string(),
    })?;
    text.push('\n');
    Ok(text)
}
