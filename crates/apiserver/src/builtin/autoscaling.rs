//! HorizontalPodAutoscaler. The stored version is `autoscaling/v2`. Requests for `autoscaling/v1`
//! are converted.

mod versions;

use serde_json::{Value, json};

use super::metadata::kind_and_name;
use crate::json::{at, default, field, list, make, number, text};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

pub(crate) use versions::{from_v1, to_v1};

/// Default target utilization, in percent.
const DEFAULT_UTILIZATION: i64 = 80;
const LONGEST_WINDOW_SECONDS: i64 = 3600;
const LONGEST_PERIOD_SECONDS: i64 = 1800;
const POPULATE: &str = "must populate information for the given metric source";
/// Metric types, each with the name of its field.
const SOURCES: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

pub(crate) fn fill(version: &str, value: &mut Value) {
    let other_metrics = field(at(value, "metadata.annotations"), versions::METRICS).is_string();
    let Some(spec) = make(value, "spec") else {
        return;
    };
    default(spec, "minReplicas", 1);
    if version == "v1" {
        if !other_metrics {
            default(spec, "targetCPUUtilizationPercentage", DEFAULT_UTILIZATION);
        }
        return;
    }
    if list(spec, "metrics").is_empty() {
        spec["metrics"] = json!([cpu(DEFAULT_UTILIZATION)]);
    }
    if let Some(behavior) = spec.get_mut("behavior") {
        fill_rules(behavior);
    }
}

/// Converts the CPU percentage of `autoscaling/v1` to a metric of `autoscaling/v2`.
fn cpu(percent: i64) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": percent}}})
}

fn fill_rules(behavior: &mut Value) {
    let policy =
        |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    if let Some(up) = make(behavior, "scaleUp") {
        default(up, "stabilizationWindowSeconds", 0);
        default(up, "selectPolicy", "Max");
        if list(up, "policies").is_empty() {
            up["policies"] = json!([policy("Pods", 4), policy("Percent", 100)]);
        }
    }
    if let Some(down) = make(behavior, "scaleDown") {
        default(down, "selectPolicy", "Max");
        if list(down, "policies").is_empty() {
            down["policies"] = json!([policy("Percent", 100)]);
        }
    }
}

/// Validates an autoscaler. `old` is the stored autoscaler on update.
pub(crate) fn validate(version: &str, value: &Value, old: Option<&Value>, found: &mut Findings) {
    if version == "v1" {
        let mut converted = value.clone();
        from_v1(&mut converted);
        return validate("v2", &converted, None, found);
    }
    let path = Path::new("spec");
    let spec = field(value, "spec");
    let least = number(spec, "minReplicas");
    let most = number(spec, "maxReplicas").unwrap_or_default();
    if let Some(least) = least.filter(|least| *least < 1) {
        let message = "must be greater than or equal to 1";
        found.invalid(&path.child("minReplicas"), least, message);
    }
    let at_most = path.child("maxReplicas");
    match most {
        0 => found.required(&at_most, "must be set and greater than 0"),
        ..0 => found.invalid(&at_most, most, "must be greater than or equal to 1"),
        _ => {}
    }
    if least.is_some_and(|least| most < least) {
        let message = "must be greater than or equal to `minReplicas`";
        found.invalid(&at_most, most, message);
    }
    let target = field(spec, "scaleTargetRef");
    let kept = old.is_some_and(|old| at(old, "spec.scaleTargetRef") == target);
    let core = kept || text(target, "kind") == "ReplicationController";
    reference(target, core, &path.child("scaleTargetRef"), found);
    let under = path.child("metrics");
    for (index, metric) in list(spec, "metrics").iter().enumerate() {
        source(metric, &under.index(index), found);
    }
    let under = path.child("behavior");
    for name in ["scaleUp", "scaleDown"] {
        let rules = at(spec, "behavior")
            .get(name)
            .filter(|rules| !rules.is_null());
        if let Some(rules) = rules {
            scaling_rules(rules, &under.child(name), found);
        }
    }
}

pub(crate) fn status(value: &Value, found: &mut Findings) {
    let status = field(value, "status");
    let at = Path::new("status");
    for name in ["currentReplicas", "desiredReplicas"] {
        found.not_negative(&at.child(name), number(status, name));
    }
}

fn reference(value: &Value, core: bool, at: &Path<'_>, found: &mut Findings) {
    kind_and_name(value, at, found);
    let version = text(value, "apiVersion");
    let under = at.child("apiVersion");
    match version.matches('/').count() {
        0 if core => {}
        0 => found.invalid(&under, version, "apiVersion must specify API group"),
        1 => {}
        _ => {
            let message = format!("unexpected GroupVersion string: {version}");
            found.invalid(&under, version, message);
        }
    }
}

fn source(metric: &Value, at: &Path<'_>, found: &mut Findings) {
    let kind = text(metric, "type");
    let known: Vec<&str> = SOURCES.iter().map(|(kind, _)| *kind).collect();
    let under = at.child("type");
    if kind.is_empty() {
        found.required(&under, "must specify a metric source type");
    }
    let Some((_, wanted)) = SOURCES.iter().find(|(known, _)| *known == kind) else {
        // kube-apiserver checks the type twice.
        found.not_supported(&under, kind, &known);
        found.not_supported(&under, kind, &known);
        return;
    };
    let sources: Vec<&str> = SOURCES
        .iter()
        .map(|(_, name)| *name)
        .filter(|name| !field(metric, name).is_null())
        .collect();
    if sources.contains(wanted) {
        source_of(wanted, field(metric, wanted), &at.child(wanted), found);
    } else {
        found.required(&at.child(wanted), POPULATE);
    }
    for name in sources.iter().filter(|name| *name != wanted) {
        found.forbidden(
            &at.child(name),
            "must populate the given metric source only",
        );
    }
}

fn source_of(kind: &str, source: &Value, at: &Path<'_>, found: &mut Findings) {
    if kind == "object" {
        let described = field(source, "describedObject");
        reference(described, true, &at.child("describedObject"), found);
    }
    if kind.ends_with("esource") {
        if text(source, "name").is_empty() {
            found.required(&at.child("name"), "must specify a resource name");
        }
    } else {
        let under = at.child("metric");
        let name = text(field(source, "metric"), "name");
        if name.is_empty() {
            found.required(&under.child("name"), "must specify a metric name");
        } else {
            found.all_invalid(&under.child("name"), name, names::path_segment(name));
        }
    }
    if kind == "containerResource" {
        let name = text(source, "container");
        let under = at.child("container");
        if name.is_empty() {
            found.required(&under, "must specify a container");
        } else {
            found.all_invalid(&under, name, names::dns_label(name));
        }
    }
    let (goal, at) = (field(source, "target"), at.child("target"));
    target(goal, &at, found);
    let has = |name: &str| !field(goal, name).is_null();
    match kind {
        "object" if !has("value") && !has("averageValue") => {
            let message = "must set either a target value or averageValue";
            found.required(&at.child("averageValue"), message);
        }
        "external" => match (has("value"), has("averageValue")) {
            (false, false) => {
                let message = "must set either a target value for metric or a per-pod target";
                found.required(&at.child("averageValue"), message);
            }
            (true, true) => {
                let message = "may not set both a target value for metric and a per-pod target";
                found.forbidden(&at.child("value"), message);
            }
            _ => {}
        },
        "pods" if !has("averageValue") => {
            let message = "must specify a positive target averageValue";
            found.required(&at.child("averageValue"), message);
        }
        "resource" | "containerResource" => {
            match (has("averageUtilization"), has("averageValue")) {
                (false, false) => {
                    let message = "must set either a target raw value or a target utilization";
                    found.required(&at.child("averageUtilization"), message);
                }
                (true, true) => {
                    let message = "may not set both a target raw value and a target utilization";
                    found.forbidden(&at.child("averageValue"), message);
                }
                _ => {}
            }
        }
        _ => {}
    }
}

fn target(target: &Value, at: &Path<'_>, found: &mut Findings) {
    let kind = text(target, "type");
    if kind.is_empty() {
        found.required(&at.child("type"), "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind) {
        let message = "must be either Utilization, Value, or AverageValue";
        found.invalid(&at.child("type"), kind, message);
    }
    for name in ["value", "averageValue"] {
        let value = field(target, name);
        let quantity = value
            .as_str()
            .and_then(|text| drover_quantity::Quantity::parse(text).ok());
        if !value.is_null() && quantity.is_none_or(|quantity| quantity.nano() <= 0) {
            found.invalid(&at.child(name), value.clone(), "must be positive");
        }
    }
    let name = "averageUtilization";
    if let Some(percent) = number(target, name).filter(|percent| *percent < 1) {
        found.invalid(&at.child(name), percent, "must be greater than 0");
    }
}

fn scaling_rules(rules: &Value, at: &Path<'_>, found: &mut Findings) {
    let name = "stabilizationWindowSeconds";
    match number(rules, name) {
        Some(seconds @ ..0) => {
            let message = "must be greater than or equal to zero";
            found.invalid(&at.child(name), seconds, message);
        }
        Some(seconds) if seconds > LONGEST_WINDOW_SECONDS => {
            let message = format!("must be less than or equal to {LONGEST_WINDOW_SECONDS}");
            found.invalid(&at.child(name), seconds, message);
        }
        _ => {}
    }
    let name = "selectPolicy";
    found.maybe_one_of(
        &at.child(name),
        text(rules, name),
        &["Disabled", "Max", "Min"],
    );
    let under = at.child("policies");
    if list(rules, "policies").is_empty() {
        found.required(&under, "must specify at least one Policy");
    }
    for (index, policy) in list(rules, "policies").iter().enumerate() {
        let at = under.index(index);
        let kind = text(policy, "type");
        if !["Percent", "Pods"].contains(&kind) {
            found.not_supported(&at.child("type"), kind, &["Percent", "Pods"]);
        }
        for name in ["value", "periodSeconds"] {
            let value = number(policy, name).unwrap_or_default();
            if value <= 0 {
                found.invalid(&at.child(name), value, "must be greater than zero");
            }
            if name == "periodSeconds" && value > LONGEST_PERIOD_SECONDS {
                let message = format!("must be less than or equal to {LONGEST_PERIOD_SECONDS}");
                found.invalid(&at.child(name), value, message);
            }
        }
    }
}

#[cfg(test)]
mod tests;
