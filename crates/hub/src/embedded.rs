//! The embedded hub: a Kubernetes API of the server's own, in this process, on one file.
//!
//! Only [`super::connect`] opens it. What comes out is a [`kube::Client`] as of any other hub. Who
//! calls is the server itself, said by a request extension that only code of this process can
//! set; in whose name is said by the headers with which a client impersonates, as on any hub.

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

/// Upper bound of the memory for changes that wait for watchers.
const MAX_EVENTS: usize = 256 << 20;

/// The server's own name on its embedded hub.
pub const SERVER: &str = "drover:server";
/// Longest that a token of a service account may live, as people's tokens by default; longer wishes
/// are shortened.
const TOKENS_LIVE: Duration = Duration::from_hours(90 * 24);
/// Longest that requests under way may keep the store open when the server ends.
const CLOSED_WITHIN: Duration = Duration::from_secs(10);
/// Longest that the hub's own metrics may take.
const METRICS_WITHIN: Duration = Duration::from_secs(5);

/// Why the embedded hub cannot be opened.
#[derive(Debug, Error)]
pub enum EmbeddedError {
    /// There is no folder for it.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// Its file cannot be used.
    #[error(
        "the embedded hub cannot be opened; one server at a time may use a data folder: stop the \
         other one, or name another folder with --data-dir"
    )]
    InUse(#[source] StartError),
    /// Its file cannot be used.
    #[error(
        "the embedded hub cannot be opened; \"drover hub check\" says what is in its file, \
         \"drover hub restore\" puts a backup in its place"
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

/// An embedded hub that answers; its controllers run.
#[derive(Debug)]
pub(super) struct Embedded {
    door: Door,
    rules: Arc<InProcess>,
    /// The certificate that token Secrets hold.
    token_ca: Arc<OnceLock<String>>,
    /// Ends the controllers, and with them the watches.
    stop: DropGuard,
    running: JoinHandle<()>,
    closed: tokio_util::sync::WaitForCancellationFutureOwned,
}

impl Embedded {
    /// Opens the hub, and makes it if there is none.
    pub(super) async fn open(data_dir: &DataDir, memory: HubMemory) -> Result<Self, EmbeddedError> {
        let file = data_dir.prepare()?;
        let rules = Arc::new(InProcess::new(SERVER));
        let options = Options {
            kinds: Kinds::Hub,
            admission: Arc::clone(&rules) as _,
            memory: memory.requests,
            store: StoreOptions {
                waiting_bytes: memory.events,
                ..StoreOptions::default()
            },
            tokens: TokensOptions {
                max_lifetime_seconds: Some(TOKENS_LIVE.as_secs().cast_signed()),
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
        let door = Door(Arc::new(RwLock::new(Some(router))));
        Ok(Self {
            door,
            rules,
            token_ca,
            stop: stop.drop_guard(),
            running,
            closed,
        })
    }

    /// The hub's client.
    pub(super) fn client(&self) -> Client {
        Client::new(self.door.clone(), HUB_NAMESPACE)
    }

    /// From now on others than the server can write as well, and are judged by what these hold.
    pub(super) fn enforce_rules(&self, stores: Stores) {
        let client = self.client();
        self.rules
            .set_authorizer(WriteAuthorizer { client, stores });
    }

    /// Token Secrets hold this certificate from now on; the first call counts.
    pub(super) fn trust(&self, pem: String) {
        let _ = self.token_ca.set(pem);
    }

    /// What the hub counts.
    pub(super) fn metrics(&self) -> Door {
        self.door.clone()
    }

    /// Ends the controllers and the watches, lets nobody in any more, and waits until the file is
    /// closed.
    pub(super) async fn close(self) {
        drop(self.stop);
        if let Err(error) = self.running.await {
            tracing::error!(%error, "the embedded hub's controllers did not end by themselves");
        }
        self.door.shut();
        if tokio::time::timeout(CLOSED_WITHIN, self.closed)
            .await
            .is_err()
        {
            tracing::warn!("ending although requests keep the embedded hub open");
        }
    }
}

/// Why a request to the embedded hub has no answer.
#[derive(Clone, Copy, Debug, Error)]
#[error("the embedded hub is closed because the server ends")]
pub struct Closed;

/// The way in: a service for [`Client`], until it is shut.
#[derive(Clone)]
pub(super) struct Door(Arc<RwLock<Option<Router>>>);

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("open", &self.0.read().is_some())
            .finish()
    }
}

impl Door {
    fn shut(&self) {
        self.0.write().take();
    }

    async fn pass(self, request: Request<Body>) -> Result<Response, Closed> {
        let router = self.0.read().clone().ok_or(Closed)?;
        let (mut head, body) = request.into_parts();
        // Nothing that came with the request may say who calls.
        head.extensions.clear();
        head.extensions.insert(Caller::privileged(SERVER));
        match router.oneshot(Request::from_parts(head, body)).await {
            Ok(response) => Ok(response),
            Err(never) => match never as Infallible {},
        }
    }

    /// The hub's metrics, in the text form of OpenMetrics 1.0; nothing if it does not say.
    pub(super) async fn metrics(&self) -> Option<String> {
        let request = Request::get("/metrics").body(Body::empty()).ok()?;
        let reading = async {
            let response = self.clone().pass(request).await.ok()?;
            let text = response.into_body().collect().await.ok()?.to_bytes();
            String::from_utf8(text.to_vec()).ok()
        };
        tokio::time::timeout(METRICS_WITHIN, reading).await.ok()?
    }
}

impl tower::Service<Request<KubeBody>> for Door {
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
        Box::pin(self.clone().pass(request.map(Body::new)))
    }
}

/// What the embedded hub may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubMemory {
    /// For requests.
    pub requests: MemoryBounds,
    /// Changes that wait for watchers.
    pub events: usize,
}

impl Default for HubMemory {
    /// For a process with some GiB.
    fn default() -> Self {
        Self {
            requests: MemoryBounds::default(),
            events: MAX_EVENTS,
        }
    }
}

#[cfg(test)]
mod tests;
