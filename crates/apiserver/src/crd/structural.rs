//! Checks that a CRD's schema is structural: a type for each field, and only value validation below
//! `allOf`, `anyOf`, `oneOf` and `not` (apiextensions `pkg/apiserver/schema/validation.go`).

use serde_json::{Value, json};

use crate::json::{field, flag, list, object, text};
use crate::schema::Path;
use crate::schema::findings::Findings;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Reports whether the schema uses only features of structural schemas. For other schemas,
/// validation reports only the unsupported features.
pub(super) fn is_readable(schema: &Value) -> bool {
    const NEVER: [&str; 7] = [
        "$ref",
        "$schema",
        "additionalItems",
        "definitions",
        "dependencies",
        "id",
        "patternProperties",
    ];
    if NEVER
        .iter()
        .any(|name| schema.get(name).is_some_and(|value| !value.is_null()))
        || field(schema, "items").is_array()
        || schema.get(PRESERVE) == Some(&Value::Bool(false))
    {
        return false;
    }
    let below = object(schema, "properties").into_iter().flatten();
    let lists = ["allOf", "anyOf", "oneOf"]
        .into_iter()
        .flat_map(|name| list(schema, name));
    let single = ["additionalProperties", "items", "not"]
        .into_iter()
        .map(|name| field(schema, name));
    below
        .map(|(_, inner)| inner)
        .chain(lists)
        .chain(single)
        .filter(|inner| inner.is_object())
        .all(is_readable)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns the violations of the structural rules, sorted.
pub(super) fn check(schema: &Value, at: &Path<'_>) -> Findings {
    let mut found = Findings::default();
    invariants(schema, Level::Root, at, &mut found);
    completeness(schema, schema, at, at, &mut found);
    found.0.sort_by_cached_key(ToString::to_string);
    found.0.dedup();
    found
}

fn invariants(schema: &Value, level: Level, at: &Path<'_>, found: &mut Findings) {
    let kind = text(schema, "type");
    match schema.get("items") {
        None if kind == "array" => found.required(&at.child("items"), "must be specified"),
        None => {}
        Some(items) => invariants(items, Level::Item, &at.child("items"), found),
    }
    let properties = at.child("properties");
    for (name, property) in object(schema, "properties").into_iter().flatten() {
        invariants(property, Level::Field, &properties.key(name), found);
    }
    if let Some(additional) = schema.get("additionalProperties") {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            found.forbidden(&at, "must not be used at the root");
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &at, found);
        }
        if flag(schema, EMBEDDED) {
            let message = "must not be used if x-kubernetes-embedded-resource is set";
            found.forbidden(&at, message);
        }
    }
    if flag(schema, INT_OR_STRING) {
        for other in [PRESERVE, EMBEDDED] {
            if flag(schema, other) {
                let message = "must be false if x-kubernetes-int-or-string is true";
                found.invalid(&at.child(other), true, message);
            }
        }
    }
    value_validation(schema, true, at, found);
    check_type(schema, level, at, found);
    of_every_object(schema, level, at, found);
}

fn check_type(schema: &Value, level: Level, at: &Path<'_>, found: &mut Findings) {
    let kind = text(schema, "type");
    let under = at.child("type");
    if flag(schema, EMBEDDED) && kind != "object" {
        let message = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() {
            found.required(&under, message);
        } else {
            found.invalid(&under, kind, message);
        }
    } else if kind.is_empty() && !flag(schema, INT_OR_STRING) && !flag(schema, PRESERVE) {
        let message = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        found.required(&under, message);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        found.invalid(&under, kind, "must be object at the root");
    }
}

/// Checks `apiVersion`, `kind` and `metadata` of the object or of an embedded object.
fn of_every_object(schema: &Value, level: Level, at: &Path<'_>, found: &mut Findings) {
    let is_object = level == Level::Root || flag(schema, EMBEDDED);
    let under = at.child("properties");
    let property = |name: &str| field(schema, "properties").get(name);
    for name in ["kind", "apiVersion"] {
        if let Some(named) = property(name).filter(|_| is_object) {
            let kind = text(named, "type");
            if kind != "string" {
                found.invalid(&under.key(name).child("type"), kind, "must be string");
            }
        }
    }
    if let Some(metadata) = property("metadata") {
        let at = under.key("metadata");
        let kind = text(metadata, "type");
        if is_object && kind != "object" {
            found.invalid(&at.child("type"), kind, "must be object");
        }
        if level == Level::Root && !only_names(metadata) {
            let message = "must not specify anything other than name and generateName, but metadata \
                        is implicitly specified";
            found.forbidden(&at, message);
        }
    }
    let empty = object(schema, "properties").is_none_or(serde_json::Map::is_empty);
    if flag(schema, EMBEDDED) && !flag(schema, PRESERVE) && empty {
        let message = "must not be empty if x-kubernetes-embedded-resource is true without \
                    x-kubernetes-preserve-unknown-fields";
        found.required(&under, message);
    }
}

fn only_names(metadata: &Value) -> bool {
    metadata.as_object().is_some_and(|map| {
        map.iter().all(|(key, value)| match key.as_str() {
            "type" | "description" | "default" => true,
            "properties" => value.as_object().is_some_and(|properties| {
                properties
                    .keys()
                    .all(|name| name == "name" || name == "generateName")
            }),
            _ => false,
        })
    })
}

fn is_int_or_string(any_of: &[Value]) -> bool {
    any_of == [json!({"type": "integer"}), json!({"type": "string"})]
}

/// Checks a schema that may contain only value validation. `own` is true for the outermost schema,
/// where the int-or-string pattern may contain types.
fn value_validation(schema: &Value, own: bool, at: &Path<'_>, found: &mut Findings) {
    let any_of = list(schema, "anyOf");
    if !(own && is_int_or_string(any_of)) {
        nested_all(any_of, &at.child("anyOf"), found);
    }
    let all_of = list(schema, "allOf");
    let under = at.child("allOf");
    for (index, inner) in all_of.iter().enumerate() {
        let pattern = own && index == 0 && is_int_or_string(list(inner, "anyOf"));
        nested(inner, pattern, &under.index(index), found);
    }
    nested_all(list(schema, "oneOf"), &at.child("oneOf"), found);
    if let Some(not) = schema.get("not") {
        nested(not, false, &at.child("not"), found);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty() && crate::schema::compile_pattern(pattern).is_none() {
        let message = format!("must be a valid regular expression, but isn't: `{pattern}`");
        found.invalid(&at.child("pattern"), pattern, message);
    }
}

fn nested_all(many: &[Value], at: &Path<'_>, found: &mut Findings) {
    for (index, one) in many.iter().enumerate() {
        nested(one, false, &at.index(index), found);
    }
}

fn nested(schema: &Value, pattern: bool, at: &Path<'_>, found: &mut Findings) {
    value_validation(schema, pattern, at, found);
    if let Some(items) = schema.get("items") {
        nested(items, false, &at.child("items"), found);
    }
    let properties = at.child("properties");
    for (name, property) in object(schema, "properties").into_iter().flatten() {
        nested(property, false, &properties.key(name), found);
        if name == "metadata" {
            let message = "must not be specified in a nested context";
            found.forbidden(&properties.key(name), message);
        }
    }
    only_bounds(schema, at, found);
}

fn only_bounds(schema: &Value, at: &Path<'_>, found: &mut Findings) {
    const FORBIDDEN: [(&str, &str); 13] = [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        (PRESERVE, "must be false to be structural"),
        (EMBEDDED, "must be false to be structural"),
        (INT_OR_STRING, "must be false to be structural"),
        (
            "x-kubernetes-list-map-keys",
            "must be empty to be structural",
        ),
        (
            "x-kubernetes-list-type",
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-map-type",
            "must be undefined to be structural",
        ),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ];
    for (name, message) in FORBIDDEN {
        let set = schema.get(name).is_some_and(|value| match value {
            Value::Null | Value::Bool(false) => name == "additionalProperties",
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
        if set {
            found.forbidden(&at.child(name), message);
        }
    }
}

/// Checks that the schema also contains the fields in `allOf`, `anyOf`, `oneOf` and `not`. `at` is
/// the path of the schema. `said_at` is the path of the nested schema.
fn completeness(
    schema: &Value,
    nested: &Value,
    at: &Path<'_>,
    said_at: &Path<'_>,
    found: &mut Findings,
) {
    if let Some(not) = nested.get("not") {
        complete(schema, not, at, &said_at.child("not"), found);
    }
    for junction in ["allOf", "anyOf", "oneOf"] {
        let under = said_at.child(junction);
        for (index, inner) in list(nested, junction).iter().enumerate() {
            complete(schema, inner, at, &under.index(index), found);
        }
    }
}

fn complete(
    schema: &Value,
    nested: &Value,
    at: &Path<'_>,
    said_at: &Path<'_>,
    found: &mut Findings,
) {
    completeness(schema, nested, at, said_at, found);
    if let Some(inner) = nested.get("items") {
        let (at, said_at) = (at.child("items"), said_at.child("items"));
        match schema.get("items") {
            Some(own) => complete(own, inner, &at, &said_at, found),
            None => found.required(&at, format!("because it is defined in {said_at}")),
        }
    }
    let (under, said_under) = (at.child("properties"), said_at.child("properties"));
    for (name, inner) in object(nested, "properties").into_iter().flatten() {
        let (at, said_at) = (under.key(name), said_under.key(name));
        match field(schema, "properties").get(name) {
            Some(own) => complete(own, inner, &at, &said_at, found),
            None => found.required(&at, format!("because it is defined in {said_at}")),
        }
    }
}
