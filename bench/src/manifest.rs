//! Selects the objects of an import manifest that the agents of the benchmarks use.

use serde_json::{Value, json};

/// Kinds of the manifest's objects that an agent outside its cluster needs.
const NEEDED: [&str; 4] = ["Namespace", "ServiceAccount", "ConfigMap", "Secret"];

/// Returns the objects of a manifest that an agent outside its cluster needs. Sets the namespace of
/// each object. Returns `None` if the text is not a manifest.
pub(crate) fn in_namespace(manifest: &str, namespace: &str) -> Option<Vec<Value>> {
    let mut items = Vec::new();
    // The separator is a complete line, because lines of certificates also end with dashes.
    let marked = format!("\n{manifest}");
    let documents = marked.split("\n---\n");
    for document in documents.filter(|text| !text.trim().is_empty()) {
        let mut object: Value = serde_saphyr::from_str(document).ok()?;
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if !NEEDED.contains(&kind.as_str()) {
            continue;
        }
        let field = if kind == "Namespace" {
            "name"
        } else {
            "namespace"
        };
        object["metadata"][field] = json!(namespace);
        items.push(object);
    }
    (!items.is_empty()).then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_objects_are_created_in_the_configured_namespace() {
        let manifest = "---\nkind: Namespace\nmetadata:\n  name: drover-agent\n\
                        ---\nkind: Secret\nmetadata:\n  name: s\n  namespace: drover-agent\n\
                        data:\n  ca: |\n    -----BEGIN X-----\n    -----END X-----\n\
                        ---\nkind: Deployment\nmetadata:\n  name: d\n";
        let items = in_namespace(manifest, "x").unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0]["metadata"]["name"], "x");
        assert_eq!(items[1]["metadata"]["namespace"], "x");
        assert_eq!(
            items[1]["data"]["ca"],
            "-----BEGIN X-----\n-----END X-----\n"
        );
        assert_eq!(in_namespace("no: manifest", "x"), None);
    }
}
