//! Access in one cluster: what is there is read, what is wanted is applied, the rest is deleted.

use std::time::Duration;

use drover_api::group::SERVER_FIELD_MANAGER;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::PART_LABEL;
use super::decide::{People, TooMany, Wanted, decide, surplus};
use crate::tunnels::told;

/// Most time for one call through the tunnel.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Why access in a cluster is not as the hub wants it.
#[derive(Debug, Error)]
pub enum AccessError {
    /// The people do not fit.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The cluster said no, or could not be reached.
    #[error("could not {what}: {source}")]
    Refused {
        /// Completes "could not …".
        what: String,
        /// What the client said.
        source: Box<kube::Error>,
    },
    /// No answer came.
    #[error("could not {what}: no answer within {} s", TIMEOUT.as_secs())]
    TimedOut {
        /// Completes "could not …".
        what: String,
    },
}

/// Makes access in a cluster what these people need; `client` is its controller lane.
///
/// New names first, bindings next, removals last, and among those the bindings first: at no point
/// is anybody bound whom the hub does not want.
pub async fn apply(client: &Client, people: &People) -> Result<(), AccessError> {
    let wanted = decide(people)?;
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    for role in &wanted.roles {
        apply_one(&roles, role).await?;
    }
    for binding in &wanted.bindings {
        apply_one(&bindings, binding).await?;
    }
    prune(&bindings, &wanted.bindings).await?;
    prune(&roles, &wanted.roles).await
}

/// Removes everything that [`apply`] ever made in a cluster.
pub async fn remove(client: &Client) -> Result<(), AccessError> {
    let nothing = Wanted::default();
    prune(
        &Api::<ClusterRoleBinding>::all(client.clone()),
        &nothing.bindings,
    )
    .await?;
    prune(&Api::<ClusterRole>::all(client.clone()), &nothing.roles).await
}

async fn apply_one<K>(api: &Api<K>, object: &K) -> Result<(), AccessError>
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + std::fmt::Debug,
{
    let name = object.name_any();
    let params = PatchParams::apply(SERVER_FIELD_MANAGER).force();
    let patch = Patch::Apply(object);
    let applied = api.patch(&name, &params, &patch);
    call(format!("apply {} {name}", K::kind(&())), applied)
        .await
        .map(|_| ())
}

async fn prune<K>(api: &Api<K>, wanted: &[K]) -> Result<(), AccessError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + std::fmt::Debug,
{
    let kind = K::kind(&());
    let params = ListParams::default().labels(PART_LABEL);
    let present = call(
        format!("list every {kind} that Drover keeps"),
        api.list(&params),
    )
    .await?;
    let present: Vec<String> = present.iter().map(ResourceExt::name_any).collect();
    let params = DeleteParams::default();
    let wanted: Vec<String> = wanted.iter().map(ResourceExt::name_any).collect();
    let wanted = wanted.iter().map(String::as_str);
    for name in surplus(present.iter().map(String::as_str), wanted) {
        let deleted = api.delete(&name, &params);
        match call(format!("delete {kind} {name}"), deleted).await {
            Err(AccessError::Refused { source, .. }) if is_gone(&source) => {}
            other => drop(other?),
        }
    }
    Ok(())
}

/// Whether what was asked for is not there.
pub(crate) fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Waits for one call through the tunnel, a bounded time.
pub(crate) async fn call<T>(
    what: String,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, AccessError> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => Err(AccessError::Refused {
            what,
            source: Box::new(told(source)),
        }),
        Err(_) => Err(AccessError::TimedOut { what }),
    }
}
