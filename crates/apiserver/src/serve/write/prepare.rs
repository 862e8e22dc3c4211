//! Preparation of writes: protects system fields, and runs the kind's strategy.

use serde_json::Value;

use crate::resource::Resource;
use crate::resource::WriteTarget;
use crate::serve::metadata;
use crate::serve::shared::Target;

/// Sets the system fields of a new object, except its name.
pub(crate) fn fill_system_fields(object: &mut Value) {
    metadata::set(object, "creationTimestamp", metadata::now());
    metadata::set(object, "uid", uuid::Uuid::new_v4().to_string());
}

/// Removes system fields that the client sent.
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
    resource.prepare_create(object);
}

/// Prepares a changed object.
pub(crate) fn update(target: &Target, object: &mut Value, old: &Value) {
    let requested = object["metadata"]["resourceVersion"].take();
    metadata::copy(old, object, "generation");
    target
        .resource
        .prepare_update(object, old, write_target(target));
    keep_system_fields(object, old);
    match requested {
        Value::Null => drop(metadata::remove(object, "resourceVersion")),
        requested => metadata::set(object, "resourceVersion", requested),
    }
}

/// Returns the resource or subresource that the request writes.
pub(crate) fn write_target(target: &Target) -> WriteTarget {
    match target.subresource.as_str() {
        "status" => WriteTarget::Status,
        "finalize" => WriteTarget::Finalize,
        "ephemeralcontainers" => WriteTarget::EphemeralContainers,
        "resize" => WriteTarget::Resize,
        "approval" => WriteTarget::Approval,
        _ => WriteTarget::Object,
    }
}

/// Restores the system fields, which updates cannot change.
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
