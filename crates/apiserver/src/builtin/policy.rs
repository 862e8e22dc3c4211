//! PodDisruptionBudget, ResourceQuota, LimitRange and PriorityClass.

use std::collections::{BTreeSet, HashSet};

use drover_quantity::Quantity;
use serde_json::Value;

use super::apps::{amount, at_most_all};
use super::rbac::label_selector;
use crate::json::{default, field, items, list, make, number, object, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

/// The name prefix of system priority classes.
const SYSTEM_PREFIX: &str = "system-";
/// Maximum priority of classes without [`SYSTEM_PREFIX`].
const MAX_USER_PRIORITY: i64 = 1_000_000_000;
/// The valid scopes of a ResourceQuota.
const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

pub(crate) fn fill_limits(limits: &mut Value) {
    let Some(spec) = make(limits, "spec") else {
        return;
    };
    for limit in items(spec, "limits") {
        if text(limit, "type") != "Container" {
            continue;
        }
        for (to, from) in [
            ("default", "max"),
            ("defaultRequest", "default"),
            ("defaultRequest", "min"),
        ] {
            let from = object(limit, from).cloned().unwrap_or_default();
            let Some(to) = make(limit, to) else { continue };
            for (name, value) in from {
                default(to, &name, value);
            }
        }
    }
}

pub(crate) fn budget(value: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(value, "spec");
    let (least, most) = ("minAvailable", "maxUnavailable");
    if spec.get(least).is_some() && spec.get(most).is_some() {
        let message = "minAvailable and maxUnavailable cannot be both set";
        found.invalid(&at, spec.clone(), message);
    }
    for name in [least, most] {
        if spec.get(name).is_some() {
            amount(spec, name, &at, found);
            at_most_all(spec, name, &at, found);
        }
    }
    label_selector(field(spec, "selector"), &at.child("selector"), found);
    let name = "unhealthyPodEvictionPolicy";
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    found.maybe_one_of(&at.child(name), text(spec, name), &known);
}

pub(crate) fn budget_status(value: &Value, found: &mut Findings) {
    let at = Path::new("status");
    for name in [
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
    ] {
        found.not_negative(&at.child(name), number(field(value, "status"), name));
    }
}

pub(crate) fn quota(value: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(value, "spec");
    amounts(spec, "hard", &at, found);
    let scopes: BTreeSet<&str> = texts(spec, "scopes").collect();
    let under = at.child("scopes");
    let shown = || field(spec, "scopes").clone();
    if scopes.iter().any(|scope| !SCOPES.contains(scope)) {
        found.invalid(&under, shown(), "unsupported scope");
    }
    for (one, other) in [
        ("BestEffort", "NotBestEffort"),
        ("Terminating", "NotTerminating"),
    ] {
        if scopes.contains(one) && scopes.contains(other) {
            found.invalid(&under, shown(), "conflicting scopes");
        }
    }
}

pub(crate) fn quota_update(new: &Value, old: &Value, found: &mut Findings) {
    quota(new, found);
    let scopes = |value| -> BTreeSet<&str> { texts(field(value, "spec"), "scopes").collect() };
    if scopes(new) != scopes(old) {
        let shown = field(field(new, "spec"), "scopes").clone();
        let at = Path::new("spec");
        found.invalid(&at.child("scopes"), shown, "field is immutable");
    }
}

/// Validates resource names and quantities.
fn amounts(value: &Value, name: &str, at: &Path<'_>, found: &mut Findings) {
    let under = at.child(name);
    for (resource, stored_value) in object(value, name).into_iter().flatten() {
        let at = under.key(resource);
        found.all_invalid(&at, resource, names::qualified_name(resource));
        let stored_value = stored_value.as_str().unwrap_or_default();
        if Quantity::parse(stored_value).is_ok_and(|amount| amount.nano() < 0) {
            found.invalid(&at, stored_value, "must be greater than or equal to 0");
        }
    }
}

pub(crate) fn limits(value: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let under = at.child("limits");
    let mut seen = HashSet::new();
    for (index, limit) in list(field(value, "spec"), "limits").iter().enumerate() {
        let at = under.index(index);
        let kind = text(limit, "type");
        let under = at.child("type");
        found.all_invalid(&under, kind, names::qualified_name(kind));
        let standard = ["Container", "PersistentVolumeClaim", "Pod"].contains(&kind);
        if !standard && !kind.is_empty() && !kind.contains('/') {
            let message = "must be a standard limit type or fully qualified";
            found.invalid(&under, kind, message);
        }
        if !seen.insert(kind) {
            found.duplicate(&under, kind);
        }
        for name in ["max", "min", "maxLimitRequestRatio"] {
            amounts(limit, name, &at, found);
        }
        for name in ["default", "defaultRequest"] {
            if kind != "Pod" {
                amounts(limit, name, &at, found);
            } else if object(limit, name).is_some_and(|stored_value| !stored_value.is_empty()) {
                let message = "may not be specified when `type` is 'Pod'";
                found.forbidden(&at.child(name), message);
            }
        }
        ordered(limit, &at, found);
    }
}

/// Checks that min ≤ default ≤ max.
fn ordered(limit: &Value, at: &Path<'_>, found: &mut Findings) {
    // (smaller, larger, field of the error, names of both in the message)
    let rules = [
        ("min", "max", "min", "min value", "max value"),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "min value",
            "default request value",
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "default request value",
            "max value",
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "default request value",
            "default limit value",
        ),
        ("min", "default", "default", "min value", "default value"),
        ("default", "max", "default", "default value", "max value"),
    ];
    for (low, high, told, low_called, high_called) in rules {
        for (resource, least) in object(limit, low).into_iter().flatten() {
            let least = least.as_str().unwrap_or_default();
            let most = text(field(limit, high), resource);
            let (Ok(low), Ok(high)) = (Quantity::parse(least), Quantity::parse(most)) else {
                continue;
            };
            if low.nano() > high.nano() {
                let message = format!("{low_called} {least} is greater than {high_called} {most}");
                let shown = field(field(limit, told), resource).clone();
                found.invalid(&at.child(told).key(resource), shown, message);
            }
        }
    }
}

pub(crate) fn priority(value: &Value, found: &mut Findings) {
    let name = text(field(value, "metadata"), "name");
    let stored_value = number(value, "value").unwrap_or_default();
    let known = [
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    ];
    if name.starts_with(SYSTEM_PREFIX) {
        if !known.contains(&(name, stored_value)) {
            let message = format!(
                "priority class names with 'system-' prefix are reserved for system use only. \
                 error: {name} is not a known system priority class"
            );
            let at = Path::new("metadata");
            found.forbidden(&at.child("name"), message);
        }
    } else if stored_value > MAX_USER_PRIORITY {
        let message =
            format!("maximum allowed value of a user defined priority is {MAX_USER_PRIORITY}");
        found.forbidden(&Path::new("value"), message);
    }
    let name = "preemptionPolicy";
    let known = ["Never", "PreemptLowerPriority"];
    found.maybe_one_of(&Path::new(name), text(value, name), &known);
}

pub(crate) fn priority_update(new: &Value, old: &Value, found: &mut Findings) {
    if number(new, "value") != number(old, "value") {
        found.forbidden(&Path::new("value"), "may not be changed in an update.");
    }
    let name = "preemptionPolicy";
    found.immutable(&Path::new(name), field(new, name), field(old, name));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(check: fn(&Value, &mut Findings), value: &Value) -> Vec<String> {
        let mut found = Findings::default();
        check(value, &mut found);
        found.0.iter().map(|one| one.path.clone()).collect()
    }

    #[test]
    fn limit_range_defaults_are_set_and_their_order_is_validated() {
        let mut value = json!({"spec": {"limits": [
            {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}},
            {"type": "Pod", "max": {"cpu": "4"}},
        ]}});
        fill_limits(&mut value);
        assert_eq!(
            value["spec"]["limits"][0],
            json!({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"},
                "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}})
        );
        assert_eq!(paths(limits, &value), [""; 0]);
        value["spec"]["limits"][0]["max"]["cpu"] = "1".into();
        assert_eq!(
            paths(limits, &value),
            [
                "spec.limits[0].defaultRequest[cpu]",
                "spec.limits[0].default[cpu]"
            ]
        );
    }

    #[test]
    fn disruption_budget_with_min_available_and_max_unavailable_is_rejected() {
        let value = |spec: Value| json!({"spec": spec});
        assert_eq!(paths(budget, &value(json!({"minAvailable": 1}))), [""; 0]);
        let both = value(json!({"minAvailable": "50%", "maxUnavailable": "101%"}));
        assert_eq!(paths(budget, &both), ["spec", "spec.maxUnavailable"]);
    }

    #[test]
    fn system_priority_class_names_and_values_are_reserved() {
        let value = |name: &str, value: i64| json!({"metadata": {"name": name}, "value": value});
        assert_eq!(paths(priority, &value("high", 1000)), [""; 0]);
        assert_eq!(paths(priority, &value("high", 1_000_000_001)), ["value"]);
        assert_eq!(paths(priority, &value("system-mine", 1)), ["metadata.name"]);
        let system = value("system-node-critical", 2_000_001_000);
        assert_eq!(paths(priority, &system), [""; 0]);
    }

    #[test]
    fn quota_with_negative_amount_or_conflicting_scopes_is_rejected() {
        let value = json!({"spec": {"hard": {"pods": "-1"},
            "scopes": ["Terminating", "NotTerminating"]}});
        assert_eq!(paths(quota, &value), ["spec.hard[pods]", "spec.scopes"]);
    }
}
