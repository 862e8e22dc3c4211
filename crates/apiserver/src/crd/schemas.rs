//! Validation of a CRD's schema: unsupported OpenAPI features, and invalid defaults.

use serde_json::Value;

use super::rules::{self, CompileContext};
use super::structural;
use crate::json::{field, flag, list, object, text, texts};
use crate::schema::findings::Findings;
use crate::schema::{Node, Path};

pub(super) const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const KINDS: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const AT_ROOT: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum \
     ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf \
     Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations]";

/// Validates the schema of a version.
pub(super) fn check(version: &Value, at: &Path<'_>, found: &mut Findings) {
    let schema = field(field(version, "schema"), "openAPIV3Schema");
    if schema.is_null() {
        return;
    }
    let at = at.child("openAPIV3Schema");
    if field(version, "subresources").get("status").is_some() {
        root_with_status(schema, &at, found);
    }
    if flag(schema, "nullable") {
        found.forbidden(&at.child("nullable"), "nullable cannot be true at the root");
    }
    let mut structural = structural::check(schema, &at);
    let is_structural = structural.0.is_empty();
    if structural::is_readable(schema) {
        found.0.append(&mut structural.0);
    }
    let node = super::read(schema);
    match &node {
        Ok(node) if is_structural => defaults(schema, node, &at, found),
        Ok(_) => {}
        Err(error) => found.invalid(&at, "", error.to_string()),
    }
    let before = found.0.len();
    open_api(schema, &at, found);
    if let Ok(node) = &node
        && is_structural
        && before == found.0.len()
    {
        let about = CompileContext {
            node,
            root: true,
            uncorrelated: None,
        };
        rules::compile_all(schema, &about, &at, found);
    }
}

fn root_with_status(schema: &Value, at: &Path<'_>, found: &mut Findings) {
    const OTHERS: [&str; 11] = [
        "nullable",
        "default",
        "enum",
        "additionalProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        MAP_TYPE,
    ];
    let kind = text(schema, "type");
    if !kind.is_empty() && kind != "object" {
        let message = "only \"object\" is allowed as the type at the root of the schema if the \
                    status subresource is enabled";
        found.invalid(&at.child("type"), kind, message);
    }
    if OTHERS.iter().any(|name| schema.get(name).is_some()) {
        let message = format!(
            "only {AT_ROOT} fields are allowed at the root of the schema if the status \
             subresource is enabled"
        );
        found.invalid(at, schema.clone(), message);
    }
}

/// Requires that each default has no unknown fields and is valid.
fn defaults(schema: &Value, node: &Node, at: &Path<'_>, found: &mut Findings) {
    if let Some(default) = schema.get("default").filter(|value| !value.is_null()) {
        let at = at.child("default");
        let mut pruned = default.clone();
        if !node.prune_inside(&mut pruned).is_empty() {
            found.invalid(&at, default.clone(), "must not have unknown fields");
        }
        // The validator returns paths relative to the default.
        for mut error in node.validate(default, None, &Path::ROOT) {
            error.path = match error.path.as_str() {
                "" => at.to_string(),
                path => format!("{at}.{path}"),
            };
            found.0.push(error);
        }
    }
    let properties = at.child("properties");
    for (name, property) in object(schema, "properties").into_iter().flatten() {
        if let Some(node) = node.field(name) {
            defaults(property, node, &properties.key(name), found);
        }
    }
    if let (Some(items), Some(node)) = (schema.get("items"), node.items()) {
        defaults(items, node, &at.child("items"), found);
    }
}

fn open_api(schema: &Value, at: &Path<'_>, found: &mut Findings) {
    unsupported(schema, at, found);
    if let Some(additional) = schema.get("additionalProperties") {
        let under = at.child("additionalProperties");
        let has_properties = object(schema, "properties").is_some_and(|map| !map.is_empty());
        if has_properties && *additional != Value::Bool(true) {
            let message = "additionalProperties and properties are mutual exclusive";
            found.forbidden(&under, message);
        }
        if additional.is_object() {
            open_api(additional, &under, found);
        }
    }
    let properties = at.child("properties");
    for (name, property) in object(schema, "properties").into_iter().flatten() {
        open_api(property, &properties.key(name), found);
    }
    for junction in ["allOf", "oneOf", "anyOf"] {
        let under = at.child(junction);
        for (index, inner) in list(schema, junction).iter().enumerate() {
            open_api(inner, &under.index(index), found);
        }
    }
    for name in ["not", "items"] {
        if let Some(inner) = schema.get(name).filter(|inner| inner.is_object()) {
            open_api(inner, &at.child(name), found);
        }
    }
    lists(schema, at, found);
    rules::fields(schema, at, found);
}

fn unsupported(schema: &Value, at: &Path<'_>, found: &mut Findings) {
    let kind = text(schema, "type");
    if !kind.is_empty() && !KINDS.contains(&kind) {
        found.not_supported(&at.child("type"), kind, &KINDS);
    }
    for name in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        if schema.get(name).is_some_and(|value| !value.is_null()) {
            found.forbidden(&at.child(name), format!("{name} is not supported"));
        }
    }
    if kind == "null" {
        let message = "type cannot be set to null, use nullable as an alternative";
        found.forbidden(&at.child("type"), message);
    }
    if field(schema, "items").is_array() {
        let message = "items must be a schema object and not an array";
        found.forbidden(&at.child("items"), message);
    }
    if flag(schema, "uniqueItems") {
        let message = "uniqueItems cannot be set to true since the runtime complexity becomes \
                    quadratic";
        found.forbidden(&at.child("uniqueItems"), message);
    }
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema.get(preserve) == Some(&Value::Bool(false)) {
        found.invalid(&at.child(preserve), false, "must be true or undefined");
    }
}

fn lists(schema: &Value, at: &Path<'_>, found: &mut Findings) {
    let kind = text(schema, "type");
    let mut of_kind = |name: &str, desired: &str, known: &[&str]| {
        let set = text(schema, name);
        if set.is_empty() {
            return;
        }
        if kind != desired {
            let message = format!("must be {desired} if {name} is specified");
            if kind.is_empty() {
                found.required(&at.child("type"), message);
            } else {
                found.invalid(&at.child("type"), kind, message);
            }
        }
        if !known.contains(&set) {
            found.not_supported(&at.child(name), set, known);
        }
    };
    of_kind(MAP_TYPE, "object", &["atomic", "granular"]);
    of_kind(LIST_TYPE, "array", &["atomic", "set", "map"]);
    let has_keys = !list(schema, MAP_KEYS).is_empty();
    let items = field(schema, "items");
    match text(schema, LIST_TYPE) {
        "" if has_keys => {
            let message = "must be map if x-kubernetes-list-map-keys is non-empty";
            found.required(&at.child(LIST_TYPE), message);
        }
        "map" => map_list(schema, items, at, found),
        "set" => set_list(items, at, found),
        other if has_keys => {
            let message = "must be map if x-kubernetes-list-map-keys is non-empty";
            found.invalid(&at.child(LIST_TYPE), other, message);
        }
        _ => {}
    }
}

fn set_list(items: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("items");
    let message = "must be atomic as item of a list with x-kubernetes-list-type=set";
    match text(items, "type") {
        "array" if !matches!(text(items, LIST_TYPE), "" | "atomic") => {
            found.invalid(&under.child(LIST_TYPE), text(items, LIST_TYPE), message);
        }
        "object" if text(items, MAP_TYPE) != "atomic" => {
            found.invalid(&under.child(MAP_TYPE), Value::Null, message);
        }
        _ => {}
    }
    if flag(items, "nullable") {
        let message = "cannot be nullable when x-kubernetes-list-type is set";
        found.forbidden(&under.child("nullable"), message);
    }
}

fn map_list(schema: &Value, items: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("items");
    let keys: Vec<&str> = texts(schema, MAP_KEYS).collect();
    if keys.is_empty() {
        let message = "must not be empty if x-kubernetes-list-type is map";
        found.required(&at.child(MAP_KEYS), message);
    }
    if items.is_null() {
        let message = "must have a schema if x-kubernetes-list-type is map";
        return found.required(&under, message);
    }
    let kind = text(items, "type");
    if kind != "object" {
        let message = "must be object if parent array's x-kubernetes-list-type is map";
        return found.invalid(&under.child("type"), kind, message);
    }
    if flag(items, "nullable") {
        let message = "cannot be nullable when x-kubernetes-list-type is map";
        found.forbidden(&under.child("nullable"), message);
    }
    let properties = under.child("properties");
    for (index, key) in keys.iter().enumerate() {
        if keys[..index].contains(key) {
            let message = "must not contain duplicate entries";
            found.invalid(
                &at.child(MAP_KEYS),
                field(schema, MAP_KEYS).clone(),
                message,
            );
        }
        let Some(property) = field(items, "properties").get(*key) else {
            let message = "entries must all be names of item properties";
            found.invalid(
                &at.child(MAP_KEYS),
                field(schema, MAP_KEYS).clone(),
                message,
            );
            continue;
        };
        let at = properties.key(key);
        if matches!(text(property, "type"), "array" | "object") {
            let message = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            found.invalid(&at.child("type"), kind, message);
        }
        let required = texts(items, "required").any(|name| name == *key);
        if !required && property.get("default").is_none() {
            let message = "this property is in x-kubernetes-list-map-keys, so it must have a default \
                        or be a required property";
            found.required(&at.child("default"), message);
        }
        if flag(property, "nullable") {
            let message =
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            found.forbidden(&at.child("nullable"), message);
        }
    }
}
