//! Protobuf bodies, which kubectl's typed clients send (`runtime.Unknown` around a message of the
//! kind). Responses are JSON, which these clients accept.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The prefix of Protobuf bodies.
const MAGIC: &[u8] = b"k8s\0";
/// Maximum nesting depth. The same limit applies to JSON bodies.
const MAX_DEPTH: usize = 100;

/// A message field: number, JSON name (empty for inlined fields), type, and label such as
/// `repeated`.
#[derive(Deserialize)]
struct Field(u32, String, String, String);

static MESSAGES: LazyLock<BTreeMap<String, Vec<Field>>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../../schemas/protobuf.json"))
        .expect("protobuf.json has the format of xtask, which the tests of this module check")
});

/// The reason why a Protobuf body cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtobufError {
    /// The body does not start with the prefix of Protobuf bodies.
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Prefix,
    /// The body ends before the end of a message.
    #[error("unexpected EOF")]
    End,
    /// The message contains a number that is too long, or an unknown wire type.
    #[error("proto: illegal wireType or tag")]
    Wire,
    /// The decoder does not support the kind of the object.
    #[error("no kind {kind:?} is registered for version {version:?}")]
    Kind {
        /// The unsupported kind.
        kind: String,
        /// The API version of the unsupported kind.
        version: String,
    },
    /// The message contains a text that is not UTF-8.
    #[error("proto: invalid UTF-8")]
    Text,
    /// Embedded JSON is malformed.
    #[error("proto: cannot parse JSON in a field")]
    Json,
    /// The nesting of messages is too deep.
    #[error("proto: nested too deep")]
    Depth,
}

/// Decodes an object from a Protobuf body.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let bytes = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::Prefix)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for entry in entries(bytes) {
        match entry? {
            (1, Wire::Bytes(meta)) => {
                for entry in entries(meta) {
                    match entry? {
                        (1, Wire::Bytes(text)) => utf8(text)?.clone_into(&mut version),
                        (2, Wire::Bytes(text)) => utf8(text)?.clone_into(&mut kind),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(message)) => raw = message,
            _ => {}
        }
    }
    let Some(name) = message_name(&version, &kind) else {
        return Err(ProtobufError::Kind { kind, version });
    };
    let mut value = message(name, raw, 0)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("apiVersion".to_owned(), version.into());
        fields.insert("kind".to_owned(), kind.into());
    }
    Ok(value)
}

/// Returns the name of the Protobuf message type of a kind.
fn message_name(version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let package = match group.split('.').next().unwrap_or_default() {
        _ if kind == "DeleteOptions" => "io.k8s.apimachinery.pkg.apis.meta.v1".to_owned(),
        "" => format!("io.k8s.api.core.{version}"),
        short => format!("io.k8s.api.{short}.{version}"),
    };
    let name = format!("{package}.{kind}");
    MESSAGES.get_key_value(&name).map(|(name, _)| name.as_str())
}

fn message(name: &str, bytes: &[u8], depth: usize) -> Result<Value, ProtobufError> {
    if depth > MAX_DEPTH {
        return Err(ProtobufError::Depth);
    }
    let short = name.rsplit('.').next().unwrap_or_default();
    match short {
        "Quantity" => return text_of(bytes),
        "Time" | "MicroTime" => return time(bytes, short == "MicroTime"),
        "IntOrString" => return int_or_string(bytes),
        "RawExtension" | "FieldsV1" => return raw_json(bytes),
        "ExtraValue" => return strings(bytes),
        _ => {}
    }
    let mut object = Map::new();
    let fields = MESSAGES.get(name).map_or(&[][..], Vec::as_slice);
    for entry in entries(bytes) {
        let (number, wire) = entry?;
        let Some(field) = fields.iter().find(|field| field.0 == number) else {
            continue;
        };
        put(&mut object, field, &wire, depth)?;
    }
    Ok(Value::Object(object))
}

fn put(
    object: &mut Map<String, Value>,
    Field(_, name, kind, many): &Field,
    wire: &Wire<'_>,
    depth: usize,
) -> Result<(), ProtobufError> {
    if many == "{}" {
        let (key, value) = map_entry(kind, wire, depth)?;
        let map = object
            .entry(name)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(map) = map.as_object_mut() {
            map.insert(key, value);
        }
        return Ok(());
    }
    let value = value_of(kind, wire, depth)?;
    if many == "[]" {
        let list = object
            .entry(name)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Some(list) = list.as_array_mut() {
            list.push(value);
        }
    } else if name.is_empty() {
        if let Value::Object(own) = value {
            object.extend(own);
        }
    } else {
        object.insert(name.clone(), value);
    }
    Ok(())
}

fn map_entry(kind: &str, wire: &Wire<'_>, depth: usize) -> Result<(String, Value), ProtobufError> {
    let Wire::Bytes(bytes) = wire else {
        return Err(ProtobufError::Wire);
    };
    let mut key = String::new();
    let mut value = value_of(kind, &Wire::Bytes(&[]), depth)?;
    for entry in entries(bytes) {
        match entry? {
            (1, Wire::Bytes(text)) => utf8(text)?.clone_into(&mut key),
            (2, wire) => value = value_of(kind, &wire, depth)?,
            _ => {}
        }
    }
    Ok((key, value))
}

fn value_of(kind: &str, wire: &Wire<'_>, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match (kind, wire) {
        ("string", Wire::Bytes(bytes)) => utf8(bytes)?.into(),
        ("bytes", Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        ("bool", Wire::Number(number)) => (*number != 0).into(),
        // Negative 32-bit numbers are encoded with 64 bits.
        ("int32" | "int64", Wire::Number(number)) => number.cast_signed().into(),
        ("double", Wire::Fixed(bits)) => f64::from_bits(*bits).into(),
        (name, Wire::Bytes(bytes)) => message(name, bytes, depth + 1)?,
        _ => return Err(ProtobufError::Wire),
    })
}

fn text_of(bytes: &[u8]) -> Result<Value, ProtobufError> {
    for entry in entries(bytes) {
        if let (1, Wire::Bytes(text)) = entry? {
            return Ok(utf8(text)?.into());
        }
    }
    Ok("0".into())
}

/// Converts seconds and nanoseconds to a time. An empty message becomes null.
fn time(bytes: &[u8], micro: bool) -> Result<Value, ProtobufError> {
    let (mut seconds, mut nanos) = (0, 0);
    for entry in entries(bytes) {
        match entry? {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = number.cast_signed(),
            _ => {}
        }
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(nanos).map_err(|_| ProtobufError::Wire)?;
    let moment = Timestamp::new(seconds, nanos).map_err(|_| ProtobufError::Wire)?;
    let form = if micro {
        "%Y-%m-%dT%H:%M:%S.%6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(moment.strftime(form).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    for entry in entries(bytes) {
        match entry? {
            (1, Wire::Number(kind)) => is_text = kind == 1,
            (2, Wire::Number(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(value)) => utf8(value)?.clone_into(&mut text),
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

fn raw_json(bytes: &[u8]) -> Result<Value, ProtobufError> {
    for entry in entries(bytes) {
        if let (1, Wire::Bytes(json)) = entry? {
            return serde_json::from_slice(json).map_err(|_| ProtobufError::Json);
        }
    }
    Ok(Value::Null)
}

fn strings(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let mut list = Vec::new();
    for entry in entries(bytes) {
        if let (1, Wire::Bytes(text)) = entry? {
            list.push(utf8(text)?.into());
        }
    }
    Ok(Value::Array(list))
}

fn utf8(bytes: &[u8]) -> Result<&str, ProtobufError> {
    std::str::from_utf8(bytes).map_err(|_| ProtobufError::Text)
}

/// A field value in its wire format.
enum Wire<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

/// Iterates over the fields of a message in order. Ends after the first error.
fn entries(bytes: &[u8]) -> impl Iterator<Item = Result<(u32, Wire<'_>), ProtobufError>> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let mut bytes = rest.take().filter(|bytes| !bytes.is_empty())?;
        let entry = entry(&mut bytes);
        rest = entry.is_ok().then_some(bytes);
        Some(entry)
    })
}

fn entry<'a>(bytes: &mut &'a [u8]) -> Result<(u32, Wire<'a>), ProtobufError> {
    let tag = varint(bytes)?;
    let number = u32::try_from(tag >> 3).map_err(|_| ProtobufError::Wire)?;
    let wire = match tag & 7 {
        0 => Wire::Number(varint(bytes)?),
        1 => Wire::Fixed(fixed(take(bytes, 8)?)),
        2 => {
            let length = usize::try_from(varint(bytes)?).map_err(|_| ProtobufError::End)?;
            Wire::Bytes(take(bytes, length)?)
        }
        5 => Wire::Fixed(fixed(take(bytes, 4)?)),
        _ => return Err(ProtobufError::Wire),
    };
    Ok((number, wire))
}

fn fixed(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], ProtobufError> {
    let (taken, rest) = bytes.split_at_checked(length).ok_or(ProtobufError::End)?;
    *bytes = rest;
    Ok(taken)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or(ProtobufError::End)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(ProtobufError::Wire)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn bytes(number: u8, inside: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(inside.len()).unwrap()];
        out.extend_from_slice(inside);
        out
    }

    fn wrapped(version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
        let meta = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &meta), bytes(2, message)].concat()
    }

    #[test]
    fn protobuf_config_map_is_decoded() {
        let metadata = bytes(1, &[bytes(1, b"a"), bytes(8, b"")].concat());
        let data = bytes(2, &[bytes(1, b"k"), bytes(2, b"v")].concat());
        let read = decode(&wrapped("v1", "ConfigMap", &[metadata, data].concat()));
        assert_eq!(
            read.unwrap(),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
                "metadata": {"name": "a", "creationTimestamp": null}})
        );
    }

    #[test]
    fn inlined_protobuf_fields_are_merged_into_the_object() {
        // PodSpec.volumes[0]: the name, and an emptyDir in the inlined source.
        let volume = [bytes(1, b"v"), bytes(2, &bytes(2, b""))].concat();
        let spec = bytes(2, &bytes(1, &volume));
        let read = decode(&wrapped("v1", "Pod", &spec)).unwrap();
        assert_eq!(
            read["spec"]["volumes"],
            json!([{"name": "v", "emptyDir": {}}])
        );
    }

    #[test]
    fn malformed_protobuf_messages_are_rejected() {
        assert_eq!(decode(b"{}"), Err(ProtobufError::Prefix));
        let unknown = decode(&wrapped("v1", "Nonsense", b"")).unwrap_err();
        assert!(matches!(unknown, ProtobufError::Kind { .. }));
        assert_eq!(decode(b"k8s\0\x0a\x05"), Err(ProtobufError::End));
    }

    proptest! {
        #[test]
        fn protobuf_decoder_does_not_panic_on_arbitrary_bytes(message in prop::collection::vec(any::<u8>(), 0..120)) {
            for kind in ["Pod", "ConfigMap", "DeleteOptions"] {
                let _ = decode(&wrapped("v1", kind, &message));
            }
        }
    }
}
