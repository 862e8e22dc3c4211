//! Tables for `kubectl get` (KEP-293).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::metadata_only;
use crate::serve::input::negotiate::MetaVersion;
use crate::serve::input::query::Query;
use crate::serve::shared::Target;
use crate::status::ApiError;
use crate::table;

/// The form of the object in a row of a Table (`includeObject`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableOptions {
    Metadata,
    Object,
    None,
}

impl TableOptions {
    /// Parses the query parameter `includeObject`.
    ///
    /// # Errors
    ///
    /// Returns 400 for an unknown value.
    pub(crate) fn of(query: &Query) -> Result<Self, ApiError> {
        match query.first("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => Err(ApiError::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: \
                 {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// Creates a Table of these objects.
pub(crate) fn of(
    target: &Target,
    version: MetaVersion,
    options: TableOptions,
    metadata: &Value,
    objects: &[Value],
) -> Value {
    json!({
        "kind": "Table", "apiVersion": version.api_version(), "metadata": metadata,
        "columnDefinitions": columns(target),
        "rows": rows(target, version, options, objects),
    })
}

/// Creates a Table of one object for a watch. Only the first event of a watch has columns.
pub(crate) fn of_event(
    target: &Target,
    version: MetaVersion,
    options: TableOptions,
    object: &Value,
    first: bool,
) -> Value {
    json!({
        "kind": "Table", "apiVersion": version.api_version(),
        "metadata": {"resourceVersion": object["metadata"]["resourceVersion"]},
        "columnDefinitions": if first { columns(target) } else { Value::Null },
        "rows": rows(target, version, options, std::slice::from_ref(object)),
    })
}

fn columns(target: &Target) -> Value {
    let columns = table::columns(&target.resource);
    columns
        .iter()
        .map(|column| {
            json!({
                "name": column.name, "type": column.kind, "format": column.format,
                "description": column.description, "priority": column.priority,
            })
        })
        .collect()
}

fn rows(
    target: &Target,
    version: MetaVersion,
    options: TableOptions,
    objects: &[Value],
) -> Vec<Value> {
    let now = Timestamp::now();
    let resource = &target.resource;
    let row = |object: &Value| {
        let shown = match options {
            TableOptions::Metadata => metadata_only(object, version),
            TableOptions::Object => object.clone(),
            TableOptions::None => Value::Null,
        };
        let mut row = json!({"cells": table::cells(resource, object, now), "object": shown});
        if let Some(conditions) = table::conditions(resource, object) {
            row["conditions"] = conditions;
        }
        row
    };
    objects.iter().map(row).collect()
}
