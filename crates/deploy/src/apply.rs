//! Writes the objects of a release by server-side apply, and deletes objects that are no longer in
//! the release.
//!
//! The order is the order of [`drover_apply::order`]: revoked permissions, namespaces, definitions,
//! configuration, workloads, webhooks, and then the deletions in reverse. After definitions, the
//! step waits until the API server serves them. The inventory of a release is its release record, so
//! that only objects of the own release are deleted.

mod adopt;
pub(crate) mod replace;

use std::collections::BTreeSet;
use std::time::Duration;

use drover_apply::order::{Step, steps};
use drover_apply::{ApplyError, call, is_gone};
use futures::future::join_all;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use tokio::time::Instant;

use crate::cluster::{Cluster, ClusterError, from_dynamic};
use crate::object::{DEPLOYMENT_LABEL, Object, ObjectKey};
use crate::readiness::{Readiness, readiness};

/// Field manager of the objects.
pub const FIELD_MANAGER: &str = "drover-deploy";
/// Maximum number of concurrent writes.
const CONCURRENCY: usize = 8;
/// Time until the API server serves a new definition.
const DEFINITION_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between two reads while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The reason why a release is not applied.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A call failed.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// An object exists and belongs to another owner.
    #[error(
        "cannot apply {key}: the object exists and belongs to {owner}; set helm.takeOwnership to adopt it"
    )]
    NotOwned {
        /// The object.
        key: ObjectKey,
        /// The release that owns the object.
        owner: String,
    },
    /// The deletion of an object that is replaced did not finish in time.
    #[error("cannot replace {key}: the deletion did not finish within {seconds} s; check its finalizers", seconds = DEFINITION_TIMEOUT.as_secs())]
    NotDeleted {
        /// The object.
        key: ObjectKey,
    },
    /// A definition is not served in time.
    #[error("cannot use {key}: the API server does not serve the definition within {seconds} s", seconds = DEFINITION_TIMEOUT.as_secs())]
    Definition {
        /// The CustomResourceDefinition.
        key: ObjectKey,
    },
}

impl From<ApplyError> for ReleaseError {
    fn from(error: ApplyError) -> Self {
        Self::Cluster(error.into())
    }
}

/// The release that owns objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Value of the label of the objects.
    pub label: String,
    /// Name of the Helm release.
    pub release: String,
    /// Namespace of the Helm release.
    pub namespace: String,
}

impl Owner {
    /// Returns true if the live object belongs to the release.
    pub fn owns(&self, live: &Object) -> bool {
        live.label(DEPLOYMENT_LABEL) == Some(&self.label)
            || (live.annotation("meta.helm.sh/release-name") == Some(&self.release)
                && live.annotation("meta.helm.sh/release-namespace") == Some(&self.namespace))
    }

    /// Adds the label, and the marks by which Helm finds its objects.
    pub fn mark(&self, object: &mut Object) {
        object.set_label(DEPLOYMENT_LABEL, &self.label);
        object.set_label("app.kubernetes.io/managed-by", "Helm");
        object.set_annotation("meta.helm.sh/release-name", &self.release);
        object.set_annotation("meta.helm.sh/release-namespace", &self.namespace);
    }
}

/// The changes of a release.
#[derive(Debug)]
pub struct Changes<'a> {
    /// Owner of the objects.
    pub owner: &'a Owner,
    /// Objects of the release.
    pub desired: &'a [Object],
    /// Objects of the previous release, and of releases that did not finish.
    pub previous: &'a [Object],
    /// True if this library wrote and signed the previous release. Otherwise, only live objects with the
    /// owner's marks are replaced, and fields of other field managers are taken over first.
    pub is_own_release: bool,
    /// True to adopt objects of other owners.
    pub take_ownership: bool,
    /// True to recreate objects whose immutable fields changed.
    pub force: bool,
}

/// Applies the changes. Stops at the first failing kind. Returns the written objects as the API server
/// stores them.
pub async fn apply(cluster: &Cluster, changes: &Changes<'_>) -> Result<Vec<Object>, ReleaseError> {
    let mut kinds: Vec<&str> = Vec::new();
    for object in changes.desired.iter().chain(changes.previous) {
        if !kinds.contains(&object.kind()) {
            kinds.push(object.kind());
        }
    }
    let previous = identities(changes.previous);
    let desired = identities(changes.desired);
    let mut live = Vec::new();
    for step in steps(&kinds) {
        match step {
            Step::Write(kind) => {
                live.extend(write_kind(cluster, changes, &previous, kinds[kind]).await?);
            }
            Step::Prune(kind) => prune_kind(cluster, changes, &desired, kinds[kind]).await?,
        }
    }
    Ok(live)
}

/// Returns the keys of objects, regardless of the API's version.
fn identities(objects: &[Object]) -> BTreeSet<ObjectKey> {
    let keys = objects.iter().map(|object| object.key().without_version());
    keys.collect()
}

async fn write_kind(
    cluster: &Cluster,
    changes: &Changes<'_>,
    previous: &BTreeSet<ObjectKey>,
    kind: &str,
) -> Result<Vec<Object>, ReleaseError> {
    let objects: Vec<&Object> = changes
        .desired
        .iter()
        .filter(|object| object.kind() == kind)
        .collect();
    let mut live = Vec::new();
    for batch in objects.chunks(CONCURRENCY) {
        let writes = batch.iter().map(|object| {
            let is_known = previous.contains(&object.key().without_version());
            write(cluster, changes, object, is_known)
        });
        let written = join_all(writes).await;
        live.extend(written.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    let definitions: Vec<_> = objects
        .iter()
        .filter(|object| object.is_crd())
        .map(|object| object.key())
        .collect();
    wait_for_definitions(cluster, &definitions).await?;
    Ok(live)
}

async fn write(
    cluster: &Cluster,
    changes: &Changes<'_>,
    object: &Object,
    is_known: bool,
) -> Result<Object, ReleaseError> {
    let key = object.key();
    // A record without a signature can name objects of other owners.
    let is_known = is_known && changes.is_own_release;
    if !is_known && let Some(live) = cluster.get(&key).await? {
        if !changes.take_ownership && !changes.owner.owns(&live) {
            return Err(ReleaseError::NotOwned {
                owner: owner_of(&live),
                key,
            });
        }
        adopt::take_over_fields(cluster, &live).await?;
    }
    let mut marked = object.clone();
    changes.owner.mark(&mut marked);
    match server_side_apply(cluster, &marked).await {
        Err(error) if changes.force && replace::is_possible(&key, &error) => {
            replace::replace(cluster, changes, &marked, error).await
        }
        applied => Ok(applied?),
    }
}

fn owner_of(live: &Object) -> String {
    match (
        live.annotation("meta.helm.sh/release-name"),
        live.label(DEPLOYMENT_LABEL),
    ) {
        (_, Some(deployment)) => format!("the bundle deployment {deployment}"),
        (Some(release), None) => format!("the Helm release {release}"),
        (None, None) => "an owner that is not managed by Helm or Drover".to_owned(),
    }
}

/// Writes an object by server-side apply. Returns the stored object.
pub(crate) async fn server_side_apply(
    cluster: &Cluster,
    object: &Object,
) -> Result<Object, ClusterError> {
    let operation = format!("apply {}", object.key());
    patch(cluster, object, parameters(), operation).await
}

/// Returns the object that the API server would store.
pub(crate) async fn dry_run(cluster: &Cluster, object: &Object) -> Result<Object, ClusterError> {
    let operation = format!("apply {} as a dry run", object.key());
    patch(cluster, object, parameters().dry_run(), operation).await
}

fn parameters() -> PatchParams {
    PatchParams::apply(FIELD_MANAGER).force()
}

async fn patch(
    cluster: &Cluster,
    object: &Object,
    params: PatchParams,
    operation: String,
) -> Result<Object, ClusterError> {
    let key = object.key();
    let kind = cluster.kind(&key.api_version, &key.kind).await?;
    let api = cluster.api(&kind, &key.namespace);
    let patch = Patch::Apply(object);
    let stored = call(operation, api.patch(&key.name, &params, &patch)).await?;
    Ok(from_dynamic(stored, &key.api_version, &key.kind))
}

async fn wait_for_definitions(
    cluster: &Cluster,
    definitions: &[ObjectKey],
) -> Result<(), ReleaseError> {
    let deadline = Instant::now() + DEFINITION_TIMEOUT;
    for key in definitions {
        loop {
            let live = cluster.get(key).await?;
            if live.is_some_and(|live| readiness(&live, &[]) == Readiness::Current) {
                break;
            }
            if Instant::now() >= deadline {
                return Err(ReleaseError::Definition { key: key.clone() });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    if !definitions.is_empty() {
        cluster.refresh_kinds().await?;
    }
    Ok(())
}

async fn prune_kind(
    cluster: &Cluster,
    changes: &Changes<'_>,
    desired: &BTreeSet<ObjectKey>,
    kind: &str,
) -> Result<(), ReleaseError> {
    let unwanted = changes
        .previous
        .iter()
        .filter(|object| object.kind() == kind && !object.is_kept());
    let unwanted: Vec<ObjectKey> = unwanted
        .map(Object::key)
        .filter(|key| !desired.contains(&key.without_version()))
        .collect();
    delete_owned(cluster, changes.owner, &unwanted).await
}

/// Deletes the objects that belong to the owner. Other objects, and objects that are marked to be
/// kept, stay.
async fn delete_owned(
    cluster: &Cluster,
    owner: &Owner,
    keys: &[ObjectKey],
) -> Result<(), ReleaseError> {
    for batch in keys.chunks(CONCURRENCY) {
        let deleted = join_all(batch.iter().map(|key| delete_if_owned(cluster, owner, key))).await;
        deleted.into_iter().collect::<Result<(), _>>()?;
    }
    Ok(())
}

async fn delete_if_owned(
    cluster: &Cluster,
    owner: &Owner,
    key: &ObjectKey,
) -> Result<(), ReleaseError> {
    let live = match cluster.get(key).await {
        // The definition of the kind is deleted, and so are its objects.
        Err(ClusterError::UnknownKind { .. }) => return Ok(()),
        live => live?,
    };
    match live {
        Some(live) if owner.owns(&live) && !live.is_kept() => {
            Ok(delete(cluster, key, Some(live.uid().to_owned())).await?)
        }
        _ => Ok(()),
    }
}

/// Deletes an object if it has the UID. A missing object is no error.
pub(crate) async fn delete(
    cluster: &Cluster,
    key: &ObjectKey,
    uid: Option<String>,
) -> Result<(), ClusterError> {
    let kind = cluster.kind(&key.api_version, &key.kind).await?;
    let preconditions = uid.map(|uid| Preconditions {
        uid: Some(uid),
        resource_version: None,
    });
    let params = DeleteParams {
        preconditions,
        ..DeleteParams::background()
    };
    let api = cluster.api(&kind, &key.namespace);
    match call(format!("delete {key}"), api.delete(&key.name, &params)).await {
        Err(ApplyError::Call { source, .. }) if is_gone(&source) => Ok(()),
        deleted => Ok(deleted.map(drop)?),
    }
}

/// Waits until an object does not exist. Returns `false` after the timeout.
pub(crate) async fn wait_until_gone(
    cluster: &Cluster,
    key: &ObjectKey,
    timeout: Duration,
) -> Result<bool, ClusterError> {
    let deadline = Instant::now() + timeout;
    while cluster.get(key).await?.is_some() {
        if Instant::now() >= deadline {
            return Ok(false);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Ok(true)
}
