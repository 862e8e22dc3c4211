//! Objects as JSON and YAML.

use serde_json::{Value, json};

use crate::args::Format;
use crate::output::encode;
use crate::terminal::PrintError;

/// Writes the objects of a list one by one, so that the complete list is never in memory.
#[derive(Debug)]
pub(super) struct ListWriter {
    format: Format,
    is_first: bool,
}

impl ListWriter {
    /// Creates a writer of a list in JSON or YAML.
    pub(super) const fn new(format: Format) -> Self {
        Self {
            format,
            is_first: true,
        }
    }

    /// Returns the text of the next object.
    pub(super) fn add(&mut self, object: &Value) -> Result<String, PrintError> {
        let is_first = std::mem::take(&mut self.is_first);
        if matches!(self.format, Format::Yaml) {
            let item = encode(&[object], Format::Yaml)?;
            let start = if is_first {
                "apiVersion: v1\nkind: List\nitems:\n"
            } else {
                ""
            };
            return Ok(format!("{start}{item}"));
        }
        let start = if is_first {
            "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": ["
        } else {
            ","
        };
        let item = encode(object, Format::Json)?;
        let item = item.trim_end().replace('\n', "\n    ");
        Ok(format!("{start}\n    {item}"))
    }

    /// Returns the text after the last object.
    pub(super) fn finish(&self) -> Result<String, PrintError> {
        match (self.is_first, self.format) {
            (true, format) => encode(
                &json!({"apiVersion": "v1", "kind": "List", "items": []}),
                format,
            ),
            (false, Format::Yaml) => Ok(String::new()),
            (false, _) => Ok("\n  ]\n}\n".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> [Value; 3] {
        let text = "first\n  second\n\nlast\n";
        [
            json!({"kind": "Pod", "metadata": {"name": "web", "labels": {}}, "args": [], "text": text}),
            json!({"kind": "Pod", "nested": [[1, [2]], {"a": [{"b": text}]}]}),
            json!({"kind": "Pod", "text": " \u{9b}31m: #\"'"}),
        ]
    }

    fn written(format: Format, objects: &[Value]) -> String {
        let mut writer = ListWriter::new(format);
        let parts = objects.iter().map(|object| writer.add(object).unwrap());
        let text: String = parts.collect();
        text + &writer.finish().unwrap()
    }

    #[test]
    fn objects_that_are_written_one_by_one_are_one_list() {
        for number in 0..=3 {
            let objects = &objects()[..number];
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
            let text = written(Format::Json, objects);
            assert_eq!(
                serde_json::from_str::<Value>(&text).unwrap(),
                list,
                "{text}"
            );
            let text = written(Format::Yaml, objects);
            assert_eq!(
                serde_saphyr::from_str::<Value>(&text).unwrap(),
                list,
                "{text}"
            );
        }
    }
}
