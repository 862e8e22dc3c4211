//! Deployment, ReplicaSet, StatefulSet, DaemonSet, ControllerRevision.

mod status;

use serde_json::{Value, json};

use super::pod::{self, validation};
use super::{rbac, storage};
use crate::json::put;
use crate::json::{default, field, list, make, number, object, text};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

pub(crate) use status::status;

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) fn fill(kind: &str, value: &mut Value) {
    match kind {
        "ControllerRevision" => return,
        "DaemonSet" => fill_template_generation(value),
        _ => {}
    }
    let Some(spec) = make(value, "spec") else {
        return;
    };
    if kind != "DaemonSet" {
        default(spec, "replicas", 1);
    }
    if kind != "ReplicaSet" {
        default(spec, "revisionHistoryLimit", 10);
    }
    match kind {
        "Deployment" => {
            default(spec, "progressDeadlineSeconds", 600);
            if let Some(strategy) = make(spec, "strategy") {
                rolling(
                    strategy,
                    &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
                );
            }
        }
        "DaemonSet" => {
            if let Some(strategy) = make(spec, "updateStrategy") {
                rolling(
                    strategy,
                    &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
                );
            }
        }
        "StatefulSet" => fill_stateful(spec),
        _ => {}
    }
    if let Some(template) = make(spec, "template") {
        pod::fill_template(template);
    }
}

fn rolling(strategy: &mut Value, values: &[(&str, Value)]) {
    default(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate"
        && let Some(rolling) = make(strategy, "rollingUpdate")
    {
        for (name, value) in values {
            default(rolling, name, value.clone());
        }
    }
}

fn fill_stateful(spec: &mut Value) {
    default(spec, "podManagementPolicy", "OrderedReady");
    if let Some(strategy) = make(spec, "updateStrategy") {
        if text(strategy, "type").is_empty() {
            default(strategy, "type", "RollingUpdate");
            default(strategy, "rollingUpdate", json!({}));
        }
        if let Some(rolling) = strategy.get_mut("rollingUpdate") {
            default(rolling, "partition", 0);
        }
    }
    if let Some(policy) = make(spec, "persistentVolumeClaimRetentionPolicy") {
        default(policy, "whenDeleted", "Retain");
        default(policy, "whenScaled", "Retain");
    }
    for claim in crate::json::items(spec, "volumeClaimTemplates") {
        default(claim, "apiVersion", "v1");
        default(claim, "kind", "PersistentVolumeClaim");
        storage::fill_claim(claim);
    }
}

/// Sets the annotation of the template generation to `0` if the DaemonSet does not have the
/// annotation. Go's conversion of `templateGeneration` does the same.
fn fill_template_generation(set: &mut Value) {
    if let Some(annotations) = make(set, "metadata").and_then(|meta| make(meta, "annotations")) {
        default(annotations, TEMPLATE_GENERATION, "0");
    }
}

/// Stores the template generation of a DaemonSet in its annotation.
pub(crate) fn set_template_generation(set: &mut Value, generation: i64) {
    if let Some(annotations) = make(set, "metadata").and_then(|meta| make(meta, "annotations")) {
        put(
            annotations,
            TEMPLATE_GENERATION,
            Some(generation.to_string().into()),
        );
    }
}

pub(crate) fn carry_template_generation(new: &mut Value, old: &Value) {
    let annotations = field(field(old, "metadata"), "annotations");
    let before: i64 = text(annotations, TEMPLATE_GENERATION).parse().unwrap_or(1);
    let template = |value: &Value| field(field(value, "spec"), "template").clone();
    let changed = template(new) != template(old);
    set_template_generation(new, if changed { before + 1 } else { before });
}

pub(crate) fn validate(kind: &str, value: &Value, found: &mut Findings) {
    if kind == "ControllerRevision" {
        found.not_negative(&Path::new("revision"), number(value, "revision"));
        if !field(value, "data").is_object() {
            found.required(&Path::new("data"), "data is mandatory");
        }
        return;
    }
    let at = Path::new("spec");
    let spec = field(value, "spec");
    for name in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        found.not_negative(&at.child(name), number(spec, name));
    }
    let called = match kind {
        "Deployment" => "deployment",
        "ReplicaSet" => "replicaset",
        "StatefulSet" => "statefulset",
        _ => "daemonset",
    };
    selector(spec, called, &at, found);
    match kind {
        "Deployment" => deployment(spec, &at, found),
        "StatefulSet" => stateful(spec, &at, found),
        "DaemonSet" => daemon(spec, &at, found),
        _ => {}
    }
    template(kind, spec, &at, found);
}

fn selector(spec: &Value, called: &str, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("selector");
    let selector = field(spec, "selector");
    let template = field(field(field(spec, "template"), "metadata"), "labels");
    if selector.is_null() {
        if called != "daemonset" {
            found.required(&under, "");
        }
        // An empty selector matches no pod.
        return mismatch(template, at, found);
    }
    rbac::label_selector(selector, &under, found);
    let none = object(selector, "matchLabels").is_none_or(serde_json::Map::is_empty)
        && list(selector, "matchExpressions").is_empty();
    if none {
        let message = format!("empty selector is invalid for {called}");
        found.invalid(&under, selector.clone(), message);
    }
    if !none && !matches(selector, template) {
        mismatch(template, at, found);
    }
}

fn mismatch(labels: &Value, at: &Path<'_>, found: &mut Findings) {
    let at = at.child("template");
    let at = at.child("metadata");
    let message = "`selector` does not match template `labels`";
    found.invalid(&at.child("labels"), labels.clone(), message);
}

/// Reports whether a label selector in object form matches the labels.
pub(crate) fn matches(selector: &Value, labels: &Value) -> bool {
    let pairs = object(selector, "matchLabels").into_iter().flatten();
    let mut pairs = pairs.map(|(key, value)| labels.get(key) == Some(value));
    let all = pairs.all(|matched| matched);
    all && list(selector, "matchExpressions").iter().all(|expression| {
        let value = labels.get(text(expression, "key"));
        let named = value.is_some_and(|value| list(expression, "values").contains(value));
        match text(expression, "operator") {
            "In" => named,
            "NotIn" => !named,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    })
}

fn deployment(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("strategy");
    let strategy = field(spec, "strategy");
    let rolling = field(strategy, "rollingUpdate");
    match text(strategy, "type") {
        "Recreate" => {
            if !rolling.is_null() {
                let message = "may not be specified when strategy `type` is 'Recreate'";
                found.forbidden(&under.child("rollingUpdate"), message);
            }
        }
        "RollingUpdate" => {
            let at = under.child("rollingUpdate");
            let unavailable = amount(rolling, "maxUnavailable", &at, found);
            let surge = amount(rolling, "maxSurge", &at, found);
            if unavailable == 0 && surge == 0 {
                let shown = field(rolling, "maxUnavailable").clone();
                let message = "may not be 0 when `maxSurge` is 0";
                found.invalid(&at.child("maxUnavailable"), shown, message);
            }
            at_most_all(rolling, "maxUnavailable", &at, found);
        }
        _ => found.not_supported(&under, strategy.clone(), &["Recreate", "RollingUpdate"]),
    }
    let name = "progressDeadlineSeconds";
    found.not_negative(&at.child(name), number(spec, name));
    let ready = number(spec, "minReadySeconds").unwrap_or_default();
    if let Some(deadline) = number(spec, name).filter(|deadline| *deadline <= ready) {
        let message = "must be greater than minReadySeconds";
        found.invalid(&at.child(name), deadline, message);
    }
}

/// Validates a field that is an integer or a percentage, and returns the number.
pub(crate) fn amount(value: &Value, name: &str, at: &Path<'_>, found: &mut Findings) -> i64 {
    match field(value, name) {
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit()) {
                let message = "a valid percent string must be a numeric string followed by an \
                               ending '%'";
                let invalid = names::regex_message(message, "[0-9]+%", &["1%", "93%"]);
                found.invalid(&at.child(name), text.as_str(), invalid);
            }
            digits.parse().unwrap_or_default()
        }
        number => {
            let number = number.as_i64().unwrap_or_default();
            found.not_negative(&at.child(name), Some(number));
            number
        }
    }
}

pub(crate) fn at_most_all(value: &Value, name: &str, at: &Path<'_>, found: &mut Findings) {
    let percent = text(value, name).strip_suffix('%').map(str::parse::<i64>);
    if matches!(percent, Some(Ok(percent)) if percent > 100) {
        let message = "must not be greater than 100%";
        found.invalid(&at.child(name), text(value, name), message);
    }
}

fn daemon(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("updateStrategy");
    let strategy = field(spec, "updateStrategy");
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let at = under.child("rollingUpdate");
            let rolling = field(strategy, "rollingUpdate");
            let unavailable = amount(rolling, "maxUnavailable", &at, found);
            let surge = amount(rolling, "maxSurge", &at, found);
            at_most_all(rolling, "maxUnavailable", &at, found);
            at_most_all(rolling, "maxSurge", &at, found);
            match (unavailable, surge) {
                (0, 0) => {
                    let message = "cannot be 0 when maxSurge is 0";
                    found.required(&at.child("maxUnavailable"), message);
                }
                (0, _) | (_, 0) => {}
                _ => {
                    let shown = field(rolling, "maxSurge").clone();
                    let message = "may not be set when maxUnavailable is non-zero";
                    found.invalid(&at.child("maxSurge"), shown, message);
                }
            }
        }
        _ => found.not_supported(&under, strategy.clone(), &["RollingUpdate", "OnDelete"]),
    }
}

fn stateful(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let policy = text(spec, "podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&policy) {
        let message = "must be 'OrderedReady' or 'Parallel'";
        found.invalid(&at.child("podManagementPolicy"), policy, message);
    }
    let under = at.child("updateStrategy");
    let strategy = field(spec, "updateStrategy");
    let rolling = field(strategy, "rollingUpdate");
    match text(strategy, "type") {
        "OnDelete" => {
            if !rolling.is_null() {
                let message = "only allowed for updateStrategy 'RollingUpdate'";
                found.invalid(&under.child("rollingUpdate"), rolling.clone(), message);
            }
        }
        "RollingUpdate" => {
            let at = under.child("rollingUpdate");
            found.not_negative(&at.child("partition"), number(rolling, "partition"));
        }
        _ => {
            let message = "must be 'RollingUpdate' or 'OnDelete'";
            found.invalid(&under, strategy.clone(), message);
        }
    }
    let under = at.child("persistentVolumeClaimRetentionPolicy");
    let policy = field(spec, "persistentVolumeClaimRetentionPolicy");
    for name in ["whenDeleted", "whenScaled"] {
        found.maybe_one_of(
            &under.child(name),
            text(policy, name),
            &["Retain", "Delete"],
        );
    }
    let under = at.child("volumeClaimTemplates");
    for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
        let at = under.index(index);
        storage::claim_spec(field(claim, "spec"), &at.child("spec"), found);
    }
    let service = text(spec, "serviceName");
    if !service.is_empty() {
        found.all_invalid(&at.child("serviceName"), service, names::dns_label(service));
    }
}

fn template(kind: &str, spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let at = at.child("template");
    let template = field(spec, "template");
    let claims: Vec<&str> = list(spec, "volumeClaimTemplates")
        .iter()
        .map(|claim| text(field(claim, "metadata"), "name"))
        .collect();
    validation::template(template, &claims, &at, found);
    let under = at.child("spec");
    let pod = field(template, "spec");
    let policy = text(pod, "restartPolicy");
    if policy != "Always" {
        found.not_supported(&under.child("restartPolicy"), policy, &["Always"]);
    }
    if !field(pod, "activeDeadlineSeconds").is_null() {
        let message = format!("activeDeadlineSeconds in {kind} is not Supported");
        found.forbidden(&under.child("activeDeadlineSeconds"), message);
    }
}

pub(crate) fn validate_update(kind: &str, new: &Value, old: &Value, found: &mut Findings) {
    validate(kind, new, found);
    let at = Path::new("spec");
    let (spec, before) = (field(new, "spec"), field(old, "spec"));
    match kind {
        "StatefulSet" => {
            const FREE: [&str; 7] = [
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ];
            let kept = |spec: &Value| {
                let mut spec = spec.clone();
                if let Some(map) = spec.as_object_mut() {
                    map.retain(|name, _| !FREE.contains(&name.as_str()));
                }
                spec
            };
            if kept(spec) != kept(before) {
                let message = "updates to statefulset spec for fields other than 'replicas', \
                            'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', \
                            'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
                            forbidden";
                found.forbidden(&at, message);
            }
        }
        "ControllerRevision" => {
            found.immutable(&Path::new("data"), field(new, "data"), field(old, "data"));
        }
        _ => {
            let under = at.child("selector");
            found.immutable(&under, field(spec, "selector"), field(before, "selector"));
        }
    }
}
