//! Validation of what is about to be stored.

use serde_json::Value;

use super::exchange::Exchange;
use super::metadata;
use super::shared::Target;
use crate::resource::Origin;
use crate::schema::Path;
use crate::status::{ApiError, FieldError};

/// Validates a new object.
///
/// # Errors
/// 422 with a cause for each field at fault.
pub(crate) fn create(
    _exchange: &Exchange,
    target: &Target,
    object: &Value,
) -> Result<(), ApiError> {
    refuse(target, object, &faults(target, object, None))
}

/// Validates an object that takes another's place.
///
/// # Errors
/// 422 with a cause for each field at fault.
pub(crate) fn update(
    _exchange: &Exchange,
    target: &Target,
    object: &Value,
    old: &Value,
) -> Result<(), ApiError> {
    refuse(target, object, &faults(target, object, Some(old)))
}

fn faults(target: &Target, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match target.resource.origin {
        Origin::Custom => target.resource.schema.validate(object, old, &Path::ROOT),
        Origin::BuiltIn => Vec::new(),
    }
}

fn refuse(target: &Target, object: &Value, faults: &[FieldError]) -> Result<(), ApiError> {
    if faults.is_empty() {
        return Ok(());
    }
    let kind = &target.resource.kind;
    let name = metadata::name(object);
    Err(ApiError::invalid(target.group(), kind, name, faults))
}
