//! The embedded hub's API in a process of its own, as the benches load it: TLS, its controllers,
//! its store on disk, and one caller who may do everything.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use drover_apiserver::access::{Authenticate, AuthenticateError, Authenticated, Caller};
use drover_apiserver::server::{ApiServer, Options, StartError};
use futures::future::{BoxFuture, ready};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::certificate::{self, CertificateError};

/// What the benches show to the API servers that they start.
pub(crate) const TOKEN: &str = "of-a-bench";

/// Why the API does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// Its certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Its address.
    #[error("listen on {address}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The server itself.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// Where the API listens, and keeps its store.
#[derive(clap::Args)]
pub(crate) struct Api {
    /// Address for TLS.
    #[arg(long)]
    listen: SocketAddr,
    /// Certificate for TLS, PEM.
    #[arg(long)]
    certificate: PathBuf,
    /// Its key.
    #[arg(long)]
    key: PathBuf,
    /// The store's file.
    #[arg(long)]
    store: PathBuf,
}

/// The benches' caller.
struct Bench;

impl Authenticate for Bench {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Authenticated>, AuthenticateError>> {
        let caller = (token == TOKEN).then(|| Authenticated {
            caller: Caller::privileged("bench"),
            audiences: audiences.to_vec(),
        });
        Box::pin(ready(Ok(caller)))
    }
}

impl Api {
    /// Serves until the process is ended.
    pub(crate) async fn run(self) -> Result<(), ApiError> {
        let acceptor = TlsAcceptor::from(certificate::server(&self.certificate, &self.key)?);
        let mut options = Options::new(self.store);
        options.authenticators.push(Box::new(Bench));
        let server = ApiServer::open(options).await?;
        let address = self.listen;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ApiError::Listen { address, source })?;
        let controllers = server.clone();
        tokio::spawn(async move { controllers.run(CancellationToken::new()).await });
        // Whoever started it reads this; if nobody does, that is no reason to stop.
        let _ = writeln!(io::stdout(), "ready");
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, acceptor.clone(), server.clone()));
        }
        Ok(())
    }
}

async fn converse(stream: TcpStream, acceptor: TlsAcceptor, server: ApiServer) {
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = TowerToHyperService::new(server.router());
    // A client that breaks off is no fault of this server.
    let _ = Builder::new(TokioExecutor::new())
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await;
}
