//! Secrets without their values. The page keeps the values of a Secret only while the user reveals
//! them.

use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Object, read};
use crate::feed::objects::{head, item, page};
use crate::feed::{Form, Head, Limit, Page};
use crate::messages::t;
use crate::problem::Problem;

/// The annotation of `kubectl apply`. Its value contains the values of a Secret.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The fields of a Secret that contain its values.
pub(crate) const VALUE_FIELDS: [&str; 2] = ["data", "stringData"];
/// The maximum number of Secrets that a feed keeps. The page of an object lists one Secret.
const MAX_SECRETS: usize = 100;

/// Parses Secrets and removes their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedactedSecrets;

impl Form<Object> for RedactedSecrets {
    const LIMIT: Limit<Object> = Limit::First(MAX_SECRETS);

    fn page(&mut self, body: &[u8], _: Timestamp) -> Result<Page<Object>, Problem> {
        page(body).map(|page| page.map(redacted))
    }

    fn item(&mut self, object: &RawValue, _: Timestamp) -> Result<(Head, Object), Problem> {
        let (head, object) = item(object)?;
        Ok((head, redacted(object)))
    }

    fn head(&self, object: &RawValue) -> Result<Head, Problem> {
        head(object)
    }
}

/// Replaces the values of a Secret by their sizes in bytes.
pub fn redacted(mut secret: Value) -> Object {
    redact(&mut secret, Value::from);
    Object::from(secret)
}

/// Replaces the values of a Secret. The replacement depends on the size of the value in bytes.
pub(crate) fn redact(secret: &mut Value, replacement: impl Fn(usize) -> Value) {
    for field in VALUE_FIELDS {
        match secret.get_mut(field) {
            Some(Value::Object(values)) => {
                for value in values.values_mut() {
                    *value = replacement(value.as_str().map_or(0, decoded_size));
                }
            }
            Some(other) => *other = Value::Null,
            None => {}
        }
    }
    let annotation = secret
        .pointer_mut("/metadata/annotations")
        .and_then(|annotations| annotations.get_mut(LAST_APPLIED));
    if let Some(annotation) = annotation {
        *annotation = Value::from(t().secrets.hidden());
    }
}

/// Returns the number of bytes that a Base64 text encodes.
pub(crate) fn decoded_size(base64: &str) -> usize {
    let digits = base64
        .bytes()
        .filter(|it| !matches!(it, b'=' | b'\n' | b'\r'));
    digits.count() * 3 / 4
}

/// A key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretKey {
    /// The name of the key.
    pub name: String,
    /// The size of the value in bytes.
    pub bytes: u64,
}

/// Returns the keys of a Secret that was read without its values, sorted by name.
pub fn keys(secret: &Object) -> Vec<SecretKey> {
    let values = read::at(secret.value(), "/data").as_object();
    let values = values.into_iter().flatten();
    values
        .map(|(name, size)| SecretKey {
            name: name.clone(),
            bytes: size.as_u64().unwrap_or_default(),
        })
        .collect()
}

/// The value of a key of a Secret. The debug format does not contain the value.
#[derive(Clone, PartialEq, Eq)]
pub enum SecretValue {
    /// A text.
    Text(String),
    /// Binary data, in Base64.
    Binary(String),
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretValue")
    }
}

impl SecretValue {
    /// Returns the value of a key from the JSON of a Secret. Returns `None` if the key is missing.
    pub fn of(secret: &Value, key: &str) -> Option<Self> {
        let value = read::at(secret, "/data").get(key)?;
        let base64 = value.as_str()?;
        let decoded = serde_json::from_value::<ByteString>(value.clone()).ok();
        let text = decoded.and_then(|bytes| String::from_utf8(bytes.0).ok());
        Some(match text.filter(|text| !text.contains('\0')) {
            Some(text) => Self::Text(text),
            None => Self::Binary(base64.to_owned()),
        })
    }

    /// Returns the text of the value. Binary data is in Base64.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Binary(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Overview;

    /// A Secret as the API server sends it after `kubectl apply`.
    const SECRET: &str = r#"{"metadata":{"name":"db","namespace":"shop","resourceVersion":"7",
        "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"stringData\":{\"password\":\"hunter2\"}}","team":"a"}},
        "type":"Opaque","data":{"password":"aHVudGVyMg==","key":"AP8="}}"#;

    #[test]
    fn object_page_receives_the_sizes_of_a_secret_without_its_values() {
        let raw = RawValue::from_string(SECRET.to_owned()).unwrap();
        let (_, watched) = RedactedSecrets.item(&raw, Timestamp::UNIX_EPOCH).unwrap();
        let list = format!(r#"{{"metadata":{{}},"items":[{SECRET}]}}"#);
        let page = RedactedSecrets
            .page(list.as_bytes(), Timestamp::UNIX_EPOCH)
            .unwrap();
        for secret in page.items().chain([&watched]) {
            let text = secret.value().to_string();
            for value in ["hunter2", "aHVudGVyMg", "AP8"] {
                assert!(!text.contains(value), "{text}");
            }
            let key = |name: &str, bytes| SecretKey {
                name: name.to_owned(),
                bytes,
            };
            assert_eq!(keys(secret), [key("key", 2), key("password", 7)]);
            let team = ("team".to_owned(), "a".to_owned());
            assert!(secret.annotations().contains(&team));
        }
        let overview = Overview::of(crate::kind::Kind::SECRETS, &watched);
        assert!(format!("{overview:?}").contains("Opaque"), "{overview:?}");
    }

    #[test]
    fn malformed_values_of_a_secret_are_removed() {
        for data in [
            json!("text"),
            json!(["hunter2"]),
            json!({"a": {"b": "hunter2"}}),
            json!({"a": ["hunter2"]}),
        ] {
            let secret = redacted(json!({"data": data, "stringData": data}));
            assert!(
                !secret.value().to_string().contains("hunter2"),
                "{secret:?}"
            );
        }
    }

    #[test]
    fn revealed_value_is_text_or_base64() {
        let secret: Value = serde_json::from_str(SECRET).unwrap();
        let of = |key: &str| SecretValue::of(&secret, key);
        assert_eq!(
            of("password"),
            Some(SecretValue::Text("hunter2".to_owned()))
        );
        assert_eq!(of("key"), Some(SecretValue::Binary("AP8=".to_owned())));
        assert_eq!(of("other"), None);
        assert!(!format!("{:?}", of("password")).contains("hunter2"));
        let invalid = json!({"data": {"a": "%%", "b": 1}});
        assert_eq!(
            SecretValue::of(&invalid, "a"),
            Some(SecretValue::Binary("%%".to_owned()))
        );
        assert_eq!(SecretValue::of(&invalid, "b"), None);
    }
}
