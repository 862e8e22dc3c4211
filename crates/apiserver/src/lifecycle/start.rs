//! Bootstrap objects: system namespaces, roles and bindings.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::{Act, Hub, ObjectPath, Propagation};
use crate::access::{BootstrapObject, Reconciled, bootstrap_objects, reconcile};
use crate::status::ApiError;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// The field manager of bootstrap objects. kube-apiserver creates these objects in Kubernetes.
const MANAGER: &str = "kube-apiserver";
const RBAC: &str = "rbac.authorization.k8s.io";
const CONCURRENCY: usize = 16;
const MAX_ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(20);

/// The reason why the server cannot write a bootstrap object.
#[derive(Debug, thiserror::Error)]
#[error("cannot write bootstrap object {path}")]
pub struct StartError {
    path: Box<ObjectPath>,
    #[source]
    source: ApiError,
}

/// Creates or updates the system namespaces, roles and bindings. Must run before the first client
/// request.
pub async fn prepare(hub: &dyn Hub) -> Result<(), StartError> {
    let namespaces = NAMESPACES.map(|name| Box::pin(ensure_namespace(hub, name)) as _);
    all(namespaces.into()).await?;
    let objects = bootstrap_objects();
    let objects = objects
        .iter()
        .map(|object| Box::pin(ensure(hub, object)) as _)
        .collect();
    all(objects).await
}

/// Runs writes concurrently, because concurrent writes share disk syncs.
async fn all(
    // The list is collected, because a spawned caller cannot hold the closure.
    list: Vec<BoxFuture<'_, Result<(), StartError>>>,
) -> Result<(), StartError> {
    stream::iter(list)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await
}

async fn ensure_namespace(hub: &dyn Hub, name: &str) -> Result<(), StartError> {
    let path = ObjectPath::new("", "namespaces", "", name);
    let found = hub.get(&path).await.map_err(failed(&path))?;
    if found.is_some() {
        return Ok(());
    }
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
    });
    match hub.act(MANAGER, &path, Act::Create(namespace)).await {
        Err(error) if error.reason == "AlreadyExists" => Ok(()),
        outcome => outcome.map_err(failed(&path)),
    }
}

/// Creates or updates a bootstrap object. Retries a few times after concurrent writes.
async fn ensure(hub: &dyn Hub, object: &BootstrapObject) -> Result<(), StartError> {
    let path = ObjectPath::new(
        RBAC,
        object.kind.resource(),
        &object.namespace,
        &object.name,
    );
    let mut tries = 1;
    loop {
        match ensure_once(hub, &path, object).await {
            Err(error) if error.code == http::StatusCode::CONFLICT && tries < MAX_ATTEMPTS => {
                tokio::time::sleep(RETRY_DELAY * tries).await;
                tries += 1;
            }
            outcome => return outcome.map_err(failed(&path)),
        }
    }
}

async fn ensure_once(
    hub: &dyn Hub,
    path: &ObjectPath,
    object: &BootstrapObject,
) -> Result<(), ApiError> {
    let stored = hub.get(path).await?;
    match reconcile(object, stored.as_ref()) {
        Reconciled::Nothing => Ok(()),
        Reconciled::Protected => {
            tracing::warn!(%path, "skipped the restoration of a bootstrap role: the autoupdate \
                                   annotation of the role is false");
            Ok(())
        }
        Reconciled::Create(object) => hub.act(MANAGER, path, Act::Create(object)).await,
        Reconciled::Update(object) => {
            let act = Act::Update {
                object,
                subresource: "",
            };
            hub.act(MANAGER, path, act).await
        }
        Reconciled::Recreate(object) => {
            let uid = stored
                .as_ref()
                .and_then(|stored| stored["metadata"]["uid"].as_str())
                .unwrap_or_default();
            let delete = Act::Delete {
                uid: uid.to_owned(),
                resource_version: None,
                propagation: Propagation::Background,
            };
            hub.act(MANAGER, path, delete).await?;
            hub.act(MANAGER, path, Act::Create(object)).await
        }
    }
}

fn failed(path: &ObjectPath) -> impl FnOnce(ApiError) -> StartError {
    let path = Box::new(path.clone());
    |source| StartError { path, source }
}
