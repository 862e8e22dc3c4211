//! Properties of request decoding for arbitrary bytes. The fuzzer and `cargo test` check these
//! properties.

use drover_apiserver::serve::body::decode;
use drover_apiserver::serve::negotiate::{BodyFormat, Transforms, accepted, accepted_stream};
use drover_apiserver::serve::options::{DeleteOptions, ListOptions, WriteOptions, WriteVerb};
use drover_apiserver::serve::page::Position;
use drover_apiserver::serve::query::{Query, parse_resource_version};
use drover_apiserver::serve::request::parse;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::Value;

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// Checks that a trailing slash does not change a parsed path, and that components are whole path
/// segments. The input is a method and a path.
pub(crate) fn path(data: &[u8]) {
    let Some((method, path)) = text(data).and_then(|text| text.split_once(' ')) else {
        return;
    };
    let Ok(method) = Method::from_bytes(method.as_bytes()) else {
        return;
    };
    for (watch, name) in [(false, None), (true, Some("n"))] {
        let info = parse(&method, path, watch, name);
        assert!(!info.verb.is_empty());
        let longer = parse(&method, &format!("{path}/"), watch, name);
        assert_eq!(longer.resource, info.resource, "{path:?}");
        let Some(resource) = info.resource else {
            continue;
        };
        for part in [&resource.group, &resource.resource, &resource.subresource] {
            assert!(!part.contains('/'), "{resource:?}");
        }
        if watch && info.verb == "watch" {
            assert!(method == Method::GET || method == Method::HEAD, "{method}");
        }
    }
}

/// Checks that every query string either parses or returns an error.
pub(crate) fn query(data: &[u8]) {
    let Some(Ok(uri)) = text(data).map(|text| format!("/?{text}").parse::<Uri>()) else {
        return;
    };
    let query = Query::of(&uri);
    let refused = |code: u16| assert!(matches!(code, 400 | 422), "{code}");
    match ListOptions::of(&query) {
        Ok(options) => {
            assert_ne!(options.limit, Some(0));
            assert!(!options.send_initial_events || options.watch);
        }
        Err(error) => refused(error.code.as_u16()),
    }
    let headers = HeaderMap::new();
    for verb in [
        WriteVerb::Create,
        WriteVerb::Update,
        WriteVerb::Patch,
        WriteVerb::Apply,
    ] {
        if let Err(error) = WriteOptions::of(verb, &query, &headers) {
            refused(error.code.as_u16());
        }
    }
    if let Err(error) = DeleteOptions::of(&query, None) {
        refused(error.code.as_u16());
    }
    let _ = parse_resource_version(&query.text("resourceVersion"));
}

/// Checks that every `Accept` header is either accepted or rejected with the status 406.
pub(crate) fn accept(data: &[u8]) {
    let Ok(value) = HeaderValue::from_bytes(data) else {
        return;
    };
    let headers = HeaderMap::from_iter([(ACCEPT, value)]);
    let answers = [
        accepted(&headers, Transforms::Allowed).map(drop),
        accepted(&headers, Transforms::None).map(drop),
        accepted_stream(&headers).map(drop),
    ];
    for answer in answers {
        if let Err(error) = answer {
            assert_eq!(error.code, 406, "{error}");
        }
    }
}

/// Checks that the key in a continue token starts with the key prefix of the list. Checks that
/// encoding and decoding do not change a continue token.
pub(crate) fn page(data: &[u8]) {
    const PREFIX: &str = "/core/configmaps/shop/";
    let Some(Ok(position)) = text(data).map(|text| Position::decode(text, PREFIX)) else {
        return;
    };
    assert!(position.after.starts_with(PREFIX), "{position:?}");
    let again = Position::decode(&position.encode(PREFIX), PREFIX);
    assert_eq!(again.as_ref(), Ok(&position));
}

/// Checks that a decoded Protobuf body has a kind and serializes to JSON.
pub(crate) fn protobuf(data: &[u8]) {
    let Ok(decoded) = decode(BodyFormat::Protobuf, data) else {
        return;
    };
    assert!(decoded.value["kind"].is_string(), "{}", decoded.value);
    let written = decoded.value.to_string();
    let read: Value = serde_json::from_str(&written).expect("a serialized object is valid JSON");
    assert_eq!(read, decoded.value);
}

/// Checks that the JSON decoder and the YAML decoder return the same value for JSON that has no
/// duplicate keys. Checks that decoded YAML serializes to JSON.
pub(crate) fn body(data: &[u8]) {
    let yaml = decode(BodyFormat::Yaml, data);
    if let Ok(json) = decode(BodyFormat::Json, data)
        && json.duplicates.is_empty()
    {
        let read = yaml.as_ref().map(|yaml| &yaml.value);
        assert_eq!(read, Ok(&json.value));
    }
    if let Ok(yaml) = yaml {
        assert!(serde_json::from_str::<Value>(&yaml.value.to_string()).is_ok());
    }
}
