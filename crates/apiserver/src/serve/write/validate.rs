//! Validation of what is about to be stored.

use serde_json::Value;

use crate::serve::metadata;
use crate::serve::shared::Target;
use crate::serve::write::prepare::write_target;
use crate::status::{ApiError, FieldError};

/// Validates a new object.
///
/// # Errors
/// 422 with a cause for each field at fault.
pub(crate) fn create(target: &Target, object: &Value) -> Result<(), ApiError> {
    refuse(target, object, &target.resource.validate_create(object))
}

/// Validates an object that takes another's place.
///
/// # Errors
/// 422 with a cause for each field at fault.
pub(crate) fn update(target: &Target, object: &Value, old: &Value) -> Result<(), ApiError> {
    let faults = target
        .resource
        .validate_update(object, old, write_target(target));
    refuse(target, object, &faults)
}

/// A refusal, if there are faults.
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
    // Both shapes of an Event are checked as one kind, the core group's.
    let group = match target.group() {
        "events.k8s.io" => "",
        group => group,
    };
    Err(ApiError::invalid(group, kind, name, faults))
}
