//! The listener of a simulated cluster on the loopback interface. Serves TLS with a certificate
//! that is created at the start.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 1024;
/// Timeout of the TLS handshake.
const TLS_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle timeout of a connection. The timeout is longer than the idle timeout of common clients.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// Delay after a failed accept. For example, an accept fails if the process has too many open
/// files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The reason why the listener cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The port cannot be opened.
    #[error("cannot listen on a port of 127.0.0.1; check the limit of open files with `ulimit -n`")]
    Bind(#[source] std::io::Error),
    /// The certificate cannot be created.
    #[error("cannot create a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The certificate cannot be used.
    #[error("cannot use the created certificate")]
    Tls(#[from] rustls::Error),
}

/// A bound listener with its TLS configuration.
pub(crate) struct Listener {
    port: TcpListener,
    acceptor: TlsAcceptor,
    pub(crate) address: SocketAddr,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) pem: String,
}

impl Listener {
    pub(crate) async fn bind() -> Result<Self, ListenError> {
        let names = ["localhost", "127.0.0.1", "kubernetes.default.svc"].map(str::to_owned);
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let port = bound.map_err(ListenError::Bind)?;
        Ok(Self {
            address: port.local_addr().map_err(ListenError::Bind)?,
            port,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate: cert.der().clone(),
            pem: cert.pem(),
        })
    }

    /// Serves requests until `stop` is cancelled.
    pub(crate) async fn serve(self, router: Router, tasks: TaskTracker, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.port.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            };
            let (acceptor, router, stop) = (self.acceptor.clone(), router.clone(), stop.clone());
            tasks.spawn(async move {
                let conversation = serve_connection(acceptor, stream, router);
                // Open requests end with the cluster.
                let _ = stop.run_until_cancelled(conversation).await;
                drop(place);
            });
        }
    }
}

async fn serve_connection(acceptor: TlsAcceptor, stream: TcpStream, router: Router) {
    // Requests are small, so Nagle's algorithm would only add latency.
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(TLS_TIMEOUT, acceptor.accept(stream)).await else {
        return;
    };
    // Ignore errors of clients.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
