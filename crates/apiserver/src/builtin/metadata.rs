//! Validation of `metadata` (apimachinery `pkg/api/validation/objectmeta.go`).

use serde_json::{Map, Value};

use crate::json::{field, flag, list, number, object, text, texts};
use crate::names::{self, NameCheck};
use crate::schema::Path;
use crate::schema::findings::{Findings, IMMUTABLE};

/// Maximum size of all annotations of an object together, in bytes.
const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// Validates `metadata` of a new object.
pub(crate) fn validate(value: &Value, namespaced: bool, check: NameCheck, found: &mut Findings) {
    let at = Path::new("metadata");
    let metadata = field(value, "metadata");
    let generate = text(metadata, "generateName");
    if !generate.is_empty() {
        // The generated suffix is alphanumeric, so a trailing hyphen is valid.
        let masked = match generate.strip_suffix('-') {
            Some(stem) if !stem.is_empty() => format!("{stem}a"),
            _ => generate.to_owned(),
        };
        found.all_invalid(&at.child("generateName"), generate, check(&masked));
    }
    let name = text(metadata, "name");
    if name.is_empty() {
        found.required(&at.child("name"), "name or generateName is required");
    } else {
        found.all_invalid(&at.child("name"), name, check(name));
    }
    common(metadata, namespaced, &at, found);
}

fn common(metadata: &Value, namespaced: bool, at: &Path<'_>, found: &mut Findings) {
    let namespace = text(metadata, "namespace");
    let under = at.child("namespace");
    match (namespaced, namespace) {
        (true, "") => found.required(&under, ""),
        (true, name) => found.all_invalid(&under, name, names::dns_label(name)),
        (false, "") => {}
        (false, _) => found.forbidden(&under, "not allowed on this type"),
    }
    found.not_negative(&at.child("generation"), number(metadata, "generation"));
    labels(object(metadata, "labels"), &at.child("labels"), found);
    annotations(
        object(metadata, "annotations"),
        &at.child("annotations"),
        found,
    );
    owners(metadata, &at.child("ownerReferences"), found);
    let under = at.child("finalizers");
    for finalizer in texts(metadata, "finalizers") {
        found.all_invalid(&under, finalizer, names::qualified_name(finalizer));
    }
    let has = |name: &str| texts(metadata, "finalizers").any(|other| other == name);
    if has("orphan") && has("foregroundDeletion") {
        let message = "finalizer orphan and foregroundDeletion cannot be both set";
        found.invalid(&under, field(metadata, "finalizers").clone(), message);
    }
}

/// Validates the keys and the values of labels.
pub(crate) fn labels(labels: Option<&Map<String, Value>>, at: &Path<'_>, found: &mut Findings) {
    for (key, value) in labels.into_iter().flatten() {
        found.all_invalid(at, key, names::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        found.all_invalid(at, value, names::label_value(value));
    }
}

/// Validates the keys and the total size of annotations.
pub(crate) fn annotations(
    annotations: Option<&Map<String, Value>>,
    at: &Path<'_>,
    found: &mut Findings,
) {
    let mut size = 0;
    for (key, value) in annotations.into_iter().flatten() {
        found.all_invalid(at, key, names::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS_BYTES {
        found.too_long(at, MAX_ANNOTATIONS_BYTES);
    }
}

/// Maximum number of errors about additional controller references. The server repeats the error
/// for each additional reference up to this number.
const MAX_REPEATED: u8 = 8;

fn owners(metadata: &Value, at: &Path<'_>, found: &mut Findings) {
    let mut first: Option<String> = None;
    let mut repeated = 0;
    for owner in list(metadata, "ownerReferences") {
        let version = text(owner, "apiVersion");
        if version.rsplit('/').next().unwrap_or_default().is_empty() {
            let message = "version must not be empty";
            found.invalid(&at.child("apiVersion"), version, message);
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                found.invalid(&at.child(name), "", "must not be empty");
            }
        }
        if (version, text(owner, "kind")) == ("v1", "Event") {
            let message = "/v1, Kind=Event is disallowed from being an owner";
            found.invalid(at, owner.clone(), message);
        }
        if !flag(owner, "controller") {
            continue;
        }
        let this = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        match &first {
            None => first = Some(this),
            // Each error contains the whole list, so a few errors suffice.
            Some(_) if repeated == MAX_REPEATED => {}
            Some(first) => {
                repeated += 1;
                let message = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {this}"
                );
                found.invalid_shown(at, &shown_owners(metadata), &message);
            }
        }
    }
}

/// Formats the owner references as Go prints them.
fn shown_owners(metadata: &Value) -> String {
    const MEMBERS: [&str; 6] = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let one = |owner: &Value| {
        let members = MEMBERS.iter().filter_map(|name| {
            let value = owner.get(*name)?;
            Some(format!("{name:?}:{value}"))
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    };
    let all: Vec<String> = list(metadata, "ownerReferences").iter().map(one).collect();
    format!("[{}]", all.join(","))
}

/// Validates finalizers of built-in kinds.
pub(crate) fn standard_finalizers(value: &Value, found: &mut Findings) {
    let at = Path::new("metadata");
    let at = at.child("finalizers");
    for (index, name) in texts(field(value, "metadata"), "finalizers").enumerate() {
        standard_finalizer(name, &at.index(index), found);
    }
}

/// Checks that a finalizer without a domain is a standard finalizer.
pub(crate) fn standard_finalizer(name: &str, at: &Path<'_>, found: &mut Findings) {
    if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name) {
        let message = "name is neither a standard finalizer name nor is it fully qualified";
        found.invalid(at, name, message);
    }
}

/// Validates `metadata` of a changed object, except `resourceVersion`.
///
/// kube-apiserver validates metadata before and during validation of the kind. Most errors
/// therefore occur two or three times.
pub(crate) fn validate_update(value: &Value, old: &Value, namespaced: bool, found: &mut Findings) {
    let at = Path::new("metadata");
    let (new, old) = (field(value, "metadata"), field(old, "metadata"));
    let mut changed = Findings::default();
    validate_change(new, old, &at, &mut changed);
    found.0.extend(changed.0.iter().cloned());
    found.0.append(&mut changed.0);
    common(new, namespaced, &at, found);
}

fn validate_change(new: &Value, old: &Value, at: &Path<'_>, found: &mut Findings) {
    if !field(old, "deletionTimestamp").is_null() {
        let before: Vec<&str> = texts(old, "finalizers").collect();
        let mut extra: Vec<String> = texts(new, "finalizers")
            .filter(|name| !before.contains(name))
            .map(|name| format!("{name:?}"))
            .collect();
        extra.sort();
        if !extra.is_empty() {
            let message = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                extra.join(", ")
            );
            found.forbidden(&at.child("finalizers"), message);
        }
    }
    if number(new, "generation") < number(old, "generation") {
        let generation = field(new, "generation").clone();
        found.invalid(
            &at.child("generation"),
            generation,
            "must not be decremented",
        );
    }
    for name in ["name", "namespace", "uid"] {
        if text(new, name) != text(old, name) {
            found.invalid(&at.child(name), text(new, name), IMMUTABLE);
        }
    }
    for name in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        found.immutable(&at.child(name), field(new, name), field(old, name));
    }
    labels(object(new, "labels"), &at.child("labels"), found);
    let under = at.child("annotations");
    annotations(object(new, "annotations"), &under, found);
    owners(new, &at.child("ownerReferences"), found);
}
/// Validates `kind` and `name` of a reference to another object.
pub(crate) fn kind_and_name(value: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in ["kind", "name"] {
        let stored_value = text(value, name);
        if stored_value.is_empty() {
            found.required(&at.child(name), "");
        } else {
            found.all_invalid(
                &at.child(name),
                stored_value,
                names::path_segment(stored_value),
            );
        }
    }
}
