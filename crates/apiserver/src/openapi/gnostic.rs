//! The OpenAPI v2 document as Protobuf (`openapi.v2.Document` of gnostic-models), which is the only
//! format that kubectl supports.

use serde_json::{Map, Value};

use crate::json::{field, flag, list, object, text};

/// Encodes the OpenAPI v2 document as Protobuf.
pub(super) fn document(document: &Value) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, text(document, "swagger"));
    let info = field(document, "info");
    out.message(2, |out| {
        out.text(1, text(info, "title"));
        out.text(2, text(info, "version"));
    });
    out.message(8, |out| {
        for (path, item) in object(document, "paths").into_iter().flatten() {
            out.named(2, path, |out| path_item(out, item));
        }
    });
    out.message(9, |out| {
        named_schemas(out, field(document, "definitions"));
    });
    out.0
}

fn named_schemas(out: &mut Message, schemas: &Value) {
    for (name, inner) in schemas.as_object().into_iter().flatten() {
        out.named(1, name, |out| schema(out, inner));
    }
}

fn path_item(out: &mut Message, item: &Value) {
    const METHODS: [(u32, &str); 7] = [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (6, "options"),
        (7, "head"),
        (8, "patch"),
    ];
    for (number, method) in METHODS {
        if let Some(operation_value) = item.get(method) {
            out.message(number, |out| operation(out, operation_value));
        }
    }
    for one in list(item, "parameters") {
        out.message(9, |out| parameter(out, one));
    }
    extensions(out, 10, item);
}

fn operation(out: &mut Message, operation: &Value) {
    out.texts(1, list(operation, "tags"));
    out.text(3, text(operation, "description"));
    out.text(5, text(operation, "operationId"));
    out.texts(6, list(operation, "produces"));
    out.texts(7, list(operation, "consumes"));
    for one in list(operation, "parameters") {
        out.message(8, |out| parameter(out, one));
    }
    out.message(9, |out| {
        for (code, response) in object(operation, "responses").into_iter().flatten() {
            out.named(1, code, |out| {
                out.message(1, |out| {
                    out.text(1, text(response, "description"));
                    if let Some(inner) = response.get("schema") {
                        out.message(2, |out| out.message(1, |out| schema(out, inner)));
                    }
                });
            });
        }
    });
    out.texts(10, list(operation, "schemes"));
    out.flag(11, flag(operation, "deprecated"));
    extensions(out, 13, operation);
}

/// Encodes a parameter with the nested `oneof`s of the message.
fn parameter(out: &mut Message, parameter: &Value) {
    let place = text(parameter, "in");
    out.message(1, |out| match place {
        "body" => out.message(1, |out| {
            out.text(1, text(parameter, "description"));
            out.text(2, text(parameter, "name"));
            out.text(3, place);
            out.flag(4, flag(parameter, "required"));
            if let Some(inner) = parameter.get("schema") {
                out.message(5, |out| schema(out, inner));
            }
        }),
        "path" => out.message(2, |out| {
            out.message(4, |out| plain_parameter(out, parameter, [5, 6, 19]));
        }),
        _ => out.message(2, |out| {
            out.message(3, |out| plain_parameter(out, parameter, [6, 7, 20]));
        }),
    });
}

/// Encodes a parameter that is not in the body. `numbers` are the Protobuf field numbers of type,
/// format and `uniqueItems`.
fn plain_parameter(out: &mut Message, parameter: &Value, numbers: [u32; 3]) {
    out.flag(1, flag(parameter, "required"));
    out.text(2, text(parameter, "in"));
    out.text(3, text(parameter, "description"));
    out.text(4, text(parameter, "name"));
    out.text(numbers[0], text(parameter, "type"));
    out.text(numbers[1], text(parameter, "format"));
    out.flag(numbers[2], flag(parameter, "uniqueItems"));
}

fn schema(out: &mut Message, of: &Value) {
    const TEXTS: [(u32, &str); 5] = [
        (1, "$ref"),
        (2, "format"),
        (3, "title"),
        (4, "description"),
        (13, "pattern"),
    ];
    const NUMBERS: [(u32, &str); 3] = [(6, "multipleOf"), (7, "maximum"), (9, "minimum")];
    const COUNTS: [(u32, &str); 6] = [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ];
    const FLAGS: [(u32, &str); 4] = [
        (8, "exclusiveMaximum"),
        (10, "exclusiveMinimum"),
        (16, "uniqueItems"),
        (27, "readOnly"),
    ];
    for (number, name) in TEXTS {
        out.text(number, text(of, name));
    }
    for (number, name) in NUMBERS {
        if let Some(set) = field(of, name).as_f64() {
            out.double(number, set);
        }
    }
    for (number, name) in COUNTS {
        if let Some(set) = field(of, name).as_u64() {
            out.number(number, set);
        }
    }
    for (number, name) in FLAGS {
        out.flag(number, flag(of, name));
    }
    out.texts(19, list(of, "required"));
    for value in list(of, "enum") {
        out.message(20, |out| any(out, value));
    }
    match of.get("additionalProperties") {
        Some(Value::Bool(set)) => out.message(21, |out| out.number(2, u64::from(*set))),
        Some(inner) => out.message(21, |out| out.message(1, |out| schema(out, inner))),
        None => {}
    }
    if let Some(kind) = of.get("type").and_then(Value::as_str) {
        out.message(22, |out| out.text(1, kind));
    }
    if let Some(inner) = of.get("items") {
        out.message(23, |out| out.message(1, |out| schema(out, inner)));
    }
    if let Some(properties) = of.get("properties") {
        out.message(25, |out| named_schemas(out, properties));
    }
    extensions(out, 31, of);
}

fn extensions(out: &mut Message, number: u32, of: &Value) {
    let all = of.as_object().into_iter().flat_map(Map::iter);
    for (name, value) in all.filter(|(name, _)| name.starts_with("x-")) {
        out.named(number, name, |out| any(out, value));
    }
}

/// Encodes any value as JSON, which is valid YAML.
fn any(out: &mut Message, value: &Value) {
    out.text(2, &value.to_string());
}

/// A Protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn tag(&mut self, number: u32, wire: u32) {
        self.varint(u64::from(number << 3 | wire));
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.tag(number, 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u32, text: &str) {
        if !text.is_empty() {
            self.bytes(number, text.as_bytes());
        }
    }

    fn texts(&mut self, number: u32, texts: &[Value]) {
        for text in texts.iter().filter_map(Value::as_str) {
            self.bytes(number, text.as_bytes());
        }
    }

    fn number(&mut self, number: u32, value: u64) {
        self.tag(number, 0);
        self.varint(value);
    }

    fn flag(&mut self, number: u32, set: bool) {
        if set {
            self.number(number, 1);
        }
    }

    fn double(&mut self, number: u32, value: f64) {
        self.tag(number, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(number, &inner.0);
    }

    /// Encodes a name and value pair.
    fn named(&mut self, number: u32, name: &str, write: impl FnOnce(&mut Self)) {
        self.message(number, |out| {
            out.text(1, name);
            out.message(2, write);
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn encoded_openapi_message_has_the_protobuf_wire_format() {
        let mut out = Message::default();
        out.text(1, "2.0");
        out.number(11, 300);
        out.message(9, |out| out.flag(1, true));
        assert_eq!(
            out.0,
            [
                0x0a, 3, b'2', b'.', b'0', 0x58, 0xac, 0x02, 0x4a, 2, 0x08, 1
            ]
        );
    }

    #[test]
    fn group_version_kinds_are_encoded_as_yaml() {
        let bytes = document(&json!({"swagger": "2.0", "definitions": {
            "a": {"type": "object", "x-kubernetes-group-version-kind": [{"kind": "A"}]}}}));
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("x-kubernetes-group-version-kind"), "{text}");
        assert!(text.contains(r#"[{"kind":"A"}]"#), "{text}");
    }
}
