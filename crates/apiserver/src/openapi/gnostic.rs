//! The OpenAPI v2 document as Protobuf (`openapi.v2.Document` of gnostic-models), which is the only
//! format that kubectl supports.

use serde_json::{Map, Value};

use crate::json::{field, flag, list, object, text};

/// Encodes the OpenAPI v2 document as Protobuf.
pub(super) fn document(document: &Value) -> Vec<u8> {
    let mut made = Message::default();
    made.text(1, text(document, "swagger"));
    let info = field(document, "info");
    made.message(2, |made| {
        made.text(1, text(info, "title"));
        made.text(2, text(info, "version"));
    });
    made.message(8, |made| {
        for (path, item) in object(document, "paths").into_iter().flatten() {
            made.named(2, path, |made| path_item(made, item));
        }
    });
    made.message(9, |made| {
        named_schemas(made, field(document, "definitions"));
    });
    made.0
}

fn named_schemas(made: &mut Message, schemas: &Value) {
    for (name, inner) in schemas.as_object().into_iter().flatten() {
        made.named(1, name, |made| schema(made, inner));
    }
}

fn path_item(made: &mut Message, item: &Value) {
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
        if let Some(said) = item.get(method) {
            made.message(number, |made| operation(made, said));
        }
    }
    for one in list(item, "parameters") {
        made.message(9, |made| parameter(made, one));
    }
    extensions(made, 10, item);
}

fn operation(made: &mut Message, operation: &Value) {
    made.texts(1, list(operation, "tags"));
    made.text(3, text(operation, "description"));
    made.text(5, text(operation, "operationId"));
    made.texts(6, list(operation, "produces"));
    made.texts(7, list(operation, "consumes"));
    for one in list(operation, "parameters") {
        made.message(8, |made| parameter(made, one));
    }
    made.message(9, |made| {
        for (code, said) in object(operation, "responses").into_iter().flatten() {
            made.named(1, code, |made| {
                made.message(1, |made| {
                    made.text(1, text(said, "description"));
                    if let Some(inner) = said.get("schema") {
                        made.message(2, |made| made.message(1, |made| schema(made, inner)));
                    }
                });
            });
        }
    });
    made.texts(10, list(operation, "schemes"));
    made.flag(11, flag(operation, "deprecated"));
    extensions(made, 13, operation);
}

/// Encodes a parameter with the nested `oneof`s of the message.
fn parameter(made: &mut Message, parameter: &Value) {
    let place = text(parameter, "in");
    made.message(1, |made| match place {
        "body" => made.message(1, |made| {
            made.text(1, text(parameter, "description"));
            made.text(2, text(parameter, "name"));
            made.text(3, place);
            made.flag(4, flag(parameter, "required"));
            if let Some(inner) = parameter.get("schema") {
                made.message(5, |made| schema(made, inner));
            }
        }),
        "path" => made.message(2, |made| {
            made.message(4, |made| plain_parameter(made, parameter, [5, 6, 19]));
        }),
        _ => made.message(2, |made| {
            made.message(3, |made| plain_parameter(made, parameter, [6, 7, 20]));
        }),
    });
}

/// Encodes a parameter that is not in the body. `numbers` are the Protobuf field numbers of type,
/// format and `uniqueItems`.
fn plain_parameter(made: &mut Message, parameter: &Value, numbers: [u32; 3]) {
    made.flag(1, flag(parameter, "required"));
    made.text(2, text(parameter, "in"));
    made.text(3, text(parameter, "description"));
    made.text(4, text(parameter, "name"));
    made.text(numbers[0], text(parameter, "type"));
    made.text(numbers[1], text(parameter, "format"));
    made.flag(numbers[2], flag(parameter, "uniqueItems"));
}

fn schema(made: &mut Message, of: &Value) {
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
        made.text(number, text(of, name));
    }
    for (number, name) in NUMBERS {
        if let Some(set) = field(of, name).as_f64() {
            made.double(number, set);
        }
    }
    for (number, name) in COUNTS {
        if let Some(set) = field(of, name).as_u64() {
            made.number(number, set);
        }
    }
    for (number, name) in FLAGS {
        made.flag(number, flag(of, name));
    }
    made.texts(19, list(of, "required"));
    for value in list(of, "enum") {
        made.message(20, |made| any(made, value));
    }
    match of.get("additionalProperties") {
        Some(Value::Bool(set)) => made.message(21, |made| made.number(2, u64::from(*set))),
        Some(inner) => made.message(21, |made| made.message(1, |made| schema(made, inner))),
        None => {}
    }
    if let Some(kind) = of.get("type").and_then(Value::as_str) {
        made.message(22, |made| made.text(1, kind));
    }
    if let Some(inner) = of.get("items") {
        made.message(23, |made| made.message(1, |made| schema(made, inner)));
    }
    if let Some(properties) = of.get("properties") {
        made.message(25, |made| named_schemas(made, properties));
    }
    extensions(made, 31, of);
}

fn extensions(made: &mut Message, number: u32, of: &Value) {
    let all = of.as_object().into_iter().flat_map(Map::iter);
    for (name, value) in all.filter(|(name, _)| name.starts_with("x-")) {
        made.named(number, name, |made| any(made, value));
    }
}

/// Encodes any value as JSON, which is valid YAML.
fn any(made: &mut Message, value: &Value) {
    made.text(2, &value.to_string());
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
        self.message(number, |made| {
            made.text(1, name);
            made.message(2, write);
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn encoded_openapi_message_has_the_protobuf_wire_format() {
        let mut made = Message::default();
        made.text(1, "2.0");
        made.number(11, 300);
        made.message(9, |made| made.flag(1, true));
        assert_eq!(
            made.0,
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
