//! One JSON call to the server.

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

use super::{DialError, Server, Skew};

/// Most time from a sent request to a read answer.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Most bytes of an answer.
const MOST_ANSWER: usize = 64 * 1024;
/// Most characters of a server's message that are passed on.
const MOST_MESSAGE: usize = 1024;

/// Why a call brought no answer that can be used.
#[derive(Debug, Error)]
pub enum CallError {
    /// No connection.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The server said no; its own words say why.
    #[error("the server refused ({status}): {message}{}", hint(*.skew))]
    Refused {
        /// Its status.
        status: StatusCode,
        /// PascalCase cause, where the answer has one.
        reason: String,
        /// Its message.
        message: String,
        /// Present when the clocks differ by more than a minute.
        skew: Option<Skew>,
    },
    /// The server cannot answer now.
    #[error("the server cannot answer now ({status}): {message}")]
    Unavailable {
        /// Its status.
        status: StatusCode,
        /// Its message.
        message: String,
    },
    /// What answered is no Drover server.
    #[error(
        "what answers at {authority} is not a Drover server ({what}): check the server-url setting and the load balancer in front of it"
    )]
    NotDrover {
        /// Host and port.
        authority: String,
        /// What was strange.
        what: String,
    },
    /// The connection broke or nothing came.
    #[error("the server did not answer: {0}")]
    Broken(String),
}

fn hint(skew: Option<Skew>) -> String {
    skew.map(|skew| format!("; {skew}")).unwrap_or_default()
}

impl CallError {
    /// PascalCase cause, stable across releases.
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

    /// Sorts a refusal by its status, headers and body.
    pub(crate) fn from_answer(
        authority: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Self {
        let Some(said) = Said::read(body) else {
            return Self::NotDrover {
                authority: authority.to_owned(),
                what: format!("it answered {status} without a Status"),
            };
        };
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Self::Unavailable {
                status,
                message: said.message,
            };
        }
        Self::Refused {
            status,
            reason: said.reason,
            message: said.message,
            skew: date(headers).and_then(|theirs| Skew::between(Timestamp::now(), theirs)),
        }
    }
}

/// What matters of a `metav1.Status`.
struct Said {
    reason: String,
    message: String,
}

impl Said {
    fn read(body: &[u8]) -> Option<Self> {
        let status: serde_json::Value = serde_json::from_slice(body).ok()?;
        if status.get("kind")?.as_str()? != "Status" {
            return None;
        }
        let text = |value: Option<&serde_json::Value>| {
            value
                .and_then(|v| v.as_str())
                .unwrap_or_default()
                .chars()
                .take(MOST_MESSAGE)
                .collect()
        };
        // The cause inside `details` is finer than the reason, which is one of Kubernetes' own.
        let cause = status
            .pointer("/details/causes/0/reason")
            .or_else(|| status.get("reason"));
        Some(Self {
            reason: text(cause),
            message: text(status.get("message")),
        })
    }
}

/// An HTTP date (RFC 9110 §5.6.7).
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(text)
        .ok()
        .map(|zoned| zoned.timestamp())
}

impl Server {
    /// `POST`s JSON, with a bearer where one is given.
    pub async fn call<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &'static str,
        bearer: Option<&SecretString>,
        body: &Q,
    ) -> Result<A, CallError> {
        let stream = self.dial().await?;
        let authority = self.binding().authority();
        let request = request(&authority, path, bearer, body)?;
        let exchange = async {
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            // Ends by itself when `sender` and the answer are gone.
            tokio::spawn(connection);
            let (head, body) = sender.send_request(request).await?.into_parts();
            let body = Limited::new(body, MOST_ANSWER).collect().await;
            Ok::<_, hyper::Error>((head, body.map(http_body_util::Collected::to_bytes)))
        };
        let (head, body) = tokio::time::timeout(TIMEOUT, exchange)
            .await
            .map_err(|_| CallError::Broken(format!("nothing within {} s", TIMEOUT.as_secs())))?
            .map_err(|error| CallError::Broken(crate::upstream::chain(&error)))?;
        let not_drover = |what: &str| CallError::NotDrover {
            authority: authority.clone(),
            what: what.to_owned(),
        };
        let body = body.map_err(|_| not_drover("its answer is too long or broke off"))?;
        if head.status != StatusCode::OK {
            return Err(CallError::from_answer(
                &authority,
                head.status,
                &head.headers,
                &body,
            ));
        }
        serde_json::from_slice(&body).map_err(|_| not_drover("its answer is of another form"))
    }
}

fn request<Q: Serialize>(
    authority: &str,
    path: &'static str,
    bearer: Option<&SecretString>,
    body: &Q,
) -> Result<Request<Full<Bytes>>, CallError> {
    let broken = |what: &str| CallError::Broken(what.to_owned());
    let body = serde_json::to_vec(body).map_err(|_| broken("the request has no JSON form"))?;
    let mut request = Request::post(path)
        .header(HOST, authority)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(Full::from(body))
        .map_err(|_| broken("the server's name cannot stand in a Host header"))?;
    if let Some(bearer) = bearer {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", bearer.expose_secret()))
            .map_err(|_| broken("the registration token cannot stand in a header"))?;
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
        CallError::from_answer("h:1", status, &headers, body.as_bytes())
    }

    #[test]
    fn answers_are_told_apart_by_reason() {
        let said = r#"{"kind":"Status","reason":"Forbidden","message":"no",
            "details":{"causes":[{"reason":"TokenExpired"}]}}"#;
        let plain = r#"{"kind":"Status","reason":"Unauthorized","message":"no"}"#;
        let old = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        for (status, date, body, wanted) in [
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
                wanted,
                "{status} {body}"
            );
        }
        assert!(error(401, old, plain).to_string().contains("ahead of"));
    }

    #[test]
    fn a_bearer_is_in_one_sensitive_header_and_nowhere_else() {
        let token = SecretString::from("droverimport_x_y");
        let request = request("h:1", "/v1/agent/register", Some(&token), &()).unwrap();
        assert_eq!(request.uri().to_string(), "/v1/agent/register");
        assert!(request.headers()[AUTHORIZATION].is_sensitive());
        assert!(!format!("{request:?}").contains("droverimport"));
    }
}
