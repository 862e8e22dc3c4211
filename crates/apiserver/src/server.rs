//! The API server: opens the store, provides the router, and runs the controllers.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

use crate::access::{
    Admission, AdmitAll, Authenticate, Authorizer, Keys, Rbac, Tokens, TokensOptions,
};
use crate::builtin::{self, Kinds};
use crate::lifecycle::{self, LifecycleOptions};
use crate::resource::CatalogCache;
use crate::resource::{Catalog, Resource};
use crate::serve::audit::{Audit, NoAudit};
use crate::serve::limits::fair::{ConcurrencyLimits, Fair};
use crate::serve::limits::heavy::HeavyWorkLimiter;
use crate::serve::limits::memory::MemoryLimiter;
pub use crate::serve::limits::memory::{ByteLimit, MemoryBounds};
use crate::serve::metrics::Metrics;
use crate::serve::shared::{LiveObjects, Shared};
use crate::serve::write::definitions::Definitions;
use crate::serve::{Connect, Version, answer};
use crate::store::{OpenError, Store, StoreOptions};

mod index_updates;
mod keys;
mod own;
mod unserved;

pub use keys::KeysError;
pub use unserved::UnservedError;

use own::ServerHub;

/// Options of an API server.
pub struct Options {
    /// Path of the database file. The server creates a missing file.
    pub path: PathBuf,
    /// Options of the server's store.
    pub store: StoreOptions,
    /// Authenticators that run before the authenticator of service account tokens.
    pub authenticators: Vec<Box<dyn Authenticate>>,
    /// The authorizer that replaces RBAC. If `None`, the server uses RBAC.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    /// Admission rules that run in addition to the built-in rules of the server.
    pub admission: Arc<dyn Admission>,
    /// The hook that receives audit records.
    pub audit: Arc<dyn Audit>,
    /// The handler of subresources that the server does not implement, and of all requests for the
    /// resources in `answered`.
    pub connect: Option<Arc<dyn Connect>>,
    /// The built-in kinds that the server serves. [`ApiServer::open`] deletes stored objects of all
    /// other kinds.
    pub kinds: Kinds,
    /// The resources whose requests the server passes to `connect`, as in an aggregated API.
    pub answered: Vec<Resource>,
    /// Limits on concurrent and queued requests.
    pub bounds: ConcurrencyLimits,
    /// Limits on the memory of requests.
    pub memory: MemoryBounds,
    /// The content of `/version`.
    pub version: Version,
    /// Options of service account tokens.
    pub tokens: TokensOptions,
    /// Options of the server's controllers.
    pub lifecycle: LifecycleOptions,
}

impl Options {
    /// Creates options with RBAC for authorization, and with service account tokens as the only
    /// authentication.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            store: StoreOptions::default(),
            authenticators: Vec::new(),
            authorizer: None,
            admission: Arc::new(AdmitAll),
            audit: Arc::new(NoAudit),
            connect: None,
            kinds: Kinds::default(),
            answered: Vec::new(),
            bounds: ConcurrencyLimits::default(),
            memory: MemoryBounds::default(),
            version: Version::default(),
            tokens: TokensOptions::default(),
            lifecycle: LifecycleOptions::default(),
        }
    }
}

/// The reason why [`ApiServer::open`] cannot open the server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be opened.
    #[error("cannot open the store at {path}")]
    Store {
        /// Path of the database file.
        path: PathBuf,
        /// The error of the store.
        source: OpenError,
    },
    /// The keys that sign tokens cannot be loaded or created.
    #[error("cannot load the keys that sign service account tokens")]
    Keys(#[from] KeysError),
    /// The bootstrap namespaces, roles or bindings cannot be created.
    #[error("cannot create the bootstrap namespaces and roles")]
    First(#[from] lifecycle::StartError),
    /// Stored objects of kinds that are not served cannot be deleted.
    #[error("cannot delete stored objects of kinds that this server does not serve")]
    Unserved(#[from] UnservedError),
}

/// A Kubernetes API server. Clones share one server. The server ends when the last clone and the
/// last router are dropped.
#[derive(Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    lifecycle: LifecycleOptions,
    /// Dropping the guard ends watches, and the tasks that read the store's feed.
    _end: DropGuard,
}

impl ApiServer {
    /// Opens the store and prepares the router. Deletes stored objects of built-in kinds that
    /// `options.kinds` does not contain, and logs their number.
    ///
    /// # Errors
    ///
    /// Fails if the store or its signing keys cannot be used.
    pub async fn open(options: Options) -> Result<Self, StartError> {
        let store =
            Store::open(&options.path, options.store).map_err(|source| StartError::Store {
                path: options.path.clone(),
                source,
            })?;
        let keys: Keys = keys::load(&store).await?;
        let objects = Arc::new(LiveObjects(store.clone()));
        let tokens = Arc::new(Tokens::new(options.tokens, keys, objects));
        let mut authenticators = options.authenticators;
        authenticators.push(Box::new(keys::ServiceAccounts(Arc::clone(&tokens))));
        let mut catalog = builtin::catalog(options.kinds);
        unserved::delete(&store, &catalog).await?;
        let mut undefined = BTreeSet::new();
        for resource in options.answered.clone() {
            undefined.insert(resource.group_resource());
            catalog.insert(Arc::new(resource));
        }
        let rbac = Arc::new(Rbac::new());
        let own = Arc::clone(&rbac);
        let shared = Shared {
            store,
            answered: options
                .answered
                .iter()
                .map(Resource::group_resource)
                .collect(),
            catalog: Arc::new(ArcSwap::from_pointee(catalog)),
            authenticator: Arc::new(authenticators),
            authorizer: options.authorizer.unwrap_or(own),
            rbac,
            impersonation: crate::access::Impersonation::default(),
            tokens,
            admission: options.admission,
            audit: options.audit,
            connect: options.connect,
            fair: Fair::new(options.bounds),
            heavy: HeavyWorkLimiter::default(),
            reads: HeavyWorkLimiter::default(),
            response_memory: MemoryLimiter::new(options.memory.answers),
            watching: MemoryLimiter::new(options.memory.watches),
            bodies: MemoryLimiter::new(options.memory.bodies),
            openapi: CatalogCache::default(),
            discovery: CatalogCache::default(),
            definitions: Definitions::new(undefined),
            metrics: Metrics::default(),
            version: options.version,
            addresses: tokio::sync::Mutex::default(),
            catalog_changed: tokio::sync::watch::Sender::new(()),
            shutdown: CancellationToken::new(),
        };
        let shared = Arc::new(shared);
        let end = shared.shutdown.clone().drop_guard();
        lifecycle::prepare(&ServerHub(Arc::clone(&shared))).await?;
        index_updates::start(&shared).await;
        let inner = Inner {
            shared,
            lifecycle: options.lifecycle,
            _end: end,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Runs the controllers until `shutdown`, then ends all watches.
    pub async fn run(&self, shutdown: CancellationToken) {
        let hub = Arc::new(ServerHub(Arc::clone(&self.inner.shared)));
        let shared = &self.inner.shared;
        let tokens = Arc::clone(&shared.tokens);
        let options = self.inner.lifecycle.clone();
        let metrics = shared.metrics.controllers.clone();
        let keys = keys::rotate(
            shared.store.clone(),
            Arc::clone(&tokens),
            metrics.clone(),
            shutdown.clone(),
        );
        let controllers = lifecycle::run(hub, tokens, options, metrics, shutdown.clone());
        tokio::join!(controllers, keys);
        self.inner.shared.shutdown.cancel();
    }

    /// Returns the router. A request extension of type [`crate::access::Caller`] authenticates the
    /// request. Only code in this process can set this extension.
    pub fn router(&self) -> Router {
        Router::new()
            .fallback(|State(inner): State<Arc<Inner>>, request: Request<Body>| {
                answer(Arc::clone(&inner.shared), request)
            })
            .with_state(Arc::clone(&self.inner))
    }

    /// Returns the store of the server. Writes to the store skip validation and admission.
    pub fn store(&self) -> &Store {
        &self.inner.shared.store
    }

    /// Resolves when the last clone and the last router are dropped and the store is closed. The
    /// store can then be opened again.
    pub fn closed(&self) -> WaitForCancellationFutureOwned {
        self.inner.shared.store.closed()
    }

    /// Returns the current catalog of built-in and custom resources.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.inner.shared.catalog.load_full()
    }

    /// Returns the server's metrics. The embedding program can add metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.shared.metrics
    }
}

#[cfg(test)]
mod tests;
