//! What is wrong with a CRD (apiextensions `validation.go`), in its words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schemas;
use crate::builtin::names::{dns_1035_label, dns_subdomain};
use crate::schema::Path;
use crate::schema::findings::Findings;
use crate::schema::look::{field, flag, list, object, text, texts};
use crate::table;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const MOST_SELECTABLE: usize = 8;

/// What is wrong with a CRD, beside its metadata.
pub(crate) fn validate(crd: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(crd, "spec");
    let group = text(spec, "group");
    if group.is_empty() {
        found.required(&at.child("group"), "");
    } else if let wrong @ [_, ..] = dns_subdomain(group).as_slice() {
        found.invalid(&at.child("group"), group, wrong.join(","));
    } else if !group.contains('.') {
        let said = "should be a domain with at least one dot";
        found.invalid(&at.child("group"), group, said);
    }
    let scope = at.child("scope");
    found.one_of(&scope, text(spec, "scope"), &["Cluster", "Namespaced"]);
    if flag(spec, "preserveUnknownFields") {
        let said = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                    spec.versions[*].schema instead";
        found.invalid(&at.child("preserveUnknownFields"), true, said);
    }
    versions(spec, &at, found);
    required_names(spec, &at, found);
    names(field(spec, "names"), &at.child("names"), found);
    conversion(field(spec, "conversion"), &at.child("conversion"), found);
    names(
        field(field(crd, "status"), "acceptedNames"),
        &Path::new("status").child("acceptedNames"),
        found,
    );
    stored_versions(crd, found);
    approval(crd, found);
}

/// What is wrong with a CRD's update, beside its metadata.
pub(crate) fn validate_update(crd: &Value, old: &Value, found: &mut Findings) {
    validate(crd, found);
    // An approval that has not changed was let in before.
    found
        .0
        .retain(|error| !error.path.contains("api-approved") || annotation(crd) != annotation(old));
    let at = Path::new("spec");
    let names = at.child("names");
    let (spec, before) = (field(crd, "spec"), field(old, "spec"));
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

fn versions(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let versions = list(spec, "versions");
    let shown = || field(spec, "versions").clone();
    let under = at.child("versions");
    for (index, version) in versions.iter().enumerate() {
        let at = under.index(index);
        let schema = field(field(version, "schema"), "openAPIV3Schema");
        if schema.is_null() {
            found.required(&at.child("schema").child("openAPIV3Schema"), "");
        }
        let name = text(version, "name");
        if let wrong @ [_, ..] = dns_1035_label(name).as_slice() {
            found.invalid(&at.child("name"), name, wrong.join(","));
        }
        deprecation(version, &at, found);
    }
    // Parts that are the same in all versions are one part to apiextensions, and named so.
    let each = |part: &str, check: Check, found: &mut Findings, as_one: &str| {
        let parts: Vec<&Value> = versions
            .iter()
            .map(|version| field(version, part))
            .collect();
        match parts.as_slice() {
            [first, rest @ ..] if !first.is_null() && rest.iter().all(|other| other == first) => {
                check(
                    versions.first().unwrap_or(&Value::Null),
                    &at.child(as_one),
                    found,
                );
            }
            _ => {
                for (index, version) in versions.iter().enumerate() {
                    if !field(version, part).is_null() {
                        check(version, &under.index(index).child(part), found);
                    }
                }
            }
        }
    };
    each("schema", schemas::check, found, "validation");
    each("subresources", subresources, found, "subresources");
    each(
        "additionalPrinterColumns",
        columns,
        found,
        "additionalPrinterColumns",
    );
    each("selectableFields", selectable, found, "selectableFields");
    let names: BTreeSet<&str> = versions
        .iter()
        .map(|version| text(version, "name"))
        .collect();
    if names.len() != versions.len() {
        found.invalid(&under, shown(), "must contain unique version names");
    }
    if versions
        .iter()
        .filter(|version| flag(version, "storage"))
        .count()
        != 1
    {
        let said = "must have exactly one version marked as storage version";
        found.invalid(&under, shown(), said);
    }
}

/// Checks one part of a version.
type Check = fn(&Value, &Path<'_>, &mut Findings);

fn deprecation(version: &Value, at: &Path<'_>, found: &mut Findings) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else {
        return;
    };
    let at = at.child("deprecationWarning");
    if !flag(version, "deprecated") {
        found.invalid(&at, warning, "can only be set for deprecated versions");
    } else if warning.len() > 256 {
        found.invalid(&at, warning, "must be <= 256 characters long");
    } else if warning.is_empty() {
        found.invalid(&at, warning, "must not be an empty string");
    } else if let Some((index, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        let said = format!(
            "must only contain printable UTF-8 characters; non-printable character found at \
             index {index}"
        );
        found.invalid(&at, warning, said);
    }
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
            let said = format!(
                "may have mixed case, but should otherwise match: {}",
                wrong.join(",")
            );
            found.invalid(&at.child(name), value, said);
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
        let said = "kind and listKind may not be the same";
        found.invalid(&at.child("listKind"), kind, said);
    }
    all_labels("categories", found);
}

fn subresources(version: &Value, at: &Path<'_>, found: &mut Findings) {
    let Some(scale) = field(version, "subresources").get("scale") else {
        return;
    };
    let at = at.child("scale");
    let mut path = |name: &str, under: &[&str], must: &str, said: &str| {
        let at = at.child(name);
        let value = text(scale, name);
        if value.is_empty() {
            if must == "required" {
                found.required(&at, "");
            }
        } else if !value.starts_with('.') {
            found.invalid(&at, value, "must be a simple json path starting with .");
        } else if !under.iter().any(|under| value.starts_with(under)) {
            found.invalid(&at, value, said);
        }
    };
    let said = "should be a json path under .spec";
    path("specReplicasPath", &[".spec."], "required", said);
    let said = "should be a json path under .status";
    path("statusReplicasPath", &[".status."], "required", said);
    let said = "should be a json path under either .spec or .status";
    path(
        "labelSelectorPath",
        &[".spec.", ".status."],
        "optional",
        said,
    );
}

fn columns(version: &Value, at: &Path<'_>, found: &mut Findings) {
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let at = at.index(index);
        if text(column, "name").is_empty() {
            found.required(&at.child("name"), "");
        }
        let known = format!("must be one of {}", TYPES.join(","));
        match text(column, "type") {
            "" => found.required(&at.child("type"), known),
            kind if !TYPES.contains(&kind) => found.invalid(&at.child("type"), kind, known),
            _ => {}
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let said = format!("must be one of {}", FORMATS.join(","));
            found.invalid(&at.child("format"), format, said);
        }
        match text(column, "jsonPath") {
            "" => found.required(&at.child("JSONPath"), ""),
            path if !path.starts_with('.') => {
                let said = "must be a simple json path starting with .";
                found.invalid(&at.child("JSONPath"), path, said);
            }
            path if !table::is_bounded(path) => {
                let said = format!(
                    "must have at most {} bytes and {} filters",
                    table::LONGEST_PATH,
                    table::DEEPEST_PATH
                );
                found.invalid(&at.child("JSONPath"), "", said);
            }
            _ => {}
        }
    }
}

fn selectable(version: &Value, at: &Path<'_>, found: &mut Findings) {
    let schema = field(field(version, "schema"), "openAPIV3Schema");
    let mut seen = BTreeSet::new();
    for (index, selectable) in list(version, "selectableFields").iter().enumerate() {
        let at = at.index(index);
        let at = at.child("jsonPath");
        let path = text(selectable, "jsonPath");
        if path.is_empty() {
            found.required(&at, "");
            continue;
        }
        let names = path.trim_start_matches('.');
        let leaf = names.split('.').try_fold(schema, |schema, name| {
            object(schema, "properties").and_then(|properties| properties.get(name))
        });
        let Some(leaf) = leaf.filter(|_| path.starts_with('.')) else {
            let said = "is an invalid path: does not refer to a valid field";
            found.invalid(&at, path, said);
            continue;
        };
        if names.split('.').next() == Some("metadata") {
            found.invalid(&at, path, "must not point to fields in metadata");
        }
        if !["string", "boolean", "integer"].contains(&text(leaf, "type")) {
            let said = "must point to a field of type string, boolean or integer. Enum string \
                        fields and strings with formats are allowed.";
            found.invalid(&at, path, said);
        }
        if !seen.insert(names) {
            found.duplicate(&at, path);
        }
    }
    if seen.len() > MOST_SELECTABLE {
        found.too_many(at, seen.len(), MOST_SELECTABLE);
    }
}

/// Conversion webhooks are not called here, so that a CRD that asks for one is not let in.
fn conversion(conversion: &Value, at: &Path<'_>, found: &mut Findings) {
    if conversion.is_null() {
        return;
    }
    let strategy = text(conversion, "strategy");
    let under = at.child("strategy");
    match strategy {
        "" => found.required(&under, ""),
        "None" => {
            if !field(conversion, "webhook").is_null() {
                let said = "should not be set when strategy is not set to Webhook";
                found.forbidden(&at.child("webhookClientConfig"), said);
            }
        }
        other => found.not_supported(&under, other, &["None"]),
    }
}

fn stored_versions(crd: &Value, found: &mut Findings) {
    let at = Path::new("status");
    let at = at.child("storedVersions");
    let status = field(crd, "status");
    let stored: Vec<&str> = texts(status, "storedVersions").collect();
    if stored.is_empty() {
        found.invalid(
            &at,
            Value::Array(Vec::new()),
            "must have at least one stored version",
        );
        return;
    }
    let versions = list(field(crd, "spec"), "versions");
    for version in versions.iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "name");
        if !stored.contains(&name) {
            let said = format!("must have the storage version {name}");
            found.invalid(&at, field(status, "storedVersions").clone(), said);
        }
    }
    for (index, name) in stored.iter().enumerate() {
        if !versions
            .iter()
            .any(|version| text(version, "name") == *name)
        {
            let said = format!(
                "missing from spec.versions; {name} was previously a storage version, and must \
                 remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name} and removes {name} from status.storedVersions"
            );
            found.invalid(&at.index(index), *name, said);
        }
    }
}

const APPROVED: &str = "api-approved.kubernetes.io";

fn annotation(crd: &Value) -> &str {
    text(field(field(crd, "metadata"), "annotations"), APPROVED)
}

/// Groups of the Kubernetes project need an approval.
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
    let said = annotation(crd);
    if said.is_empty() {
        let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\", \
                   see https://github.com/kubernetes/enhancements/pull/1111";
        found.required(&at, why);
    } else if !said.starts_with("unapproved") && !said.starts_with("https://") {
        let why = "protected groups must have approval annotation \"api-approved.kubernetes.io\" \
                   with either a URL or a reason starting with \"unapproved\", see \
                   https://github.com/kubernetes/enhancements/pull/1111";
        found.invalid(&at, said, why);
    }
}
