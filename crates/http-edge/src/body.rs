//! Extractors for bodies, paths and queries. The extractors limit sizes and parse types. The errors
//! name the invalid field.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body::Body as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::status::Status;

/// Maximum size of a request body, in bytes.
pub const BODY_BYTES: usize = 64 * 1024;
/// Time limit for receiving a body.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body of at most [`BODY_BYTES`].
#[derive(Debug)]
pub struct Json<T>(pub T);

/// A JSON body of at most [`BODY_BYTES`], or an empty body.
#[derive(Debug)]
pub struct OptionalJson<T>(pub Option<T>);

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for OptionalJson<T> {
    type Rejection = Status;

    async fn from_request(request: Request, state: &S) -> Result<Self, Status> {
        if request.body().is_end_stream() {
            return Ok(Self(None));
        }
        let Json(value) = Json::from_request(request, state).await?;
        Ok(Self(Some(value)))
    }
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Status;

    async fn from_request(request: Request, _: &S) -> Result<Self, Status> {
        if !is_json(&request) {
            return Err(Status::unsupported_media_type());
        }
        // Reject by `Content-Length` before reading the body.
        if request.body().size_hint().lower() > BODY_BYTES as u64 {
            return Err(Status::too_large(BODY_BYTES));
        }
        let body = Limited::new(request.into_body(), BODY_BYTES);
        let bytes = tokio::time::timeout(TIMEOUT, body.collect())
            .await
            .map_err(|_| Status::timeout("timeout while reading the request body"))?
            .map_err(|error| {
                if error.is::<LengthLimitError>() {
                    Status::too_large(BODY_BYTES)
                } else {
                    Status::bad_request("the request body ended early")
                }
            })?
            .to_bytes();
        parse(&bytes).map(Self)
    }
}

fn is_json(request: &Request) -> bool {
    let text = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = text.and_then(|text| text.split(';').next()).map(str::trim);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
}

/// Parses JSON. The error contains the name of the field but not its value, because the value may
/// be a secret.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Status> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        refusal(&path, error.inner())
    })?;
    json.end()
        .map_err(|_| Status::bad_request("the body contains data after the JSON value"))?;
    Ok(value)
}

fn refusal(path: &str, error: &serde_json::Error) -> Status {
    use serde_json::error::Category;
    let text = error.to_string();
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => Status::bad_request(format!(
            "the body is not valid JSON: error at line {line}, column {column}",
            line = error.line(),
            column = error.column()
        )),
        Category::Data => {
            let position = text.rfind(" at line ").unwrap_or(text.len());
            let text = without_values(&text[..position]);
            match field_in(&text) {
                Some(field) => Status::invalid(&field, text),
                None if path == "." => Status::bad_request(format!("invalid body: {text}")),
                None => Status::invalid(path, text),
            }
        }
    }
}

/// Returns the field name from serde's "unknown field `x`" and "missing field `x`".
fn field_in(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("unknown field `")
        .or_else(|| text.strip_prefix("missing field `"))?;
    rest.split_once('`').map(|(field, _)| field.to_owned())
}

/// Removes the value from serde's error "invalid type: string \"…\", expected …".
fn without_values(text: &str) -> String {
    let cut = ["invalid type: ", "invalid value: "];
    let Some(rest) = cut.iter().find_map(|start| text.strip_prefix(start)) else {
        return text.to_owned();
    };
    let expected = rest.rfind(", expected ").map(|at| &rest[at + 2..]);
    format!(
        "has the wrong type or value, {}",
        expected.unwrap_or("see GET /v1/openapi.json")
    )
}

/// The name in a route's path, percent-decoded, for routes with one name.
#[derive(Debug)]
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Status> {
        axum::extract::Path::<String>::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(name)| Self(name))
            .map_err(|_| Status::bad_request("the name in the path is not percent-encoded UTF-8"))
    }
}

/// The two names in a route's path, percent-decoded.
#[derive(Debug)]
pub struct Names(pub String, pub String);

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Status> {
        axum::extract::Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path((one, other))| Self(one, other))
            .map_err(|_| Status::bad_request("a name in the path is not percent-encoded UTF-8"))
    }
}

/// Query parameters of a request. The extractor rejects unknown parameters.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Status;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Status> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(query)| Self(query))
            .map_err(|error| {
                let mut problem = error.to_string();
                let mut source = std::error::Error::source(&error);
                while let Some(cause) = source {
                    problem = cause.to_string();
                    source = cause.source();
                }
                Status::bad_request(format!("invalid query: {problem}"))
            })
    }
}

#[cfg(test)]
mod tests {
    use drover_api::rest::{LoginRequest, TokenCreate};
    use proptest::prelude::*;

    use super::*;

    fn refused<T: DeserializeOwned + std::fmt::Debug>(body: &str) -> Status {
        parse::<T>(body.as_bytes()).unwrap_err()
    }

    #[test]
    fn json_body_error_names_the_field_and_hides_its_value() {
        for (body, code, field) in [
            (
                r#"{"username":"a","password":"hunter2hunter2","otp":"1"}"#,
                422,
                "otp",
            ),
            (r#"{"username":"a"}"#, 422, "password"),
            (
                r#"{"username":"a","password":["hunter2hunter2"]}"#,
                422,
                "password",
            ),
            (
                r#"{"username":{"x":"hunter2hunter2"},"password":"p"}"#,
                422,
                "username",
            ),
            (
                r#"{"username":"a","password":"hunter2hunter2"} {}"#,
                400,
                "after",
            ),
            (r#"{"username":"hunter2hunter2"#, 400, "JSON"),
            (r#""hunter2hunter2""#, 400, "body"),
            ("", 400, "JSON"),
        ] {
            let status = refused::<LoginRequest>(body);
            assert_eq!(status.code(), code, "{body}: {status}");
            assert!(status.message().contains(field), "{body}: {status}");
            assert!(!status.message().contains("hunter2"), "{body}: {status}");
        }
        let status = refused::<TokenCreate>(r#"{"purpose":"hunter2"}"#);
        assert_eq!(status.code(), 422);
    }

    #[test]
    fn deeply_nested_json_returns_an_error() {
        let deep = "[".repeat(60_000);
        assert_eq!(refused::<serde_json::Value>(&deep).code(), 400);
    }

    proptest! {
        #[test]
        fn parsing_an_arbitrary_body_does_not_panic(bytes: Vec<u8>) {
            let _ = parse::<TokenCreate>(&bytes);
        }
    }
}
