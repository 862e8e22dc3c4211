//! Differences between the objects in the cluster and the objects of the release.

mod compare;
mod rules;

use serde_json::Value;

pub use rules::Rules;

use crate::object::{Object, group};

/// Returns the JSON merge patch that restores the desired object, or `None` without a difference.
///
/// Only the fields of the desired object count. Fields that other programs add do not.
pub fn difference(desired: &Object, live: &Object, rules: &Rules<'_>) -> Option<Value> {
    let (mut desired, mut live) = (
        desired.clone().without_server_fields(),
        live.clone().without_server_fields(),
    );
    for object in [&mut desired, &mut live] {
        normalize(object);
        rules.normalize(object);
    }
    if rules.ignores_replicas(&desired)
        && let Some(spec) = desired.0.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.remove("replicas");
    }
    compare::difference(&desired.0, &live.0)
}

/// Removes fields that depend on the cluster or that controllers write.
fn normalize(object: &mut Object) {
    let (api_group, kind) = (
        group(object.api_version()).to_owned(),
        object.kind().to_owned(),
    );
    let Some(fields) = object.0.as_object_mut() else {
        return;
    };
    // The version may differ, because the cluster converts objects.
    fields.remove("apiVersion");
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        // The release sets the namespace of objects without one.
        metadata.remove("namespace");
    }
    match (api_group.as_str(), kind.as_str()) {
        ("", "Secret") => merge_string_data(object),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            remove_ca_bundles(object);
        }
        ("apiregistration.k8s.io", "APIService") => {
            if let Some(spec) = object.0.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("caBundle");
            }
        }
        _ => {}
    }
}

/// Moves `stringData` of a Secret to `data`, as the API server does.
fn merge_string_data(secret: &mut Object) {
    use base64::Engine as _;
    let Some(fields) = secret.0.as_object_mut() else {
        return;
    };
    let Some(Value::Object(texts)) = fields.remove("stringData") else {
        return;
    };
    let data = fields
        .entry("data")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    if let Some(data) = data.as_object_mut() {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            let encoded = base64::engine::general_purpose::STANDARD.encode(text);
            data.insert(key, encoded.into());
        }
    }
}

/// Removes the CA bundles of webhooks, which certificate controllers write.
fn remove_ca_bundles(configuration: &mut Object) {
    let webhooks = configuration
        .0
        .get_mut("webhooks")
        .and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        if let Some(config) = webhook
            .get_mut("clientConfig")
            .and_then(Value::as_object_mut)
        {
            config.remove("caBundle");
        }
    }
}

#[cfg(test)]
mod tests;
