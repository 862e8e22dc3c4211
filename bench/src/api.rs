//! Runs the embedded hub's API in a separate process. The API has TLS, controllers and a store on
//! disk, and accepts one caller, who has all permissions.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;

use drover_apiserver::access::{Authenticate, AuthenticateError, Authenticated, Caller};
use drover_apiserver::server::{ApiServer, Options, StartError};
use drover_tunnel::BoxError;
use futures::future::{BoxFuture, ready};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::certificate::{self, CertificateError};

/// Bearer token for the API servers that the benchmarks start.
pub(crate) const TOKEN: &str = "of-a-bench";

/// The reason why the API cannot run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    /// The certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The API cannot listen on the address.
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    /// The embedded hub's API failed.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// The command line arguments of the API: addresses and files.
#[derive(clap::Args)]
pub(crate) struct Api {
    /// Address of the TLS listener.
    #[arg(long)]
    listen: SocketAddr,
    /// Certificate for TLS, in PEM.
    #[arg(long)]
    certificate: PathBuf,
    /// Private key of the certificate, in PEM.
    #[arg(long)]
    key: PathBuf,
    /// File of the API's store.
    #[arg(long)]
    store: PathBuf,
}

/// The authenticator of the benchmark, which accepts only [`TOKEN`].
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
    /// Serves requests until the process ends.
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
        // The parent process reads this line. Ignore errors.
        let _ = writeln!(io::stdout(), "ready");
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve_connection(stream, acceptor.clone(), server.router()));
        }
        Ok(())
    }
}

/// Serves one connection with TLS.
pub(crate) async fn serve_connection<S, B>(stream: TcpStream, acceptor: TlsAcceptor, service: S)
where
    S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else {
        return;
    };
    let service = TowerToHyperService::new(service);
    // Ignore errors of clients.
    let _ = Builder::new(TokioExecutor::new())
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await;
}
