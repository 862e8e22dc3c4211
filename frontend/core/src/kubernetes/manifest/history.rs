//! The history of an object: the request, the text of versions, and the manifest of a revert.

use drover_api::rest::{
    FieldChange, ObjectVersion, UNRECORDED_ANNOTATIONS, VersionManager, history_kind,
};
use serde_json::{Map, Value};

use super::Manifest;
use crate::kind::Kind;
use crate::kubectl::KubectlObject;
use crate::messages::t;
use crate::url::{segment, with_query};

/// Fields that a revert does not change.
const KEPT: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];
/// Fields of the metadata that a revert changes.
const REVERTED_METADATA: [&str; 2] = ["labels", "annotations"];

/// Reports whether the server records versions of a kind.
pub fn has_history(kind: Kind) -> bool {
    history_kind(kind.api_version, kind.plural).is_some()
}

/// Returns the path of the request for the versions of an object.
pub fn history_path(named: &KubectlObject) -> String {
    let path = format!("/v1/clusters/{}/history", segment(&named.cluster));
    let kind = named.kind;
    with_query(
        &path,
        &[
            ("apiVersion", kind.api_version.to_owned()),
            ("plural", kind.plural.to_owned()),
            ("namespace", named.namespace.clone().unwrap_or_default()),
            ("object", named.name.clone()),
        ],
    )
}

/// Returns the YAML of a version.
pub fn version_text(object: &Value) -> String {
    // A JSON value always has a YAML form.
    serde_saphyr::to_string(object).unwrap_or_default()
}

/// Returns the text for the users and field managers of a version. `is_first` is true for the oldest
/// version, whose author is only known from the newest field manager.
pub fn authors(version: &ObjectVersion, is_first: bool) -> Option<String> {
    let managers = version.managers.iter().map(manager);
    let managers = managers.collect::<Vec<_>>().join(", ");
    let users = version.users.join(", ");
    match (users.is_empty(), managers.is_empty()) {
        (true, true) => None,
        (true, false) if is_first => Some(t().history.last_manager(&managers)),
        (true, false) => Some(managers),
        (false, true) => Some(users),
        (false, false) => Some(t().history.user_with(&users, &managers)),
    }
}

fn manager(manager: &VersionManager) -> String {
    match &manager.subresource {
        Some(subresource) => format!("{} ({subresource})", manager.name),
        None => manager.name.clone(),
    }
}

/// Returns the text for a changed field.
pub fn change_text(change: &FieldChange) -> String {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{} {old} → {new}", change.path),
        (Some(old), None) => t().history.removed(&change.path, old),
        (None, Some(new)) => t().history.added(&change.path, new),
        (None, None) => change.path.clone(),
    }
}

/// Returns the manifest that reverts the live object to a version. The manifest keeps the resource
/// version of the live object, so that the cluster refuses the manifest after a concurrent change.
/// Returns `None` if the live manifest is not an object.
pub fn reverted(live: &Manifest, version: &Value) -> Option<String> {
    let mut object = match live {
        Manifest::Yaml(_) => live.yaml_value()?,
        Manifest::Json(value) => value.clone(),
    };
    let (fields, version) = (object.as_object_mut()?, version.as_object()?);
    fields.retain(|key, _| KEPT.contains(&key.as_str()));
    let recorded = version
        .iter()
        .filter(|(key, _)| !KEPT.contains(&key.as_str()));
    fields.extend(recorded.map(|(key, value)| (key.clone(), value.clone())));
    let metadata = fields.get_mut("metadata")?.as_object_mut()?;
    metadata.remove("managedFields");
    let unrecorded = unrecorded_annotations(metadata);
    for key in REVERTED_METADATA {
        match version.get("metadata").and_then(|it| it.get(key)) {
            Some(value) => metadata.insert(key.to_owned(), value.clone()),
            None => metadata.remove(key),
        };
    }
    if !unrecorded.is_empty() {
        let annotations = metadata
            .entry("annotations")
            .or_insert_with(|| Map::new().into());
        annotations.as_object_mut()?.extend(unrecorded);
    }
    Some(match live {
        Manifest::Yaml(_) => version_text(&object),
        Manifest::Json(_) => Manifest::Json(object).text(false),
    })
}

/// Returns the annotations that the history does not contain.
fn unrecorded_annotations(metadata: &Map<String, Value>) -> Map<String, Value> {
    let annotations = metadata.get("annotations").and_then(Value::as_object);
    let annotations = annotations.into_iter().flatten();
    annotations
        .filter(|(key, _)| UNRECORDED_ANNOTATIONS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn revert_replaces_recorded_fields_and_keeps_the_identity_of_the_live_object() {
        let live = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "uid": "u", "resourceVersion": "9",
                "labels": {"new": "yes"},
                "annotations": {"deployment.kubernetes.io/revision": "4", "note": "new"},
                "managedFields": []},
            "spec": {"replicas": 5}, "added": 1, "status": {"replicas": 5}});
        let version = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"old": "yes"}},
            "spec": {"replicas": 3}, "status": {"replicas": 0}});
        let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "uid": "u", "resourceVersion": "9",
                "labels": {"old": "yes"},
                "annotations": {"deployment.kubernetes.io/revision": "4"}},
            "spec": {"replicas": 3}, "status": {"replicas": 5}});
        let json = reverted(&Manifest::Json(live.clone()), &version).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
        let yaml = Manifest::Yaml(version_text(&live));
        let text = reverted(&yaml, &version).unwrap();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn live_manifest_that_is_no_object_cannot_be_reverted() {
        for live in [
            Manifest::Yaml("- a".to_owned()),
            Manifest::Json(json!({"metadata": 1})),
        ] {
            assert_eq!(reverted(&live, &json!({"spec": 1})), None);
        }
    }

    #[test]
    fn history_path_contains_the_kind_and_encoded_names() {
        let named = KubectlObject {
            cluster: "east".to_owned(),
            kind: Kind::DEPLOYMENTS,
            namespace: Some("shop".to_owned()),
            name: "a&b".to_owned(),
        };
        assert_eq!(
            history_path(&named),
            "/v1/clusters/east/history?apiVersion=apps%2Fv1&plural=deployments&namespace=shop\
             &object=a%26b"
        );
        assert!(has_history(Kind::DEPLOYMENTS) && !has_history(Kind::SECRETS));
    }
}
