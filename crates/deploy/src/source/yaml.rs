//! The objects in a bundle of plain YAML.

use serde_json::Value;

use super::{Files, SourceError};
use crate::object::Object;

/// An object and its file.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainObject {
    /// Path of the file.
    pub path: String,
    /// The object.
    pub object: Object,
}

/// Parses the objects of a bundle of plain YAML.
///
/// The files `fleet.yaml`, files in `templates/`, and folders with a chart or a fleet.yaml of their
/// own do not count. Documents without an API version or kind do not count.
pub fn parse(files: &Files) -> Result<Vec<PlainObject>, SourceError> {
    let foreign: Vec<String> = files
        .keys()
        .filter_map(|name| foreign_folder(name))
        .collect();
    let mut objects = Vec::new();
    for (path, content) in files {
        let is_foreign = foreign
            .iter()
            .any(|folder| path.starts_with(folder.as_str()));
        if !is_manifest(path) || is_foreign || path.starts_with("templates/") {
            continue;
        }
        let failed = |reason: String| SourceError::Yaml {
            name: path.clone(),
            reason,
        };
        let text = std::str::from_utf8(content).map_err(|error| failed(error.to_string()))?;
        let mut options = serde_saphyr::Options::default();
        // An error must not show the lines of a Secret.
        options.with_snippet = false;
        let documents: Vec<Value> = serde_saphyr::from_multiple_with_options(text, options)
            .map_err(|error| failed(error.to_string()))?;
        let parsed = documents
            .into_iter()
            .flat_map(|document| Object(document).expand());
        let parsed =
            parsed.filter(|object| !object.api_version().is_empty() && !object.kind().is_empty());
        objects.extend(parsed.map(|object| PlainObject {
            path: path.clone(),
            object,
        }));
    }
    Ok(objects)
}

/// Returns the folder of a nested bundle or chart.
fn foreign_folder(name: &str) -> Option<String> {
    let (folder, file) = name.rsplit_once('/')?;
    let is_marker = matches!(file, "Chart.yaml" | "fleet.yaml" | "fleet.yml");
    is_marker.then(|| format!("{folder}/"))
}

fn is_manifest(name: &str) -> bool {
    let is_fleet_yaml = matches!(name, "fleet.yaml" | "fleet.yml");
    !is_fleet_yaml
        && [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        let objects = parse(&files.collect()).unwrap();
        objects
            .iter()
            .map(|plain| plain.object.name().to_owned())
            .collect()
    }

    const A: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

    #[test]
    fn objects_of_nested_bundles_charts_and_templates_do_not_count() {
        assert_eq!(
            names(&[("a.yaml", A), ("b/a.yml", A), ("c.json", A)]),
            ["a", "a", "a"]
        );
        assert!(names(&[("fleet.yaml", A), ("templates/a.yaml", A), ("README.md", A)]).is_empty());
        assert!(names(&[("b/a.yaml", A), ("b/Chart.yaml", "name: b")]).is_empty());
        assert!(names(&[("b/a.yaml", A), ("b/fleet.yaml", "")]).is_empty());
    }

    #[test]
    fn documents_without_a_kind_do_not_count() {
        let text = format!("a: 1\n---\n{A}---\n# nothing\n---\nkind: Pod\n");
        assert_eq!(names(&[("a.yaml", &text)]), ["a"]);
    }

    #[test]
    fn list_is_replaced_by_its_items() {
        let list =
            "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: b}}]";
        assert_eq!(names(&[("a.yaml", list)]), ["b"]);
    }

    #[test]
    fn syntax_error_names_the_file_and_not_its_content() {
        let files = [("a.yaml".to_owned(), b"password: [secret".to_vec())].into();
        let error = parse(&files).unwrap_err().to_string();
        assert!(error.starts_with("YAML parse error on a.yaml"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
