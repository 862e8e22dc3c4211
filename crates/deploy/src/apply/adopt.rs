//! Takes over the fields that Helm, Fleet's agent and kubectl wrote.
//!
//! These programs may have written an object by update, not by server-side apply. Without the
//! takeover, a field that the next release omits would still belong to them, and would stay.

use drover_apply::call;
use kube::api::{Patch, PatchParams};
use serde_json::{Map, Value, json};

use super::FIELD_MANAGER;
use crate::cluster::{Cluster, ClusterError};
use crate::object::Object;

/// Takes over the fields of an object. Does nothing if no other program owns fields.
pub(super) async fn take_over_fields(cluster: &Cluster, live: &Object) -> Result<(), ClusterError> {
    let Some(fields) = live
        .0
        .pointer("/metadata/managedFields")
        .and_then(taken_over)
    else {
        return Ok(());
    };
    let key = live.key();
    let kind = cluster.kind(&key.api_version, &key.kind).await?;
    let version = live
        .0
        .pointer("/metadata/resourceVersion")
        .cloned()
        .unwrap_or_default();
    // The version lets the API server reject the patch if the object has changed.
    let patch = json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": fields},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]);
    let patch: json_patch::Patch = serde_json::from_value(patch).unwrap_or_default();
    let api = cluster.api(&kind, &key.namespace);
    let (params, patch) = (PatchParams::default(), Patch::Json::<()>(patch));
    let patched = api.patch(&key.name, &params, &patch);
    call(format!("take over the fields of {key}"), patched).await?;
    Ok(())
}

fn is_replaced(manager: &str) -> bool {
    matches!(manager, "helm" | "fleetagent" | "fleet-agent") || manager.starts_with("kubectl")
}

/// Returns the managed fields in which one entry of the own field manager replaces the entries of
/// the other programs, or `None` without such entries.
fn taken_over(managed: &Value) -> Option<Value> {
    let text = |entry: &Value, field: &str| {
        entry
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (mut union, mut kept, mut api_version, mut found) =
        (Map::new(), Vec::new(), String::new(), false);
    for entry in managed.as_array()? {
        let writer = text(entry, "manager");
        let is_main = text(entry, "subresource").is_empty();
        let is_own = writer == FIELD_MANAGER && text(entry, "operation") == "Apply";
        if is_main && (is_own || is_replaced(&writer)) {
            found |= !is_own;
            api_version = text(entry, "apiVersion");
            if let Some(Value::Object(fields)) = entry.get("fieldsV1") {
                merge(&mut union, fields);
            }
        } else {
            kept.push(entry.clone());
        }
    }
    kept.push(json!({
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": union,
    }));
    found.then_some(Value::Array(kept))
}

fn merge(union: &mut Map<String, Value>, fields: &Map<String, Value>) {
    for (name, value) in fields {
        let inner = union.entry(name.clone()).or_insert_with(|| json!({}));
        if let (Value::Object(inner), Value::Object(value)) = (inner, value) {
            merge(inner, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_helm_and_kubectl_become_own_fields() {
        let entry = |manager: &str, operation: &str, fields: Value| json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let managed = json!([
            entry("helm", "Update", json!({"f:data": {".": {}, "f:a": {}}})),
            entry("kubectl-edit", "Update", json!({"f:data": {"f:b": {}}})),
            entry("controller", "Update", json!({"f:data": {"f:c": {}}})),
        ]);
        let expected = json!([
            entry("controller", "Update", json!({"f:data": {"f:c": {}}})),
            entry(
                FIELD_MANAGER,
                "Apply",
                json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}})
            ),
        ]);
        assert_eq!(taken_over(&managed), Some(expected));
    }

    #[test]
    fn fields_of_other_controllers_and_of_the_status_stay() {
        let managed = json!([
            {"manager": "controller", "operation": "Update"},
            {"manager": "kubectl", "operation": "Update", "subresource": "status"},
            {"manager": FIELD_MANAGER, "operation": "Apply"},
        ]);
        assert_eq!(taken_over(&managed), None);
    }
}
