//! Request bodies: size limit, decoding of JSON, YAML and Protobuf, and detection of duplicate
//! fields.

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use crate::serve::input::negotiate::BodyFormat;
use crate::status::ApiError;

mod protobuf;
mod strict;
mod yaml;

pub use strict::Decoded;
pub(crate) use strict::sort_findings;

/// Maximum body size in bytes: 3 MiB, as in kube-apiserver.
pub const LIMIT: usize = 3 * 1024 * 1024;

/// Timeout for reading a body.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Reads the whole body.
///
/// # Errors
///
/// Returns 413 above [`LIMIT`], and 400 if the client disconnects. Returns 408 after [`TIMEOUT`],
/// because a request occupies a concurrency slot while the server reads its body.
pub async fn read(body: Body) -> Result<Bytes, ApiError> {
    tokio::time::timeout(TIMEOUT, read_to_end(body))
        .await
        .unwrap_or_else(|_| {
            Err(ApiError::new(
                http::StatusCode::REQUEST_TIMEOUT,
                "Timeout",
                format!(
                    "the request's body did not arrive within {} seconds",
                    TIMEOUT.as_secs()
                ),
            ))
        })
}

async fn read_to_end(mut body: Body) -> Result<Bytes, ApiError> {
    let mut first: Option<Bytes> = None;
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            ApiError::bad_request(format!("cannot read the request body: {error}"))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = data.len() + joined.len() + first.as_ref().map_or(0, Bytes::len);
        if length > LIMIT {
            return Err(ApiError::too_large(LIMIT));
        }
        match first.take() {
            // Most bodies have one frame, which is not copied.
            None if joined.is_empty() => first = Some(data),
            None => joined.extend_from_slice(&data),
            Some(before) => {
                joined.extend_from_slice(&before);
                joined.extend_from_slice(&data);
            }
        }
    }
    Ok(first.unwrap_or_else(|| joined.freeze()))
}

/// Decodes a body.
///
/// # Errors
///
/// Returns the message of the parser.
pub fn decode(format: BodyFormat, bytes: &[u8]) -> Result<Decoded, String> {
    match format {
        BodyFormat::Json => strict::json(bytes).map_err(|error| {
            if error.is_eof() {
                "unexpected end of JSON input".to_owned()
            } else {
                error.to_string()
            }
        }),
        BodyFormat::Yaml => yaml(bytes),
        BodyFormat::Protobuf => protobuf::decode(bytes)
            .map(|value| Decoded {
                value,
                ..Decoded::default()
            })
            .map_err(|error| error.to_string()),
    }
}

/// Decodes the first document of YAML 1.1, as kube-apiserver does. JSON is also valid YAML.
///
/// # Errors
///
/// Returns the message of the parser.
pub fn yaml(bytes: &[u8]) -> Result<Decoded, String> {
    if let Ok(decoded) = strict::json(bytes)
        && decoded.duplicates.is_empty()
    {
        return Ok(Decoded {
            yaml: true,
            ..decoded
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let document = yaml::read(text)?;
    Ok(Decoded {
        value: document.value,
        duplicates: document.duplicates,
        yaml: true,
    })
}

/// Returns the first bytes of a body as text for error messages.
pub fn summary(bytes: &[u8]) -> String {
    const LENGTH: usize = 30;
    let shown = &bytes[..bytes.len().min(LENGTH)];
    let text = match bytes.first() {
        None => return "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        // Writing to a String cannot fail.
        Some(_) => shown.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    };
    if bytes.len() > LENGTH {
        format!("{text} ...")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn request_body_limit_is_three_mebibytes() {
        let body = read(Body::from(vec![b' '; LIMIT])).await.unwrap();
        assert_eq!(body.len(), LIMIT);
        let error = read(Body::from(vec![b' '; LIMIT + 1])).await.unwrap_err();
        assert_eq!(error.message, "Request entity too large: limit is 3145728");
        assert_eq!(error.code, http::StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn request_body_frames_are_joined_in_order() {
        let frames = ["a", "", "b", "cd"].map(|text| Ok::<_, std::io::Error>(Bytes::from(text)));
        let body = Body::from_stream(futures::stream::iter(frames));
        assert_eq!(read(body).await.unwrap(), "abcd");
    }

    #[test]
    fn yaml_and_json_decode_to_equal_values() {
        let json = decode(BodyFormat::Json, br#"{"a":[1,true,"x",null]}"#).unwrap();
        let yaml = decode(BodyFormat::Yaml, b"a:\n- 1\n- true\n- x\n- null\n").unwrap();
        assert_eq!(json.value, yaml.value);
    }

    #[test]
    fn body_summary_has_limited_length() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"{\"a\":1}"), "{\"a\":1}");
        assert_eq!(summary(b"hi"), "6869");
        assert_eq!(summary(&[b'{'; 40]), format!("{} ...", "{".repeat(30)));
    }
}
