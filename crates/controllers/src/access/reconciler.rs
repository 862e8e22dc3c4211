//! Applies access when roles or the connection change, and repairs drift.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::drift::ACCESS;
use drover_api::group::ACCESS_LABEL;
use drover_api::ids::ClusterUid;
use drover_reconcile::{Action, Attempt, Reconciler};

use super::act::apply;
use super::desired::in_cluster;
use super::unmanaged::{BoundSubjects, SweepResult, sweep};
use crate::Controllers;
use crate::managed::{AccessState, ManagedCluster};
use drover_apply::ApplyError;

/// Maximum time between two repairs of drift.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// Interval at which the controller checks incomplete stores again.
const UNTRUSTED_RETRY: Duration = Duration::from_secs(1);
/// Timeout of applying the desired access to one cluster.
const APPLY_TIMEOUT: Duration = Duration::from_mins(2);

/// The reconciler that applies the desired access to each cluster.
pub(crate) struct Access(pub(crate) Controllers);

impl Reconciler for Access {
    type Key = ClusterUid;
    type Error = ApplyError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, ApplyError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reconciling = cluster.unless_deleted(reconcile(&cluster));
        reconciling.await.unwrap_or(Ok(Action::await_change()))
    }
}

/// Reports whether the desired access has changed since the last comparison.
pub(crate) fn is_outdated(cluster: &ManagedCluster) -> bool {
    cluster.state.access.lock().desired() != Some(digest(cluster))
}

async fn reconcile(cluster: &ManagedCluster) -> Result<Action, ApplyError> {
    let desired = digest(cluster);
    if !cluster.is_connected() {
        let mut progress = cluster.state.access.lock();
        progress.disconnected();
        if is_outdated_offline(progress.desired(), desired, false) {
            drop(progress);
            cluster.set_access_pending();
        }
        return Ok(Action::await_change());
    }
    // Incomplete stores lack bindings, so their access would be revoked.
    if !cluster.controllers.hub.stores().health().is_trusted() {
        return Ok(Action::requeue(UNTRUSTED_RETRY));
    }
    let reported = cluster.drift_digest(ACCESS);
    {
        let mut progress = cluster.state.access.lock();
        let wait = progress.wait(desired, reported.as_ref());
        if !wait.is_zero() {
            return Ok(Action::requeue(wait));
        }
        progress.begin(desired, reported);
    }
    let applied = Box::pin(apply_once(cluster)).await;
    cluster.set_access(match &applied {
        Ok(()) => AccessState::Applied,
        Err(error) => AccessState::Failed(error.to_string()),
    });
    applied?;
    let mut progress = cluster.state.access.lock();
    progress.done(REPAIR_EVERY);
    let reported = cluster.drift_digest(ACCESS);
    Ok(Action::requeue(progress.wait(desired, reported.as_ref())))
}

async fn apply_once(cluster: &ManagedCluster) -> Result<(), ApplyError> {
    let controllers = &cluster.controllers;
    let stores = controllers.hub.stores();
    let grants = stores.grants.fresh(stores);
    let desired = in_cluster(&grants.downstream(&cluster.uid));
    drop(grants);
    let client = controllers.tunnels.client(&cluster.uid, Lane::Controller);
    let applying = async {
        let applied = apply(&client, ACCESS_LABEL, &desired).await;
        let bound = || BoundSubjects::of(stores, &cluster.uid);
        report(cluster, sweep(&client, bound).await).await;
        applied
    };
    tokio::time::timeout(APPLY_TIMEOUT, applying)
        .await
        .unwrap_or(Err(ApplyError::Timeout(APPLY_TIMEOUT)))
}

/// Publishes the changes of unmanaged bindings as events of the Cluster. A failed change does not
/// affect the access that roles grant, so condition AccessApplied does not show the failure.
async fn report(managed: &ManagedCluster, result: SweepResult) {
    let Some(cluster) = managed.object() else {
        return;
    };
    let notices = &managed.controllers.notices;
    if let Some((first, others)) = result.changed.split_first() {
        let others = others.len();
        tracing::info!(cluster.uid = %managed.uid, first, others, "removed users without a \
                                                                   Drover role from unmanaged \
                                                                   bindings");
        let note = format!(
            "removed Drover users without a role in this cluster from bindings that Drover does \
             not manage: {first}, and {others} more. Assign roles in Drover, or name users in \
             bindings only while they have a role"
        );
        notices.inform(&cluster, "NamesTakenOut", &note).await;
    }
    if let Some(error) = result.failed {
        tracing::warn!(cluster.uid = %managed.uid, %error, "cannot remove users without a Drover \
                                                            role from unmanaged bindings");
        let note = format!(
            "unmanaged bindings may still name Drover users without a role in this \
                cluster: {error}"
        );
        notices.warn(&cluster, "NamesNotTakenOut", &note).await;
    }
}

/// Returns the digest of the desired access to a cluster.
fn digest(cluster: &ManagedCluster) -> u64 {
    let grants = cluster.controllers.hub.stores().grants.current();
    grants.digest_of(&cluster.uid)
}

/// Reports whether a disconnected cluster has outdated access. Returns false for a connected
/// cluster, because the server applies changes to a connected cluster immediately.
fn is_outdated_offline(applied: Option<u64>, desired: u64, connected: bool) -> bool {
    !connected && applied.is_some_and(|applied| applied != desired)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_status_is_outdated_only_after_a_change_while_cluster_is_disconnected() {
        for (applied, connected, outdated) in [
            (Some(1), true, false),
            (Some(1), false, true),
            (Some(2), false, false),
            (None, false, false),
        ] {
            assert_eq!(
                is_outdated_offline(applied, 2, connected),
                outdated,
                "{applied:?} {connected}"
            );
        }
    }
}
