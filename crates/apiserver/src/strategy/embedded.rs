//! Objects inside of custom objects (`x-kubernetes-embedded-resource`): decodes and validates their
//! metadata, and requires `apiVersion` and `kind`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::builtin::{self, metadata};
use crate::json::{field, text};
use crate::names;
use crate::schema::findings::Findings;
use crate::schema::{DecodeError, MAX_UNKNOWN_FIELDS, Node, Path, truncated_path};

/// Placeholder for an absent name, because embedded objects do not need a name.
const PLACEHOLDER_NAME: &str = "fakename";

impl Node {
    /// Decodes the metadata of all embedded objects, and returns the unknown fields.
    ///
    /// # Errors
    ///
    /// Fails if a field has the wrong type.
    pub(crate) fn read_embedded(&self, value: &mut Value) -> Result<Vec<String>, DecodeError> {
        let mut walk = Walk::default();
        walk.read(self, value)?;
        walk.unknown.sort();
        Ok(walk.unknown)
    }

    /// Validates `apiVersion`, `kind` and metadata of all embedded objects.
    pub(crate) fn validate_embedded(&self, value: &Value, at: &Path<'_>, found: &mut Findings) {
        if self.embedded_resource && value.is_object() {
            validate(value, at, found);
        }
        match value {
            Value::Object(map) => {
                for (name, inside) in map {
                    if let Some(node) = self.field(name) {
                        node.validate_embedded(inside, &at.child(name), found);
                    }
                }
            }
            Value::Array(items) => {
                let Some(node) = self.items() else { return };
                for (index, item) in items.iter().enumerate() {
                    node.validate_embedded(item, &at.index(index), found);
                }
            }
            _ => {}
        }
    }
}

#[derive(Default)]
struct Walk {
    at: String,
    unknown: Vec<String>,
}

impl Walk {
    fn read(&mut self, node: &Node, value: &mut Value) -> Result<(), DecodeError> {
        match value {
            Value::Object(map) => {
                if node.embedded_resource
                    && let Some(metadata) = map.get_mut("metadata")
                {
                    let unknown = builtin::object_meta().decode(metadata)?;
                    let prefix = format!("field \"{}.metadata.", truncated_path(&self.at));
                    let below = unknown
                        .iter()
                        .map(|message| message.replacen("field \"", &prefix, 1));
                    let room = MAX_UNKNOWN_FIELDS.saturating_sub(self.unknown.len());
                    self.unknown.extend(below.take(room));
                }
                for (name, inside) in map.iter_mut() {
                    let Some(inner) = node.field(name) else {
                        continue;
                    };
                    let dot = if self.at.is_empty() { "" } else { "." };
                    self.below(format_args!("{dot}{name}"), inner, inside)?;
                }
            }
            Value::Array(items) => {
                let Some(inner) = node.items() else {
                    return Ok(());
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.below(format_args!("[{index}]"), inner, item)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn below(
        &mut self,
        step: std::fmt::Arguments<'_>,
        node: &Node,
        value: &mut Value,
    ) -> Result<(), DecodeError> {
        let length = self.at.len();
        // Writing to a String cannot fail.
        let _ = self.at.write_fmt(step);
        let read = self.read(node, value);
        self.at.truncate(length);
        read
    }
}

fn validate(value: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in ["apiVersion", "kind"] {
        let at = at.child(name);
        match value.get(name) {
            None => found.required(&at, ""),
            Some(Value::String(said)) if said.is_empty() => {
                found.invalid(&at, "", "must not be empty");
            }
            Some(Value::String(said)) if name == "kind" => {
                let wrong = names::dns_1035_label(&said.to_lowercase());
                if !wrong.is_empty() {
                    let wrong = wrong.join(",");
                    let detail =
                        format!("may have mixed case, but should otherwise match: {wrong}");
                    found.invalid(&at, said.as_str(), detail);
                }
            }
            Some(Value::String(said)) if said.matches('/').count() > 1 => {
                let detail = format!("unexpected GroupVersion string: {said}");
                found.invalid(&at, said.as_str(), detail);
            }
            Some(Value::String(_)) => {}
            Some(other) => found.invalid(&at, other.clone(), "must be a string"),
        }
    }
    let metadata = field(value, "metadata");
    if !metadata.is_object() {
        return;
    }
    let mut named = serde_json::json!({ "metadata": metadata });
    if text(metadata, "name").is_empty() {
        named["metadata"]["name"] = PLACEHOLDER_NAME.into();
    }
    let namespaced = !text(metadata, "namespace").is_empty();
    let mut inside = Findings::default();
    metadata::validate(&named, namespaced, names::path_segment, &mut inside);
    found.0.extend(inside.0.into_iter().map(|mut fault| {
        fault.path = format!("{at}.{}", fault.path);
        fault
    }));
}
