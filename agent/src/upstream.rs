//! The one API server that this agent forwards to.
//!
//! Everything that leaves on a lane goes through [`Upstream`]: it knows a single authority, checks
//! its certificate against the cluster's own CA, follows no redirect, and holds no credential.

mod connector;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_tunnel::ReadAhead;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use self::connector::Connector;

/// A body on its way through the agent: streamed, never collected.
pub type Body = UnsyncBoxBody<Bytes, drover_tunnel::BoxError>;

/// Most time for TCP and TLS to the API server.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle connections kept for the next request: as many as are busy at once in a full hour, because
/// one that is closed for lack of room costs the next request a TLS handshake.
const IDLE_CONNECTIONS: usize = 256;
/// How long an idle connection is kept.
const IDLE_TIME: Duration = Duration::from_secs(55);

/// Why the API server's address cannot be used.
#[derive(Debug, Error)]
pub enum UpstreamError {
    /// Plain HTTP, or no host.
    #[error("the API server's URL {0} must be https://host[:port]")]
    Url(Uri),
    /// A path that requests would have to be put under.
    #[error(
        "the API server's URL {0} has a path; give a kubeconfig that points at the API server itself"
    )]
    Path(Uri),
    /// Nothing to check the certificate with.
    #[error(
        "there is no CA certificate for the API server: put certificate-authority-data into the kubeconfig"
    )]
    NoAuthority,
    /// Verification is switched off.
    #[error(
        "the kubeconfig switches certificate checks off (insecure-skip-tls-verify): give the cluster's CA instead"
    )]
    Unverified,
    /// The CA certificate is not one.
    #[error("the API server's CA certificate cannot be used")]
    Root(#[source] rustls::Error),
    /// The host is no name and no address.
    #[error("the API server's name {0:?} is not one a certificate can have")]
    Name(String),
}

/// Why a request got no answer.
#[derive(Debug, Error)]
pub enum ForwardError {
    /// No connection within [`CONNECT_TIMEOUT`].
    #[error("the API server does not answer: {0}")]
    Connect(String),
    /// The connection broke under the request.
    #[error("the connection to the API server broke: {0}")]
    Broken(String),
}

/// How to reach the API server.
#[derive(Clone)]
pub struct Upstream {
    authority: Authority,
    connector: Connector,
    client: Client<Connector, Body>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// Takes address and CA from a client configuration, and nothing else: a client certificate in
    /// it would make the API server ignore the lane's token.
    pub fn new(config: &kube::Config) -> Result<Self, UpstreamError> {
        let url = &config.cluster_url;
        let (Some("https"), Some(authority)) = (url.scheme_str(), url.authority()) else {
            return Err(UpstreamError::Url(url.clone()));
        };
        if !matches!(url.path(), "" | "/") {
            return Err(UpstreamError::Path(url.clone()));
        }
        if config.accept_invalid_certs {
            return Err(UpstreamError::Unverified);
        }
        let roots = config
            .root_cert
            .as_deref()
            .ok_or(UpstreamError::NoAuthority)?;
        let name = config
            .tls_server_name
            .as_deref()
            .unwrap_or_else(|| authority.host());
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let server = ServerName::try_from(name.to_owned())
            .map_err(|_| UpstreamError::Name(name.to_owned()))?;
        let tls = tls(roots).map_err(UpstreamError::Root)?;
        let connector = Connector::new(url.clone(), server, tls);
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_idle_timeout(IDLE_TIME)
            .pool_timer(TokioTimer::new())
            // What is tried again is a request of which nothing was written, because its idle
            // connection was just closed: nothing can be carried out twice.
            .retry_canceled_requests(true)
            .build(connector.clone());
        Ok(Self {
            authority: authority.clone(),
            connector,
            client,
        })
    }

    /// Sends one request; only its method, path, query, headers and body count.
    pub async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, ForwardError> {
        *request.uri_mut() = self.uri(request.uri());
        *request.version_mut() = http::Version::HTTP_11;
        self.client
            .request(request)
            .await
            .map_err(|error| forward_error(&error))
    }

    /// A fresh connection of its own, for an upgrade.
    pub async fn connect(&self) -> Result<TlsStream<ReadAhead<TcpStream>>, ForwardError> {
        self.connector
            .open()
            .await
            .map(TokioIo::into_inner)
            .map_err(|error| ForwardError::Connect(chain(&error)))
    }

    /// The API server's host and port, for the `Host` header.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    fn uri(&self, asked: &Uri) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(Scheme::HTTPS);
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(
            asked
                .path_and_query()
                .cloned()
                .unwrap_or_else(|| PathAndQuery::from_static("/")),
        );
        Uri::from_parts(parts).expect("scheme, authority and path make a URI")
    }
}

/// TLS that trusts the cluster's CA only and presents no client certificate.
fn tls(roots: &[Vec<u8>]) -> Result<Arc<ClientConfig>, rustls::Error> {
    let mut store = rustls::RootCertStore::empty();
    for der in roots {
        store.add(CertificateDer::from(der.clone()))?;
    }
    let mut config = ClientConfig::builder()
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn forward_error(error: &legacy::Error) -> ForwardError {
    let text = chain(error);
    if error.is_connect() {
        ForwardError::Connect(text)
    } else {
        ForwardError::Broken(text)
    }
}

/// An error and its causes on one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(change: impl FnOnce(&mut kube::Config)) -> String {
        let mut config = kube::Config::new("https://10.0.0.1:6443".parse().unwrap());
        config.root_cert = Some(Vec::new());
        change(&mut config);
        Upstream::new(&config).unwrap_err().to_string()
    }

    #[test]
    fn unverifiable_api_servers_are_refused_with_the_fix() {
        for (text, wanted) in [
            (
                refusal(|c| c.cluster_url = "http://10.0.0.1".parse().unwrap()),
                "must be https",
            ),
            (
                refusal(|c| c.cluster_url = "https://h/k8s/x".parse().unwrap()),
                "has a path",
            ),
            (
                refusal(|c| c.accept_invalid_certs = true),
                "insecure-skip-tls-verify",
            ),
            (
                refusal(|c| c.root_cert = None),
                "certificate-authority-data",
            ),
        ] {
            assert!(text.contains(wanted), "{text}");
        }
    }

    #[tokio::test]
    async fn the_authority_is_the_api_servers_whatever_a_request_says() {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut config = kube::Config::new("https://10.0.0.1:6443".parse().unwrap());
        config.root_cert = Some(Vec::new());
        let upstream = Upstream::new(&config).unwrap();
        for (asked, wanted) in [
            (
                "http://169.254.169.254/latest?x=1",
                "https://10.0.0.1:6443/latest?x=1",
            ),
            (
                "/api/v1/pods?watch=1",
                "https://10.0.0.1:6443/api/v1/pods?watch=1",
            ),
            ("/a%2Fb//c", "https://10.0.0.1:6443/a%2Fb//c"),
        ] {
            assert_eq!(upstream.uri(&asked.parse().unwrap()).to_string(), wanted);
        }
    }
}
