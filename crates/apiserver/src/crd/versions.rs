//! Validation of a CRD's versions: names, columns, subresources, selectable fields.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schemas;
use crate::json::{field, flag, list, object, text};
use crate::jsonpath;
use crate::names::dns_1035_label;
use crate::schema::Path;
use crate::schema::findings::Findings;

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
const MAX_SELECTABLE_FIELDS: usize = 8;

pub(super) fn versions(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let versions = list(spec, "versions");
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
            if index == 0 {
                // apiextensions reports the first version's name as the deprecated `spec.version`.
                let at = Path::new("spec");
                found.invalid(&at.child("version"), name, wrong.join(","));
            }
        }
        deprecation(version, &at, found);
    }
    // apiextensions reports fields that are equal in all versions once, at the top level of the
    // spec.
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
        let message = "must contain unique version names";
        found.invalid_shown(&under, &shown_versions(versions), message);
    }
    if versions
        .iter()
        .filter(|version| flag(version, "storage"))
        .count()
        != 1
    {
        let message = "must have exactly one version marked as storage version";
        found.invalid_shown(&under, &shown_versions(versions), message);
    }
}

/// Formats the versions as Go prints them. If fields differ between versions, the output is shorter
/// than Go's.
fn shown_versions(versions: &[Value]) -> String {
    const PARTS: [(&str, &str); 4] = [
        ("Schema", "schema"),
        ("Subresources", "subresources"),
        ("AdditionalPrinterColumns", "additionalPrinterColumns"),
        ("SelectableFields", "selectableFields"),
    ];
    let one = |version: &Value| {
        let parts = PARTS.map(|(go, name)| {
            let own = field(version, name);
            let shared = versions.iter().all(|other| field(other, name) == own);
            let shown = if shared { &Value::Null } else { own };
            format!(",{go:?}:{shown}")
        });
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\
             \"DeprecationWarning\":{}{}}}",
            field(version, "name"),
            flag(version, "served"),
            flag(version, "storage"),
            flag(version, "deprecated"),
            field(version, "deprecationWarning"),
            parts.concat()
        )
    };
    let all: Vec<String> = versions.iter().map(one).collect();
    format!("[{}]", all.join(","))
}

/// A function that validates one field of a version.
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
        let message = format!(
            "must only contain printable UTF-8 characters; non-printable character found at \
             index {index}"
        );
        found.invalid(&at, warning, message);
    }
}

fn subresources(version: &Value, at: &Path<'_>, found: &mut Findings) {
    let Some(scale) = field(version, "subresources").get("scale") else {
        return;
    };
    let at = at.child("scale");
    let mut path = |name: &str, under: &[&str], must: &str, message: &str| {
        let at = at.child(name);
        let value = text(scale, name);
        if value.is_empty() {
            if must == "required" {
                found.required(&at, "");
            }
        } else if !value.starts_with('.') {
            found.invalid(&at, value, "must be a simple json path starting with .");
        } else if !under.iter().any(|under| value.starts_with(under)) {
            found.invalid(&at, value, message);
        }
    };
    let message = "should be a json path under .spec";
    path("specReplicasPath", &[".spec."], "required", message);
    let message = "should be a json path under .status";
    path("statusReplicasPath", &[".status."], "required", message);
    let message = "should be a json path under either .spec or .status";
    path(
        "labelSelectorPath",
        &[".spec.", ".status."],
        "optional",
        message,
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
            let message = format!("must be one of {}", FORMATS.join(","));
            found.invalid(&at.child("format"), format, message);
        }
        match text(column, "jsonPath") {
            "" => found.required(&at.child("JSONPath"), ""),
            path if !path.starts_with('.') => {
                let message = "must be a simple json path starting with .";
                found.invalid(&at.child("JSONPath"), path, message);
            }
            path if !jsonpath::is_bounded(path) => {
                let message = format!(
                    "must have at most {} bytes and {} filters",
                    jsonpath::MAX_BYTES,
                    jsonpath::MAX_FILTER_DEPTH
                );
                found.invalid(&at.child("JSONPath"), "", message);
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
            let message = "is an invalid path: does not refer to a valid field";
            found.invalid(&at, path, message);
            continue;
        };
        if names.split('.').next() == Some("metadata") {
            found.invalid(&at, path, "must not point to fields in metadata");
        }
        if !["string", "boolean", "integer"].contains(&text(leaf, "type")) {
            let message = "must point to a field of type string, boolean or integer. Enum string \
                        fields and strings with formats are allowed.";
            found.invalid(&at, path, message);
        }
        if !seen.insert(names) {
            found.duplicate(&at, path);
        }
    }
    if seen.len() > MAX_SELECTABLE_FIELDS {
        found.too_many(at, seen.len(), MAX_SELECTABLE_FIELDS);
    }
}
