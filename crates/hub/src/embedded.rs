//! The embedded hub: a Kubernetes API in this process, stored in one file.
//!
//! Only [`super::connect`] opens the embedded hub. Callers use a normal [`kube::Client`]. The
//! server authenticates with a request extension. Only code of this process can set the extension.
//! As on any hub, impersonation headers select a user.

pub mod data_dir;

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use drover_apiserver::access::{Caller, TokensOptions};
use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, MemoryBounds, Options, StartError};
use drover_apiserver::store::StoreOptions;
use futures::future::BoxFuture;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body as KubeBody;
use parking_lot::RwLock;
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

use self::data_dir::{DataDir, DataDirError};
use super::Stores;
use super::admission::{InProcess, WriteAuthorizer};
use drover_api::group::HUB_NAMESPACE;

/// The maximum memory in bytes for events that watchers have not received yet.
const MAX_EVENTS: usize = 256 << 20;

/// The server's account on its embedded hub.
pub const SERVER: &str = "drover:server";
/// The maximum lifetime of a service account token, equal to the default lifetime of user tokens.
/// The hub issues a token with this lifetime if a request contains a longer lifetime.
const MAX_TOKEN_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// The maximum time that the shutdown waits for open requests.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for reading the hub's metrics.
const METRICS_TIMEOUT: Duration = Duration::from_secs(5);

/// The error of opening the embedded hub.
#[derive(Debug, Error)]
pub enum EmbeddedError {
    /// The data folder is unknown or unusable.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The hub's file is locked by a different process.
    #[error(
        "cannot open the embedded hub: another server uses the data folder; stop that server, or \
         set a different folder with --data-dir"
    )]
    InUse(#[source] StartError),
    /// The hub's file is damaged or unreadable.
    #[error(
        "cannot open the embedded hub; check the file of the hub with \"drover hub check\", or \
         restore a backup with \"drover hub restore\""
    )]
    Open(#[source] StartError),
}

impl From<StartError> for EmbeddedError {
    fn from(error: StartError) -> Self {
        use drover_apiserver::store::OpenError;
        match &error {
            StartError::Store {
                source: OpenError::Locked { .. },
                ..
            } => Self::InUse(error),
            _ => Self::Open(error),
        }
    }
}

/// An open embedded hub with running controllers.
#[derive(Debug)]
pub(super) struct Embedded {
    service: HubService,
    rules: Arc<InProcess>,
    /// The CA certificate that the hub writes into token Secrets.
    token_ca: Arc<OnceLock<String>>,
    /// A guard that stops the controllers and the watches when dropped.
    stop: DropGuard,
    running: JoinHandle<()>,
    closed: tokio_util::sync::WaitForCancellationFutureOwned,
}

impl Embedded {
    /// Opens the hub, or creates it.
    pub(super) async fn open(data_dir: &DataDir, memory: HubMemory) -> Result<Self, EmbeddedError> {
        let file = data_dir.prepare()?;
        let rules = Arc::new(InProcess::new(SERVER));
        let options = Options {
            kinds: Kinds::Hub,
            admission: Arc::clone(&rules) as _,
            memory: memory.requests,
            store: StoreOptions {
                waiting_bytes: memory.events,
                list_bytes: StoreOptions::default().list_bytes.min(memory.events / 16),
                ..StoreOptions::default()
            },
            tokens: TokensOptions {
                max_lifetime_seconds: Some(MAX_TOKEN_LIFETIME.as_secs().cast_signed()),
                ..TokensOptions::default()
            },
            ..Options::new(file)
        };
        let token_ca = Arc::clone(&options.lifecycle.token_ca);
        let server = ApiServer::open(options).await?;
        let stop = CancellationToken::new();
        let router = server.router();
        let closed = server.closed();
        let running = {
            let stop = stop.clone();
            tokio::spawn(async move { server.run(stop).await })
        };
        let service = HubService(Arc::new(RwLock::new(Some(router))));
        Ok(Self {
            service,
            rules,
            token_ca,
            stop: stop.drop_guard(),
            running,
            closed,
        })
    }

    /// Returns the client for the server's account.
    pub(super) fn client(&self) -> Client {
        Client::new(self.service.clone(), HUB_NAMESPACE)
    }

    /// Sets the stores for checks of writes by accounts other than the server's. The hub rejects
    /// these writes until the stores are set.
    pub(super) fn enforce_rules(&self, stores: Stores) {
        let client = self.client();
        self.rules
            .set_authorizer(WriteAuthorizer { client, stores });
    }

    /// Sets the CA certificate that the hub writes into token Secrets. Only the first call has an
    /// effect.
    pub(super) fn trust(&self, pem: String) {
        let _ = self.token_ca.set(pem);
    }

    /// Returns the service that reads the hub's metrics.
    pub(super) fn metrics(&self) -> HubService {
        self.service.clone()
    }

    /// Stops the controllers and the watches, rejects new requests, and waits until the file is
    /// closed.
    pub(super) async fn close(self) {
        drop(self.stop);
        if let Err(error) = self.running.await {
            tracing::error!(%error, "embedded hub's controllers failed at shutdown");
        }
        self.service.close();
        if tokio::time::timeout(CLOSE_TIMEOUT, self.closed)
            .await
            .is_err()
        {
            tracing::warn!("shutting down while requests still use the embedded hub");
        }
    }
}

/// The error of a request after `Embedded::close`.
#[derive(Clone, Copy, Debug, Error)]
#[error("the embedded hub is closed because the server is shutting down")]
pub struct Closed;

/// The HTTP service behind the [`Client`]. The service rejects requests after the hub is closed.
#[derive(Clone)]
pub(super) struct HubService(Arc<RwLock<Option<Router>>>);

impl std::fmt::Debug for HubService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubService")
            .field("open", &self.0.read().is_some())
            .finish()
    }
}

impl HubService {
    fn close(&self) {
        self.0.write().take();
    }

    async fn send(self, request: Request<Body>) -> Result<Response, Closed> {
        let router = self.0.read().clone().ok_or(Closed)?;
        let (mut head, body) = request.into_parts();
        // The caller's identity must not come from the request's own extensions.
        head.extensions.clear();
        head.extensions.insert(Caller::privileged(SERVER));
        match router.oneshot(Request::from_parts(head, body)).await {
            Ok(response) => Ok(response),
            Err(never) => match never as Infallible {},
        }
    }

    /// Returns the hub's metrics as OpenMetrics 1.0 text. Returns `None` on an error.
    pub(super) async fn metrics(&self) -> Option<String> {
        let request = Request::get("/metrics").body(Body::empty()).ok()?;
        let reading = async {
            let response = self.clone().send(request).await.ok()?;
            let text = response.into_body().collect().await.ok()?.to_bytes();
            String::from_utf8(text.to_vec()).ok()
        };
        tokio::time::timeout(METRICS_TIMEOUT, reading).await.ok()?
    }
}

impl tower::Service<Request<KubeBody>> for HubService {
    type Response = Response;
    type Error = Closed;
    type Future = BoxFuture<'static, Result<Response, Closed>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Closed>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        Box::pin(self.clone().send(request.map(Body::new)))
    }
}

/// The memory limits of the embedded hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubMemory {
    /// The limits for requests.
    pub requests: MemoryBounds,
    /// The maximum memory in bytes for events that watchers have not received yet.
    pub events: usize,
}

impl Default for HubMemory {
    /// Returns the limits for a process with several GiB of memory.
    fn default() -> Self {
        Self {
            requests: MemoryBounds::default(),
            events: MAX_EVENTS,
        }
    }
}

#[cfg(test)]
mod tests;
