//! The API server to which the agent forwards requests.
//!
//! [`Upstream`] sends every forwarded request. An [`Upstream`] has a single authority, verifies the
//! certificate with the cluster's own CA, follows no redirect, and has no credential.

mod connector;
mod multiplexer;
mod pool;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_access::verb::Verb;
use drover_tunnel::ReadAhead;
use futures::future::BoxFuture;
use http::uri::{Authority, PathAndQuery};
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use self::connector::{Connector, Offer};
use self::multiplexer::{Multiplexer, SendError as MultiplexError};
use self::pool::{IdlePool, Io, PooledConnection, SendError};
use crate::error_chain::error_chain;

/// A body that the agent streams. The agent never buffers a whole body.
pub type Body = UnsyncBoxBody<Bytes, drover_tunnel::BoxError>;

/// Timeout of TCP and TLS to the API server, in total.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why the agent cannot use the configuration of the API server.
#[derive(Debug, Error)]
pub enum UpstreamError {
    /// The scheme of the URL is not `https`, or the URL has no host.
    #[error("the API server's URL {url} must be https://host[:port]", url = .0)]
    Url(Uri),
    /// The URL of the API server has a path prefix.
    #[error(
        "the API server's URL {url} contains a path; use a kubeconfig that contains the URL of \
         the API server without a path", url = .0
    )]
    Path(Uri),
    /// The configuration contains no CA certificate.
    #[error(
        "the kubeconfig contains no CA certificate of the API server: set \
         certificate-authority-data"
    )]
    NoAuthority,
    /// The configuration disables the verification of certificates.
    #[error(
        "the kubeconfig disables certificate checks: replace insecure-skip-tls-verify by \
         certificate-authority-data"
    )]
    Unverified,
    /// The CA certificate is not valid.
    #[error("the API server's CA certificate is not valid: correct certificate-authority-data")]
    Root(#[source] rustls::Error),
    /// The host is neither a name nor an address.
    #[error("the API server's name {host:?} is not a valid DNS name or IP address", host = .0)]
    Name(String),
}

/// The reason why a forwarded request received no response.
#[derive(Debug, Error)]
pub enum ForwardError {
    /// The agent did not connect to the API server within [`CONNECT_TIMEOUT`].
    #[error("the API server does not respond: {cause}", cause = .0)]
    Connect(String),
    /// The connection broke during the request.
    #[error("the connection to the API server failed: {cause}", cause = .0)]
    Broken(String),
}

/// The client of the API server.
#[derive(Clone)]
pub struct Upstream {
    authority: Authority,
    transport: Transport,
}

/// Handler of requests for an API server in this process.
type InProcess = Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

#[derive(Clone)]
enum Transport {
    /// The agent reaches the API server over TLS.
    Network {
        connector: Connector,
        /// HTTP/2 connections for short reads. Many requests share a connection, and so share its
        /// system calls and TLS records.
        multiplexer: Multiplexer,
        /// HTTP/1.1 connections for all other requests.
        idle: IdlePool<Io>,
    },
    /// The API server runs in this process, and the agent calls it directly.
    InProcess(InProcess),
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl Upstream {
    /// Creates a client from the address and the CA of `config`. Ignores a client certificate in
    /// `config`, because the API server prefers client certificates to tokens.
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
        Ok(Self {
            authority: authority.clone(),
            transport: Transport::Network {
                multiplexer: Multiplexer::new(authority.clone()),
                connector,
                idle: IdlePool::default(),
            },
        })
    }

    /// Creates a client for an API server in this process. The client does not support upgrades. A
    /// simulation of many clusters uses this client, because each connection over TCP would need
    /// two open files.
    pub fn in_process(
        call: impl Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            authority: Authority::from_static("in-process"),
            transport: Transport::InProcess(Arc::new(call)),
        }
    }

    /// Sends a request to the API server. Uses only the method, path, query, headers and body of
    /// the request.
    pub async fn send<B>(&self, request: Request<B>) -> Result<Response<Body>, ForwardError>
    where
        B: http_body::Body<Data = Bytes, Error: Into<drover_tunnel::BoxError>> + Send + 'static,
    {
        let (connector, multiplexer, idle) = match &self.transport {
            Transport::Network {
                connector,
                multiplexer,
                idle,
            } => (connector, multiplexer, idle),
            Transport::InProcess(call) => return Ok(call(request.map(boxed)).await),
        };
        let request = if is_short_read(&request) {
            match multiplexer.send(request, connector).await {
                Ok(response) => return Ok(response.map(boxed)),
                Err(MultiplexError::Retry(request)) => request,
                Err(MultiplexError::Reset(error)) => {
                    return Err(ForwardError::Broken(error_chain(&error)));
                }
            }
        } else {
            request
        };
        // Boxed, because most requests use a shared connection and this future is large.
        Box::pin(send_http1(request.map(boxed), connector, idle)).await
    }

    /// Opens a separate connection to the API server for an upgrade.
    pub async fn connect(&self) -> Result<TlsStream<ReadAhead<TcpStream>>, ForwardError> {
        let Transport::Network { connector, .. } = &self.transport else {
            let reason = "an API server in the agent's process has no upgrades";
            return Err(ForwardError::Connect(reason.to_owned()));
        };
        connector
            .open(Offer::Http1)
            .await
            .map(TokioIo::into_inner)
            .map_err(|error| not_connected(&error))
    }

    /// Returns the API server's host and port, for the `Host` header.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }
}

/// Sends a request on an idle HTTP/1.1 connection, or on a new connection.
async fn send_http1(
    request: Request<Body>,
    connector: &Connector,
    idle: &IdlePool<Io>,
) -> Result<Response<Body>, ForwardError> {
    let broken = |error: hyper::Error| ForwardError::Broken(error_chain(&error));
    let request = match idle.send(to_origin(request)).await.map_err(broken)? {
        Ok(response) => return Ok(response.map(boxed)),
        Err(request) => request,
    };
    let io = connector.open(Offer::Http1).await;
    let io = io.map_err(|error| not_connected(&error))?;
    let pooled = PooledConnection::new(io).await.map_err(broken)?;
    let sent = pooled.send(request, idle).await;
    let response = sent.map_err(|SendError { error, .. }| broken(error))?;
    Ok(response.map(boxed))
}

/// Boxes the body of a response or of a tunnelled request.
pub fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes, Error: Into<drover_tunnel::BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}

/// Returns true for reads without a body that usually end soon. These requests use the shared
/// HTTP/2 connections. A watch would use a stream of a shared connection for hours. The API server
/// sends responses of pods and long logs as fast as a connection permits.
fn is_short_read<B: http_body::Body>(request: &Request<B>) -> bool {
    if !matches!(*request.method(), Method::GET | Method::HEAD) || !request.body().is_end_stream() {
        return false;
    }
    let (path, query) = (request.uri().path(), request.uri().query());
    let verb = Verb::of(request.method(), path, query);
    !verb.is_stream(query) && !matches!(verb, Verb::Proxy | Verb::Log)
}

/// Removes scheme and authority from the URI, so that the request cannot select a different server.
fn to_origin(mut request: Request<Body>) -> Request<Body> {
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.version_mut() = http::Version::HTTP_11;
    request
}

/// Returns a TLS configuration that trusts only the cluster's CA and has no client certificate.
fn tls(roots: &[Vec<u8>]) -> Result<ClientConfig, rustls::Error> {
    let mut store = rustls::RootCertStore::empty();
    for der in roots {
        store.add(CertificateDer::from(der.clone()))?;
    }
    Ok(ClientConfig::builder()
        .with_root_certificates(store)
        .with_no_client_auth())
}

fn not_connected(error: &io::Error) -> ForwardError {
    ForwardError::Connect(error_chain(error))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::net::SocketAddr;

    use drover_testkit::authority::Authority;
    use http_body_util::Full;
    use hyper::body::Incoming;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject as _;
    use tokio::net::TcpListener;
    use tokio::time::timeout;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    fn refusal(change: impl FnOnce(&mut kube::Config)) -> String {
        let mut config = kube::Config::new("https://10.0.0.1:6443".parse().unwrap());
        config.root_cert = Some(Vec::new());
        change(&mut config);
        Upstream::new(&config).unwrap_err().to_string()
    }

    #[test]
    fn error_of_unverified_api_server_certificate_contains_the_fix() {
        for (text, expected) in [
            (
                refusal(|c| c.cluster_url = "http://10.0.0.1".parse().unwrap()),
                "must be https",
            ),
            (
                refusal(|c| c.cluster_url = "https://h/k8s/x".parse().unwrap()),
                "contains a path",
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
            assert!(text.contains(expected), "{text}");
        }
    }

    /// Starts an API server that responds to each request with the text `name`.
    async fn listen(authority: &Authority, name: &'static str) -> SocketAddr {
        let certified = authority.certify("127.0.0.1");
        let chain = CertificateDer::pem_slice_iter(certified.certificate.as_bytes());
        let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
        let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
        let config = rustls::ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(chain, key).unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let stream = tls.accept(tcp).await.unwrap();
                let service = service_fn(move |_: Request<Incoming>| {
                    let answer = Response::new(Full::<Bytes>::from(name));
                    std::future::ready(Ok::<_, Infallible>(answer))
                });
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // The connection closes at the end of the test.
                tokio::spawn(async move { serving.await.ok() });
            }
        });
        address
    }

    #[tokio::test]
    async fn agent_dials_its_own_api_server_regardless_of_the_request_authority() {
        // One CA issues the certificates of both servers, so that TLS does not distinguish them.
        let authority = Authority::new();
        let own = listen(&authority, "own").await;
        let other = listen(&authority, "other").await;
        let mut config = kube::Config::new(format!("https://{own}").parse().unwrap());
        let root = CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap();
        config.root_cert = Some(vec![root.to_vec()]);
        for target in [
            format!("https://{other}/api"),
            format!("http://{other}/api"),
            "/api".to_owned(),
        ] {
            // A new upstream has no idle connection, so each request opens a connection.
            let upstream = Upstream::new(&config).unwrap();
            let request = Request::get(&target)
                .header("host", other.to_string())
                .body(boxed(http_body_util::Empty::new()))
                .unwrap();
            let sending = timeout(Duration::from_secs(30), upstream.send(request));
            let answer = sending.await.unwrap().unwrap();
            let answer = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(answer, "own", "{target}");
        }
    }

    #[test]
    fn only_reads_that_end_soon_use_shared_connections() {
        for (method, target, body, expected) in [
            (Method::GET, "/api/v1/pods", "", true),
            (Method::HEAD, "/livez", "", true),
            (Method::GET, "/livez", "", true),
            (Method::GET, "/api/v1/pods", "body", false),
            (Method::GET, "/api/v1/pods?watch=1", "", false),
            (Method::GET, "/api/v1/watch/pods", "", false),
            (Method::GET, "/api/v1/namespaces/a/pods/b/log", "", false),
            (Method::GET, "/api/v1/namespaces/a/pods/b/exec", "", false),
            (
                Method::GET,
                "/api/v1/namespaces/a/services/b/proxy/",
                "",
                false,
            ),
            (Method::POST, "/api/v1/pods", "", false),
            (Method::DELETE, "/api/v1/namespaces/a/pods/b", "", false),
        ] {
            let request = Request::builder().method(method.clone()).uri(target);
            let request = request.body(boxed(Full::from(body))).unwrap();
            assert_eq!(
                is_short_read(&request),
                expected,
                "{method} {target} {body}"
            );
        }
    }

    #[test]
    fn upstream_request_uri_contains_only_path_and_query() {
        for (requested, expected) in [
            ("http://169.254.169.254/latest?x=1", "/latest?x=1"),
            ("/api/v1/pods?watch=1", "/api/v1/pods?watch=1"),
            ("/a%2Fb//c", "/a%2Fb//c"),
        ] {
            let body = http_body_util::Empty::new();
            let request = Request::get(requested).body(boxed(body)).unwrap();
            assert_eq!(to_origin(request).uri().to_string(), expected);
        }
    }
}
