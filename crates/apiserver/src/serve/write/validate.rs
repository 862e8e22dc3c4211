//! Validates objects before the server stores them.

use serde_json::Value;

use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::serve::write::prepare::write_target;
use crate::status::{ApiError, FieldError};

/// Validates a new object.
///
/// # Errors
///
/// Returns 422 with a cause per invalid field.
pub(crate) fn create(target: &Target, object: &Value) -> Result<(), ApiError> {
    refuse(target, object, &target.resource.validate_create(object))
}

/// Validates a changed object.
///
/// # Errors
///
/// Returns 422 with a cause per invalid field.
pub(crate) fn update(target: &Target, object: &Value, old: &Value) -> Result<(), ApiError> {
    let faults = target
        .resource
        .validate_update(object, old, write_target(target));
    refuse(target, object, &faults)
}

/// Converts errors to a 422 response. Succeeds if the list is empty.
pub(crate) fn refuse(
    target: &Target,
    object: &Value,
    faults: &[FieldError],
) -> Result<(), ApiError> {
    if faults.is_empty() {
        return Ok(());
    }
    let kind = &target.resource.kind;
    let name = metadata::name(object);
    // Events of both groups are validated as core/v1.
    let group = match target.group() {
        "events.k8s.io" => "",
        group => group,
    };
    Err(ApiError::invalid(group, kind, name, faults))
}
