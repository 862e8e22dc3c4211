//! Tables for `kubectl get`: columns and cells (printers/internalversion for built-in kinds,
//! JSONPath for custom kinds).

mod age;
mod cluster;
mod core;
mod pods;
mod workloads;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::builtin;
use crate::json::{at, field, text};
use crate::jsonpath;
use crate::resource::{Column, Origin, Resource};

pub use age::human_duration;

/// Returns the table columns of a resource. Columns with a priority above 0 are for `-o wide`.
pub fn columns(resource: &Resource) -> Vec<Column> {
    if resource.origin == Origin::Custom {
        let mut columns = vec![name_column()];
        if resource.columns.is_empty() {
            columns.push(Column {
                path: Some(".metadata.creationTimestamp".to_owned()),
                ..column("Age", "date", "")
            });
        }
        columns.extend(resource.columns.iter().map(described));
        return columns;
    }
    if let Some(columns) = PRINTERS.get(resource.kind.as_str()) {
        return columns.clone();
    }
    let mut created = column("Created At", "date", "");
    created.description = metadata_description("creationTimestamp");
    vec![name_column(), created]
}

/// Returns the cells of an object, one per column.
pub fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let metadata = field(object, "metadata");
    if resource.origin == Origin::Custom {
        let name = Value::from(text(metadata, "name"));
        let rest = columns(resource);
        let rest = rest
            .iter()
            .skip(1)
            .map(|column| custom(column, object, now));
        return std::iter::once(name).chain(rest).collect();
    }
    let view = View { object, now };
    match resource.kind.as_str() {
        "Pod" => pods::pod(&view),
        "Deployment" => workloads::deployment(&view),
        "ReplicaSet" => workloads::replica_set(&view),
        "StatefulSet" => workloads::stateful_set(&view),
        "DaemonSet" => workloads::daemon_set(&view),
        "Job" => workloads::job(&view),
        "CronJob" => workloads::cron_job(&view),
        "ControllerRevision" => workloads::controller_revision(&view),
        "Service" => core::service(&view),
        "Node" => core::node(&view),
        "Event" => core::event(&view, &resource.group_version.group),
        "Namespace" => core::namespace(&view),
        "Secret" => core::secret(&view),
        "ConfigMap" => core::config_map(&view),
        "ServiceAccount" => vec![view.name(), view.age()],
        "Endpoints" => core::endpoints(&view),
        "EndpointSlice" => core::endpoint_slice(&view),
        "PersistentVolume" => core::volume(&view),
        "PersistentVolumeClaim" => core::claim(&view),
        "RoleBinding" | "ClusterRoleBinding" => core::role_binding(&view),
        "Lease" => core::lease(&view),
        kind => cluster::cells(kind, &view)
            .unwrap_or_else(|| vec![view.name(), field(metadata, "creationTimestamp").clone()]),
    }
}

/// Returns the conditions of a Table row. kubectl greys out the rows of completed pods by these
/// conditions.
pub fn conditions(resource: &Resource, object: &Value) -> Option<Value> {
    if resource.kind != "Pod" || resource.origin == Origin::Custom {
        return None;
    }
    let (reason, message) = match text(field(object, "status"), "phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{
        "type": "Completed", "status": "True", "reason": reason, "message": message,
    }]))
}

/// An object in a Table, and the current time for the column `Age`.
struct View<'a> {
    object: &'a Value,
    now: Timestamp,
}

impl<'a> View<'a> {
    fn name(&self) -> Value {
        text(field(self.object, "metadata"), "name").into()
    }

    fn age(&self) -> Value {
        self.since(text(field(self.object, "metadata"), "creationTimestamp"))
            .into()
    }

    fn since(&self, time: &str) -> String {
        age::since(time, self.now)
    }

    fn spec(&self) -> &'a Value {
        field(self.object, "spec")
    }

    fn status(&self) -> &'a Value {
        field(self.object, "status")
    }

    fn is_deleting(&self) -> bool {
        !at(self.object, "metadata.deletionTimestamp").is_null()
    }
}

/// Returns an integer field of the object's status. Returns 0 if the field is absent.
fn count(value: &Value, name: &str) -> i64 {
    field(value, name).as_i64().unwrap_or_default()
}

/// Returns the text, or `otherwise` if the text is empty.
fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn custom(column: &Column, object: &Value, now: Timestamp) -> Value {
    let path = column.path.as_deref().unwrap_or_default();
    let Some(value) = jsonpath::first(object, path) else {
        return Value::Null;
    };
    match (column.kind.as_str(), value) {
        ("string", value) => jsonpath::printed(value).into(),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "Go truncates in the same conversion"
            )]
            (None, Some(number)) => (number as i64).into(),
            (None, None) => Value::Null,
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(time)) => match time.parse::<Timestamp>() {
            Ok(_) => age::since(time, now).into(),
            Err(_) => "<invalid>".into(),
        },
        _ => Value::Null,
    }
}

fn described(written: &Column) -> Column {
    let mut column = written.clone();
    if column.description.is_empty() {
        column.description = format!(
            "Custom resource definition column (in JSONPath format): {}",
            column.path.as_deref().unwrap_or_default()
        );
    }
    column
}

fn column(name: &str, kind: &str, format: &str) -> Column {
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: format.to_owned(),
        description: metadata_description("creationTimestamp"),
        priority: 0,
        path: None,
    }
}

fn name_column() -> Column {
    let mut column = column("Name", "string", "name");
    column.description = metadata_description("name");
    column
}

/// Returns the documentation of an `ObjectMeta` field. The columns of built-in kinds have this text
/// as description.
fn metadata_description(name: &str) -> String {
    let desired = if name == "name" { "Name" } else { "Age" };
    PRINTERS
        .get("ServiceAccount")
        .and_then(|columns| columns.iter().find(|column| column.name == desired))
        .map(|column| column.description.clone())
        .unwrap_or_default()
}

static PRINTERS: LazyLock<BTreeMap<String, Vec<Column>>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Printed {
        name: String,
        #[serde(rename = "type")]
        kind: String,
        format: String,
        description: String,
        priority: i32,
    }
    let kinds: BTreeMap<String, Vec<Printed>> = builtin::committed_columns();
    let column = |printed: Printed| Column {
        name: printed.name,
        kind: printed.kind,
        format: printed.format,
        description: printed.description,
        priority: printed.priority,
        path: None,
    };
    kinds
        .into_iter()
        .map(|(kind, columns)| (kind, columns.into_iter().map(column).collect()))
        .collect()
});

#[cfg(test)]
mod tests;
