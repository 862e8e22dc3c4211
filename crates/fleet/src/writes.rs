//! Writes to the hub with a timeout.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use drover_api::group::SERVER_FIELD_MANAGER;
use drover_hub::{HubError, call};
use drover_reconcile::fault;
use jiff::Timestamp;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch as JsonPatch, PatchOperation};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Delay of the next attempt for an object that this version cannot parse.
pub(crate) const UNREADABLE: Duration = Duration::from_mins(5);

/// Sends a write with a timeout.
async fn write<T>(
    operation: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, HubError> {
    let result = call(operation, request).await;
    fault::written();
    result
}

/// Applies an object as the server's field manager.
pub(crate) async fn apply<K>(
    operation: &'static str,
    api: &Api<K>,
    object: &K,
) -> Result<K, HubError>
where
    K: ResourceExt + Clone + Debug + Serialize + DeserializeOwned,
{
    let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
    let (name, patch) = (object.name_any(), Patch::Apply(object));
    write(operation, api.patch(&name, &params, &patch)).await
}

/// Applies a JSON merge patch to an object.
pub(crate) async fn merge<K>(
    operation: &'static str,
    api: &Api<K>,
    name: &str,
    patch: &Value,
) -> Result<K, HubError>
where
    K: Clone + Debug + DeserializeOwned,
{
    let params = parameters();
    let patch = Patch::Merge(patch);
    write(operation, api.patch(name, &params, &patch)).await
}

/// Writes the fields of a status that have changed. Returns `None` if nothing has changed, or if the
/// object does not exist.
pub(crate) async fn write_status<K, S>(
    operation: &'static str,
    api: &Api<K>,
    name: &str,
    before: Option<&S>,
    after: &S,
) -> Result<Option<K>, HubError>
where
    K: Clone + Debug + DeserializeOwned,
    S: Serialize,
{
    let (before, after) = (json!(before), json!(after));
    let Some(status) = difference(&before, &after) else {
        return Ok(None);
    };
    let params = parameters();
    let patch = Patch::Merge(json!({ "status": status }));
    match write(operation, api.patch_status(name, &params, &patch)).await {
        Ok(written) => Ok(Some(written)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the JSON merge patch from `before` to `after`. Fields that `after` omits are deleted.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return (before != after).then(|| after.clone());
    };
    let removed = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: Map<String, Value> = removed.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        let before = old.get(key).unwrap_or(&Value::Null);
        if let Some(value) = difference(before, value) {
            patch.insert(key.clone(), value);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

/// Creates an object. Returns `None` if the object exists.
pub(crate) async fn create<K>(
    operation: &'static str,
    api: &Api<K>,
    object: &K,
) -> Result<Option<K>, HubError>
where
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    let params = PostParams {
        field_manager: Some(SERVER_FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match write(operation, api.create(&params, object)).await {
        Ok(created) => Ok(Some(created)),
        Err(error) if error.is_conflict() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reports whether an object exists on the hub. A mirror does not contain objects that this version
/// cannot parse, so a controller asks the hub before it deletes the dependents of the object.
pub(crate) async fn exists<K>(
    operation: &'static str,
    api: &Api<K>,
    name: &str,
) -> Result<bool, HubError>
where
    K: Clone + Debug + DeserializeOwned,
{
    let params = ListParams::default().fields(&format!("metadata.name={name}"));
    let listed = call(operation, api.list_metadata(&params)).await?;
    Ok(!listed.items.is_empty())
}

/// Deletes an object. An absent object is not an error.
pub(crate) async fn delete<K>(
    operation: &'static str,
    api: &Api<K>,
    name: &str,
) -> Result<(), HubError>
where
    K: Clone + Debug + DeserializeOwned,
{
    let params = DeleteParams::default();
    match write(operation, api.delete(name, &params)).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Replaces the labels and the spec of an object. A merge would keep removed fields.
pub(crate) async fn replace_spec<K, S>(
    operation: &'static str,
    api: &Api<K>,
    name: &str,
    labels: &BTreeMap<String, String>,
    spec: &S,
) -> Result<K, HubError>
where
    K: Clone + Debug + DeserializeOwned,
    S: Serialize,
{
    let add = |path: &'static str, value: Value| {
        PatchOperation::Add(AddOperation {
            path: PointerBuf::parse(path).expect("the path is a constant JSON pointer"),
            value,
        })
    };
    let operations = vec![
        add("/metadata/labels", json!(labels)),
        add("/spec", json!(spec)),
    ];
    let params = parameters();
    let patch: Patch<()> = Patch::Json(JsonPatch(operations));
    write(operation, api.patch(name, &params, &patch)).await
}

/// Returns the parameters of patches with the server as field manager.
pub(crate) fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Returns the current time for conditions.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_patch_contains_changed_fields_and_deletes_omitted_fields() {
        let before = json!({ "same": 1, "gone": "x", "nested": { "a": 1, "b": 2 }, "list": [1] });
        let after = json!({ "same": 1, "nested": { "a": 1, "b": 3 }, "list": [2], "new": {} });
        let expected = json!({ "gone": null, "nested": { "b": 3 }, "list": [2], "new": {} });
        assert_eq!(difference(&before, &after), Some(expected.clone()));
        let mut patched = before;
        json_patch::merge(&mut patched, &expected);
        assert_eq!(patched, after);
        assert_eq!(difference(&after, &after), None);
        assert_eq!(difference(&Value::Null, &after), Some(after));
    }
}
