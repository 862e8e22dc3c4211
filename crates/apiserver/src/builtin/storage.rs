//! PersistentVolume, PersistentVolumeClaim and StorageClass.

use serde_json::Value;

use crate::json::{default, field, list, make, object, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(crate) fn fill_volume(volume: &mut Value) {
    if let Some(spec) = make(volume, "spec") {
        default(spec, "persistentVolumeReclaimPolicy", "Retain");
        default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = make(volume, "status") {
        default(status, "phase", "Pending");
    }
}

pub(crate) fn fill_claim(claim: &mut Value) {
    if let Some(spec) = make(claim, "spec") {
        default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = make(claim, "status") {
        default(status, "phase", "Pending");
    }
}

fn access_modes(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("accessModes");
    if list(spec, "accessModes").is_empty() {
        found.required(&under, "at least 1 access mode is required");
    }
    for mode in texts(spec, "accessModes") {
        if !MODES.contains(&mode) {
            found.not_supported(&under, mode, &MODES);
        }
    }
}

pub(crate) fn volume(volume: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(volume, "spec");
    access_modes(spec, &at, found);
    if object(spec, "capacity").is_none_or(|capacity| !capacity.contains_key("storage")) {
        found.not_supported(
            &at.child("capacity"),
            field(spec, "capacity").clone(),
            &["storage"],
        );
    }
    let known = ["Delete", "Recycle", "Retain"];
    let name = "persistentVolumeReclaimPolicy";
    found.maybe_one_of(&at.child(name), text(spec, name), &known);
    found.maybe_one_of(
        &at.child("volumeMode"),
        text(spec, "volumeMode"),
        &["Block", "Filesystem"],
    );
}

pub(crate) fn claim(claim: &Value, found: &mut Findings) {
    claim_spec(field(claim, "spec"), &Path::new("spec"), found);
}

/// Validates the spec of a claim, also in a StatefulSet.
pub(crate) fn claim_spec(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    access_modes(spec, at, found);
    let requests = field(field(spec, "resources"), "requests");
    if requests.get("storage").is_none() {
        found.required(&at.child("resources").key("storage"), "");
    }
    found.maybe_one_of(
        &at.child("volumeMode"),
        text(spec, "volumeMode"),
        &["Block", "Filesystem"],
    );
}

pub(crate) fn claim_update(new: &Value, old: &Value, found: &mut Findings) {
    claim(new, found);
    let kept = |claim: &Value| {
        let mut spec = field(claim, "spec").clone();
        if let Some(map) = spec.as_object_mut() {
            map.retain(|name, _| {
                !["resources", "volumeName", "volumeAttributesClassName"].contains(&name.as_str())
            });
        }
        spec
    };
    if kept(new) != kept(old) {
        let message = "spec is immutable after creation except resources.requests and \
                    volumeAttributesClassName for bound claims";
        found.forbidden(&Path::new("spec"), message);
    }
}

pub(crate) fn fill_class(class: &mut Value) {
    default(class, "reclaimPolicy", "Delete");
    default(class, "volumeBindingMode", "Immediate");
}

pub(crate) fn class(class: &Value, found: &mut Findings) {
    let at = Path::new("provisioner");
    let provisioner = text(class, "provisioner").to_lowercase();
    if provisioner.is_empty() {
        found.required(&at, "");
    } else {
        let wrong = names::qualified_name(&provisioner);
        found.all_invalid(&at, &provisioner, wrong);
    }
    for (name, known) in [
        ("reclaimPolicy", ["Delete", "Retain"]),
        ("volumeBindingMode", ["Immediate", "WaitForFirstConsumer"]),
    ] {
        found.maybe_one_of(&Path::new(name), text(class, name), &known);
    }
    let under = Path::new("allowedTopologies");
    for (index, term) in list(class, "allowedTopologies").iter().enumerate() {
        let at = under.index(index);
        let under = at.child("matchLabelExpressions");
        for (index, expression) in list(term, "matchLabelExpressions").iter().enumerate() {
            let at = under.index(index);
            if list(expression, "values").is_empty() {
                found.required(&at.child("values"), "");
            }
            let key = text(expression, "key");
            found.all_invalid(&at.child("key"), key, names::qualified_name(key));
        }
    }
}

pub(crate) fn class_update(new: &Value, old: &Value, found: &mut Findings) {
    for name in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        found.immutable(&Path::new(name), field(new, name), field(old, name));
    }
}
