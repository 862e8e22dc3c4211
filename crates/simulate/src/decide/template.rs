//! Creates pods from pod templates.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::{Map, Value, json};

/// Label with the template's hash on the pods of a ReplicaSet.
pub(super) const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// Label with the template's hash on the pods of a StatefulSet or DaemonSet.
pub(super) const REVISION_HASH: &str = "controller-revision-hash";

/// Returns the hash of a pod template. Ignores the label that contains the hash.
pub(super) fn hash(template: &PodTemplateSpec) -> String {
    let mut value = json!(template);
    if let Some(labels) = value
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    {
        labels.remove(POD_TEMPLATE_HASH);
    }
    encode(crate::hash::fnv1a(&value.to_string()))
}

/// Encodes a hash with the characters that Kubernetes uses in generated names.
pub(super) fn encode(mut number: u32) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut text = String::new();
    for _ in 0..7 {
        let at = usize::try_from(number % 27).expect("the remainder is less than 27");
        text.push(char::from(LETTERS[at]));
        number /= 27;
    }
    text
}

/// The name of a new pod, or the prefix for a generated name.
pub(super) enum Name {
    /// The complete name of the pod.
    Fixed(String),
    /// Prefix of the pod's name. The API adds a random suffix.
    Prefix(String),
}

/// Creates a pod from a template.
pub(super) fn pod(
    template: &PodTemplateSpec,
    namespace: &str,
    name: Name,
    owner: Value,
    labels: &[(&str, String)],
) -> Value {
    let mut metadata = json!(template.metadata);
    if !metadata.is_object() {
        metadata = json!({});
    }
    metadata["namespace"] = namespace.into();
    match name {
        Name::Fixed(name) => metadata["name"] = name.into(),
        Name::Prefix(prefix) => metadata["generateName"] = prefix.into(),
    }
    metadata["ownerReferences"] = owner;
    add(&mut metadata, "labels", labels);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.spec})
}

/// Adds labels or annotations to the metadata of a pod.
pub(super) fn add(metadata: &mut Value, field: &str, texts: &[(&str, String)]) {
    if !metadata[field].is_object() {
        metadata[field] = Value::Object(Map::new());
    }
    for (name, text) in texts {
        metadata[field][*name] = text.as_str().into();
    }
}
