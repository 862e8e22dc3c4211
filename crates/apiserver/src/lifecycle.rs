//! What happens to objects without anyone asking: namespaces empty themselves, dependents go with
//! their owners, each namespace gets its default objects, token Secrets get their tokens, events
//! expire, cluster roles gather rules, definitions of resources come into force.
//!
//! Each is a small controller: it observes the feed of all changes, decides in a pure function,
//! and acts through [`Hub`], which the server implements on its own handlers.

mod account_secrets;
mod aggregation;
mod collector;
mod definitions;
mod expiry;
mod feed;
mod furnish;
mod namespaces;
mod observe;
mod rights;
mod run;
mod served;
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

pub use definitions::next_status;
pub(crate) use definitions::{CLEANUP as DEFINITION_CLEANUP, marked_for_deletion};
pub use feed::{Metadata, Observed, OwnerReference, Seen};
pub use observe::observe;
pub use rights::Rights;
pub use served::Served;
pub use start::{StartError, prepare};

use run::Controllers;

/// Where an object is; its version does not matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPath {
    /// Of which resource.
    pub resource: GroupResource,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectPath {
    /// An object of this group, resource, namespace and name.
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

/// A part of a list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Whole objects, with their resourceVersion.
    pub items: Vec<Value>,
    /// Where the next part begins; none after the last.
    pub next: Option<String>,
}

/// `metav1.DeletionPropagation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The object goes at once, its dependents after it.
    Background,
    /// Its dependents go first.
    Foreground,
    /// Its dependents stay.
    Orphan,
}

/// What is done to an object.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Makes it.
    Create(Value),
    /// Puts this in its place, if it still has this resourceVersion.
    Update {
        /// The whole object.
        object: Value,
        /// `status`, `finalize`, or empty.
        subresource: &'static str,
    },
    /// Server-side apply, forced.
    Apply(Value),
    /// Deletes it, if it is still the same.
    Delete {
        /// Of the object that is meant.
        uid: String,
        /// Of the state that is meant; none for any.
        resource_version: Option<String>,
        /// What becomes of its dependents.
        propagation: Propagation,
    },
}

/// The API as the controllers use it; the server implements it on its own handlers, so that
/// defaults, validation and field owners are as for anyone else.
pub trait Hub: Send + Sync + 'static {
    /// All that is served now.
    fn catalog(&self) -> Arc<Catalog>;

    /// One object, or `None`.
    fn get<'a>(&'a self, path: &'a ObjectPath) -> BoxFuture<'a, Result<Option<Value>, ApiError>>;

    /// A part of the objects of a resource, in one namespace or in all.
    fn list<'a>(
        &'a self,
        resource: &'a GroupResource,
        namespace: Option<&'a str>,
        after: Option<String>,
    ) -> BoxFuture<'a, Result<Page, ApiError>>;

    /// Writes, as a privileged caller and under this name of a field manager.
    fn act<'a>(
        &'a self,
        manager: &'static str,
        path: &'a ObjectPath,
        act: Act,
    ) -> BoxFuture<'a, Result<(), ApiError>>;

    /// Opens the feed of all objects and their changes.
    fn observe(&self) -> BoxStream<'static, Observed>;
}

/// What the controllers need to know.
#[derive(Clone)]
pub struct LifecycleOptions {
    /// The certificate in each namespace's ConfigMap `kube-root-ca.crt` and in token Secrets; none
    /// for no ConfigMap.
    pub root_ca: Option<String>,
    /// The certificate in token Secrets where `root_ca` is none; may be set after the start.
    pub token_ca: Arc<OnceLock<String>>,
    /// How long events are kept after their last change, in seconds.
    pub event_ttl_seconds: i64,
    /// Tells the time.
    pub clock: Clock,
}

impl Default for LifecycleOptions {
    /// Events for an hour, no certificate.
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
    controllers.add(furnish::Furnish::new(Arc::clone(&hub), options.root_ca));
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

/// The field manager that clients see; the controllers play kube-controller-manager's part.
const MANAGER: &str = "kube-controller-manager";
