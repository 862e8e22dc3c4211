//! The server's controllers: namespace deletion, garbage collection, default objects of namespaces,
//! token Secrets, expiry of Events, aggregation of ClusterRoles, and establishment of CRDs.
//!
//! Each controller observes the feed of all changes, decides in a pure function, and writes through
//! [`Hub`]. The server implements [`Hub`] with its own handlers.

mod account_secrets;
mod aggregation;
mod catalog;
mod collector;
mod definitions;
mod expiry;
mod feed;
mod namespace_defaults;
mod namespaces;
mod observe;
mod rbac_index;
mod run;
mod start;
mod writes;

use std::fmt;
use std::sync::{Arc, OnceLock};

use drover_reconcile::Metrics;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::access::{Clock, Tokens};
use crate::resource::{Catalog, GroupResource};
use crate::status::ApiError;

pub use catalog::CatalogUpdater;
pub use definitions::next_status;
pub(crate) use definitions::{CLEANUP as DEFINITION_CLEANUP, marked_for_deletion};
pub use feed::{Metadata, Observed, ObservedObject, OwnerReference};
pub use observe::observe;
pub use rbac_index::RbacIndexUpdater;
pub use start::{StartError, prepare};

use run::Controllers;

/// The resource, namespace and name of an object. Does not contain the API version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPath {
    /// Group and plural name of the resource.
    pub resource: GroupResource,
    /// The namespace of the object. Empty for cluster-scoped objects.
    pub namespace: String,
    /// The object's name.
    pub name: String,
}

impl ObjectPath {
    /// Creates a path from group, plural, namespace and name.
    pub fn new(group: &str, resource: &str, namespace: &str, name: &str) -> Self {
        Self {
            resource: GroupResource {
                group: group.to_owned(),
                resource: resource.to_owned(),
            },
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for ObjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupResource { group, resource } = &self.resource;
        write!(f, "{resource}.{group} {}/{}", self.namespace, self.name)
    }
}

/// A page of a list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The complete objects of the page, with their resourceVersion.
    pub items: Vec<Value>,
    /// The start of the next page. `None` after the last page.
    pub next: Option<String>,
}

/// `metav1.DeletionPropagation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The dependents are deleted after the object.
    Background,
    /// The dependents are deleted before the object.
    Foreground,
    /// The dependents are not deleted. Their owner references are removed.
    Orphan,
}

/// A write request of a controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Creates the object.
    Create(Value),
    /// Replaces the object, if its resourceVersion is unchanged.
    Update {
        /// The complete new object.
        object: Value,
        /// The subresource: `status`, `finalize`, or empty for the object itself.
        subresource: &'static str,
    },
    /// Applies the object with server-side apply and force.
    Apply(Value),
    /// Deletes the object if its UID and resourceVersion match.
    Delete {
        /// The UID that the stored object must have.
        uid: String,
        /// The resourceVersion that the stored object must have. `None` accepts any
        /// resourceVersion.
        resource_version: Option<String>,
        /// The deletion propagation: whether and when dependents are deleted.
        propagation: Propagation,
    },
}

/// The API of the controllers. The server implements the API with its own handlers. Defaults,
/// validation and field ownership are therefore the same for controllers and clients.
pub trait Hub: Send + Sync + 'static {
    /// Returns the current catalog.
    fn catalog(&self) -> Arc<Catalog>;

    /// Returns an object, or `None` if it does not exist.
    fn get<'a>(&'a self, path: &'a ObjectPath) -> BoxFuture<'a, Result<Option<Value>, ApiError>>;

    /// Returns a page of a resource's objects, in one namespace or in all.
    fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
        after: Option<String>,
    ) -> BoxFuture<'a, Result<Page, ApiError>>;

    /// Writes an object as a privileged caller with this field manager.
    fn act<'a>(
        &'a self,
        manager: &'static str,
        path: &'a ObjectPath,
        act: Act,
    ) -> BoxFuture<'a, Result<(), ApiError>>;

    /// Returns the feed of all objects and their changes.
    fn observe(&self) -> BoxStream<'static, Observed>;
}

/// Options of the controllers.
#[derive(Clone)]
pub struct LifecycleOptions {
    /// The certificate in each namespace's ConfigMap `kube-root-ca.crt` and in token Secrets. If
    /// `None`, the controllers create no ConfigMap.
    pub root_ca: Option<String>,
    /// The certificate in token Secrets if `root_ca` is `None`. The embedding program can set this
    /// certificate after the start.
    pub token_ca: Arc<OnceLock<String>>,
    /// The lifetime of Events after their last change, in seconds.
    pub event_ttl_seconds: i64,
    /// Function that returns the current time. Tests replace this function.
    pub clock: Clock,
}

impl Default for LifecycleOptions {
    /// Creates options that expire Events after an hour and distribute no certificate.
    fn default() -> Self {
        Self {
            root_ca: None,
            token_ca: Arc::default(),
            event_ttl_seconds: 60 * 60,
            clock: Arc::new(jiff::Timestamp::now),
        }
    }
}

/// Runs all controllers until `shutdown`.
pub async fn run(
    hub: Arc<dyn Hub>,
    tokens: Arc<Tokens>,
    options: LifecycleOptions,
    metrics: Metrics,
    shutdown: CancellationToken,
) {
    let mut controllers = Controllers::new(Arc::clone(&hub), metrics, shutdown);
    controllers.add(namespaces::Namespaces::new(
        Arc::clone(&hub),
        Arc::clone(&options.clock),
    ));
    controllers.add(collector::Collector::new(Arc::clone(&hub)));
    controllers.add(account_secrets::AccountSecrets::new(
        Arc::clone(&hub),
        tokens,
        options.clone(),
    ));
    controllers.add(namespace_defaults::NamespaceDefaults::new(
        Arc::clone(&hub),
        options.root_ca,
    ));
    controllers.add(aggregation::Aggregation::new(Arc::clone(&hub)));
    controllers.add(definitions::Definitions::new(
        Arc::clone(&hub),
        Arc::clone(&options.clock),
    ));
    controllers.sweep(expiry::Expiry::new(
        hub,
        options.event_ttl_seconds,
        options.clock,
    ));
    controllers.run().await;
}

/// The field manager of the controllers. kube-controller-manager runs these controllers in
/// Kubernetes.
const MANAGER: &str = "kube-controller-manager";
