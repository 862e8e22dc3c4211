//! Applies access when roles or the connection change, and repairs drift.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::drift::ACCESS;
use drover_api::group::ACCESS_LABEL;
use drover_api::ids::ClusterUid;
use drover_reconcile::{Action, Attempt, Reconciler};

use super::act::apply;
use super::foreign::{Bound, Swept, sweep};
use super::wanted::in_cluster;
use crate::Controllers;
use crate::managed::{AccessState, ManagedCluster};
use drover_apply::ApplyError;

/// The longest time between two repairs of drift.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// Between checks whether the stores can be trusted again.
const UNTRUSTED: Duration = Duration::from_secs(1);
/// Longest time of one application.
const APPLY_WITHIN: Duration = Duration::from_mins(2);

/// Keeps access in each cluster.
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

/// Whether the hub wants other access in a cluster than was compared last.
pub(crate) fn is_outdated(cluster: &ManagedCluster) -> bool {
    cluster.state.access.lock().wanted() != Some(digest(cluster))
}

async fn reconcile(cluster: &ManagedCluster) -> Result<Action, ApplyError> {
    let wanted = digest(cluster);
    if !cluster.is_connected() {
        let mut progress = cluster.state.access.lock();
        progress.disconnected();
        if is_outdated_offline(progress.wanted(), wanted, false) {
            drop(progress);
            cluster.outdate_access();
        }
        return Ok(Action::await_change());
    }
    // Stores that miss bindings would take access away.
    if !cluster.controllers.hub.stores().health().is_trusted() {
        return Ok(Action::requeue(UNTRUSTED));
    }
    let reported = cluster.drift_digest(ACCESS);
    {
        let mut progress = cluster.state.access.lock();
        let wait = progress.wait(wanted, reported.as_ref());
        if !wait.is_zero() {
            return Ok(Action::requeue(wait));
        }
        progress.begin(wanted, reported);
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
    Ok(Action::requeue(progress.wait(wanted, reported.as_ref())))
}

async fn apply_once(cluster: &ManagedCluster) -> Result<(), ApplyError> {
    let controllers = &cluster.controllers;
    let stores = controllers.hub.stores();
    let grants = stores.grants.fresh(stores);
    let wanted = in_cluster(&grants.downstream(&cluster.uid));
    drop(grants);
    let client = controllers.tunnels.client(&cluster.uid, Lane::Controller);
    let applying = async {
        let applied = apply(&client, ACCESS_LABEL, &wanted).await;
        let bound = || Bound::of(stores, &cluster.uid);
        report(cluster, sweep(&client, bound).await).await;
        applied
    };
    tokio::time::timeout(APPLY_WITHIN, applying)
        .await
        .unwrap_or(Err(ApplyError::Timeout(APPLY_WITHIN)))
}

/// Says what became of bindings that are not Drover's. That one of them could not be changed keeps nobody
/// from what their role allows, so it is no failure of access.
async fn report(managed: &ManagedCluster, swept: Swept) {
    let Some(cluster) = managed.object() else {
        return;
    };
    let notices = &managed.controllers.notices;
    if let Some((first, others)) = swept.changed.split_first() {
        let others = others.len();
        tracing::info!(cluster.uid = %managed.uid, first, others, "people without a role were taken out of bindings");
        let note = format!(
            "people of Drover who have no role in this cluster were taken out of bindings that are not \
             Drover's: {first}, and {others} more. Give people roles in Drover, or name them only while \
             they have one"
        );
        notices.tell(&cluster, "NamesTakenOut", &note).await;
    }
    if let Some(error) = swept.failed {
        tracing::warn!(cluster.uid = %managed.uid, %error, "people without a role may be left in bindings");
        let note =
            format!("people of Drover without a role here may still be named in bindings: {error}");
        notices.warn(&cluster, "NamesNotTakenOut", &note).await;
    }
}

/// Digest of the access that the hub wants in a cluster now.
fn digest(cluster: &ManagedCluster) -> u64 {
    let grants = cluster.controllers.hub.stores().grants.current();
    grants.digest_of(&cluster.uid)
}

/// Whether the applied access is wrong, and stays so for a while. In a connected cluster a change is
/// applied at once: until that fails, the last result holds, and a new grant makes no cluster unready.
fn is_outdated_offline(applied: Option<u64>, wanted: u64, connected: bool) -> bool {
    !connected && applied.is_some_and(|applied| applied != wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_grant_in_a_connected_cluster_keeps_the_last_result() {
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
