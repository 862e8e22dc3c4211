//! Validation of CRDs (apiextensions `validation.go`).

use serde_json::Value;

use super::versions::versions;
use crate::json::{field, flag, list, text, texts};
use crate::names::{dns_1035_label, dns_subdomain};
use crate::schema::Path;
use crate::schema::findings::Findings;

/// Validates a new CRD, without its metadata.
pub(crate) fn validate(crd: &Value, found: &mut Findings) {
    validate_spec(field(crd, "spec"), found);
    validate_rest(crd, found);
}

fn validate_spec(spec: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let group = text(spec, "group");
    if group.is_empty() {
        found.required(&at.child("group"), "");
    } else if let wrong @ [_, ..] = dns_subdomain(group).as_slice() {
        found.invalid(&at.child("group"), group, wrong.join(","));
    } else if !group.contains('.') {
        let message = "should be a domain with at least one dot";
        found.invalid(&at.child("group"), group, message);
    }
    let scope = at.child("scope");
    found.one_of(&scope, text(spec, "scope"), &["Cluster", "Namespaced"]);
    if flag(spec, "preserveUnknownFields") {
        let message = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                    spec.versions[*].schema instead";
        found.invalid(&at.child("preserveUnknownFields"), true, message);
    }
    versions(spec, &at, found);
    required_names(spec, &at, found);
    names(field(spec, "names"), &at.child("names"), found);
    conversion(field(spec, "conversion"), &at.child("conversion"), found);
}

fn validate_rest(crd: &Value, found: &mut Findings) {
    names(
        field(field(crd, "status"), "acceptedNames"),
        &Path::new("status").child("acceptedNames"),
        found,
    );
    stored_versions(crd, found);
    approval(crd, found);
}

/// Validates an updated CRD, without its metadata.
pub(crate) fn validate_update(crd: &Value, old: &Value, found: &mut Findings) {
    let (spec, before) = (field(crd, "spec"), field(old, "spec"));
    // An unchanged spec is not validated again, because an earlier version may have accepted it.
    if spec != before {
        validate_spec(spec, found);
    }
    validate_rest(crd, found);
    // An unchanged approval is not validated again.
    found
        .0
        .retain(|error| !error.path.contains("api-approved") || annotation(crd) != annotation(old));
    let at = Path::new("spec");
    let names = at.child("names");
    let own_name = |spec: &'_ Value, name: &str| field(field(spec, "names"), name).clone();
    if is_established(old) {
        let scope = at.child("scope");
        found.immutable(&scope, field(spec, "scope"), field(before, "scope"));
        let kind = names.child("kind");
        found.immutable(&kind, &own_name(spec, "kind"), &own_name(before, "kind"));
    }
    let group = at.child("group");
    found.immutable(&group, field(spec, "group"), field(before, "group"));
    let plural = names.child("plural");
    found.immutable(
        &plural,
        &own_name(spec, "plural"),
        &own_name(before, "plural"),
    );
}

fn is_established(crd: &Value) -> bool {
    list(field(crd, "status"), "conditions")
        .iter()
        .any(|condition| {
            text(condition, "type") == "Established" && text(condition, "status") == "True"
        })
}

fn required_names(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let names = at.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(field(spec, "names"), name).is_empty() {
            found.required(&names.child(name), "");
        }
    }
}

fn names(names: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in ["plural", "singular"] {
        let value = text(names, name);
        if let (false, wrong @ [_, ..]) = (value.is_empty(), dns_1035_label(value).as_slice()) {
            found.invalid(&at.child(name), value, wrong.join(","));
        }
    }
    for name in ["kind", "listKind"] {
        let value = text(names, name);
        let wrong = dns_1035_label(&value.to_lowercase());
        if !value.is_empty() && !wrong.is_empty() {
            let message = format!(
                "may have mixed case, but should otherwise match: {}",
                wrong.join(",")
            );
            found.invalid(&at.child(name), value, message);
        }
    }
    let all_labels = |name: &str, found: &mut Findings| {
        let at = at.child(name);
        for (index, value) in texts(names, name).enumerate() {
            if let wrong @ [_, ..] = dns_1035_label(value).as_slice() {
                found.invalid(&at.index(index), value, wrong.join(","));
            }
        }
    };
    all_labels("shortNames", found);
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let message = "kind and listKind may not be the same";
        found.invalid(&at.child("listKind"), kind, message);
    }
    all_labels("categories", found);
}

/// Rejects conversion webhooks, which this server does not call.
fn conversion(conversion: &Value, at: &Path<'_>, found: &mut Findings) {
    if conversion.is_null() {
        return;
    }
    let under = at.child("strategy");
    let strategy = text(conversion, "strategy");
    found.one_of(&under, strategy, &["None", "Webhook"]);
    let webhook = field(conversion, "webhook");
    let (config, reviews) = (
        field(webhook, "clientConfig"),
        list(webhook, "conversionReviewVersions"),
    );
    if strategy != "Webhook" {
        let message = "should not be set when strategy is not set to Webhook";
        if !config.is_null() {
            found.forbidden(&at.child("webhookClientConfig"), message);
        }
        if !reviews.is_empty() {
            found.forbidden(&at.child("conversionReviewVersions"), message);
        }
        return;
    }
    let before = found.0.len();
    if config.is_null() {
        let message = "required when strategy is set to Webhook";
        found.required(&at.child("webhookClientConfig"), message);
    } else if field(config, "url").is_null() == field(config, "service").is_null() {
        let message = "exactly one of url or service is required";
        found.required(&at.child("webhookClientConfig"), message);
    }
    if reviews.is_empty() {
        found.required(&at.child("conversionReviewVersions"), "");
    }
    if found.0.len() == before {
        found.not_supported(&under, strategy, &["None"]);
    }
}

fn stored_versions(crd: &Value, found: &mut Findings) {
    let at = Path::new("status");
    let at = at.child("storedVersions");
    let status = field(crd, "status");
    let stored: Vec<&str> = texts(status, "storedVersions").collect();
    // Each entry counts for one version, even with duplicate names.
    let mut remaining = stored.clone();
    if stored.is_empty() {
        let message = "must have at least one stored version";
        return found.invalid(&at, Value::Null, message);
    }
    let versions = list(field(crd, "spec"), "versions");
    for version in versions {
        let name = text(version, "name");
        let known = remaining.contains(&name);
        remaining.retain(|other| *other != name);
        if flag(version, "storage") && !known {
            let message = format!("must have the storage version {name}");
            found.invalid(&at, field(status, "storedVersions").clone(), message);
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions
            .iter()
            .any(|version| text(version, "name") == *name)
        {
            let message = format!(
                "missing from spec.versions; {name} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name} and removes {name} from status.storedVersions"
            );
            found.invalid(&at.index(index), *name, message);
        }
    }
}

const APPROVED: &str = "api-approved.kubernetes.io";

fn annotation(crd: &Value) -> &str {
    text(field(field(crd, "metadata"), "annotations"), APPROVED)
}

/// Requires the annotation `api-approved.kubernetes.io` for groups of the Kubernetes project.
fn approval(crd: &Value, found: &mut Findings) {
    let group = text(field(crd, "spec"), "group");
    let of_project = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|end| group == *end || group.ends_with(&format!(".{end}")));
    if !of_project {
        return;
    }
    let at = Path::new("metadata");
    let at = at.child("annotations");
    let at = at.key(APPROVED);
    let group_annotation = annotation(crd);
    if group_annotation.is_empty() {
        let reason = "protected groups must have approval annotation \"api-approved.kubernetes.io\", \
                   see https://github.com/kubernetes/enhancements/pull/1111";
        found.required(&at, reason);
    } else if !group_annotation.starts_with("unapproved")
        && !group_annotation.starts_with("https://")
    {
        let reason = "protected groups must have approval annotation \"api-approved.kubernetes.io\" \
                   with either a URL or a reason starting with \"unapproved\", see \
                   https://github.com/kubernetes/enhancements/pull/1111";
        found.invalid(&at, group_annotation, reason);
    }
}
