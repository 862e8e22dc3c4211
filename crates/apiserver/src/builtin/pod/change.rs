//! Validation of pod updates.

use serde_json::Value;

use super::container::container;
use super::validation::trimmed_images;
use crate::json::{field, list, number, text};
use crate::schema::Path;
use crate::schema::findings::Findings;

/// Validates an update of a pod: few fields of the spec are mutable.
pub(crate) fn update(new: &Value, old: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let (now, before) = (field(new, "spec"), field(old, "spec"));
    let same_count = |name: &str| list(now, name).len() == list(before, name).len();
    for name in ["containers", "initContainers"] {
        if !same_count(name) {
            let message = "pod updates may not add or remove containers";
            return found.forbidden(&at.child(name), message);
        }
    }
    for name in ["containers", "initContainers"] {
        let under = at.child(name);
        for (index, container) in list(now, name).iter().enumerate() {
            if text(container, "image").is_empty() {
                found.required(&under.index(index).child("image"), "");
            }
        }
    }
    trimmed_images(now, &at, found);
    deadline(now, before, &at, found);
    let tolerated = list(now, "tolerations");
    if !list(before, "tolerations")
        .iter()
        .all(|old| tolerated.contains(old))
    {
        let message = "existing toleration can not be modified except its tolerationSeconds";
        found.forbidden(&at.child("tolerations"), message);
    }
    let gates = list(before, "schedulingGates");
    if !list(now, "schedulingGates")
        .iter()
        .all(|gate| gates.contains(gate))
    {
        let message = "only deletion is allowed, but found new scheduling gate";
        found.forbidden(&at.child("schedulingGates"), message);
    }
    if comparable(now) != comparable(before) {
        let message = "pod updates may not change fields other than \
                    `spec.containers[*].image`,`spec.initContainers[*].image`,\
                    `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
                    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                    it was previously negative)";
        found.forbidden(&at, message);
    }
}

fn deadline(now: &Value, before: &Value, at: &Path<'_>, found: &mut Findings) {
    let name = "activeDeadlineSeconds";
    match (number(now, name), number(before, name)) {
        (Some(now), Some(before)) if now > before => {
            let message = "must be less than or equal to previous value";
            found.invalid(&at.child(name), now, message);
        }
        (None, Some(_)) => {
            let message = "must not update from a positive integer to nil value";
            found.invalid(&at.child(name), Value::Null, message);
        }
        _ => {}
    }
}

fn comparable(spec: &Value) -> serde_json::Map<String, Value> {
    let free = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let mut rest = super::without(spec, &free);
    for name in ["containers", "initContainers"] {
        if let Some(Value::Array(containers)) = rest.get_mut(name) {
            for container in containers {
                crate::json::put(container, "image", None);
            }
        }
    }
    rest
}

/// Validates a write to the subresource `ephemeralcontainers`. Clients can only add ephemeral
/// containers.
pub(crate) fn ephemeral(new: &Value, old: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let under = at.child("ephemeralContainers");
    let (now, before) = (field(new, "spec"), field(old, "spec"));
    let containers = list(now, "ephemeralContainers");
    for kept in list(before, "ephemeralContainers") {
        let name = text(kept, "name");
        match containers.iter().find(|other| text(other, "name") == name) {
            None => {
                let message =
                    format!("existing ephemeral containers {name:?} may not be removed\n");
                found.forbidden(&under, message);
            }
            Some(other) if other != kept => {
                let message =
                    format!("existing ephemeral containers {name:?} may not be changed\n");
                found.forbidden(&under, message);
            }
            Some(_) => {}
        }
    }
    let mountable: Vec<&str> = list(now, "volumes")
        .iter()
        .map(|v| text(v, "name"))
        .collect();
    for (index, one) in containers.iter().enumerate() {
        let at = under.index(index);
        container(one, &mountable, &at, found);
        let name = text(one, "name");
        if super::names(now).filter(|other| *other == name).count() > 1 {
            found.duplicate(&at.child("name"), name);
        }
        for name in [
            "ports",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if !field(one, name).is_null() {
                let message = "cannot be set for an Ephemeral Container";
                found.forbidden(&at.child(name), message);
            }
        }
    }
}
