//! An object of a cluster: the part that the history stores, and its field managers.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use drover_api::rest::{HistoryKind, UNRECORDED_ANNOTATIONS, VersionManager};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::api_path::MAX_NAME;

/// Fields of the metadata that users configure.
const METADATA: [&str; 6] = [
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
];
/// Maximum number of stored field managers. A hostile cluster could send more.
const MAX_MANAGERS: usize = 64;
/// Maximum length of the name of a field manager in bytes, as in Kubernetes.
const MAX_MANAGER_NAME: usize = 128;
/// Maximum size of the JSON of an object in bytes. API servers accept objects of at most about
/// 1.5 MiB.
const MAX_JSON: usize = 2 << 20;
/// Maximum length of UIDs and resource versions in bytes.
pub(crate) const MAX_ID: usize = 128;

/// Keys of hashes. Clusters must not know the keys, because equal hashes mean equal objects.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A state of an object.
pub(crate) struct Observed {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) generation: Option<i64>,
    pub(crate) managers: Vec<ManagerEntry>,
    /// The object without the fields that the history ignores.
    pub(crate) content: Value,
    /// The hash of the content.
    pub(crate) hash: u64,
}

/// An entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManagerEntry {
    pub(crate) manager: VersionManager,
    /// The hash of the field names.
    fields: u64,
}

/// The reason why the server does not store an object.
#[derive(Debug, Error)]
pub(crate) enum UnusableObject {
    #[error("the cluster sent an invalid object")]
    Json(#[from] serde_json::Error),
    #[error("the object has no valid name, UID or resource version")]
    Metadata,
    #[error("the object has another kind")]
    Kind,
    #[error("the object has more than {MAX_JSON} bytes")]
    TooLarge,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEntry {
    #[serde(default)]
    manager: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    subresource: String,
    time: Option<Timestamp>,
    #[serde(default)]
    fields_v1: Value,
}

impl Observed {
    /// Reads the JSON of an object.
    pub(crate) fn read(kind: &HistoryKind, json: &str) -> Result<Self, UnusableObject> {
        // Before parsing, because the parsed object can use much more memory than the JSON.
        if json.len() > MAX_JSON {
            return Err(UnusableObject::TooLarge);
        }
        let mut object: Map<String, Value> = serde_json::from_str(json)?;
        // Objects in lists can lack the kind.
        if object.get("kind").is_some_and(|found| found != kind.kind) {
            return Err(UnusableObject::Kind);
        }
        let Some(Value::Object(mut metadata)) = object.remove("metadata") else {
            return Err(UnusableObject::Metadata);
        };
        let text = |key: &str, max: usize| {
            let text = metadata.get(key).and_then(Value::as_str);
            let text = text.unwrap_or_default();
            (text.len() <= max).then(|| text.to_owned())
        };
        let required = |key: &str, max| {
            let text = text(key, max).filter(|text| !text.is_empty());
            text.ok_or(UnusableObject::Metadata)
        };
        let (name, namespace) = (required("name", MAX_NAME)?, text("namespace", MAX_NAME));
        let uid = required("uid", MAX_ID)?;
        let resource_version = required("resourceVersion", MAX_ID)?;
        let generation = metadata.get("generation").and_then(Value::as_i64);
        let managers = managers(metadata.remove("managedFields"));
        metadata.retain(|key, _| METADATA.contains(&key.as_str()));
        remove_ignored_annotations(&mut metadata);
        object.remove("status");
        object.insert("apiVersion".to_owned(), kind.api_version.into());
        object.insert("kind".to_owned(), kind.kind.into());
        object.insert("metadata".to_owned(), metadata.into());
        let content = Value::Object(object);
        Ok(Self {
            namespace: namespace.ok_or(UnusableObject::Metadata)?,
            name,
            uid,
            resource_version,
            generation,
            managers,
            hash: HASHES.hash_one(&content),
            content,
        })
    }
}

fn remove_ignored_annotations(metadata: &mut Map<String, Value>) {
    let Some(annotations) = metadata.get_mut("annotations") else {
        return;
    };
    if let Some(map) = annotations.as_object_mut() {
        map.retain(|key, _| !UNRECORDED_ANNOTATIONS.contains(&key.as_str()));
    }
    if annotations.as_object().is_none_or(Map::is_empty) {
        metadata.remove("annotations");
    }
}

/// Returns the entries of `managedFields`, without changes of the status.
fn managers(entries: Option<Value>) -> Vec<ManagerEntry> {
    let Some(Value::Array(entries)) = entries else {
        return Vec::new();
    };
    let entries = entries.into_iter().filter_map(|entry| {
        // An invalid entry must not hide the other entries.
        let entry: WireEntry = serde_json::from_value(entry).ok()?;
        let is_short = [&entry.manager, &entry.operation, &entry.subresource]
            .iter()
            .all(|text| text.len() <= MAX_MANAGER_NAME);
        (entry.subresource != "status" && is_short).then(|| ManagerEntry {
            fields: HASHES.hash_one(&entry.fields_v1),
            manager: VersionManager {
                name: entry.manager,
                operation: entry.operation,
                subresource: Some(entry.subresource).filter(|text| !text.is_empty()),
                time: entry.time,
            },
        })
    });
    entries.take(MAX_MANAGERS).collect()
}

/// Returns the managers whose entries changed, newest first. If `old` is `None`, or if no entry
/// changed, returns the manager with the newest entry: two changes of a manager in the same second
/// have equal entries.
pub(crate) fn changed_managers(
    old: Option<&[ManagerEntry]>,
    new: &[ManagerEntry],
) -> Vec<VersionManager> {
    let is_changed = |entry: &&ManagerEntry| old.is_some_and(|old| !old.contains(entry));
    let changed = new.iter().filter(is_changed);
    let mut changed: Vec<_> = changed.map(|entry| entry.manager.clone()).collect();
    if changed.is_empty() {
        let newest = new.iter().max_by_key(|entry| entry.manager.time);
        changed.extend(newest.map(|entry| entry.manager.clone()));
    }
    changed.sort_by_key(|manager| std::cmp::Reverse(manager.time));
    changed
}

/// Returns the time of the newest entry.
pub(crate) fn managed_at(managers: &[ManagerEntry]) -> Option<Timestamp> {
    managers.iter().filter_map(|entry| entry.manager.time).max()
}

#[cfg(test)]
mod tests {
    use drover_api::rest::history_kind;
    use serde_json::json;

    use super::*;

    fn read(object: &Value) -> Result<Observed, UnusableObject> {
        let kind = history_kind("apps/v1", "deployments").unwrap();
        Observed::read(kind, &object.to_string())
    }

    fn web() -> Value {
        json!({"metadata": {
            "name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7",
            "generation": 3, "labels": {"app": "web"},
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"password\":1}",
                "deployment.kubernetes.io/revision": "4",
            },
            "managedFields": [
                {"manager": "kubectl", "operation": "Apply", "time": "2026-11-01T10:00:00Z",
                    "fieldsV1": {"f:spec": {}}},
                {"manager": "kube", "operation": "Update", "subresource": "status",
                    "time": "2026-11-02T10:00:00Z"},
                "invalid",
            ]},
            "spec": {"replicas": 3}, "status": {"replicas": 1}})
    }

    #[test]
    fn stored_content_lacks_status_versions_and_the_last_applied_configuration() {
        let read = read(&web()).unwrap();
        let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
            "spec": {"replicas": 3}});
        assert_eq!(read.content, expected);
        assert_eq!((read.generation, &*read.resource_version), (Some(3), "7"));
        let names = read.managers.iter().map(|entry| &*entry.manager.name);
        assert_eq!(names.collect::<Vec<_>>(), ["kubectl"]);
    }

    #[test]
    fn changes_of_status_and_ignored_annotations_keep_the_hash() {
        let (mut later, first) = (web(), read(&web()).unwrap());
        later["status"]["replicas"] = 2.into();
        later["metadata"]["resourceVersion"] = "8".into();
        later["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "5".into();
        assert_eq!(read(&later).unwrap().hash, first.hash);
        later["spec"]["replicas"] = 4.into();
        assert_ne!(read(&later).unwrap().hash, first.hash);
    }

    #[test]
    fn object_of_another_kind_or_without_a_name_is_rejected() {
        for (key, value) in [
            ("kind", json!("Secret")),
            ("metadata", json!({"name": "web"})),
            (
                "metadata",
                json!({"name": "x".repeat(300), "uid": "u", "resourceVersion": "1"}),
            ),
            ("metadata", json!("text")),
        ] {
            let mut object = web();
            object[key] = value;
            assert!(read(&object).is_err(), "{object}");
        }
    }

    #[test]
    fn object_above_the_size_of_api_servers_is_not_parsed() {
        let kind = history_kind("apps/v1", "deployments").unwrap();
        let json = format!("{{{}", " ".repeat(MAX_JSON));
        let read = Observed::read(kind, &json);
        assert!(matches!(read, Err(UnusableObject::TooLarge)));
    }

    #[test]
    fn only_managers_with_changed_entries_changed_the_object() {
        let first = read(&web()).unwrap().managers;
        let mut later = web();
        let entries = later["metadata"]["managedFields"].as_array_mut().unwrap();
        entries.push(json!({"manager": "edit", "operation": "Update",
            "time": "2026-11-03T10:00:00Z"}));
        let later = read(&later).unwrap().managers;
        let names = |old| {
            let changed = changed_managers(old, &later).into_iter();
            changed.map(|manager| manager.name).collect::<Vec<_>>()
        };
        assert_eq!(names(Some(&first)), ["edit"]);
        assert_eq!(names(None), ["edit"]);
        assert_eq!(
            names(Some(&later)),
            ["edit"],
            "an equal entry in the same second"
        );
    }
}
