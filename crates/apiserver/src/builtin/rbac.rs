//! Roles and bindings. [`crate::access::check_role_write`] checks privilege escalation.

use serde_json::Value;

use super::metadata;
use crate::json::{default, field, items, list, make, object, text};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn fill(value: &mut Value) {
    if value.get("roleRef").is_some_and(Value::is_object)
        && let Some(role) = make(value, "roleRef")
    {
        default(role, "apiGroup", GROUP);
    }
    for subject in items(value, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            default(subject, "apiGroup", GROUP);
        }
    }
}

/// Removes empty lists, which Go does not store. Field managers own the removed lists nevertheless.
pub(crate) fn prepare(value: &mut Value) {
    if value["rules"].as_array().is_some_and(Vec::is_empty) {
        value["rules"] = Value::Null;
    }
}

pub(crate) fn validate(kind: &str, value: &Value, found: &mut Findings) {
    match kind {
        "Role" => rules(value, true, found),
        "ClusterRole" => {
            rules(value, false, found);
            aggregation(value, found);
        }
        "RoleBinding" => binding(value, true, found),
        "ClusterRoleBinding" => binding(value, false, found),
        _ => {}
    }
}

fn rules(role: &Value, namespaced: bool, found: &mut Findings) {
    let under = Path::new("rules");
    for (index, rule) in list(role, "rules").iter().enumerate() {
        let at = under.index(index);
        let none = |name: &str| list(rule, name).is_empty();
        if none("verbs") {
            let message = "verbs must contain at least one value";
            found.required(&at.child("verbs"), message);
        }
        if !none("nonResourceURLs") {
            let urls = field(rule, "nonResourceURLs").clone();
            let at = at.child("nonResourceURLs");
            if namespaced {
                let message = "namespaced rules cannot apply to non-resource URLs";
                found.invalid(&at, urls.clone(), message);
            }
            if !none("apiGroups") || !none("resources") || !none("resourceNames") {
                let message = "rules cannot apply to both regular resources and non-resource URLs";
                found.invalid(&at, urls, message);
            }
            continue;
        }
        if none("apiGroups") {
            let message = "resource rules must supply at least one api group";
            found.required(&at.child("apiGroups"), message);
        }
        if none("resources") {
            let message = "resource rules must supply at least one resource";
            found.required(&at.child("resources"), message);
        }
    }
}

fn aggregation(role: &Value, found: &mut Findings) {
    let Some(aggregation) = object(role, "aggregationRule") else {
        return;
    };
    let at = Path::new("aggregationRule");
    let at = at.child("clusterRoleSelectors");
    let selectors = aggregation
        .get("clusterRoleSelectors")
        .and_then(Value::as_array);
    let Some(selectors) = selectors.filter(|selectors| !selectors.is_empty()) else {
        let message = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        return found.required(&at, message);
    };
    for (index, selector) in selectors.iter().enumerate() {
        label_selector(selector, &at.index(index), found);
    }
}

/// Validates a label selector in object form.
pub(crate) fn label_selector(selector: &Value, at: &Path<'_>, found: &mut Findings) {
    let labels = object(selector, "matchLabels");
    metadata::labels(labels, &at.child("matchLabels"), found);
    let under = at.child("matchExpressions");
    for (index, expression) in list(selector, "matchExpressions").iter().enumerate() {
        let at = under.index(index);
        let values = list(expression, "values");
        match text(expression, "operator") {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let message = "must be specified when `operator` is 'In' or 'NotIn'";
                    found.required(&at.child("values"), message);
                }
            }
            "Exists" | "DoesNotExist" => {
                if !values.is_empty() {
                    let message = "may not be specified when `operator` is 'Exists' or \
                                'DoesNotExist'";
                    found.forbidden(&at.child("values"), message);
                }
            }
            other => {
                let message = "not a valid selector operator";
                found.invalid(&at.child("operator"), other, message);
            }
        }
        let key = text(expression, "key");
        found.all_invalid(&at.child("key"), key, names::qualified_name(key));
    }
}

fn binding(value: &Value, namespaced: bool, found: &mut Findings) {
    let at = Path::new("roleRef");
    let role = field(value, "roleRef");
    let group = text(role, "apiGroup");
    if group != GROUP {
        found.not_supported(&at.child("apiGroup"), group, &[GROUP]);
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = text(role, "kind");
    if !kinds.contains(&kind) {
        found.not_supported(&at.child("kind"), kind, kinds);
    }
    let name = text(role, "name");
    if name.is_empty() {
        found.required(&at.child("name"), "");
    } else {
        found.all_invalid(&at.child("name"), name, names::path_segment(name));
    }
    let under = Path::new("subjects");
    for (index, one) in list(value, "subjects").iter().enumerate() {
        subject(one, namespaced, &under.index(index), found);
    }
}

fn subject(subject: &Value, namespaced: bool, at: &Path<'_>, found: &mut Findings) {
    let name = text(subject, "name");
    if name.is_empty() {
        found.required(&at.child("name"), "");
    }
    let group = text(subject, "apiGroup");
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                found.all_invalid(&at.child("name"), name, names::dns_subdomain(name));
            }
            if !group.is_empty() {
                found.not_supported(&at.child("apiGroup"), group, &[""]);
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                found.required(&at.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                found.not_supported(&at.child("apiGroup"), group, &[GROUP]);
            }
        }
        other => {
            let known = ["ServiceAccount", "User", "Group"];
            found.not_supported(&at.child("kind"), other, &known);
        }
    }
}

pub(crate) fn update(new: &Value, old: &Value, found: &mut Findings) {
    if field(new, "roleRef") != field(old, "roleRef") {
        let role = field(new, "roleRef");
        let role = serde_json::json!({
            "APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"],
        });
        found.invalid(&Path::new("roleRef"), role, "cannot change roleRef");
    }
}
