//! Conversion between `autoscaling/v1` and `autoscaling/v2`. `v1` has a field for only one metric.
//! Annotations contain the remaining metrics, so that a round trip loses no data (kube-apiserver's
//! round-trip annotations).

use serde_json::{Map, Value, json};

use super::cpu;
use crate::json::{field, make, number, text};

pub(crate) const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Pairs of a field path in `autoscaling/v2` and a field name in `autoscaling/v1`.
type Fields = [(&'static str, &'static str)];

/// Returns the field names of a metric's target, in `v2` and in `v1`.
fn goal(kind: &str) -> &'static Fields {
    match kind {
        "object" => &[
            ("describedObject", "target"),
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("target.value", "targetValue"),
            ("target.averageValue", "averageValue"),
        ],
        "pods" => &[
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("target.averageValue", "targetAverageValue"),
        ],
        "external" => &[
            ("metric.name", "metricName"),
            ("metric.selector", "metricSelector"),
            ("target.value", "targetValue"),
            ("target.averageValue", "targetAverageValue"),
        ],
        _ => &[
            ("name", "name"),
            ("container", "container"),
            ("target.averageUtilization", "targetAverageUtilization"),
            ("target.averageValue", "targetAverageValue"),
        ],
    }
}

/// Returns the field names of a metric's current value, in `v2` and in `v1`.
fn current(kind: &str) -> &'static Fields {
    match kind {
        "object" => &[
            ("describedObject", "target"),
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("current.value", "currentValue"),
            ("current.averageValue", "averageValue"),
        ],
        "pods" => &[
            ("metric.name", "metricName"),
            ("metric.selector", "selector"),
            ("current.averageValue", "currentAverageValue"),
        ],
        "external" => &[
            ("metric.name", "metricName"),
            ("metric.selector", "metricSelector"),
            ("current.value", "currentValue"),
            ("current.averageValue", "currentAverageValue"),
        ],
        _ => &[
            ("name", "name"),
            ("container", "container"),
            ("current.averageUtilization", "currentAverageUtilization"),
            ("current.averageValue", "currentAverageValue"),
        ],
    }
}

/// Converts a stored autoscaler to `autoscaling/v1`.
pub(crate) fn to_v1(value: &mut Value) {
    let mut kept: Vec<(&str, Value)> = Vec::new();
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        let metrics = taken(spec, "metrics");
        let percent = metrics.iter().find_map(cpu_percent);
        if let Some(percent) = percent {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent.into());
        }
        let others = metrics
            .iter()
            .filter(|metric| cpu_percent(metric).is_none());
        let others: Vec<Value> = others.map(|metric| renamed(metric, goal)).collect();
        kept.push((METRICS, others.into()));
        if let Some(behavior) = spec.remove("behavior") {
            kept.push((BEHAVIOR, capitalized(behavior, char::to_ascii_uppercase)));
        }
    }
    if let Some(status) = value.get_mut("status").and_then(Value::as_object_mut) {
        let metrics = taken(status, "currentMetrics");
        let percent = metrics.iter().find_map(|metric| {
            let resource = field(metric, "resource");
            let current = field(resource, "current");
            (text(resource, "name") == "cpu").then(|| number(current, "averageUtilization"))?
        });
        if let Some(percent) = percent {
            status.insert("currentCPUUtilizationPercentage".to_owned(), percent.into());
        }
        let metrics: Vec<Value> = metrics.iter().map(|one| renamed(one, current)).collect();
        kept.push((CURRENT_METRICS, metrics.into()));
        kept.push((CONDITIONS, taken(status, "conditions").into()));
    }
    kept.retain(|(_, value)| value.as_array().is_none_or(|list| !list.is_empty()));
    if !kept.is_empty()
        && let Some(annotations) = annotations(value)
    {
        for (name, value) in kept {
            annotations[name] = value.to_string().into();
        }
    }
}

/// Converts an `autoscaling/v1` autoscaler to the stored version.
pub(crate) fn from_v1(value: &mut Value) {
    let mut kept = |name: &str| {
        let annotations = value.get_mut("metadata")?.get_mut("annotations")?;
        let text = annotations.as_object_mut()?.remove(name)?;
        serde_json::from_str::<Value>(text.as_str()?).ok()
    };
    let (metrics, behavior) = (kept(METRICS), kept(BEHAVIOR));
    let (current_metrics, conditions) = (kept(CURRENT_METRICS), kept(CONDITIONS));
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, value| name != "annotations" || *value != json!({}));
    }
    if let Some(spec) = make(value, "spec").and_then(Value::as_object_mut) {
        let percent = spec.remove("targetCPUUtilizationPercentage");
        let mut all = restored(metrics.as_ref(), goal, "target");
        all.extend(percent.and_then(|percent| percent.as_i64()).map(cpu));
        if all.is_empty() {
            all.push(cpu(super::DEFAULT_UTILIZATION));
        }
        spec.insert("metrics".to_owned(), all.into());
        if let Some(behavior) = behavior.filter(Value::is_object) {
            let behavior = capitalized(behavior, char::to_ascii_lowercase);
            spec.insert("behavior".to_owned(), behavior);
        }
    }
    let Some(status) = make(value, "status").and_then(Value::as_object_mut) else {
        return;
    };
    let percent = status.remove("currentCPUUtilizationPercentage");
    let mut all = restored(current_metrics.as_ref(), current, "current");
    if let Some(percent) = percent.filter(|_| all.is_empty()) {
        all.push(json!({"type": "Resource", "resource": {"name": "cpu",
            "current": {"averageUtilization": percent}}}));
    }
    if !all.is_empty() {
        status.insert("currentMetrics".to_owned(), all.into());
    }
    if let Some(conditions) = conditions.filter(Value::is_array) {
        status.insert("conditions".to_owned(), conditions);
    }
}

fn annotations(value: &mut Value) -> Option<&mut Value> {
    make(make(value, "metadata")?, "annotations")
}

fn taken(map: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match map.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Returns the target CPU utilization, in percent. Returns `None` for metrics of other resources,
/// because `autoscaling/v1` has no field for these metrics.
fn cpu_percent(metric: &Value) -> Option<i64> {
    let resource = field(metric, "resource");
    let goal = field(resource, "target");
    (text(resource, "name") == "cpu").then(|| number(goal, "averageUtilization"))?
}

fn source_name(kind: &str) -> String {
    let mut letters = kind.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Renames the fields of a metric from `v2` to `v1`.
fn renamed(metric: &Value, fields: fn(&str) -> &'static Fields) -> Value {
    let kind = text(metric, "type");
    let name = source_name(kind);
    let source = field(metric, &name);
    let mut converted = Map::new();
    for (path, new) in fields(&name) {
        let found = crate::json::at(source, path);
        if !found.is_null() {
            converted.insert((*new).to_owned(), found.clone());
        }
    }
    json!({"type": kind, name: converted})
}

/// Renames the fields of metrics from `v1` to `v2`. `part` is the `v2` field with the values of the
/// metric, such as `target`.
fn restored(kept: Option<&Value>, fields: fn(&str) -> &'static Fields, part: &str) -> Vec<Value> {
    let metrics = kept.and_then(Value::as_array).into_iter().flatten();
    let restore = |metric: &Value| {
        let kind = text(metric, "type");
        let name = source_name(kind);
        let source = field(metric, &name);
        let mut converted = json!({});
        for (path, old) in fields(&name) {
            let found = field(source, old);
            if found.is_null() {
                continue;
            }
            match path.split_once('.') {
                None => converted[*path] = found.clone(),
                Some((outer, inner)) => converted[outer][inner] = found.clone(),
            }
        }
        if part == "target" && converted[part].is_object() {
            let goal = &converted[part];
            let has = |name: &str| goal.get(name).is_some();
            let kind = match (has("averageUtilization"), has("averageValue")) {
                (true, _) => "Utilization",
                (false, true) => "AverageValue",
                (false, false) => "Value",
            };
            converted[part]["type"] = kind.into();
        }
        json!({"type": kind, name: converted})
    };
    metrics.map(restore).collect()
}

/// Changes the case of the first letter of all field names. The annotation contains
/// kube-apiserver's internal Go type, and the field names of this type have an upper-case first
/// letter.
fn capitalized(value: Value, case: fn(&char) -> char) -> Value {
    match value {
        Value::Object(map) => map
            .into_iter()
            .map(|(name, value)| {
                let mut letters = name.chars();
                let first = letters.next().map(|letter| case(&letter));
                let name: String = first.into_iter().chain(letters).collect();
                (name, capitalized(value, case))
            })
            .collect(),
        Value::Array(items) => {
            let items = items.into_iter();
            items.map(|value| capitalized(value, case)).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn autoscaler_round_trips_through_autoscaling_v1() {
        let value = json!({
            "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3,
                "metrics": [
                    {"type": "Pods", "pods": {"metric": {"name": "qps"},
                        "target": {"type": "AverageValue", "averageValue": "5"}}},
                    {"type": "External", "external": {"metric": {"name": "depth"},
                        "target": {"type": "Value", "value": "30"}}},
                    cpu(70),
                ],
                "behavior": {"scaleDown": {"selectPolicy": "Min",
                    "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}},
            },
            "status": {"currentReplicas": 1, "conditions": [{"type": "AbleToScale"}],
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": 12, "averageValue": "10m"}}}]},
        });
        let mut old = value.clone();
        to_v1(&mut old);
        assert_eq!(old["spec"]["targetCPUUtilizationPercentage"], 70);
        assert_eq!(old["status"]["currentCPUUtilizationPercentage"], 12);
        assert!(old["spec"].get("metrics").is_none());
        let kept = old["metadata"]["annotations"][METRICS].as_str().unwrap();
        assert!(kept.contains("targetAverageValue"), "{kept}");
        from_v1(&mut old);
        assert_eq!(old, value);
    }
}
