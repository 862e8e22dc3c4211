//! The output format `custom-columns`.

use serde_json::Value;

use crate::failure::Failure;
use crate::jsonpath::{Nesting, Path, text_of};

/// The text of a cell without a value.
const NONE: &str = "<none>";

/// A column with a heading and a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CustomColumn {
    pub(super) heading: String,
    path: Path,
}

/// Parses `HEADING:PATH,…`.
pub(super) fn parse(text: &str) -> Result<Vec<CustomColumn>, Failure> {
    let columns = split(text).into_iter().map(|column| {
        let (heading, path) = column
            .split_once(':')
            .filter(|(heading, path)| !heading.is_empty() && !path.is_empty())
            .ok_or_else(|| {
                Failure::Usage(format!(
                    "cannot use {column:?} as a column; write HEADING:PATH, for example \
                     NAME:.metadata.name"
                ))
            })?;
        let path = Path::parse(path).map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(CustomColumn {
            heading: heading.to_owned(),
            path,
        })
    });
    columns.collect()
}

/// Splits a text at the commas outside of brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut nesting) = (Vec::new(), 0, Nesting::default());
    for (at, c) in text.char_indices() {
        if nesting.read(c) && c == ',' && nesting.depth() == 0 {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

impl CustomColumn {
    /// Returns the cell of an object: all values at the path, separated by commas.
    pub(super) fn cell(&self, object: &Value) -> String {
        let found = self.path.find(object, object).unwrap_or_default();
        let texts: Vec<String> = found
            .into_iter()
            .map(|value| match value {
                Value::Null => NONE.to_owned(),
                value => text_of(value),
            })
            .collect();
        if texts.is_empty() {
            NONE.to_owned()
        } else {
            texts.join(",")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_contain_the_values_at_the_paths() {
        let columns =
            "NAME:metadata.name,IMAGES:.spec[*].image,R:.s[?(@.t=='a,b')].v,NO:.x,P:.spec[0,1].p";
        let columns = parse(columns).unwrap();
        let object = json!({"metadata": {"name": "web"},
            "spec": [{"image": "a", "p": 1}, {"image": "b", "p": null}],
            "s": [{"t": "a,b", "v": true}]});
        let cells: Vec<_> = columns.iter().map(|column| column.cell(&object)).collect();
        assert_eq!(cells, ["web", "a,b", "true", NONE, "1,<none>"]);
    }

    #[test]
    fn column_without_a_heading_or_path_is_rejected() {
        for text in ["", "NAME", "NAME:", ":.a", "A:.a,", "A:.a["] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
