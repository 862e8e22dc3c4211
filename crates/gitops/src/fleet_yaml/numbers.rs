//! Numbers and booleans in places of texts.
//!
//! `version: 1.10` is a number in YAML. Fleet reads a number as text where its type needs a text.

use serde_json::{Map, Number, Value};

/// Keys whose values are numbers or booleans.
const TYPED: &[&str] = &[
    "atomic",
    "autoPartitionSize",
    "autoPartitionThreshold",
    "correctDrift",
    "createNamespace",
    "deleteCRDResources",
    "deleteNamespace",
    "disableDNS",
    "disableDependencyUpdate",
    "disablePreProcess",
    "doNotDeploy",
    "enabled",
    "force",
    "forceSyncGeneration",
    "keepFailHistory",
    "keepResources",
    "maxHistory",
    "maxNew",
    "maxUnavailable",
    "maxUnavailablePartitions",
    "paused",
    "skipSchemaValidation",
    "suspend",
    "takeOwnership",
    "timeoutSeconds",
    "waitForJobs",
];
/// Maps whose keys are names chosen by users, so that their values are texts.
const NAMES: &[&str] = &[
    "annotations",
    "conditions",
    "labels",
    "matchLabels",
    "namespaceAnnotations",
    "namespaceLabels",
    "templateValues",
];

/// Replaces numbers and booleans by texts, except in Helm values and in typed fields.
pub(super) fn to_texts(map: &mut Map<String, Value>) {
    for (key, value) in map.iter_mut() {
        if key == "values" && value.is_object() {
            continue;
        }
        let is_typed = TYPED.contains(&key.as_str());
        if !(is_typed && !value.is_object() && !value.is_array()) {
            convert(value, NAMES.contains(&key.as_str()));
        }
    }
}

fn convert(value: &mut Value, all: bool) {
    match value {
        Value::Bool(bool) => *value = Value::String(bool.to_string()),
        Value::Number(number) => *value = Value::String(text(number)),
        Value::Array(items) => items.iter_mut().for_each(|item| convert(item, all)),
        Value::Object(map) if all => map.values_mut().for_each(|value| convert(value, all)),
        Value::Object(map) => to_texts(map),
        Value::Null | Value::String(_) => {}
    }
}

/// Writes a number as Go's format `%g` does.
fn text(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(value) if !(-4..21).contains(&value) => {
            let sign = if value < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", value.abs())
        }
        _ => format!("{float}"),
    }
}
