//! The hub: the Kubernetes API that holds the server's own state.
//!
//! *Owns* the connection, the installed kinds, the server's Secrets, settings and Lease, the
//! admission of writes, and the synced stores. *Never* accesses state except through one
//! [`kube::Client`].

pub mod admission;
pub mod authority;
pub mod connect;
pub mod definitions;
pub mod embedded;
pub mod error;
pub mod keys;
pub mod lease;
pub mod secret;
pub mod settings;
pub mod stores;
pub mod visibility;
pub mod webhook_name;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use drover_api::group::HUB_NAMESPACE;
use drover_api::kinds::{Cluster, ClusterRegistrationToken, Project, Setting, Token, User};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};

pub use error::HubError;
pub use keys::Keys;
pub use stores::store::Store;
pub use stores::{StoredKind, Stores, StoresHealth};
pub use writer::Writer;

/// The timeout of a call to the hub. Does not apply to watches.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// The hub's client, stores and keys. Cloning is cheap.
#[derive(Clone)]
pub struct Hub {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    stores: Stores,
    keys: Keys,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("namespace", &HUB_NAMESPACE)
            .finish_non_exhaustive()
    }
}

impl Hub {
    /// Creates a hub from a client, stores and keys. The caller fills the stores.
    pub fn new(client: Client, stores: Stores, keys: Keys) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                stores,
                keys,
            }),
        }
    }

    /// Returns the client for the server's account.
    pub fn client(&self) -> Client {
        self.inner.client.clone()
    }

    /// Returns the namespace of the server's Secrets and Lease.
    pub fn namespace(&self) -> &'static str {
        HUB_NAMESPACE
    }

    /// Returns the synced objects of the hub.
    pub fn stores(&self) -> &Stores {
        &self.inner.stores
    }

    /// Returns the server's own keys.
    pub fn keys(&self) -> &Keys {
        &self.inner.keys
    }

    /// Returns the typed API of Users.
    pub fn users(&self) -> Api<User> {
        Api::all(self.client())
    }

    /// Returns the typed API of Tokens.
    pub fn tokens(&self) -> Api<Token> {
        Api::all(self.client())
    }

    /// Returns the typed API of Clusters.
    pub fn clusters(&self) -> Api<Cluster> {
        Api::all(self.client())
    }

    /// Returns the typed API of Projects.
    pub fn projects(&self) -> Api<Project> {
        Api::all(self.client())
    }

    /// Returns the typed API of Settings.
    pub fn settings(&self) -> Api<Setting> {
        Api::all(self.client())
    }

    /// Returns the typed API of ClusterRegistrationTokens.
    pub fn registration_tokens(&self) -> Api<ClusterRegistrationToken> {
        Api::all(self.client())
    }

    /// Returns the API of the Secrets in the server's namespace.
    pub fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client(), HUB_NAMESPACE)
    }

    /// Returns a writer of the objects of a stored kind.
    pub fn writer<K: StoredKind>(&self) -> Writer<'_, K> {
        Writer::new(Api::all(self.client()), K::store(self.stores()))
    }

    /// Returns a writer of the Secrets in the server's namespace. The server has no store of
    /// Secrets.
    pub fn secret_writer(&self) -> Writer<'_, Secret> {
        Writer::without_store(self.secrets())
    }
}

/// Runs a call to the hub with the timeout [`CALL_TIMEOUT`]. `operation` completes the sentence
/// "cannot …" in the error.
pub async fn call<T>(
    operation: &'static str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, HubError> {
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(HubError::of_call(operation, source)),
        Err(_) => Err(HubError::TimedOut {
            operation,
            after: CALL_TIMEOUT,
        }),
    }
}
