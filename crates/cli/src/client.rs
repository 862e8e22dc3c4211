//! The client of the server's REST API.

mod stream;

use std::error::Error;
use std::io;
use std::time::Duration;

use drover_api::rest::{List, Secret};
use drover_tls::presented::{CertificateRecorder, Handshake};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use reqwest::{Method, Url, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::args::ServerUrl;
use crate::trust::{PresentedCertificates, Trust, TrustError};
pub(crate) use stream::{Call, ResponseStream, WebSockets};

/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// Number of items in one page of a list.
const PAGE: &str = "500";
/// Timeout of the TCP and TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The error of a request.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server returned an error status.
    #[error("{0}")]
    Refused(Refusal),
    /// The response is not from a Drover server.
    #[error(
        "{server} is not a Drover server: the response has status {code} and an unknown body; \
         check the address"
    )]
    NotDrover {
        /// Address of the server.
        server: String,
        /// HTTP status code.
        code: u16,
    },
    /// The response cannot be parsed.
    #[error(
        "cannot parse the response of {server}: {reason}; compare the versions with `drover version`"
    )]
    Unreadable {
        /// Address of the server.
        server: String,
        /// Position of the error in the response.
        reason: String,
    },
    /// The connection failed.
    #[error(
        "cannot connect to {server}: {reason}\nCheck the address, the state of the server \
         and the firewalls."
    )]
    Unreachable {
        /// Address of the server.
        server: String,
        /// Text of the innermost error.
        reason: String,
    },
    /// The request timed out.
    #[error("the request to {server} timed out; try again, or increase --request-timeout")]
    Timeout {
        /// Address of the server.
        server: String,
    },
    /// A response began, but its next part did not arrive.
    #[error(
        "the response of {server} stopped: no data arrived for {seconds} s; check the cluster, and \
         try again"
    )]
    Stalled {
        /// Address of the server.
        server: String,
        /// Time without data in seconds.
        seconds: u64,
    },
    /// The certificate of the server is not trusted.
    #[error(
        "the certificate of {server} is not trusted: {reason}\nTo check and confirm the \
         certificate authority of the server, log in again: drover login {address}",
        address = drover_api::shell::word(server)
    )]
    Untrusted {
        /// Address of the server.
        server: String,
        /// Error of the certificate verification.
        reason: String,
    },
    /// The TLS client cannot be created.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

/// An error status (`metav1.Status`) of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status code.
    pub code: u16,
    /// Kubernetes reason, such as `NotFound` or `AlreadyExists`.
    pub reason: String,
    /// Message of the server.
    pub message: String,
    /// Recommended next step. `None` if the client has no recommendation for this error status.
    pub advice: Option<String>,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match &self.advice {
            Some(advice) => write!(f, "\n{advice}"),
            None => Ok(()),
        }
    }
}

impl CallError {
    /// Returns the exit code. `drover --help` documents the exit codes.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(Refusal { code: 401, .. }) => 3,
            Self::Refused(Refusal { code: 403, .. }) => 4,
            Self::Refused(Refusal { code: 404, .. }) => 5,
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Stalled { .. }
            | Self::Untrusted { .. }
            | Self::Trust(_) => 6,
            Self::Refused(_) | Self::NotDrover { .. } | Self::Unreadable { .. } => 1,
        }
    }

    /// Returns the `metav1.Status` of an error response. Returns `None` for all other errors.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Reports whether the API of a cluster does not exist. API servers respond to requests for an
    /// unknown API with the text `404 page not found`.
    pub(crate) const fn is_unknown_api(&self) -> bool {
        matches!(self, Self::NotDrover { code: 404, .. })
    }

    /// Reports whether a retry of the request can succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.code == 429 || refusal.code >= 500,
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Stalled { .. }
            | Self::NotDrover { code: 500.., .. } => true,
            _ => false,
        }
    }
}

/// An HTTP client of one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    server: ServerUrl,
    token: Option<Secret>,
    timeout: Duration,
}

impl Client {
    /// Creates a client. `timeout` limits each request.
    pub(crate) fn new(
        server: ServerUrl,
        trust: &Trust,
        token: Option<Secret>,
        timeout: Duration,
    ) -> Result<Self, CallError> {
        // Streams, such as watches, have no timeout for the complete response.
        let builder = builder(timeout);
        let builder = match trust {
            Trust::SystemRoots => builder,
            Trust::Authorities(authorities) => {
                builder.tls_backend_preconfigured(authorities.tls()?)
            }
        };
        let http = builder.build().map_err(|error| CallError::Untrusted {
            server: server.to_string(),
            reason: innermost(&error),
        })?;
        Ok(Self {
            http,
            server,
            token,
            timeout,
        })
    }

    /// Returns the address of the server.
    pub(crate) fn server(&self) -> &ServerUrl {
        &self.server
    }

    /// Returns a client of the same server with a different token.
    #[must_use]
    pub(crate) fn with_token(&self, token: Secret) -> Self {
        Self {
            token: Some(token),
            ..self.clone()
        }
    }

    /// Sends a `GET` request. `path` contains the unescaped segments.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, CallError> {
        self.read(self.send(Method::GET, self.url(path), None::<&()>).await?)
    }

    /// Sends a `POST` request with a body.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.read(self.send(Method::POST, self.url(path), Some(body)).await?)
    }

    /// Sends a request whose response has a body.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: &(impl Serialize + Sync),
    ) -> Result<T, CallError> {
        self.read(self.send(method, self.url(path), Some(body)).await?)
    }

    /// Sends a request whose response has no body.
    pub(crate) async fn command(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<(), CallError> {
        self.send(method, self.url(path), body).await.map(drop)
    }

    /// Sends a `GET` request with query parameters.
    pub(crate) async fn get_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, CallError> {
        let mut url = self.url(path);
        url.query_pairs_mut().extend_pairs(query);
        self.read(self.send(Method::GET, url, None::<&()>).await?)
    }

    /// Requests all pages of a list.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        path: &[&str],
    ) -> Result<Vec<T>, CallError> {
        self.list_with(path, &[]).await
    }

    /// Requests all pages of a list with query parameters.
    pub(crate) async fn list_with<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, CallError> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut url = self.url(path);
            url.query_pairs_mut()
                .extend_pairs(query)
                .append_pair("limit", PAGE);
            if let Some(next) = &next {
                url.query_pairs_mut().append_pair("continue", next);
            }
            let page: List<T> = self.read(self.send(Method::GET, url, None::<&()>).await?)?;
            let empty = page.items.is_empty();
            items.extend(page.items);
            match page.continue_token {
                None => return Ok(items),
                Some(token) if empty || next.as_ref() == Some(&token) => {
                    return Err(self.unreadable(format!("the list has no page after {token:?}")));
                }
                Some(token) => next = Some(token),
            }
        }
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.server.join("/");
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        url
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<Vec<u8>, CallError> {
        let mut request = self.request(method, url).timeout(self.timeout);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|e| self.request_error(&e))?;
        self.body(response).await
    }

    /// Returns a request with the token, and without a timeout.
    fn request(&self, method: Method, url: Url) -> reqwest::RequestBuilder {
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    /// Reads the body of a response. Returns an error if the status is an error status.
    async fn body(&self, mut response: reqwest::Response) -> Result<Vec<u8>, CallError> {
        let code = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| self.request_error(&e))? {
            if body.len() + chunk.len() > MAX_RESPONSE_BYTES {
                return Err(self.unreadable(format!("longer than {MAX_RESPONSE_BYTES} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        if code.is_success() {
            Ok(body)
        } else {
            Err(self.refused(code.as_u16(), &body))
        }
    }

    fn read<T: DeserializeOwned>(&self, body: Vec<u8>) -> Result<T, CallError> {
        // The message of the decoder can quote the response, which can contain a secret. Return the
        // position only.
        let result = serde_json::from_slice(&body);
        drop(body);
        result.map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.unreadable(format!("line {line}, column {column}"))
        })
    }

    fn refused(&self, code: u16, body: &[u8]) -> CallError {
        let status = serde_json::from_slice::<Status>(body).ok();
        let status =
            status.and_then(|status| Some((status.message?, status.reason, status.details)));
        let Some((message, reason, details)) = status else {
            return CallError::NotDrover {
                server: self.server.to_string(),
                code,
            };
        };
        let wait = details.and_then(|details| details.retry_after_seconds);
        let advice = match (code, &self.token, wait) {
            (401, Some(_), _) => Some(format!("Log in again: {}", self.server.login_command())),
            (429 | 503, _, Some(seconds)) => Some(format!("Try again in {seconds} s.")),
            _ => None,
        };
        CallError::Refused(Refusal {
            code,
            reason: reason.unwrap_or_default(),
            message,
            advice,
        })
    }

    fn unreadable(&self, reason: String) -> CallError {
        CallError::Unreadable {
            server: self.server.to_string(),
            reason,
        }
    }

    fn request_error(&self, error: &reqwest::Error) -> CallError {
        let server = self.server.to_string();
        if let Some(problem) = certificate_problem(error) {
            return CallError::Untrusted {
                server,
                reason: problem,
            };
        }
        if error.is_timeout() {
            return CallError::Timeout { server };
        }
        CallError::Unreachable {
            server,
            reason: innermost(error),
        }
    }
}

/// Returns the certificates that the server presents in the TLS handshake. Sends no HTTP request.
pub(crate) async fn presented_certificates(
    server: &ServerUrl,
    timeout: Duration,
) -> Result<PresentedCertificates, CallError> {
    let (recorder, tls) = CertificateRecorder::new(Handshake::Fails).map_err(TrustError::from)?;
    let unreachable = |error: &reqwest::Error| CallError::Unreachable {
        server: server.to_string(),
        reason: innermost(error),
    };
    let http = builder(timeout)
        .timeout(timeout)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| unreachable(&error))?;
    let result = http.get(server.join("/v1/version")).send().await;
    match (recorder.certificates(), result) {
        (Some(certificates), _) => Ok(certificates.into()),
        (None, Err(error)) => Err(unreachable(&error)),
        (None, Ok(response)) => Err(CallError::NotDrover {
            server: server.to_string(),
            code: response.status().as_u16(),
        }),
    }
}

fn builder(timeout: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .https_only(true)
        // A redirect could send the token to another server. Drover servers send no redirects.
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT.min(timeout))
        .user_agent(concat!("drover/", env!("CARGO_PKG_VERSION")))
}

/// Iterates over an error and its sources. Includes the sources that `io::Error` exposes only by
/// `get_ref`.
pub(crate) fn error_chain<'a>(
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

fn certificate_problem(error: &reqwest::Error) -> Option<String> {
    error_chain(error).find_map(|error| match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(problem)) => Some(problem.to_string()),
        _ => None,
    })
}

fn innermost(error: &reqwest::Error) -> String {
    // The outer errors only repeat the URL, so use the innermost error.
    error_chain(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}
