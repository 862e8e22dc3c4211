//! HTTP client for one OpenID provider. Applies timeouts and a maximum response size, and does not
//! follow redirects.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, StatusCode};
use rustls::CertificateError;

use super::issuer::Issuer;
use crate::ProviderError;
use crate::http;

/// Timeout of one request, from connecting to the last byte of the response.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A response that is neither a redirect nor a temporary failure (408, 429, 5xx).
#[derive(Debug)]
pub(super) struct ProviderResponse {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl ProviderResponse {
    /// Returns the media type without parameters.
    pub(super) fn media_type(&self) -> Option<&str> {
        let value = self.headers.get(CONTENT_TYPE)?.to_str().ok()?;
        value.split(';').next().map(str::trim)
    }
}

/// HTTP client for one provider.
#[derive(Clone, Debug)]
pub(super) struct Web {
    pub(super) client: Client,
    issuer: Issuer,
}

impl Web {
    /// Creates a client that trusts only the certificate authorities of `ca_bundle`. If `ca_bundle`
    /// is `None`, the client trusts the system's certificate authorities.
    pub(super) fn new(issuer: Issuer, ca_bundle: Option<&str>) -> Result<Self, ProviderError> {
        let misconfigured = |problem: String| ProviderError::Misconfigured {
            field: "oidc.caBundle",
            problem,
        };
        let authorities = ca_bundle.map(|bundle| {
            http::authorities(bundle)
                .ok_or_else(|| misconfigured("contains no certificates in PEM format".to_owned()))
        });
        let builder = http::client(authorities.transpose()?, REQUEST_TIMEOUT);
        let client = builder.build().map_err(|error| {
            let problem = innermost(&error);
            misconfigured(format!(
                "cannot create a TLS client with these certificates ({problem}): enter the authority \
                 of the provider's certificate in PEM format"
            ))
        })?;
        Ok(Self { client, issuer })
    }

    /// Sends a request. `action` names the action in error messages, for example `fetch the keys` in
    /// "cannot fetch the keys".
    ///
    /// Returns `Unavailable` if the request fails, times out, or receives status 408, 429 or 5xx.
    /// Returns `InvalidResponse` for a redirect and for a response that is too long.
    pub(super) async fn send(
        &self,
        action: &str,
        request: RequestBuilder,
    ) -> Result<ProviderResponse, ProviderError> {
        let request = request.header(ACCEPT, "application/json");
        let mut response = request
            .send()
            .await
            .map_err(|error| self.transport_error(action, error))?;
        let status = response.status();
        if status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT
        {
            return Err(self.unavailable(action, format!("the provider returned {status}").into()));
        }
        if status.is_redirection() {
            let problem = format!("cannot {action}: the provider sent a redirect");
            return Err(self.invalid_response(&problem));
        }
        let headers = response.headers().clone();
        let body = http::body(&mut response).await;
        let body = body
            .map_err(|error| self.transport_error(action, error))?
            .ok_or_else(|| self.invalid_response("the response is longer than 1 MiB"))?;
        Ok(ProviderResponse {
            status,
            headers,
            body,
        })
    }

    pub(super) fn invalid_response(&self, problem: &str) -> ProviderError {
        ProviderError::InvalidResponse {
            provider: self.issuer.to_string(),
            problem: problem.to_owned(),
        }
    }

    pub(super) fn unavailable(
        &self,
        action: &str,
        source: Box<dyn Error + Send + Sync>,
    ) -> ProviderError {
        ProviderError::Unavailable {
            provider: self.issuer.to_string(),
            action: action.to_owned(),
            source,
        }
    }

    /// Maps a transport error to `Unavailable`. An untrusted certificate also maps to
    /// `Unavailable`: an attacker on the network must not be able to end sessions.
    fn transport_error(&self, action: &str, error: reqwest::Error) -> ProviderError {
        let untrusted = error_chain(&error).any(|error| {
            matches!(
                error.downcast_ref(),
                Some(rustls::Error::InvalidCertificate(
                    // BadSignature occurs if another authority has the same name.
                    CertificateError::UnknownIssuer | CertificateError::BadSignature
                ))
            )
        });
        let advice = if untrusted {
            ": add the authority of the provider's certificate to oidc.caBundle"
        } else {
            ""
        };
        // The URL is omitted because `provider` names the server.
        self.unavailable(&format!("{action}{advice}"), error.without_url().into())
    }
}

/// Iterates over an error and its sources. `io::Error` exposes its inner error only through
/// `get_ref`.
fn error_chain<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(move || error.source())
    })
}

fn innermost(error: &reqwest::Error) -> String {
    error_chain(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}
