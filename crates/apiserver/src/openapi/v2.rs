//! OpenAPI v2: one document for all groups. kubectl validates objects with this document if the
//! server does not validate fields, for example for kinds without patch support.
//!
//! The document is converted from v3. Defaults, combinations of schemas and `nullable` are dropped,
//! because v2 does not support them.

use serde_json::{Map, Value, json};

use super::{Documents, REFERENCE};
use crate::json::{field, flag, list, object};

const DEFINITION: &str = "#/definitions/";
const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];
/// Schema keywords that OpenAPI v2 writes into a parameter, not into the parameter's schema.
const OF_PARAMETERS: [&str; 3] = ["type", "format", "uniqueItems"];
/// Schema keywords that OpenAPI v2 drops for nullable values and for values of any type.
const INSIDE: [&str; 3] = ["additionalProperties", "items", "properties"];

/// Builds the OpenAPI v2 document.
pub(super) fn document(documents: &Documents) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for path in documents.made.keys() {
        let read = documents
            .document(path)
            .and_then(|document| serde_json::from_slice::<Value>(&document.body).ok());
        let Some(document) = read else { continue };
        for (path, item) in object(&document, "paths").into_iter().flatten() {
            paths.insert(path.clone(), path_item(item));
        }
        let schemas = object(field(&document, "components"), "schemas");
        for (name, schema) in schemas.into_iter().flatten() {
            definitions.insert(name.clone(), of_schema(schema));
        }
    }
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": paths, "definitions": definitions,
        "securityDefinitions": {"BearerToken": {
            "description": "Bearer Token authentication",
            "type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    })
}

/// Converts a schema to OpenAPI v2, without unsupported keywords.
fn of_schema(schema: &Value) -> Value {
    let Some(map) = schema.as_object() else {
        return schema.clone();
    };
    let open = flag(schema, "x-kubernetes-preserve-unknown-fields");
    let nullable = flag(schema, "nullable");
    let mut out = Map::new();
    for (name, value) in map {
        match name.as_str() {
            "default" | "nullable" | "anyOf" | "not" => {}
            "type" if nullable => {}
            inside if (nullable || open) && INSIDE.contains(&inside) => {}
            // Kubernetes publishes one type with `oneOf`.
            "oneOf" => {
                if schema.get("format").is_some() {
                    out.insert("type".to_owned(), "string".into());
                }
            }
            "allOf" => {
                if let [one] = list(schema, "allOf")
                    && let Some(reference) = one.get("$ref")
                {
                    out.insert("$ref".to_owned(), of_reference(reference));
                }
            }
            "$ref" => {
                out.insert(name.clone(), of_reference(value));
            }
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties = properties.map(|(name, inner)| (name.clone(), of_schema(inner)));
                out.insert(name.clone(), Value::Object(properties.collect()));
            }
            "additionalProperties" | "items" => {
                out.insert(name.clone(), of_schema(value));
            }
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(out)
}

fn of_reference(reference: &Value) -> Value {
    let text = reference.as_str().unwrap_or_default();
    text.replacen(REFERENCE, DEFINITION, 1).into()
}

fn path_item(item: &Value) -> Value {
    let mut out = Map::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "parameters" => list(item, name).iter().map(parameter).collect(),
            method if METHODS.contains(&method) => operation(value),
            _ => value.clone(),
        };
        out.insert(name.clone(), value);
    }
    Value::Object(out)
}

fn operation(operation: &Value) -> Value {
    let mut out = Map::new();
    let mut parameters: Vec<Value> = list(operation, "parameters")
        .iter()
        .map(parameter)
        .collect();
    let mut consumes = vec![Value::from("*/*")];
    for (name, value) in operation.as_object().into_iter().flatten() {
        match name.as_str() {
            "parameters" => {}
            "requestBody" => {
                let content = object(value, "content");
                let kinds = content.into_iter().flatten();
                consumes = kinds.clone().map(|(kind, _)| kind.clone().into()).collect();
                let schema = kinds.map(|(_, one)| field(one, "schema")).next();
                let mut body = json!({"name": "body", "in": "body"});
                body["schema"] = schema.map_or_else(|| json!({}), of_schema);
                if flag(value, "required") {
                    body["required"] = true.into();
                }
                parameters.insert(0, body);
            }
            "responses" => {
                let (responses, produces) = responses(value);
                out.insert("produces".to_owned(), produces);
                out.insert(name.clone(), responses);
            }
            _ => {
                out.insert(name.clone(), value.clone());
            }
        }
    }
    if !parameters.is_empty() {
        out.insert("parameters".to_owned(), parameters.into());
    }
    out.insert("consumes".to_owned(), consumes.into());
    out.insert("schemes".to_owned(), json!(["https"]));
    Value::Object(out)
}

fn parameter(parameter: &Value) -> Value {
    let mut out = parameter.as_object().cloned().unwrap_or_default();
    if let Some(schema) = out.remove("schema") {
        for name in OF_PARAMETERS {
            if let Some(value) = schema.get(name) {
                out.insert(name.to_owned(), value.clone());
            }
        }
    }
    Value::Object(out)
}

/// Converts responses to OpenAPI v2. Also returns their media types.
fn responses(responses: &Value) -> (Value, Value) {
    let mut produces = json!(["*/*"]);
    let mut out = Map::new();
    for (code, response_v3) in responses.as_object().into_iter().flatten() {
        let mut response = json!({"description": field(response_v3, "description")});
        let content = object(response_v3, "content").filter(|content| !content.is_empty());
        if let Some(content) = content {
            produces = content.keys().cloned().collect();
            if let Some(one) = content.values().next() {
                response["schema"] = of_schema(field(one, "schema"));
            }
        }
        out.insert(code.clone(), response);
    }
    (Value::Object(out), produces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_converted_to_openapi_v2() {
        let schema = json!({
        "description": "d", "type": "object", "default": {}, "properties": {
            "default": {"type": "integer", "default": 1},
            "one": {"allOf": [{"$ref": "#/components/schemas/A"}], "description": "o"},
            "port": {"format": "int-or-string", "oneOf": [{"type": "integer"}]},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                     "properties": {"a": {"type": "string"}}},
            "maybe": {"type": "array", "nullable": true, "items": {"type": "string"}},
            "many": {"type": "array", "items": {"$ref": "#/components/schemas/B"}},
        }});
        assert_eq!(
            of_schema(&schema),
            json!({
            "description": "d", "type": "object", "properties": {
                "default": {"type": "integer"},
                "one": {"$ref": "#/definitions/A", "description": "o"},
                "port": {"format": "int-or-string", "type": "string"},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "maybe": {},
                "many": {"type": "array", "items": {"$ref": "#/definitions/B"}},
            }})
        );
    }

    #[test]
    fn request_body_is_converted_to_openapi_v2_parameter() {
        let out = operation(&json!({
            "operationId": "o",
            "parameters": [{"name": "dryRun", "in": "query", "schema": {"type": "string"}}],
            "requestBody": {"required": true, "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
            "responses": {"200": {"description": "OK", "content": {
                "application/json": {"schema": {"type": "string"}}}}},
        }));
        assert_eq!(
            out,
            json!({
                "operationId": "o", "schemes": ["https"],
                "consumes": ["application/json"], "produces": ["application/json"],
                "parameters": [
                    {"name": "body", "in": "body", "required": true,
                     "schema": {"$ref": "#/definitions/A"}},
                    {"name": "dryRun", "in": "query", "type": "string"},
                ],
                "responses": {"200": {"description": "OK", "schema": {"type": "string"}}},
            })
        );
    }
}
