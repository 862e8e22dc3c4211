//! HTTP client for one GitHub server, with timeouts and a maximum response size.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ACCEPT, HeaderMap};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use super::classification::{self, Classification};
use super::endpoints::Endpoints;
use crate::ProviderError;
use crate::http::{self, MAX_BYTES};

/// REST API version of the requests. Enterprise Servers support the version since 2023. github.com
/// supports the version until at least March 2028. Without this header, GitHub uses the oldest
/// version that it supports.
const API_VERSION: &str = "2022-11-28";

/// Timeouts of requests to GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout of a request, until the last byte of the response.
    pub request: Duration,
    /// Timeout of an operation. An operation can consist of requests for many pages.
    pub operation: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            operation: Duration::from_secs(30),
        }
    }
}

/// HTTP client for one GitHub server.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    pub(super) endpoints: Endpoints,
    operation: Duration,
}

/// A response. Callers must not log the response, because it may contain a token.
pub(super) struct GithubResponse {
    /// HTTP status code.
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// Response body, at most 1 MiB.
    pub(super) body: Vec<u8>,
}

/// Result of reading a resource.
pub(super) enum ReadResult {
    Response(GithubResponse),
    /// The rules of an organization hide the resource from Drover.
    HiddenByOrganization,
    /// The resource does not exist, or the user cannot see the resource.
    Absent,
}

impl Client {
    /// Creates a client that trusts only the certificate authorities of `ca_bundle` (PEM). Without
    /// `ca_bundle`, the client trusts the certificate authorities of the system.
    pub(super) fn new(
        endpoints: Endpoints,
        ca_bundle: Option<&str>,
        timeouts: Timeouts,
    ) -> Result<Self, ProviderError> {
        let misconfigured = |problem: String| ProviderError::Misconfigured {
            field: "github.caBundle",
            problem,
        };
        let authorities = ca_bundle.map(|bundle| {
            http::authorities(bundle).ok_or_else(|| {
                misconfigured(
                    "the bundle contains no PEM certificate: enter the certificate of the authority, which begins with \
                     -----BEGIN CERTIFICATE-----"
                        .to_owned(),
                )
            })
        });
        let builder = http::client(authorities.transpose()?, timeouts.request);
        let http = builder.build().map_err(|error| {
            misconfigured(match ca_bundle {
                Some(_) => format!("the certificates are not certificate authorities ({error})"),
                None => format!(
                    "the system has no certificate authorities ({error}): enter those of \
                     {}",
                    endpoints.name()
                ),
            })
        })?;
        Ok(Self {
            http,
            endpoints,
            operation: timeouts.operation,
        })
    }

    /// Runs a future with the timeout of an operation. `action` is an infinitive that completes
    /// "cannot …".
    pub(super) async fn with_timeout<T>(
        &self,
        action: &str,
        future: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        tokio::time::timeout(self.operation, future)
            .await
            .unwrap_or_else(|elapsed| Err(self.unavailable(action, elapsed)))
    }

    /// Builds a REST API request. The caller adds the credentials.
    pub(super) fn rest(&self, method: Method, url: Url) -> RequestBuilder {
        self.http
            .request(method, url)
            .header(ACCEPT, "application/vnd.github+json")
            .header("X-GitHub-Api-Version", API_VERSION)
    }

    /// Builds a form request to a web page that returns JSON.
    pub(super) fn form(&self, url: Url, fields: &[(&str, &str)]) -> RequestBuilder {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        self.http
            .post(url)
            .header(ACCEPT, "application/json")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.finish())
    }

    /// Sends a request and reads the complete response with any status.
    pub(super) async fn send(
        &self,
        action: &str,
        request: RequestBuilder,
    ) -> Result<GithubResponse, ProviderError> {
        let failed = |error: reqwest::Error| self.unavailable(action, error.without_url());
        let mut response = request.send().await.map_err(failed)?;
        let body = http::body(&mut response).await.map_err(failed)?;
        let body = body.ok_or_else(|| {
            self.invalid_response(format!("the response has more than {MAX_BYTES} bytes"))
        })?;
        Ok(GithubResponse {
            status: response.status().as_u16(),
            headers: std::mem::take(response.headers_mut()),
            body,
        })
    }

    /// Reads a REST API resource as the user of the token.
    pub(super) async fn get(
        &self,
        action: &str,
        url: Url,
        token: &SecretString,
        now: Timestamp,
    ) -> Result<ReadResult, ProviderError> {
        let request = self.rest(Method::GET, url);
        let request = request.bearer_auth(token.expose_secret());
        let answer = self.send(action, request).await?;
        match classification::of(&answer, now) {
            Classification::Success => Ok(ReadResult::Response(answer)),
            Classification::HiddenByOrganization => Ok(ReadResult::HiddenByOrganization),
            Classification::Absent => Ok(ReadResult::Absent),
            Classification::Refused(refusal) => Err(ProviderError::Refused(refusal)),
            Classification::TemporaryFailure(not_now) => Err(self.unavailable(action, not_now)),
            Classification::Unexpected(problem) => Err(self.invalid_response(problem)),
        }
    }

    /// Parses a JSON response.
    pub(super) fn parse<T: DeserializeOwned>(
        &self,
        answer: &GithubResponse,
    ) -> Result<T, ProviderError> {
        // The decoder's own message may quote the response.
        serde_json::from_slice(&answer.body).map_err(|error| {
            self.invalid_response(format!(
                "the response does not match the REST API (line {}, column {})",
                error.line(),
                error.column()
            ))
        })
    }

    pub(super) fn unavailable(
        &self,
        action: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> ProviderError {
        ProviderError::Unavailable {
            provider: self.endpoints.name(),
            action: action.to_owned(),
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
