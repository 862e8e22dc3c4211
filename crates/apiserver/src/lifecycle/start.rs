//! What is there before the first client: the system's namespaces, its roles and bindings.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::{Act, Hub, ObjectPath, Propagation};
use crate::access::{BootstrapObject, Reconciled, bootstrap_objects, reconcile};
use crate::status::ApiError;

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// kube-apiserver makes these itself.
const MANAGER: &str = "kube-apiserver";
const RBAC: &str = "rbac.authorization.k8s.io";
const CONCURRENT: usize = 16;
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Something that must be there could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make {path} what it must be at the start")]
pub struct StartError {
    path: Box<ObjectPath>,
    #[source]
    source: ApiError,
}

/// Makes the system's namespaces, roles and bindings, or brings them up to date; to be called
/// before clients are let in.
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

/// Many at once, so that they become durable together.
async fn all(
    // Collected: a caller that is spawned cannot hold the closure that makes them.
    list: Vec<BoxFuture<'_, Result<(), StartError>>>,
) -> Result<(), StartError> {
    stream::iter(list)
        .buffer_unordered(CONCURRENT)
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

/// Others may write at the same time, so it takes a few tries at most.
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
            Err(error) if error.code == http::StatusCode::CONFLICT && tries < TRIES => {
                tokio::time::sleep(PAUSE * tries).await;
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
            tracing::warn!(%path, "kept as it is, although rights are missing: autoupdate is false");
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
