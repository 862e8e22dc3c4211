//! The route that returns the versions of an object.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRef, State};
use axum::response::{IntoResponse as _, Response};
use drover_access::permit::Target;
use drover_api::rest::{ObjectHistory, ObjectVersion, VersionContent, history_kind};
use drover_http_edge::body::{Name, Query};
use drover_http_edge::routes::{Right, Routes};
use drover_http_edge::status::Status;
use drover_identity::Authenticator;
use drover_identity::caller::Caller;
use drover_proxy::Proxy;
use drover_proxy::in_process::{self, ConnectError, Credentials};
use http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use utoipa_axum::routes;

use crate::api_path::object_path;
use crate::changes::Changes;
use crate::store::{Content, HistoryStore, ObjectKey, StoredVersion};

/// Maximum size of the response of the cluster in bytes.
const MAX_RESPONSE: usize = 4 << 20;
/// Maximum number of concurrent requests. Each request uses memory for the response of the cluster and
/// for the decompressed versions.
const MAX_READS: usize = 8;
/// Time that a request waits for other requests.
const WAIT: Duration = Duration::from_secs(5);
/// Interval of the removal of old versions.
const SWEEP: Duration = Duration::from_mins(10);

/// The state of the route. Clones share the state.
#[derive(Clone)]
pub struct ObjectHistories {
    store: HistoryStore,
    proxy: Arc<Proxy>,
    authenticator: Authenticator,
    reads: Arc<Semaphore>,
}

impl std::fmt::Debug for ObjectHistories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectHistories").finish_non_exhaustive()
    }
}

impl ObjectHistories {
    /// Creates the state of the route.
    pub fn new(store: HistoryStore, proxy: Arc<Proxy>, authenticator: Authenticator) -> Self {
        Self {
            store,
            proxy,
            authenticator,
            reads: Arc::new(Semaphore::new(MAX_READS)),
        }
    }

    /// Removes old versions, until the server stops.
    pub async fn run(self, stop: CancellationToken) {
        let sweeping = async {
            loop {
                tokio::time::sleep(SWEEP).await;
                self.store.remove_old(Timestamp::now());
            }
        };
        stop.run_until_cancelled(sweeping).await;
    }
}

impl FromRef<ObjectHistories> for Authenticator {
    fn from_ref(state: &ObjectHistories) -> Self {
        state.authenticator.clone()
    }
}

/// Declares the route.
pub fn declared() -> Routes<ObjectHistories> {
    Routes::default().add(Right::User, routes!(read))
}

/// Returns the router with the route of [`declared`].
pub fn router(state: ObjectHistories) -> axum::Router {
    declared().into_router().with_state(state)
}

/// The object whose versions the caller requests.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct ObjectQuery {
    /// The API version, such as `apps/v1`.
    api_version: String,
    /// The plural name of the kind, such as `deployments`.
    plural: String,
    /// The namespace. Absent for cluster-scoped objects.
    #[serde(default)]
    namespace: String,
    /// The name of the object.
    object: String,
}

/// Returns the recorded versions of an object, newest first. Requires the permission to get the
/// object in the cluster, also if the object was deleted. The server reads the object as the caller,
/// and records its current version. The server records versions of the kinds Deployment, StatefulSet,
/// DaemonSet, CronJob, Service, Ingress, ConfigMap, HorizontalPodAutoscaler, NetworkPolicy,
/// PodDisruptionBudget, Role, RoleBinding, ClusterRole and ClusterRoleBinding.
#[utoipa::path(get, path = "/v1/clusters/{name}/history", tag = "history",
    params(("name" = String, Path, description = "The cluster's name"), ObjectQuery),
    responses((status = 200, body = ObjectHistory)))]
async fn read(
    State(state): State<ObjectHistories>,
    Caller(caller): Caller,
    credentials: Credentials,
    Name(cluster): Name,
    Query(query): Query<ObjectQuery>,
) -> Result<Response, Status> {
    let kind = history_kind(&query.api_version, &query.plural).ok_or_else(|| {
        Status::bad_request(
            "the server records no history of this kind; use a kind from the \
                             documentation of this route",
        )
    })?;
    let (namespace, name) = (&*query.namespace, &*query.object);
    let path = object_path(&cluster, kind, namespace, name)
        .ok_or_else(|| Status::bad_request("the cluster, namespace or name is invalid"))?;
    let turn = turn(&state.reads).await?;
    let caller = Arc::new(caller);
    let before = state.proxy.permitted_target(Arc::clone(&caller), &cluster);
    let reading = in_process::get(&state.proxy, path.as_str(), &credentials, MAX_RESPONSE);
    let found = match Box::pin(reading).await {
        Ok(body) => Some(body),
        Err(error) if is_missing(&error, name) => None,
        Err(error) => return Ok(error.into_response()),
    };
    // A cluster with the same name can replace the cluster during the request.
    let after = state.proxy.permitted_target(caller, &cluster);
    let target = after.filter(|after| before.as_ref() == Some(after));
    let target = target.ok_or_else(|| Status::forbidden("your access to the cluster changed"))?;
    let exists = found.is_some();
    let key = ObjectKey::new(kind, namespace, name);
    let versions = versions(state.store, target, key, found, turn).await?;
    Ok(axum::Json(ObjectHistory { exists, versions }).into_response())
}

/// Reports whether the cluster responded that the object does not exist. The API server checks the
/// permission of the caller before it searches for the object.
fn is_missing(error: &ConnectError, name: &str) -> bool {
    let ConnectError::Refused(StatusCode::NOT_FOUND, body) = error else {
        return false;
    };
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    status["reason"] == "NotFound" && status["details"]["name"] == name
}

/// Waits until fewer than [`MAX_READS`] requests run.
async fn turn(reads: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Status> {
    let turn = tokio::time::timeout(WAIT, Arc::clone(reads).acquire_owned()).await;
    let turn = turn.ok().and_then(Result::ok);
    turn.ok_or_else(|| Status::too_many_requests("too many requests for versions; try again", 5))
}

/// Stores the current state of an object, and returns its versions. Compression and decompression take
/// time, so that they run in another thread. This thread continues if the caller disconnects, so that
/// it holds the turn of the request.
async fn versions(
    store: HistoryStore,
    target: Target,
    key: ObjectKey,
    found: Option<Bytes>,
    turn: OwnedSemaphorePermit,
) -> Result<Vec<ObjectVersion>, Status> {
    let reading = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let json = found.as_deref();
        if let Some(json) = json.and_then(|body| std::str::from_utf8(body).ok()) {
            store.observe(&target, key.kind, json, Timestamp::now());
        }
        drop(found);
        let mut versions = Vec::new();
        let mut previous = None;
        for (version, users) in store.versions(&target, &key) {
            let users = users.iter().map(ToString::to_string).collect();
            let version = shown(version, users, previous.as_ref())?;
            previous.clone_from(&version.object);
            versions.push(version);
        }
        versions.reverse();
        Ok::<_, io::Error>(versions)
    });
    let read = reading.await.map_err(io::Error::other).flatten();
    read.map_err(|error| Status::internal(format!("cannot read the stored versions: {error}")))
}

fn shown(
    version: StoredVersion,
    users: Vec<String>,
    previous: Option<&Value>,
) -> io::Result<ObjectVersion> {
    let (content, object) = match &version.content {
        Content::Stored(compressed) => (VersionContent::Stored, Some(compressed.object()?)),
        Content::TooLarge => (VersionContent::TooLarge, None),
        Content::Deleted => (VersionContent::Deleted, None),
    };
    let changes = match (previous, &object) {
        (Some(old), Some(new)) => Changes::between(old, new),
        _ => Changes::default(),
    };
    Ok(ObjectVersion {
        number: version.number,
        seen: version.seen,
        resource_version: version.resource_version.into(),
        generation: version.generation,
        uid: version.uid.into(),
        content,
        users,
        managers: version.managers,
        changes: changes.listed,
        further_changes: changes.further,
        object,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn request_above_the_limit_of_concurrent_requests_is_rejected() {
        let reads = Arc::new(Semaphore::new(1));
        let first = turn(&reads).await.expect("no other request runs");
        let rejected = turn(&reads).await.expect_err("another request runs");
        let status = rejected.into_response().status();
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        drop(first);
        assert!(turn(&reads).await.is_ok());
    }
}
