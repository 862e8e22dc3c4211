//! Converts responses to JSON documents that can be compared.

use serde_json::{Map, Value};

/// Headers whose values are compared, because API clients read these values.
const COMPARED: [&str; 8] = [
    "allow",
    "cache-control",
    "content-type",
    "location",
    "retry-after",
    "vary",
    "warning",
    "www-authenticate",
];
/// Headers whose presence is compared. Their values can differ.
const PRESENT: [&str; 2] = ["audit-id", "etag"];

/// Returns a document with the fields `code`, `headers` and `body` of a response.
pub(super) fn document(code: u16, headers: &http::HeaderMap, body: &[u8]) -> Value {
    let mut compared = Map::new();
    for name in COMPARED {
        let values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into())
            .collect();
        if !values.is_empty() {
            compared.insert(name.to_owned(), values.into());
        }
    }
    for name in PRESENT {
        if headers.contains_key(name) {
            compared.insert(name.to_owned(), "there".into());
        }
    }
    let kind = headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    serde_json::json!({"code": code, "headers": compared, "body": read(kind, body)})
}

/// Returns the response body. JSON and YAML are parsed. All other formats are returned as text.
fn read(kind: &str, body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    if let Ok(value) = serde_json::from_slice(body) {
        return value;
    }
    let text = String::from_utf8_lossy(body);
    if kind.contains("yaml")
        && let Ok(value) = serde_saphyr::from_str(&text)
    {
        return value;
    }
    Value::String(text.into_owned())
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_response_is_parsed_and_irrelevant_headers_are_omitted() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/yaml"));
        headers.insert("date", HeaderValue::from_static("today"));
        headers.insert("audit-id", HeaderValue::from_static("1"));
        assert_eq!(
            document(200, &headers, b"a:\n- 1\n"),
            json!({
                "code": 200, "body": {"a": [1]},
                "headers": {"content-type": ["application/yaml"], "audit-id": "there"},
            })
        );
    }
}
