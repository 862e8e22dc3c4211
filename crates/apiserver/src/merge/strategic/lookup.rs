//! Merge strategies of fields.

use super::failed;
use crate::merge::error::PatchError;
use crate::merge::value::quote;
use crate::schema::{Node, PatchStrategy, Shape};

/// The item schema and merge strategy of a list.
pub(super) struct ListField<'a> {
    pub(super) items: &'a Node,
    /// True if the items merge. Otherwise the patch replaces the list.
    pub(super) merges: bool,
    /// The key field of items. Empty for scalars.
    pub(super) key: &'a str,
}

/// Returns the schema of a field in an object's schema.
pub(super) fn field<'a>(schema: &'a Node, name: &str) -> Result<&'a Node, PatchError> {
    let not_struct = |kind: &str| {
        failed(format!(
            "merging an object in json but data type is not struct, instead is: {kind}"
        ))
    };
    let properties = match &schema.shape {
        Shape::Object { properties, .. } if schema.go.is_some() || !properties.is_empty() => {
            properties
        }
        Shape::Object { .. } => return Err(not_struct("map")),
        Shape::Array { .. } => return Err(not_struct("slice")),
        Shape::String { .. } => return Err(not_struct("string")),
        // Go has structs for these types.
        _ => return Err(unknown("", name)),
    };
    let owner = schema.go.as_ref().map_or("", |go| go.name.as_str());
    properties
        .get(name)
        .map(AsRef::as_ref)
        .ok_or_else(|| unknown(owner, name))
}

fn unknown(owner: &str, name: &str) -> PatchError {
    failed(format!(
        "unable to find api field in struct {owner} for the json field {}",
        quote(name)
    ))
}

/// Returns the merge strategy of a list field.
pub(super) fn list_field<'a>(schema: &'a Node, name: &str) -> Result<ListField<'a>, PatchError> {
    let node = field(schema, name)?;
    let Shape::Array {
        items, strategy, ..
    } = &node.shape
    else {
        return Err(failed("expected slice or array type, but got: struct"));
    };
    if matches!(items.shape, Shape::Array { .. }) {
        return Err(failed("unexpected slice of slice"));
    }
    let (merges, key) = match strategy {
        PatchStrategy::Replace => (false, ""),
        PatchStrategy::Merge { key, .. } => (true, key.as_deref().unwrap_or("")),
    };
    Ok(ListField { items, merges, key })
}
