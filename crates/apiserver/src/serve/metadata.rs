//! Accessors for `metadata` of JSON objects.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Returns a string field of the metadata. The result is empty if the field is absent.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// Returns `metadata.name`.
pub(crate) fn name(object: &Value) -> &str {
    text(object, "name")
}

/// Returns `metadata.uid`.
pub(crate) fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// Returns `metadata.resourceVersion`.
pub(crate) fn resource_version(object: &Value) -> &str {
    text(object, "resourceVersion")
}

/// Returns an integer field of the metadata.
pub(crate) fn integer(object: &Value, field: &str) -> Option<i64> {
    object["metadata"][field].as_i64()
}

/// Reports whether `metadata.deletionTimestamp` is set.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// Returns `metadata.finalizers`.
pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"]
        .as_array()
        .map(|all| all.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

/// Sets the finalizers. Removes the field for an empty list.
pub(crate) fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    if finalizers.is_empty() {
        remove(object, "finalizers");
    } else {
        set(object, "finalizers", finalizers.to_vec());
    }
}

/// Returns the metadata of the object. Creates absent metadata.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    match metadata {
        Value::Object(map) => map,
        _ => unreachable!("the metadata is an object"),
    }
}

/// Sets a field of the metadata.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    of(object).insert(field.to_owned(), value.into());
}

/// Removes a field of the metadata, and returns its value.
pub(crate) fn remove(object: &mut Value, field: &str) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(field)
}

/// Copies a metadata field from the object `from` to the object `to`.
pub(crate) fn copy(from: &Value, to: &mut Value, field: &str) {
    match &from["metadata"][field] {
        Value::Null => drop(remove(to, field)),
        value => set(to, field, value.clone()),
    }
}

/// Returns the current time in the format of `metav1.Time`, in whole seconds.
pub(crate) fn now() -> String {
    time(jiff::Timestamp::now())
}

/// Formats a time as `metav1.Time`, in whole seconds.
pub(crate) fn time(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Removes duplicate owner references, and returns their UIDs.
pub(crate) fn dedup_owners(object: &mut Value) -> Vec<String> {
    let Some(owners) = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("ownerReferences"))
        .and_then(Value::as_array_mut)
    else {
        return Vec::new();
    };
    let mut twice = Vec::new();
    let mut kept: HashSet<Value> = HashSet::with_capacity(owners.len());
    owners.retain(|owner| {
        let is_new = kept.insert(owner.clone());
        if !is_new {
            twice.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        is_new
    });
    twice
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_functions_set_copy_and_remove_fields() {
        let mut object = json!({});
        set(&mut object, "name", "a");
        assert_eq!(name(&object), "a");
        set_finalizers(&mut object, &["x".to_owned()]);
        assert_eq!(finalizers(&object), ["x"]);
        set_finalizers(&mut object, &[]);
        copy(&json!({"metadata": {"uid": "u"}}), &mut object, "uid");
        assert_eq!(object, json!({"metadata": {"name": "a", "uid": "u"}}));
        copy(&json!({}), &mut object, "uid");
        assert_eq!(uid(&object), "");
    }

    #[test]
    fn duplicate_owner_references_are_removed() {
        let owner = |uid: &str| json!({"uid": uid, "name": "o"});
        let mut object =
            json!({"metadata": {"ownerReferences": [owner("1"), owner("2"), owner("1")]}});
        assert_eq!(dedup_owners(&mut object), ["1"]);
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([owner("1"), owner("2")])
        );
    }

    #[test]
    fn metadata_times_have_whole_seconds() {
        let moment = "2026-11-21T07:24:21.987Z".parse().unwrap();
        assert_eq!(time(moment), "2026-11-21T07:24:21Z");
    }
}
