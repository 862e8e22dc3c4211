//! Validation of pods and pod templates (pkg/apis/core/validation). This module contains the rules
//! that clients violate most often.

use serde_json::Value;

use super::super::metadata;
use super::container::{conflicts, container, probes};
use super::{placement, volumes};
use crate::json::{field, list, number, object, text};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

/// Validates a new pod. Rejects fields that a client must not set on create, such as ephemeral
/// containers.
pub(crate) fn pod(pod: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let body = field(pod, "spec");
    spec(body, &[], &at, found);
    trimmed_images(body, &at, found);
    if !list(body, "ephemeralContainers").is_empty() {
        found.forbidden(&at.child("ephemeralContainers"), "cannot be set on create");
    }
    if !text(body, "nodeName").is_empty() && !list(body, "schedulingGates").is_empty() {
        let message = "cannot be set until all schedulingGates have been cleared";
        found.forbidden(&at.child("nodeName"), message);
    }
}

/// Rejects image names with leading or trailing spaces in a pod. Pod templates accept these names.
pub(crate) fn trimmed_images(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in ["containers", "initContainers"] {
        let under = at.child(name);
        for (index, container) in list(spec, name).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                let message = "must not have leading or trailing whitespace";
                found.invalid(&under.index(index).child("image"), image, message);
            }
        }
    }
}

/// Validates a pod template. `claims` are the names of volumes that the owner of the template adds.
pub(crate) fn template(template: &Value, claims: &[&str], at: &Path<'_>, found: &mut Findings) {
    let meta = field(template, "metadata");
    metadata::labels(object(meta, "labels"), &at.child("labels"), found);
    let under = at.child("annotations");
    metadata::annotations(object(meta, "annotations"), &under, found);
    let body = field(template, "spec");
    let at = at.child("spec");
    spec(body, claims, &at, found);
    if !list(body, "ephemeralContainers").is_empty() {
        let message = "ephemeral containers not allowed in pod template";
        found.forbidden(&at.child("ephemeralContainers"), message);
    }
}

pub(crate) fn spec(spec: &Value, claims: &[&str], at: &Path<'_>, found: &mut Findings) {
    let mut mountable = volumes::validate(spec, at, found);
    mountable.extend(claims);
    let all = list(spec, "containers");
    let under = at.child("containers");
    if all.is_empty() {
        found.required(&under, "");
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut host_ports: Vec<String> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let at = under.index(index);
        container(one, &mountable, &at, found);
        unique(one, &mut seen, &at, found);
        probes(one, &at, found);
        conflicts(one, &mut host_ports, &at, found);
    }
    let under = at.child("initContainers");
    for (index, one) in list(spec, "initContainers").iter().enumerate() {
        let at = under.index(index);
        container(one, &mountable, &at, found);
        unique(one, &mut seen, &at, found);
        if text(one, "restartPolicy") == "Always" {
            probes(one, &at, found);
        } else {
            for name in [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ] {
                if !field(one, name).is_null() {
                    let message = "may not be set for init containers without restartPolicy=Always";
                    found.forbidden(&at.child(name), message);
                }
            }
        }
    }
    policies(spec, at, found);
    named(spec, at, found);
    tolerations(spec, at, found);
    placement::validate(spec, at, found);
}

fn unique<'a>(one: &'a Value, seen: &mut Vec<&'a str>, at: &Path<'_>, found: &mut Findings) {
    let name = text(one, "name");
    if seen.contains(&name) {
        found.duplicate(&at.child("name"), name);
    } else if !name.is_empty() {
        seen.push(name);
    }
}

fn policies(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let known = ["Always", "OnFailure", "Never"];
    let name = "restartPolicy";
    found.one_of(&at.child(name), text(spec, name), &known);
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    let name = "dnsPolicy";
    found.one_of(&at.child(name), text(spec, name), &known);
    let selector = object(spec, "nodeSelector");
    metadata::labels(selector, &at.child("nodeSelector"), found);
    let name = "activeDeadlineSeconds";
    if let Some(seconds) = number(spec, name).filter(|s| !(1..=i64::from(i32::MAX)).contains(s)) {
        let message = "must be between 1 and 2147483647, inclusive";
        found.invalid(&at.child(name), seconds, message);
    }
    let name = "preemptionPolicy";
    let known = ["Never", "PreemptLowerPriority"];
    found.maybe_one_of(&at.child(name), text(spec, name), &known);
}

fn named(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let subdomains = [
        "serviceAccountName",
        "nodeName",
        "priorityClassName",
        "runtimeClassName",
    ];
    for name in subdomains {
        let value = text(spec, name);
        if !value.is_empty() {
            found.all_invalid(&at.child(name), value, names::dns_subdomain(value));
        }
    }
    for name in ["hostname", "subdomain"] {
        let value = text(spec, name);
        if !value.is_empty() {
            found.all_invalid(&at.child(name), value, names::dns_label(value));
        }
    }
}

fn tolerations(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("tolerations");
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let at = under.index(index);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            found.all_invalid(&at.child("key"), key, names::qualified_name(key));
        } else if operator != "Exists" {
            let message = "operator must be Exists when `key` is empty, which means \"match all \
                        values and all keys\"";
            found.invalid(&at.child("operator"), operator, message);
        }
        if !field(toleration, "tolerationSeconds").is_null() && effect != "NoExecute" {
            let message = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            found.invalid(&at.child("effect"), effect, message);
        }
        match operator {
            "" | "Equal" => {
                let wrong = names::label_value(value);
                if !wrong.is_empty() {
                    found.invalid(&at.child("operator"), value, wrong.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let message = "value must be empty when `operator` is 'Exists'";
                    found.invalid(&at.child("operator"), value, message);
                }
            }
            other => found.not_supported(&at.child("operator"), other, &["Equal", "Exists"]),
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        found.maybe_one_of(&at.child("effect"), effect, &known);
    }
}
