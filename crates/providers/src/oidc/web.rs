//! Requests to a provider: bounded in time and size, and never sent on to anybody else.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, RequestBuilder, StatusCode};
use rustls::CertificateError;

use super::issuer::Issuer;
use crate::ProviderError;
use crate::http;

/// How long one request may take, from its connection to the last byte of its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What a provider answered: anything but that it cannot now, and but a redirect.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// Its media type, without parameters.
    pub(super) fn media_type(&self) -> Option<&str> {
        let value = self.headers.get(CONTENT_TYPE)?.to_str().ok()?;
        value.split(';').next().map(str::trim)
    }
}

/// A client of one provider.
#[derive(Clone, Debug)]
pub(super) struct Web {
    pub(super) client: Client,
    issuer: Issuer,
}

impl Web {
    /// A client that believes the authorities of `ca_bundle` only, or the system's.
    pub(super) fn new(issuer: Issuer, ca_bundle: Option<&str>) -> Result<Self, ProviderError> {
        let misconfigured = |problem: String| ProviderError::Misconfigured {
            field: "oidc.caBundle",
            problem,
        };
        let authorities = ca_bundle.map(|bundle| {
            http::authorities(bundle)
                .ok_or_else(|| misconfigured("holds no certificates: write them as PEM".to_owned()))
        });
        let builder = http::client(authorities.transpose()?, PATIENCE);
        let client = builder.build().map_err(|error| {
            let problem = innermost(&error);
            misconfigured(format!(
                "no TLS client can be made with it ({problem}): name the authority of the \
                 provider's certificate, as PEM"
            ))
        })?;
        Ok(Self { client, issuer })
    }

    /// Sends a request; `what` completes "could not …".
    ///
    /// `Unavailable` if it cannot be sent, is not answered in time, or with 408, 429 or 5xx;
    /// `InvalidResponse` for a redirect and for an answer that is too long.
    pub(super) async fn send(
        &self,
        what: &str,
        request: RequestBuilder,
    ) -> Result<Answer, ProviderError> {
        let request = request.header(ACCEPT, "application/json");
        let mut response = request
            .send()
            .await
            .map_err(|error| self.unsent(what, error))?;
        let status = response.status();
        if status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::REQUEST_TIMEOUT
        {
            return Err(self.unavailable(what, format!("it answered {status}").into()));
        }
        if status.is_redirection() {
            let problem = format!("it redirects where Drover would {what}");
            return Err(self.invalid_response(&problem));
        }
        let headers = response.headers().clone();
        let body = http::body(&mut response).await;
        let body = body
            .map_err(|error| self.unsent(what, error))?
            .ok_or_else(|| self.invalid_response("its answer is longer than 1 MiB"))?;
        Ok(Answer {
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
        what: &str,
        source: Box<dyn Error + Send + Sync>,
    ) -> ProviderError {
        ProviderError::Unavailable {
            provider: self.issuer.to_string(),
            what: what.to_owned(),
            source,
        }
    }

    /// An impostor's certificate, too, takes nothing from anybody: whoever stands between could
    /// else end all sign-ins.
    fn unsent(&self, what: &str, error: reqwest::Error) -> ProviderError {
        let untrusted = below(&error).any(|error| {
            matches!(
                error.downcast_ref(),
                Some(rustls::Error::InvalidCertificate(
                    // The latter where another authority has the same name.
                    CertificateError::UnknownIssuer | CertificateError::BadSignature
                ))
            )
        });
        let advice = if untrusted {
            ": put the authority of its certificate into oidc.caBundle"
        } else {
            ""
        };
        // The address is no secret, but a long one, and `provider` says it.
        self.unavailable(&format!("{what}{advice}"), error.without_url().into())
    }
}

/// Every error below the given one; `io::Error` hides one that only `get_ref` shows.
fn below<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            .map(|inner| inner as &(dyn Error + 'static))
            .or_else(move || error.source())
    })
}

fn innermost(error: &reqwest::Error) -> String {
    below(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}
