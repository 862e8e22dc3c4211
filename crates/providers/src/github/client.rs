//! Requests to a GitHub: each with a limit of time and of size, and nowhere else.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use super::endpoints::Endpoints;
use super::verdict::{self, Verdict};
use crate::ProviderError;
use crate::http::{self, MOST_BYTES};

/// The version that these requests are written for; github.com keeps it until March 2028 at least,
/// and Enterprise Servers of 2023 know it. Without it, an answer is of whatever version is the first
/// that is kept.
const API_VERSION: &str = "2022-11-28";

/// How long a GitHub may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For one answer, to its last byte.
    pub request: Duration,
    /// For all that one question to this library asks of it: some answers have many pages.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            whole: Duration::from_secs(30),
        }
    }
}

/// Asks one GitHub.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    pub(super) endpoints: Endpoints,
    whole: Duration,
}

/// What it answered. Not for logs: it may hold a token.
pub(super) struct Answer {
    /// HTTP status code.
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// At most 1 MiB.
    pub(super) body: Vec<u8>,
}

/// What became of reading something.
pub(super) enum Got {
    Answer(Answer),
    /// An organization keeps it back from Drover.
    Withheld,
    /// The person may not know of it, or it is not there.
    Absent,
}

impl Client {
    /// A client that believes the authorities in `ca_bundle` (PEM), or else the system's.
    pub(super) fn new(
        endpoints: Endpoints,
        ca_bundle: Option<&str>,
        patience: Timeouts,
    ) -> Result<Self, ProviderError> {
        let misconfigured = |problem: String| ProviderError::Misconfigured {
            field: "github.caBundle",
            problem,
        };
        let authorities = ca_bundle.map(|bundle| {
            http::authorities(bundle).ok_or_else(|| {
                misconfigured(
                    "it holds no certificate in PEM form: give the authority's, which begins with \
                     -----BEGIN CERTIFICATE-----"
                        .to_owned(),
                )
            })
        });
        let builder = http::client(authorities.transpose()?, patience.request);
        let http = builder.build().map_err(|error| {
            misconfigured(match ca_bundle {
                Some(_) => format!("its certificates cannot be authorities ({error})"),
                None => format!(
                    "this system has no authorities for certificates ({error}): give those of \
                     {} here",
                    endpoints.name()
                ),
            })
        })?;
        Ok(Self {
            http,
            endpoints,
            whole: patience.whole,
        })
    }

    /// Gives one question to this library its time; `what` completes "could not …".
    pub(super) async fn within_patience<T>(
        &self,
        what: &str,
        asked: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        tokio::time::timeout(self.whole, asked)
            .await
            .unwrap_or_else(|elapsed| Err(self.unavailable(what, elapsed)))
    }

    /// A request to its API, as whom is for the caller to add.
    pub(super) fn rest(&self, method: Method, url: Url) -> RequestBuilder {
        self.http
            .request(method, url)
            .header(ACCEPT, "application/vnd.github+json")
            .header("X-GitHub-Api-Version", API_VERSION)
    }

    /// A form for its pages that programs answer with JSON, if they are asked for it.
    pub(super) fn form(&self, url: Url, fields: &[(&str, &str)]) -> RequestBuilder {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        self.http
            .post(url)
            .header(ACCEPT, "application/json")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.finish())
    }

    /// Sends a request and reads the whole answer; whatever its status says, it is one.
    pub(super) async fn send(
        &self,
        what: &str,
        request: RequestBuilder,
    ) -> Result<Answer, ProviderError> {
        let failed = |error: reqwest::Error| self.unavailable(what, error.without_url());
        let mut response = request.send().await.map_err(failed)?;
        let body = http::body(&mut response).await.map_err(failed)?;
        let body = body
            .ok_or_else(|| self.invalid_response(format!("it has more than {MOST_BYTES} bytes")))?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        })
    }

    /// Reads something of the API as the person whose token it is.
    pub(super) async fn get(
        &self,
        what: &str,
        url: Url,
        token: &SecretString,
        now: Timestamp,
    ) -> Result<Got, ProviderError> {
        let request = self.rest(Method::GET, url);
        let request = request.bearer_auth(token.expose_secret());
        let answer = self.send(what, request).await?;
        match verdict::of(&answer, now) {
            Verdict::Answered => Ok(Got::Answer(answer)),
            Verdict::Withheld => Ok(Got::Withheld),
            Verdict::Absent => Ok(Got::Absent),
            Verdict::Refused(refusal) => Err(ProviderError::Refused(refusal)),
            Verdict::TemporaryFailure(not_now) => Err(self.unavailable(what, not_now)),
            Verdict::Strange(problem) => Err(self.invalid_response(problem)),
        }
    }

    /// Understands an answer.
    pub(super) fn parse<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, ProviderError> {
        // The decoder's own words may quote the answer.
        serde_json::from_slice(&answer.body).map_err(|error| {
            self.invalid_response(format!(
                "it is not what the REST API answers (line {}, column {})",
                error.line(),
                error.column()
            ))
        })
    }

    pub(super) fn unavailable(
        &self,
        what: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ProviderError {
        ProviderError::Unavailable {
            provider: self.endpoints.name(),
            what: what.to_owned(),
            source: source.into(),
        }
    }

    pub(super) fn invalid_response(&self, problem: impl Into<String>) -> ProviderError {
        ProviderError::InvalidResponse {
            provider: self.endpoints.name(),
            problem: problem.into(),
        }
    }
}
