//! The one API server that this agent forwards to.
//!
//! Everything that leaves on a lane goes through [`Upstream`]: it knows a single authority, checks
//! its certificate against the cluster's own CA, follows no redirect, and holds no credential.

mod connector;
mod lines;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_tunnel::ReadAhead;
use futures::future::BoxFuture;
use http::uri::{Authority, PathAndQuery};
use http::{Request, Response, Uri};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use self::connector::Connector;
use self::lines::{Broken, Idle, Io, Line};

/// A body on its way through the agent: streamed, never collected.
pub type Body = UnsyncBoxBody<Bytes, drover_tunnel::BoxError>;

/// Most time for TCP and TLS to the API server.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
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
    way: Way,
}

/// An API server in this process.
type Inside = Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

#[derive(Clone)]
enum Way {
    /// Over TLS.
    Network {
        connector: Connector,
        idle: Idle<Io>,
    },
    /// By a call.
    Inside(Inside),
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
        Ok(Self {
            authority: authority.clone(),
            way: Way::Network {
                connector,
                idle: Idle::default(),
            },
        })
    }

    /// An API server in this process, which takes no upgrades: one that plays the API server of
    /// very many clusters, where each connection to it would be two open files.
    pub fn inside(
        call: impl Fn(Request<Body>) -> BoxFuture<'static, Response<Body>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            authority: Authority::from_static("inside"),
            way: Way::Inside(Arc::new(call)),
        }
    }

    /// Sends one request; only its method, path, query, headers and body count.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, ForwardError> {
        let broken = |error: hyper::Error| ForwardError::Broken(chain(&error));
        let (connector, idle) = match &self.way {
            Way::Network { connector, idle } => (connector, idle),
            Way::Inside(call) => return Ok(call(request).await),
        };
        let request = match idle.exchange(to_origin(request)).await.map_err(broken)? {
            Ok(response) => return Ok(response.map(boxed)),
            Err(request) => request,
        };
        // Boxed: it is rare, and large; the future of each request would have room for it.
        let opening = Box::pin(async {
            let io = connector.open().await;
            let io = io.map_err(|error| not_connected(&error))?;
            Line::new(io).await.map_err(broken)
        });
        let exchange = opening.await?.exchange(request, idle).await;
        let response = exchange.map_err(|Broken { error, .. }| broken(error))?;
        Ok(response.map(boxed))
    }

    /// A fresh connection of its own, for an upgrade.
    pub async fn connect(&self) -> Result<TlsStream<ReadAhead<TcpStream>>, ForwardError> {
        let Way::Network { connector, .. } = &self.way else {
            let why = "it is in the agent's process, where there are no upgrades";
            return Err(ForwardError::Connect(why.to_owned()));
        };
        connector
            .open()
            .await
            .map(TokioIo::into_inner)
            .map_err(|error| not_connected(&error))
    }

    /// The API server's host and port, for the `Host` header.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }
}

/// A body of the API server's, or of a tunnelled request, as a body on its way.
pub(crate) fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes, Error: Into<drover_tunnel::BoxError>> + Send + 'static,
{
    body.map_err(Into::into).boxed_unsync()
}

/// The request as it is written to the one place that it can go to: a URI of path and query only.
fn to_origin(mut request: Request<Body>) -> Request<Body> {
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    *request.version_mut() = http::Version::HTTP_11;
    request
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

fn not_connected(error: &io::Error) -> ForwardError {
    ForwardError::Connect(chain(error))
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

    /// An API server that answers each request with `name`.
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
                // The connection ends with the test.
                tokio::spawn(async move { serving.await.ok() });
            }
        });
        address
    }

    #[tokio::test]
    async fn agent_dials_its_own_api_server_whatever_authority_a_request_names() {
        // One authority certifies both servers, so TLS does not tell them apart.
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
            // A new upstream has no idle connection, so each request dials.
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
    fn nothing_of_a_request_names_another_place() {
        for (asked, wanted) in [
            ("http://169.254.169.254/latest?x=1", "/latest?x=1"),
            ("/api/v1/pods?watch=1", "/api/v1/pods?watch=1"),
            ("/a%2Fb//c", "/a%2Fb//c"),
        ] {
            let body = http_body_util::Empty::new();
            let request = Request::get(asked).body(boxed(body)).unwrap();
            assert_eq!(to_origin(request).uri().to_string(), wanted);
        }
    }
}
