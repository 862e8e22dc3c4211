//! Access to objects of any kind in a cluster.
//!
//! The kinds of the cluster are discovered once, and again only when a kind is missing, so that the
//! number of requests does not grow with the number of deployments.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_apply::{ApplyError, call, is_gone};
use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope};
use parking_lot::RwLock;
use serde_json::{Value, json};

use crate::object::{Object, ObjectKey};
use crate::renderer::{Lookup, LookupRequest};

/// Minimum time between two discoveries because of missing kinds.
const MIN_DISCOVERY_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of objects in the result of a lookup.
const MAX_LOOKUP: u32 = 5000;
/// Number of objects in a page of a list.
const PAGE_SIZE: u32 = 500;

/// The reason why the cluster cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] ApplyError),
    /// The cluster does not serve the kind.
    #[error(
        "no matches for kind {kind:?} in version {api_version:?}; install its CustomResourceDefinition first"
    )]
    UnknownKind {
        /// API version of the object.
        api_version: String,
        /// Kind of the object.
        kind: String,
    },
    /// The name of the service account is not valid.
    #[error("cannot impersonate the service account {0:?}: the name is not valid")]
    ServiceAccount(String),
    /// A list is too long.
    #[error("cannot list every {kind}: the cluster has more than {MAX_LOOKUP} objects")]
    TooMany {
        /// Kind of the objects.
        kind: String,
    },
}

impl ClusterError {
    /// Returns true if the object does not exist.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Call(ApplyError::Call { source, .. }) if is_gone(source))
    }
}

/// A kind that the cluster serves.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Group, version and plural.
    pub resource: ApiResource,
    /// True for namespaced kinds.
    pub namespaced: bool,
}

/// Version and kinds of a cluster.
#[derive(Debug, Default)]
pub struct Kinds {
    /// Version of Kubernetes, for example `v1.34.1`.
    pub kube_version: String,
    /// API versions, and API versions with kinds, as in Helm's capabilities.
    pub api_versions: Vec<String>,
    by_name: HashMap<(String, String), Kind>,
}

impl Kinds {
    /// Returns the kind.
    pub fn get(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.by_name.get(&(api_version.to_owned(), kind.to_owned()))
    }
}

#[derive(Debug, Default)]
struct Discovered {
    kinds: RwLock<Option<(Arc<Kinds>, Instant)>>,
    discovering: tokio::sync::Mutex<()>,
}

/// A cluster. Clones share the discovered kinds.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    discovered: Arc<Discovered>,
    discovery_client: Client,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// Creates access with the client's permissions.
    pub fn new(client: Client) -> Self {
        Self {
            discovery_client: client.clone(),
            client,
            discovered: Arc::default(),
        }
    }

    /// Returns access with the permissions of a service account. The client needs the permission to
    /// impersonate the account.
    pub fn as_service_account(&self, namespace: &str, name: &str) -> Result<Self, ClusterError> {
        let user = format!("system:serviceaccount:{namespace}:{name}");
        let user = HeaderValue::from_str(&user)
            .map_err(|_| ClusterError::ServiceAccount(name.to_owned()))?;
        let header = HeaderName::from_static("impersonate-user");
        let own = self.client.clone();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            request.headers_mut().insert(header.clone(), user.clone());
            let own = own.clone();
            async move { own.send(request).await }
        });
        let client = Client::new(service, self.client.default_namespace());
        Ok(Self {
            client,
            ..self.clone()
        })
    }

    /// Returns the client.
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the discovered kinds.
    pub async fn kinds(&self) -> Result<Arc<Kinds>, ClusterError> {
        let known = self.discovered.kinds.read().clone();
        match known {
            Some((kinds, _)) => Ok(kinds),
            None => self.discover(Duration::ZERO).await,
        }
    }

    /// Discovers the kinds again, for example after a new CustomResourceDefinition.
    pub async fn refresh_kinds(&self) -> Result<Arc<Kinds>, ClusterError> {
        self.discover(Duration::ZERO).await
    }

    /// Returns a kind. Discovers the kinds again if the kind is unknown.
    pub async fn kind(&self, api_version: &str, kind: &str) -> Result<Kind, ClusterError> {
        if let Some(known) = self.kinds().await?.get(api_version, kind) {
            return Ok(known.clone());
        }
        let kinds = self.discover(MIN_DISCOVERY_INTERVAL).await?;
        kinds
            .get(api_version, kind)
            .cloned()
            .ok_or_else(|| ClusterError::UnknownKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            })
    }

    /// Discovers the kinds unless the last discovery is newer than `min_age`.
    async fn discover(&self, min_age: Duration) -> Result<Arc<Kinds>, ClusterError> {
        let asked = Instant::now();
        let _one_at_a_time = self.discovered.discovering.lock().await;
        if let Some((kinds, at)) = self.discovered.kinds.read().clone()
            && (at > asked || at.elapsed() < min_age)
        {
            return Ok(kinds);
        }
        let kinds = Arc::new(discover(&self.discovery_client).await?);
        *self.discovered.kinds.write() = Some((Arc::clone(&kinds), Instant::now()));
        Ok(kinds)
    }

    /// Returns access to the objects of a kind, in one namespace if the kind is namespaced and the
    /// namespace is not empty.
    pub fn api(&self, kind: &Kind, namespace: &str) -> Api<DynamicObject> {
        if kind.namespaced && !namespace.is_empty() {
            Api::namespaced_with(self.client.clone(), namespace, &kind.resource)
        } else {
            Api::all_with(self.client.clone(), &kind.resource)
        }
    }

    /// Reads an object.
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, ClusterError> {
        let kind = self.kind(&key.api_version, &key.kind).await?;
        let api = self.api(&kind, &key.namespace);
        let found = call(format!("read {key}"), api.get_opt(&key.name)).await?;
        Ok(found.map(|found| from_dynamic(found, &key.api_version, &key.kind)))
    }

    /// Lists the objects of a kind that the selector selects.
    pub async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Object>, ClusterError> {
        let served = self.kind(api_version, kind).await?;
        let api = self.api(&served, namespace);
        let mut params = ListParams::default().labels(selector).limit(PAGE_SIZE);
        let mut objects = Vec::new();
        loop {
            let page = call(format!("list every {kind}"), api.list(&params)).await?;
            objects.extend(
                page.items
                    .into_iter()
                    .map(|item| from_dynamic(item, api_version, kind)),
            );
            if objects.len() > MAX_LOOKUP as usize {
                return Err(ClusterError::TooMany {
                    kind: kind.to_owned(),
                });
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(objects),
            }
        }
    }
}

async fn discover(client: &Client) -> Result<Kinds, ClusterError> {
    let operation = || "discover the kinds of the cluster".to_owned();
    let aggregated = call(operation(), Discovery::new(client.clone()).run_aggregated()).await;
    let discovery = match aggregated {
        Ok(discovery) => discovery,
        // An API server before Kubernetes 1.30 may have no aggregated discovery.
        Err(_) => call(operation(), Discovery::new(client.clone()).run()).await?,
    };
    let version = call(
        "read the version of the cluster".to_owned(),
        client.apiserver_version(),
    )
    .await?;
    let mut kinds = Kinds {
        kube_version: version.git_version,
        ..Kinds::default()
    };
    for group in discovery.groups() {
        for version in group.versions() {
            let resources = group.versioned_resources(version);
            let Some((first, _)) = resources.first() else {
                continue;
            };
            kinds.api_versions.push(first.api_version.clone());
            for (resource, capabilities) in resources {
                let name = (resource.api_version.clone(), resource.kind.clone());
                kinds.api_versions.push(format!("{}/{}", name.0, name.1));
                let namespaced = capabilities.scope == Scope::Namespaced;
                kinds.by_name.insert(
                    name,
                    Kind {
                        resource,
                        namespaced,
                    },
                );
            }
        }
    }
    kinds.api_versions.sort_unstable();
    Ok(kinds)
}

/// Converts an object of the client. Items of lists have no API version and kind.
pub(crate) fn from_dynamic(object: DynamicObject, api_version: &str, kind: &str) -> Object {
    // The object comes from JSON, so the conversion to JSON cannot fail.
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("apiVersion".to_owned(), api_version.into());
        fields.insert("kind".to_owned(), kind.into());
    }
    Object(value)
}

impl Lookup for Cluster {
    fn lookup<'a>(&'a self, request: &'a LookupRequest) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let key = ObjectKey {
                api_version: request.api_version.clone(),
                kind: request.kind.clone(),
                namespace: request.namespace.clone(),
                name: request.name.clone(),
            };
            if request.name.is_empty() {
                let items = self
                    .list(&key.api_version, &key.kind, &key.namespace, "")
                    .await;
                let items = items.map_err(|error| error.to_string())?;
                return Ok(json!({
                    "apiVersion": key.api_version,
                    "kind": format!("{}List", key.kind),
                    "items": items,
                }));
            }
            let found = self.get(&key).await.map_err(|error| error.to_string())?;
            Ok(found.map_or_else(|| json!({}), |object| object.0))
        })
    }
}
