//! Objects of any kind, as JSON.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Label of deployed objects. The value is the name of the bundle deployment.
pub const DEPLOYMENT_LABEL: &str = "deploy.drover.dev/deployment";
/// Annotation that protects an object from deletion if the value is `keep`.
pub const POLICY_ANNOTATION: &str = "helm.sh/resource-policy";

/// Kind and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object. Empty for cluster-scoped objects.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl ObjectKey {
    /// Returns the key without the API's version. Two keys of the same object have equal results.
    #[must_use]
    pub fn without_version(&self) -> Self {
        Self {
            api_version: group(&self.api_version).to_owned(),
            ..self.clone()
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Returns the API group of an API version. The core group is empty.
pub fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// An object of any kind.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Object(pub Value);

// The content may be a Secret.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Object")
            .field(&self.key().to_string())
            .finish()
    }
}

impl Object {
    fn text(&self, pointer: &str) -> &str {
        self.0
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Returns the API version.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// Returns the kind.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Returns the namespace, or an empty text.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// Returns the resource version, which both kinds of API servers count. Returns `None` for an object
    /// that is not from a cluster.
    pub fn version(&self) -> Option<u64> {
        self.text("/metadata/resourceVersion").parse().ok()
    }

    /// Returns the UID, or an empty text for an object that is not from a cluster.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// Returns the key.
    pub fn key(&self) -> ObjectKey {
        ObjectKey {
            api_version: self.api_version().to_owned(),
            kind: self.kind().to_owned(),
            namespace: self.namespace().to_owned(),
            name: self.name().to_owned(),
        }
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.0
            .get("metadata")?
            .get("annotations")?
            .get(name)?
            .as_str()
    }

    /// Returns the value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.0.get("metadata")?.get("labels")?.get(name)?.as_str()
    }

    /// Returns the object without the fields that the API server or a controller writes.
    #[must_use]
    pub fn without_server_fields(mut self) -> Self {
        if let Some(fields) = self.0.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = self.0.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in [
                "creationTimestamp",
                "generation",
                "managedFields",
                "resourceVersion",
                "selfLink",
                "uid",
            ] {
                metadata.remove(field);
            }
        }
        self
    }

    /// Sets the namespace.
    pub fn set_namespace(&mut self, namespace: &str) {
        if let Some(metadata) = self.child("metadata") {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
    }

    /// Sets a label.
    pub fn set_label(&mut self, name: &str, value: &str) {
        self.set_text("labels", name, value);
    }

    /// Sets an annotation.
    pub fn set_annotation(&mut self, name: &str, value: &str) {
        self.set_text("annotations", name, value);
    }

    fn set_text(&mut self, map: &str, name: &str, value: &str) {
        let Some(metadata) = self.child("metadata") else {
            return;
        };
        let texts = metadata.entry(map).or_insert_with(|| json!({}));
        if !texts.is_object() {
            *texts = json!({});
        }
        if let Some(texts) = texts.as_object_mut() {
            texts.insert(name.to_owned(), value.into());
        }
    }

    fn child(&mut self, name: &str) -> Option<&mut Map<String, Value>> {
        let child = self
            .0
            .as_object_mut()?
            .entry(name)
            .or_insert_with(|| json!({}));
        if !child.is_object() {
            *child = json!({});
        }
        child.as_object_mut()
    }

    /// Returns true if the object is a `CustomResourceDefinition`.
    pub fn is_crd(&self) -> bool {
        self.kind() == "CustomResourceDefinition"
            && group(self.api_version()) == "apiextensions.k8s.io"
    }

    /// Returns true if the object stays in the cluster when its release has it no longer.
    pub fn is_kept(&self) -> bool {
        self.annotation(POLICY_ANNOTATION)
            .is_some_and(|policy| policy.trim() == "keep")
    }

    /// Replaces an object of a list kind by its items.
    pub fn expand(self) -> Vec<Self> {
        if !self.kind().ends_with("List") {
            return vec![self];
        }
        match self.0 {
            Value::Object(mut fields) => match fields.remove("items") {
                Some(Value::Array(items)) => items.into_iter().map(Self).collect(),
                Some(items) => {
                    fields.insert("items".to_owned(), items);
                    vec![Self(Value::Object(fields))]
                }
                None => vec![Self(Value::Object(fields))],
            },
            other => vec![Self(other)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_object_is_replaced_by_its_items() {
        let list =
            json!({"apiVersion": "v1", "kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]});
        let kinds: Vec<_> = Object(list)
            .expand()
            .iter()
            .map(|o| o.kind().to_owned())
            .collect();
        assert_eq!(kinds, ["A", "B"]);
        let single = json!({"kind": "AllowList", "spec": {}});
        assert_eq!(Object(single.clone()).expand(), [Object(single)]);
    }

    #[test]
    fn debug_output_omits_content() {
        let secret =
            json!({"kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "cGFzcw=="}});
        assert_eq!(format!("{:?}", Object(secret)), "Object(\"Secret a\")");
    }

    #[test]
    fn label_is_set_even_if_the_labels_are_null() {
        let mut object = Object(json!({"kind": "A", "metadata": {"labels": null}}));
        object.set_label("a", "b");
        assert_eq!(object.label("a"), Some("b"));
    }
}
