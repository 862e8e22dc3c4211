//! What a write may not say itself: status, generation and system fields are the server's.

use serde_json::{Map, Value, json};

use super::metadata;
use super::shared::Target;
use crate::resource::{Origin, Resource};

/// Gives a new object what every object has; the name is made by the caller.
pub(crate) fn fill_system_fields(object: &mut Value) {
    metadata::set(object, "creationTimestamp", metadata::now());
    metadata::set(object, "uid", uuid::Uuid::new_v4().to_string());
}

/// Takes out of a new object what only the server says.
pub(crate) fn wipe_system_fields(object: &mut Value) {
    for field in [
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "selfLink",
        "uid",
    ] {
        metadata::remove(object, field);
    }
}

/// Prepares a new object.
pub(crate) fn create(resource: &Resource, object: &mut Value) {
    if counts_generations(resource) {
        metadata::set(object, "generation", 1);
    } else {
        metadata::remove(object, "generation");
    }
    match (
        resource.group_version.group.as_str(),
        resource.plural.as_str(),
    ) {
        // The kubelet tells a node's status as it makes the node.
        ("", "nodes") => {}
        ("", "namespaces") => {
            object["status"] = json!({"phase": "Active"});
            add_namespace_finalizer(object);
        }
        ("", "pods" | "persistentvolumeclaims" | "persistentvolumes") => {
            reset_status(resource, object);
            object["status"]["phase"] = "Pending".into();
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            reset_status(resource, object);
            object["status"]["storedVersions"] = stored_versions(object);
        }
        _ if resource.status => reset_status(resource, object),
        _ => {}
    }
}

/// Prepares an object that takes another's place.
pub(crate) fn update(target: &Target, object: &mut Value, old: &Value) {
    let resource = target.resource.as_ref();
    metadata::copy(old, object, "generation");
    match target.subresource.as_str() {
        "status" => keep_all_but_status(resource, object, old),
        "" | "finalize" => {
            if resource.status {
                copy_field(old, object, "status");
            }
            if target.is("", "namespaces") && target.subresource.is_empty() {
                keep_namespace_finalizers(object, old);
            }
            if counts_generations(resource) && is_new_generation(resource, object, old) {
                let generation = metadata::integer(old, "generation").unwrap_or(0);
                metadata::set(object, "generation", generation + 1);
            }
        }
        _ => {}
    }
    keep_system_fields(object, old);
}

/// No update changes these.
fn keep_system_fields(object: &mut Value, old: &Value) {
    if metadata::uid(object).is_empty() {
        metadata::copy(old, object, "uid");
    }
    for field in ["creationTimestamp", "deletionTimestamp"] {
        if !metadata::text(old, field).is_empty() {
            metadata::copy(old, object, field);
        }
    }
    if metadata::integer(object, "deletionGracePeriodSeconds").is_none() {
        metadata::copy(old, object, "deletionGracePeriodSeconds");
    }
    metadata::remove(object, "selfLink");
}

/// Whether this kind's `metadata.generation` counts.
fn counts_generations(resource: &Resource) -> bool {
    resource.origin == Origin::Custom
        || matches!(
            (
                resource.group_version.group.as_str(),
                resource.plural.as_str()
            ),
            ("apps", _)
                | ("batch", _)
                | ("", "pods" | "replicationcontrollers")
                | ("networking.k8s.io", _)
                | ("policy", _)
                | ("discovery.k8s.io", _)
                | ("apiextensions.k8s.io", _)
                | ("admissionregistration.k8s.io", _)
                | ("flowcontrol.apiserver.k8s.io", _)
        ) && resource.plural != "controllerrevisions"
}

fn is_new_generation(resource: &Resource, object: &Value, old: &Value) -> bool {
    let group = resource.group_version.group.as_str();
    let everything = resource.origin == Origin::Custom
        || matches!(group, "discovery.k8s.io" | "admissionregistration.k8s.io");
    if everything {
        return without_metadata(object) != without_metadata(old);
    }
    let annotations = |object: &Value| object["metadata"]["annotations"].clone();
    object["spec"] != old["spec"]
        || (resource.plural == "deployments" && annotations(object) != annotations(old))
}

fn without_metadata(object: &Value) -> Option<Vec<(&String, &Value)>> {
    let fields = object.as_object()?.iter();
    Some(fields.filter(|(name, _)| *name != "metadata").collect())
}

/// Through `status` nothing else changes; metadata does for most built-in kinds.
fn keep_all_but_status(resource: &Resource, object: &mut Value, old: &Value) {
    let status = object.get("status").cloned();
    let given = object["metadata"].take();
    *object = old.clone();
    match status {
        Some(status) => object["status"] = status,
        None => drop(object.as_object_mut().map(|fields| fields.remove("status"))),
    }
    let group = resource.group_version.group.as_str();
    let kept: &[&str] = match (group, resource.plural.as_str()) {
        _ if resource.origin == Origin::Custom => {
            object["metadata"] = custom_metadata(&given, old);
            return;
        }
        ("apps", "deployments") => &["labels"],
        ("", "pods") => &["ownerReferences"],
        _ => &[],
    };
    let generation = object["metadata"]["generation"].take();
    object["metadata"] = given;
    if !generation.is_null() {
        metadata::set(object, "generation", generation);
    }
    for field in kept {
        metadata::copy(old, object, field);
    }
}

/// A custom object's metadata stays, but for the request's own bookkeeping.
fn custom_metadata(given: &Value, old: &Value) -> Value {
    let mut metadata = old["metadata"].clone();
    for field in ["managedFields", "resourceVersion"] {
        match (&given[field], metadata.as_object_mut()) {
            (Value::Null, Some(fields)) => drop(fields.remove(field)),
            (value, Some(fields)) => drop(fields.insert(field.to_owned(), value.clone())),
            (_, None) => {}
        }
    }
    metadata
}

fn copy_field(from: &Value, to: &mut Value, field: &str) {
    match (from.get(field), to.as_object_mut()) {
        (Some(value), Some(fields)) => drop(fields.insert(field.to_owned(), value.clone())),
        (None, Some(fields)) => drop(fields.remove(field)),
        (_, None) => {}
    }
}

/// An empty status, as the kind writes it.
fn reset_status(resource: &Resource, object: &mut Value) {
    if resource.origin == Origin::Custom {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        return;
    }
    let mut status = Value::Object(Map::new());
    if let Some(node) = resource.schema.field("status") {
        // An empty object fits any structure.
        let _ = node.decode(&mut status);
    }
    object["status"] = status;
}

fn add_namespace_finalizer(object: &mut Value) {
    let finalizers = &mut object["spec"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(all) if all.iter().any(|one| one == "kubernetes") => {}
        Some(all) => all.push("kubernetes".into()),
        None => *finalizers = json!(["kubernetes"]),
    }
}

fn keep_namespace_finalizers(object: &mut Value, old: &Value) {
    match &old["spec"]["finalizers"] {
        Value::Null => {
            if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("finalizers");
            }
        }
        finalizers => object["spec"]["finalizers"] = finalizers.clone(),
    }
}

fn stored_versions(crd: &Value) -> Value {
    let stored = crd["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    Value::Array(stored.collect())
}
