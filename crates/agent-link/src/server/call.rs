//! Calls the server's JSON API.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, DATE, HOST};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::{ClockSkew, DialError, Server};
use crate::error_chain::error_chain;

/// Timeout from the request to the complete response.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Size limit of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;
/// Length limit of a server's message, in characters.
const MAX_MESSAGE_CHARS: usize = 1024;

/// The reason why a call to the server failed.
#[derive(Debug, Error)]
pub enum CallError {
    /// The client cannot connect to the server.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The server refused the call.
    #[error("the server refused the request ({status}): {message}{advice}", advice = hint(*.skew))]
    Refused {
        /// HTTP status code.
        status: StatusCode,
        /// PascalCase reason. Empty if the response has none.
        reason: String,
        /// Message of the server, for users.
        message: String,
        /// Difference between the clocks of this machine and the server, if it exceeds a minute.
        skew: Option<ClockSkew>,
    },
    /// The server cannot respond at the moment (429 or 5xx).
    #[error("the server is temporarily unavailable ({status}): {message}")]
    Unavailable {
        /// HTTP status code.
        status: StatusCode,
        /// Message of the server, for users.
        message: String,
    },
    /// The response does not come from a Drover server.
    #[error(
        "{authority} is not a Drover server ({detail}): check the server-url setting and the \
         load balancer of the server"
    )]
    NotDrover {
        /// Host and port of the server.
        authority: String,
        /// The part of the response that shows that the sender is not a Drover server.
        detail: String,
    },
    /// The connection broke, or the server did not respond in time.
    #[error("the server did not respond: {cause}", cause = .0)]
    Broken(String),
}

fn hint(skew: Option<ClockSkew>) -> String {
    skew.map(|skew| format!("; {skew}")).unwrap_or_default()
}

impl CallError {
    /// Returns the PascalCase reason, which is stable across releases.
    pub fn reason(&self) -> &str {
        match self {
            Self::Dial(error) => error.reason(),
            Self::Refused { skew: Some(_), .. } => "ClockSkew",
            Self::Refused { reason, .. } if !reason.is_empty() => reason,
            Self::Refused { .. } => "Refused",
            Self::Unavailable { .. } => "ServerUnavailable",
            Self::NotDrover { .. } => "NotADroverServer",
            Self::Broken(_) => "ServerSilent",
        }
    }

    /// Classifies a response that is not 200 by its status, headers and body.
    pub(crate) fn from_response(
        authority: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Self {
        let Some(answer) = StatusBody::parse(body) else {
            return Self::NotDrover {
                authority: authority.to_owned(),
                detail: format!("the response {status} contains no Status"),
            };
        };
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Self::Unavailable {
                status,
                message: answer.message,
            };
        }
        Self::Refused {
            status,
            reason: answer.reason,
            message: answer.message,
            skew: date(headers).and_then(|theirs| ClockSkew::between(Timestamp::now(), theirs)),
        }
    }
}

/// The fields of a `metav1.Status` that the agent uses.
struct StatusBody {
    reason: String,
    message: String,
}

impl StatusBody {
    fn parse(body: &[u8]) -> Option<Self> {
        let status: serde_json::Value = serde_json::from_slice(body).ok()?;
        if status.get("kind")?.as_str()? != "Status" {
            return None;
        }
        let text = |value: Option<&serde_json::Value>| {
            value
                .and_then(|v| v.as_str())
                .unwrap_or_default()
                .chars()
                .take(MAX_MESSAGE_CHARS)
                .collect()
        };
        // The cause in `details` is more specific than the `reason`, which is a standard Kubernetes
        // reason.
        let cause = status
            .pointer("/details/causes/0/reason")
            .or_else(|| status.get("reason"));
        Some(Self {
            reason: text(cause),
            message: text(status.get("message")),
        })
    }
}

/// Parses the `Date` header (RFC 9110 §5.6.7).
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(text)
        .ok()
        .map(|zoned| zoned.timestamp())
}

impl Server {
    /// Sends JSON with `POST`, and with a bearer token if the caller provides one.
    pub async fn call<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &'static str,
        bearer: Option<&SecretString>,
        body: &Q,
    ) -> Result<A, CallError> {
        let stream = self.dial().await?;
        let authority = self.authority();
        let request = request(&authority, path, bearer, body)?;
        let exchange = async {
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            // The task ends after `sender` and the response are dropped.
            tokio::spawn(connection);
            let (head, body) = sender.send_request(request).await?.into_parts();
            let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
            Ok::<_, hyper::Error>((head, body.map(http_body_util::Collected::to_bytes)))
        };
        let (head, body) = tokio::time::timeout(TIMEOUT, exchange)
            .await
            .map_err(|_| CallError::Broken(format!("no response within {} s", TIMEOUT.as_secs())))?
            .map_err(|error| CallError::Broken(error_chain(&error)))?;
        let not_drover = |detail: &str| CallError::NotDrover {
            authority: authority.clone(),
            detail: detail.to_owned(),
        };
        let body = body.map_err(|_| not_drover("the response is too long or incomplete"))?;
        if head.status != StatusCode::OK {
            return Err(CallError::from_response(
                &authority,
                head.status,
                &head.headers,
                &body,
            ));
        }
        serde_json::from_slice(&body)
            .map_err(|_| not_drover("the response has an unexpected format"))
    }
}

fn request<Q: Serialize>(
    authority: &str,
    path: &'static str,
    bearer: Option<&SecretString>,
    body: &Q,
) -> Result<Request<Full<Bytes>>, CallError> {
    let broken = |detail: &str| CallError::Broken(detail.to_owned());
    let body = serde_json::to_vec(body).map_err(|_| broken("cannot encode the request as JSON"))?;
    let mut request = Request::post(path)
        .header(HOST, authority)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(Full::from(body))
        .map_err(|_| broken("the server's name is not valid in a Host header"))?;
    if let Some(bearer) = bearer {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", bearer.expose_secret()))
            .map_err(|_| broken("the registration token is not valid in a header"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, date: Option<&str>, body: &str) -> CallError {
        let mut headers = HeaderMap::new();
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        CallError::from_response("h:1", status, &headers, body.as_bytes())
    }

    #[test]
    fn error_responses_of_the_server_are_classified_by_status_reason() {
        let said = r#"{"kind":"Status","reason":"Forbidden","message":"no",
            "details":{"causes":[{"reason":"TokenExpired"}]}}"#;
        let plain = r#"{"kind":"Status","reason":"Unauthorized","message":"no"}"#;
        let old = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        for (status, date, body, expected) in [
            (403, None, said, "TokenExpired"),
            (401, None, plain, "Unauthorized"),
            (401, old, plain, "ClockSkew"),
            (503, None, plain, "ServerUnavailable"),
            (429, None, plain, "ServerUnavailable"),
            (404, None, "<html>", "NotADroverServer"),
            (200, None, "{}", "NotADroverServer"),
        ] {
            assert_eq!(
                error(status, date, body).reason(),
                expected,
                "{status} {body}"
            );
        }
        assert!(error(401, old, plain).to_string().contains("ahead of"));
    }

    #[test]
    fn bearer_token_is_sent_only_in_a_header_marked_sensitive() {
        let token = SecretString::from("droverimport_x_y");
        let request = request("h:1", "/v1/agent/register", Some(&token), &()).unwrap();
        assert_eq!(request.uri().to_string(), "/v1/agent/register");
        assert!(request.headers()[AUTHORIZATION].is_sensitive());
        assert!(!format!("{request:?}").contains("droverimport"));
    }
}
