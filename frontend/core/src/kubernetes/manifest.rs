//! The manifest of a Kubernetes object.

mod error;
pub mod history;
pub mod ownership;
mod secret;

use serde_json::Value;

use crate::messages::t;
use crate::object::secret::redact;

pub use error::{ManifestError, manifest_errors, yaml_problem};

/// The manifest of an object, as the server sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// A manifest in YAML, from a server that supports YAML.
    Yaml(String),
    /// A manifest in JSON, from a server that does not support YAML.
    Json(Value),
}

impl Manifest {
    /// Parses a response by its media type.
    pub fn of_answer(media_type: &str, text: String) -> Result<Self, serde_json::Error> {
        if media_type.contains("yaml") {
            Ok(Self::Yaml(text))
        } else {
            serde_json::from_str(&text).map(Self::Json)
        }
    }

    /// Returns the format of the manifest, `yaml` or `json`. Downloaded files have the format as
    /// extension.
    pub const fn language(&self) -> &'static str {
        match self {
            Self::Yaml(_) => "yaml",
            Self::Json(_) => "json",
        }
    }

    /// Reports whether the manifest has this resource version.
    pub fn is_version(&self, version: &str) -> bool {
        match self {
            Self::Yaml(text) => {
                let expected = format!("resourceVersion: \"{version}\"");
                text.lines().any(|line| line.trim() == expected)
            }
            Self::Json(value) => {
                let told = value.pointer("/metadata/resourceVersion");
                told.and_then(Value::as_str) == Some(version)
            }
        }
    }

    /// Returns the manifest of a Secret without the values of its keys.
    #[must_use]
    pub fn without_secret_values(&self) -> Self {
        match self {
            Self::Yaml(text) => Self::Yaml(secret::without_values(text)),
            Self::Json(value) => {
                let mut value = value.clone();
                redact(&mut value, |bytes| t().secrets.hidden_bytes(bytes).into());
                Self::Json(value)
            }
        }
    }

    /// Returns the value of a manifest in YAML, for the owners of its lines. Returns `None` for JSON
    /// and for a text that is not YAML.
    pub fn yaml_value(&self) -> Option<Value> {
        match self {
            Self::Yaml(text) => serde_saphyr::from_str(text).ok(),
            Self::Json(_) => None,
        }
    }

    /// Returns the text, with or without `managedFields`.
    pub fn text(&self, with_managed_fields: bool) -> String {
        match (self, with_managed_fields) {
            (Self::Yaml(text), true) => text.clone(),
            (Self::Yaml(text), false) => without_managed_fields(text),
            (Self::Json(value), with) => {
                let mut value = value.clone();
                if let Some(metadata) = value.get_mut("metadata").filter(|_| !with)
                    && let Some(metadata) = metadata.as_object_mut()
                {
                    metadata.remove("managedFields");
                }
                // Serializing a JSON value cannot fail.
                let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
                text.push('\n');
                text
            }
        }
    }
}

/// Removes the block `metadata.managedFields` from YAML in the format of API servers. Blocks with
/// the same name in other fields stay, because their indentation differs.
fn without_managed_fields(text: &str) -> String {
    let (mut in_metadata, mut within) = (false, false);
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let starts_key = |line: &str| line.starts_with(|c: char| !c.is_whitespace() && c != '-');
        if starts_key(line) {
            in_metadata = line.trim_end() == "metadata:";
            within = false;
        } else if in_metadata && line.trim_end() == "  managedFields:" {
            within = true;
            continue;
        } else if within {
            within = line.starts_with("  - ") || line.starts_with("   ");
        }
        if !within {
            kept.push_str(line);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    note: |\n      \
        managedFields:\n      - not this\n  managedFields:\n  - apiVersion: v1\n    fieldsV1:\n      \
        f:metadata: {}\n    manager: kubectl\n  - manager: kubelet\n  name: web-0\nspec:\n  \
        managedFields:\n  - a field of its own\n";

    #[test]
    fn only_managed_fields_are_removed_from_the_manifest() {
        let manifest = Manifest::of_answer("application/yaml", YAML.to_owned()).unwrap();
        assert_eq!(manifest.text(true), YAML);
        assert!(!manifest.is_version("7"));
        let without = manifest.text(false);
        assert!(
            without.contains("      managedFields:\n      - not this\n  name: web-0\n"),
            "{without}"
        );
        assert!(
            without.ends_with("spec:\n  managedFields:\n  - a field of its own\n"),
            "{without}"
        );
        assert!(!without.contains("kubelet"), "{without}");
    }

    #[test]
    fn manifest_is_shown_as_json_if_the_server_does_not_support_yaml() {
        let body = r#"{"metadata":{"name":"a","resourceVersion":"7","managedFields":[{"manager":"x"}]},"spec":{}}"#;
        let manifest = Manifest::of_answer("application/json", body.to_owned()).unwrap();
        assert_eq!(manifest.language(), "json");
        assert!(manifest.is_version("7") && !manifest.is_version("8"));
        assert!(manifest.text(true).contains("manager"));
        assert!(!manifest.text(false).contains("manager"));
        Manifest::of_answer("text/html", "<html>".to_owned()).unwrap_err();
    }
}
