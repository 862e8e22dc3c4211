//! Manifests with several documents, for the creation of objects.

pub mod workload_form;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::{MessageFormatter as _, UserMessageFormatter};

use crate::messages::t;
use crate::object::read;
use crate::shell::word;
use crate::url::segment;

/// The namespace of objects whose manifest names no namespace.
const DEFAULT_NAMESPACE: &str = "default";

/// A manifest of one object in YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The text of the manifest.
    pub text: String,
    /// Group and version.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    name: String,
    namespace: Option<String>,
}

/// A text that is not a list of manifests, with the error message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDocument(String);

impl InvalidDocument {
    /// Returns the error message.
    pub fn words(&self) -> &str {
        &self.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    generate_name: String,
    namespace: Option<String>,
}

/// Splits a text into the manifests of its objects.
pub fn documents(text: &str) -> Result<Vec<Document>, InvalidDocument> {
    let texts = split(text).into_iter().enumerate();
    texts
        .map(|(at, text)| Document::parse(at + 1, text))
        .collect()
}

/// Splits a text at the lines `---`, and leaves out documents without content.
fn split(text: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    for line in text.lines() {
        if line == "---" || line.starts_with("--- ") {
            texts.push(String::new());
        } else if let Some(last) = texts.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
    texts.retain(|text| text.lines().any(is_content));
    texts
}

impl Document {
    fn parse(number: usize, text: String) -> Result<Self, InvalidDocument> {
        let options = serde_saphyr::options! { with_snippet: false };
        let head: Head = serde_saphyr::from_str_with_options(&text, options).map_err(|error| {
            let message = UserMessageFormatter.format_message(&error).into_owned();
            InvalidDocument(t().create.invalid(number, &message))
        })?;
        let name = match head.metadata.name.as_str() {
            "" => head.metadata.generate_name,
            _ => head.metadata.name,
        };
        let fields = [
            ("apiVersion", &head.api_version),
            ("kind", &head.kind),
            ("metadata.name", &name),
        ];
        if let Some((field, _)) = fields.iter().find(|(_, value)| value.is_empty()) {
            return Err(InvalidDocument(t().create.missing_field(number, field)));
        }
        Ok(Self {
            api_version: head.api_version,
            kind: head.kind,
            name,
            namespace: head.metadata.namespace,
            text,
        })
    }

    /// Returns the kind and the name of the object.
    pub fn words(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }

    /// Reports whether one of the documents creates the namespace of the object. A dry run of such
    /// an object fails, because the namespace does not exist yet.
    pub fn needs_namespace_of(&self, documents: &[Self]) -> bool {
        let mut namespaces = documents.iter().filter(|it| it.kind == "Namespace");
        namespaces.any(|it| self.namespace.as_deref() == Some(&*it.name))
    }

    /// Returns the API path of the list of resources that contains the kind.
    pub fn resources_path(&self, cluster: &str) -> String {
        let root = if self.api_version.contains('/') {
            "apis"
        } else {
            "api"
        };
        format!(
            "/k8s/clusters/{}/{root}/{}",
            segment(cluster),
            self.api_version
        )
    }

    /// Returns the API path that creates the object. `resources` is the list of resources. Returns
    /// `None` if the cluster does not serve the kind.
    pub fn create_path(&self, cluster: &str, resources: &Value) -> Option<String> {
        let mut items = read::list(resources, "/resources").iter();
        let resource = items.find(|it| {
            let name = read::text(it, "/name").unwrap_or_default();
            read::text(it, "/kind") == Some(&*self.kind) && !name.contains('/')
        })?;
        let plural = read::text(resource, "/name")?;
        let root = self.resources_path(cluster);
        if !read::is_true(resource, "/namespaced") {
            return Some(format!("{root}/{plural}"));
        }
        let namespace = self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        Some(format!("{root}/namespaces/{}/{plural}", segment(namespace)))
    }
}

/// Returns the equivalent kubectl command.
pub fn create_command(cluster: &str) -> String {
    format!(
        "kubectl --context {} create --filename objects.yaml",
        word(cluster)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = "# objects of the shop\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n---\n\
        apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n---\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: web-\n";

    #[test]
    fn text_is_split_into_the_manifests_of_its_objects() {
        let parsed = documents(TEXT).unwrap();
        let words: Vec<_> = parsed.iter().map(Document::words).collect();
        assert_eq!(
            words,
            ["Namespace shop", "Deployment web", "ConfigMap web-"]
        );
        assert!(parsed[1].needs_namespace_of(&parsed));
        assert!(!parsed[2].needs_namespace_of(&parsed));
        assert_eq!(documents("# nothing\n"), Ok(Vec::new()));
    }

    fn error(text: &str) -> String {
        documents(text).unwrap_err().words().to_owned()
    }

    #[test]
    fn invalid_document_is_reported_with_its_number() {
        let missing = error("apiVersion: v1\nkind: Pod\n---\nkind: Pod\n");
        assert_eq!(missing, "Document 1: the field metadata.name is missing.");
        let second = error(&format!("{TEXT}---\nkind: Pod\n"));
        assert_eq!(second, "Document 4: the field apiVersion is missing.");
        assert!(error("kind: [").starts_with("Document 1: "));
    }

    #[test]
    fn object_is_created_at_the_path_of_its_resource() {
        let documents = documents(TEXT).unwrap();
        let resources = json!({"resources": [
            {"name": "deployments/scale", "kind": "Deployment", "namespaced": true},
            {"name": "deployments", "kind": "Deployment", "namespaced": true},
            {"name": "namespaces", "kind": "Namespace", "namespaced": false},
            {"name": "configmaps", "kind": "ConfigMap", "namespaced": true},
        ]});
        let paths: Vec<_> = documents
            .iter()
            .map(|it| it.create_path("berlin", &resources).unwrap())
            .collect();
        assert_eq!(
            paths,
            [
                "/k8s/clusters/berlin/api/v1/namespaces",
                "/k8s/clusters/berlin/apis/apps/v1/namespaces/shop/deployments",
                "/k8s/clusters/berlin/api/v1/namespaces/default/configmaps",
            ]
        );
        assert_eq!(documents[0].create_path("berlin", &json!({})), None);
    }
}
