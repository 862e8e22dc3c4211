//! PersistentVolume and PersistentVolumeClaim.

use serde_json::Value;

use crate::schema::Path;
use crate::schema::findings::Findings;
use crate::schema::look::{default, field, list, make, object, text, texts};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

pub(super) fn fill_volume(volume: &mut Value) {
    if let Some(spec) = make(volume, "spec") {
        default(spec, "persistentVolumeReclaimPolicy", "Retain");
        default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = make(volume, "status") {
        default(status, "phase", "Pending");
    }
}

pub(super) fn fill_claim(claim: &mut Value) {
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

pub(super) fn volume(volume: &Value, found: &mut Findings) {
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

pub(super) fn claim(claim: &Value, found: &mut Findings) {
    claim_spec(field(claim, "spec"), &Path::new("spec"), found);
}

/// Checks a claim's spec, also in a StatefulSet.
pub(super) fn claim_spec(spec: &Value, at: &Path<'_>, found: &mut Findings) {
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

pub(super) fn claim_update(new: &Value, old: &Value, found: &mut Findings) {
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
        let said = "spec is immutable after creation except resources.requests and \
                    volumeAttributesClassName for bound claims";
        found.forbidden(&Path::new("spec"), said);
    }
}
