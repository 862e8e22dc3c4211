//! Creates responses: Status, objects, text, and common headers.

use std::borrow::Cow;
use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body::{Frame, SizeHint};
use serde_json::Value;

use crate::serve::input::negotiate::{Format, Transforms, accepted, header};
use crate::serve::limits::heavy::HeavyWorkLimiter;
use crate::status::ApiError;

/// The response header with the request ID. Audit records contain the same ID.
pub const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const WARNING: HeaderName = HeaderName::from_static("warning");

/// Minimum length in bytes of a compressed body, as in kube-apiserver. Shorter bodies are never
/// compressed.
const COMPRESS_ABOVE: usize = 128 * 1024;

/// Creates a response with this body and media type.
pub fn bytes(code: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Creates a plain text response.
pub fn text(code: StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = bytes(code, "text/plain; charset=utf-8", body);
    response
        .headers_mut()
        .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Creates the response for an unknown path.
pub fn page_not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// Creates the response with an error as JSON Status.
pub fn status(error: &ApiError) -> Response {
    let mut response = bytes(
        error.code,
        Format::Json.media_type(),
        line(&error.to_value()),
    );
    let retry_after = error
        .details
        .as_ref()
        .and_then(|details| details.retry_after);
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    if error.code == StatusCode::FORBIDDEN {
        response
            .headers_mut()
            .insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    response
}

/// Creates the response with an error as Status in JSON, or in YAML if the client prefers YAML.
pub fn refusal(headers: &HeaderMap, error: &ApiError) -> Response {
    let mut response = status(error);
    let requested = accepted(headers, Transforms::None).map(|accepted| accepted.format);
    if matches!(requested, Ok(Format::Yaml))
        && let Ok(text) = serde_saphyr::to_string(&error.to_value())
    {
        *response.body_mut() = Body::from(text);
        let yaml = HeaderValue::from_static(Format::Yaml.media_type());
        response.headers_mut().insert(CONTENT_TYPE, yaml);
    }
    response
}

/// Creates the response with a value in the negotiated format.
pub fn value(code: StatusCode, format: Format, value: &Value) -> Response {
    match encode(format, value) {
        Ok(body) => bytes(code, format.media_type(), body),
        Err(error) => status(&error),
    }
}

/// Serializes a value in a format.
pub(crate) fn encode(format: Format, value: &Value) -> Result<Vec<u8>, ApiError> {
    match format {
        Format::Json => Ok(line(value)),
        Format::Yaml => serde_saphyr::to_string(value)
            .map(String::into_bytes)
            .map_err(ApiError::internal),
    }
}

/// Serializes JSON with a trailing newline, as Go's encoder does.
fn line(value: &Value) -> Vec<u8> {
    let mut json = value.to_string().into_bytes();
    json.push(b'\n');
    json
}

/// Creates a response with serialized JSON. Compresses a long body if the client accepts
/// compression.
pub(crate) async fn json(
    reads: &HeavyWorkLimiter,
    code: StatusCode,
    headers: &HeaderMap,
    chunks: Vec<Bytes>,
) -> Response {
    let length: usize = chunks.iter().map(Bytes::len).sum();
    if length <= COMPRESS_ABOVE || !takes_gzip(headers) {
        let mut response = bytes(code, Format::Json.media_type(), Bytes::new());
        *response.body_mut() = Body::new(Chunks {
            chunks: chunks.into_iter(),
            remaining: length as u64,
        });
        return response;
    }
    // Compression of a long list takes many milliseconds.
    let _turn = reads.turn().await;
    let compressed = tokio::task::spawn_blocking(move || compress(&chunks)).await;
    match compressed {
        Ok(Ok(body)) => {
            let mut response = bytes(code, Format::Json.media_type(), body);
            let headers = response.headers_mut();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
            response
        }
        Ok(Err(error)) => status(&ApiError::internal(error)),
        Err(error) => status(&ApiError::internal(error)),
    }
}

/// A body of known length in several pieces of memory.
struct Chunks {
    chunks: std::vec::IntoIter<Bytes>,
    /// The number of bytes that are not sent yet.
    remaining: u64,
}

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.chunks.next();
        if let Some(chunk) = &next {
            self.remaining -= chunk.len() as u64;
        }
        Poll::Ready(next.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

fn compress(chunks: &[Bytes]) -> std::io::Result<Vec<u8>> {
    use std::io::Write;
    let length: usize = chunks.iter().map(Bytes::len).sum();
    let room = Vec::with_capacity(length / 4);
    let mut encoder = flate2::write::GzEncoder::new(room, flate2::Compression::fast());
    for chunk in chunks {
        encoder.write_all(chunk)?;
    }
    encoder.finish()
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    header(headers, &ACCEPT_ENCODING)
        .split(',')
        .any(|coding| coding.trim() == "gzip")
}

/// Maximum number of characters of all warnings. Above this number, warnings are truncated.
const WARNINGS_LENGTH: usize = 4096;
const WARNING_LENGTH: usize = 256;

/// Adds a `Warning` header per distinct text (RFC 7234 §5.5, code 299).
///
/// All warnings together have at most 4096 characters. Above this limit, each warning is truncated
/// to 256 characters, and the last warnings are dropped, as in kube-apiserver.
pub fn add_warnings(response: &mut Response, warnings: &[String]) {
    let mut seen = HashSet::new();
    let each: Vec<&str> = warnings
        .iter()
        .map(String::as_str)
        .filter(|text| seen.insert(*text))
        .collect();
    let length = |text: &str| text.chars().count();
    let all_fit = each.iter().map(|text| length(text)).sum::<usize>() < WARNINGS_LENGTH;
    let mut written = 0;
    for text in each {
        let shown: Cow<'_, str> = if all_fit {
            text.into()
        } else {
            text.chars().take(WARNING_LENGTH).collect::<String>().into()
        };
        written += length(&shown);
        if !all_fit && written > WARNINGS_LENGTH {
            return;
        }
        if let Some(value) = warning_header(&shown) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

fn warning_header(text: &str) -> Option<HeaderValue> {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    // Headers cannot contain control characters.
    HeaderValue::from_bytes(format!("299 - \"{escaped}\"").as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn response_to_temporary_error_has_retry_after_header() {
        let response = status(&ApiError::too_many_requests("slowly", 3));
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[RETRY_AFTER], "3");
    }

    #[test]
    fn warning_headers_are_quoted_and_deduplicated() {
        let mut response = text(StatusCode::OK, "ok");
        let warning = "unknown field \"a\\b\"".to_owned();
        add_warnings(&mut response, &[warning.clone(), warning, "x".to_owned()]);
        let warnings: Vec<_> = response.headers().get_all(WARNING).iter().collect();
        assert_eq!(
            warnings,
            ["299 - \"unknown field \\\"a\\\\b\\\"\"", "299 - \"x\""]
        );
    }

    #[tokio::test]
    async fn long_responses_are_compressed_if_the_client_accepts_gzip() {
        let body = vec![b' '; COMPRESS_ABOVE + 1];
        let mut headers = HeaderMap::new();
        let reads = HeavyWorkLimiter::default();
        let plain = json(&reads, StatusCode::OK, &headers, vec![body.clone().into()]).await;
        assert!(!plain.headers().contains_key(CONTENT_ENCODING));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("br, gzip"));
        let small = json(&reads, StatusCode::OK, &headers, vec!["{}".into()]).await;
        assert!(!small.headers().contains_key(CONTENT_ENCODING));
        let packed = json(&reads, StatusCode::OK, &headers, vec![body.clone().into()]).await;
        assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
        let packed = packed.into_body().collect().await.unwrap().to_bytes();
        let mut unpacked = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(packed.as_ref());
        std::io::Read::read_to_end(&mut decoder, &mut unpacked).unwrap();
        assert_eq!(unpacked, body);
    }
}
