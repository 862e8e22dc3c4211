//! A compared server, and the client that sends requests to the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::script::{Body, Caller, Request};
use super::substitute::{self, Variables};
use crate::error::with_causes;
use crate::pki::KeyedCertificate;

/// Timeout of a response of the compared server.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(40);
/// Delay before a read request is repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The reason why a client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The PEM text of the certificates cannot be parsed.
    #[error("cannot read the certificates for {side}")]
    Certificates {
        /// Name of the server in the comparison.
        side: &'static str,
        /// Error of the PEM parser.
        source: rustls::pki_types::pem::Error,
    },
    /// rustls rejects the certificates.
    #[error("cannot use the certificates for {side}")]
    Tls {
        /// Name of the server in the comparison.
        side: &'static str,
        /// Error of rustls.
        source: rustls::Error,
    },
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client for {side}")]
    Client {
        /// Name of the server in the comparison.
        side: &'static str,
        /// Error of the HTTP client.
        source: reqwest::Error,
    },
}

/// The credential of the administrator of a compared server.
#[derive(Clone)]
pub enum Credential {
    /// A bearer token. The client sends the token over plain HTTP on this machine.
    Token(String),
    /// A client certificate with its key, and the certificate authority of the server.
    Certificate {
        /// The certificate authority of the server, as PEM.
        ca: String,
        /// The client certificate and key of the administrator.
        client: KeyedCertificate,
    },
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate { .. } => "Certificate",
        })
    }
}

/// A server in the conformance test. The test compares its responses with the responses of a second
/// server.
#[derive(Debug)]
pub struct Side {
    pub(super) name: &'static str,
    base: String,
    /// HTTP client of the administrator. Uses the administrator's certificate if the credential is
    /// a certificate.
    admin: reqwest::Client,
    /// HTTP client without a client certificate.
    stranger: reqwest::Client,
    token: Option<String>,
}

impl Side {
    /// Creates a client for the server at `base`, a URL without a trailing slash.
    pub fn new(name: &'static str, base: &str, credential: Credential) -> Result<Self, SideError> {
        let (admin, stranger, token) = match credential {
            Credential::Token(token) => (client(name, None)?, client(name, None)?, Some(token)),
            Credential::Certificate { ca, client: own } => (
                client(name, Some(tls(name, &ca, Some(&own))?))?,
                client(name, Some(tls(name, &ca, None)?))?,
                None,
            ),
        };
        Ok(Self {
            name,
            base: base.to_owned(),
            admin,
            stranger,
            token,
        })
    }

    /// Returns the host and the port of the server's URL.
    pub(super) fn host(&self) -> &str {
        self.base
            .split_once("//")
            .map_or(self.base.as_str(), |(_, host)| host)
    }

    /// Sends a request of a script. Returns the response as soon as its head has arrived.
    pub(super) async fn send(
        &self,
        request: &Request,
        variables: &Variables,
    ) -> Result<reqwest::Response, String> {
        let path = substitute::text(&request.path, variables)?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| format!("{} is no method", request.method))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let name: HeaderName = name.parse().map_err(|_| format!("{name} is no header"))?;
            let value = substitute::text(value, variables)?;
            // Each line of a value is a separate header.
            for line in value.lines() {
                let line: HeaderValue =
                    line.parse().map_err(|_| format!("{line:?} in a header"))?;
                headers.append(name.clone(), line);
            }
        }
        let client = self.identify(&request.caller, variables, &mut headers)?;
        let mut built = client
            .request(method, format!("{}{path}", self.base))
            .headers(headers);
        match &request.body {
            Body::None => {}
            Body::Document(document) => {
                built = built.body(substitute::document(document, variables)?.to_string());
            }
            Body::Text(text) => built = built.body(substitute::text(text, variables)?),
        }
        tokio::time::timeout(RESPONSE_TIMEOUT, read_when_ready(built))
            .await
            .map_err(|_| format!("no response within {} s", RESPONSE_TIMEOUT.as_secs()))?
    }

    /// Adds the credential of the caller to the headers of a request. Returns the HTTP client for
    /// the caller.
    fn identify(
        &self,
        caller: &Caller,
        variables: &Variables,
        headers: &mut HeaderMap,
    ) -> Result<&reqwest::Client, String> {
        let bearer = |token: &str| {
            HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                "the token contains characters that a header cannot contain".to_owned()
            })
        };
        match caller {
            Caller::Nobody => return Ok(&self.stranger),
            Caller::Token(token) => {
                let token = substitute::text(token, variables)?;
                headers.insert(http::header::AUTHORIZATION, bearer(&token)?);
                return Ok(&self.stranger);
            }
            Caller::User(user) => {
                let user = HeaderValue::try_from(substitute::text(user, variables)?)
                    .map_err(|_| format!("{user:?} fits no header"))?;
                headers.insert("impersonate-user", user);
            }
            Caller::Admin => {}
        }
        if let Some(token) = &self.token {
            headers.insert(http::header::AUTHORIZATION, bearer(token)?);
        }
        Ok(&self.admin)
    }
}

/// Sends a request. Repeats a read request while the server responds that its storage is not ready.
/// kube-apiserver sends this response after a compaction of etcd.
async fn read_when_ready(request: reqwest::RequestBuilder) -> Result<reqwest::Response, String> {
    loop {
        let attempt = request
            .try_clone()
            .ok_or("the request body cannot be sent twice")?;
        let built = request.try_clone().and_then(|clone| clone.build().ok());
        let reads = built.is_some_and(|built| built.method() == Method::GET);
        let answer = attempt.send().await.map_err(|error| with_causes(&error))?;
        let busy = answer.status() == StatusCode::TOO_MANY_REQUESTS;
        if !(reads && busy && answer.headers().contains_key(RETRY_AFTER)) {
            return Ok(answer);
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

fn client(
    side: &'static str,
    tls: Option<rustls::ClientConfig>,
) -> Result<reqwest::Client, SideError> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .user_agent("conformance/1.0");
    // Without certificates only plain HTTP is used.
    let builder = match tls {
        Some(tls) => builder.tls_backend_preconfigured(tls),
        None => builder.tls_certs_only([]),
    };
    builder
        .build()
        .map_err(|source| SideError::Client { side, source })
}

fn tls(
    side: &'static str,
    ca: &str,
    client: Option<&KeyedCertificate>,
) -> Result<rustls::ClientConfig, SideError> {
    let unread = |source| SideError::Certificates { side, source };
    let unusable = |source| SideError::Tls { side, source };
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        roots.add(certificate.map_err(unread)?).map_err(unusable)?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_root_certificates(roots);
    let Some(client) = client else {
        return Ok(builder.with_no_client_auth());
    };
    let certificates = CertificateDer::pem_slice_iter(client.certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(unread)?;
    let key = PrivateKeyDer::from_pem_slice(client.key.as_bytes()).map_err(unread)?;
    builder
        .with_client_auth_cert(certificates, key)
        .map_err(unusable)
}
