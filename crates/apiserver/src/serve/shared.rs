//! [`Shared`]: the state that all requests share.

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::response::Response;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::access::{
    Admission, Authenticate, Authorizer, Caller, Impersonation, Objects, Rbac, Tokens,
};
use crate::builtin::autoscaling;
use crate::discovery;
use crate::openapi;
use crate::resource::CatalogCache;
use crate::resource::{Catalog, GroupResource, Origin, Resource};
use crate::schema::Node;
use crate::serve::audit::Audit;
use crate::serve::events;
use crate::serve::input::request::ResourcePath;
use crate::serve::limits::fair::Fair;
use crate::serve::limits::heavy::HeavyWorkLimiter;
use crate::serve::limits::memory::MemoryLimiter;
use crate::serve::metadata;
use crate::serve::metrics::Metrics;
use crate::serve::write::definitions::Definitions;
use crate::status::ApiError;
use crate::store::{Store, Stored};

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) catalog: Arc<ArcSwap<Catalog>>,
    pub(crate) authenticator: Arc<dyn Authenticate>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) rbac: Arc<Rbac>,
    pub(crate) impersonation: Impersonation,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) connect: Option<Arc<dyn Connect>>,
    /// The resources whose requests the server passes to `connect`.
    pub(crate) answered: BTreeSet<GroupResource>,
    pub(crate) fair: Fair,
    pub(crate) heavy: HeavyWorkLimiter,
    /// Limits CPU-heavy reads. Reads and writes have separate limits, so that long lists do not
    /// delay writes.
    pub(crate) reads: HeavyWorkLimiter,
    /// Limits the memory of responses.
    pub(crate) response_memory: MemoryLimiter,
    /// Limits the memory of watches.
    pub(crate) watching: MemoryLimiter,
    /// Limits the memory of request bodies.
    pub(crate) bodies: MemoryLimiter,
    pub(crate) openapi: CatalogCache<openapi::Documents>,
    pub(crate) discovery: CatalogCache<discovery::Documents>,
    pub(crate) definitions: Definitions,
    pub(crate) metrics: Metrics,
    pub(crate) version: Version,
    /// Locked during the allocation of Service addresses.
    pub(crate) addresses: tokio::sync::Mutex<()>,
    /// Notifies watches when the catalog changes.
    pub(crate) catalog_changed: tokio::sync::watch::Sender<()>,
    /// Cancellation ends all watches.
    pub(crate) shutdown: CancellationToken,
}

/// The content of `/version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The major version number, such as `1`.
    pub major: String,
    /// The minor version number, such as `36`.
    pub minor: String,
    /// The full version, such as `v1.36.3+drover`.
    pub git_version: String,
}

impl Default for Version {
    fn default() -> Self {
        Self {
            major: "1".to_owned(),
            minor: "36".to_owned(),
            git_version: "v1.36.3".to_owned(),
        }
    }
}

/// Responds to the requests that the server passes to the embedding program. Examples are requests
/// for a simulated pod's `log`, and for the resources in
/// [`Options::answered`](crate::server::Options::answered).
pub trait Connect: Send + Sync {
    /// Responds to an authorized request. Returns `None` if the embedding program does not
    /// implement the path.
    fn connect<'a>(
        &'a self,
        caller: &'a Caller,
        path: &'a ResourcePath,
        request: http::Request<axum::body::Body>,
    ) -> BoxFuture<'a, Option<Result<Response, ApiError>>>;
}

/// Reads objects from the store for access checks.
pub(crate) struct LiveObjects(pub(crate) Store);

impl Objects for LiveObjects {
    fn find<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        Box::pin(async move {
            let key = crate::resource::key(group, resource, namespace, name);
            object_at(&self.0, &key).await
        })
    }
}

/// Reads the object at a key of the store.
pub(crate) async fn object_at(store: &Store, key: &str) -> Result<Option<Value>, ApiError> {
    let stored = store.get(key).await.map_err(ApiError::internal)?;
    stored
        .map(|stored| stored.object())
        .transpose()
        .map_err(ApiError::internal)
}

/// The object or collection of a request.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    /// The namespace. Empty for cluster-scoped resources and for all namespaces.
    pub(crate) namespace: String,
    /// The object's name. Empty for collections.
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// The `apiVersion` of stored objects of this resource.
    pub(crate) stored_version: Arc<str>,
    /// The schema of the resource's storage version.
    pub(crate) stored_schema: Arc<Node>,
}

/// Returns the `apiVersion` of stored objects of this resource.
pub(crate) fn stored_version(catalog: &Catalog, resource: &Resource) -> Arc<str> {
    if resource.storage {
        return resource.group_version.to_string().into();
    }
    if is_new_event(resource) {
        return "v1".into();
    }
    let same = resource.group_resource();
    catalog
        .iter()
        .find(|other| other.storage && other.group_resource() == same)
        .map_or_else(
            || resource.group_version.to_string().into(),
            |other| other.group_version.to_string().into(),
        )
}

/// Returns the schema of stored objects of this resource.
pub(crate) fn stored_schema(catalog: &Catalog, resource: &Resource) -> Arc<Node> {
    let same = resource.group_resource();
    let stored = (!resource.storage && resource.origin == Origin::Custom).then(|| {
        catalog
            .iter()
            .find(|other| other.storage && other.group_resource() == same)
    });
    Arc::clone(
        stored
            .flatten()
            .map_or(&resource.schema, |other| &other.schema),
    )
}

fn is_old_autoscaler(resource: &Resource) -> bool {
    let version = &resource.group_version;
    version.group == "autoscaling" && version.version == "v1"
}

fn is_new_event(resource: &Resource) -> bool {
    resource.group_version.group == "events.k8s.io" && resource.plural == "events"
}

impl Target {
    /// Returns the store's key of the object.
    pub(crate) fn key(&self) -> String {
        self.resource.key(&self.namespace, &self.name)
    }

    /// Returns the API group of the resource.
    pub(crate) fn group(&self) -> &str {
        &self.resource.group_version.group
    }

    /// Returns the target with this object name.
    pub(crate) fn named(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self.clone()
        }
    }

    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.group() == group && self.resource.plural == plural
    }

    pub(crate) fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    pub(crate) fn not_found(&self) -> ApiError {
        ApiError::not_found(self.group(), &self.resource.plural, &self.name)
    }

    pub(crate) fn conflict(&self, reason: impl std::fmt::Display) -> ApiError {
        ApiError::conflict(self.group(), &self.resource.plural, &self.name, reason)
    }

    pub(crate) fn forbidden(&self, reason: impl std::fmt::Display) -> ApiError {
        ApiError::forbidden(self.group(), &self.resource.plural, &self.name, reason)
    }

    /// Converts a stored object to the version of the request.
    pub(crate) fn show(&self, stored: &Stored) -> Result<Value, ApiError> {
        let mut object = stored.object().map_err(ApiError::internal)?;
        object["apiVersion"] = self.resource.group_version.to_string().into();
        if is_new_event(&self.resource) {
            events::from_stored(&mut object);
        } else if is_old_autoscaler(&self.resource) {
            autoscaling::to_v1(&mut object);
        } else if self.resource.origin == Origin::Custom {
            // Defaults may be newer than the object.
            self.stored_schema.apply_defaults(&mut object);
            if !self.resource.storage {
                // Fields of the storage version may be unknown in this version.
                self.resource.schema.prune(&mut object);
            }
        }
        Ok(object)
    }

    /// Converts an object to the stored version, and removes the resourceVersion.
    pub(crate) fn store(&self, mut object: Value) -> Value {
        metadata::remove(&mut object, "resourceVersion");
        if !self.resource.storage {
            object["apiVersion"] = (*self.stored_version).into();
        }
        if is_new_event(&self.resource) {
            events::to_stored(&mut object);
        } else if is_old_autoscaler(&self.resource) {
            autoscaling::from_v1(&mut object);
        } else if self.resource.origin == Origin::Custom && !self.resource.storage {
            self.stored_schema.prune(&mut object);
        }
        object
    }
}
