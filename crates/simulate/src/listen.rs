//! A cluster's own listener, on loopback: TLS with a certificate made at the start.

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

/// Connections at once.
const MOST: usize = 1024;
/// Longest for TLS.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest without a request; longer than clients keep an idle connection.
const IDLE: Duration = Duration::from_secs(75);
/// After a connection could not be accepted: too many open files pass.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a cluster cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// No port.
    #[error(
        "cannot listen on a port of 127.0.0.1; too many open files? `ulimit -n` tells the limit"
    )]
    Bind(#[source] std::io::Error),
    /// No certificate.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// No TLS.
    #[error("cannot use the certificate that was just made")]
    Tls(#[from] rustls::Error),
}

/// A port that is listened on.
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

    /// Serves until `stop`.
    pub(crate) async fn serve(self, router: Router, tasks: TaskTracker, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(MOST));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.port.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let (acceptor, router, stop) = (self.acceptor.clone(), router.clone(), stop.clone());
            tasks.spawn(async move {
                let conversation = converse(acceptor, stream, router);
                // What is under way ends with the cluster.
                let _ = stop.run_until_cancelled(conversation).await;
                drop(place);
            });
        }
    }
}

async fn converse(acceptor: TlsAcceptor, stream: TcpStream, router: Router) {
    // Requests are small; to wait for more of them would only delay.
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await else {
        return;
    };
    // A client that breaks off is no fault of this side.
    let _ = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
