//! Applies access whenever roles or the connection change, and repairs drift.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::drift::ACCESS;
use drover_api::group::ACCESS_LABEL;

use super::act::apply;
use super::foreign::{Bound, Swept, sweep};
use super::wanted::in_cluster;
use crate::controllers::cluster::decide::AccessState;
use crate::controllers::drift::DriftWatch;
use crate::controllers::keeper::Shared;
use drover_apply::ApplyError;

/// What somebody changed in the cluster is put right at least this often.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// Between looks whether memory can be trusted.
const TRUSTED_AGAIN: Duration = Duration::from_secs(1);
/// Longest that one cluster may take its turn.
const APPLY_WITHIN: Duration = Duration::from_mins(2);
/// After a failure.
const RETRY_AFTER: Duration = Duration::from_secs(20);

/// Keeps access in one cluster as the hub wants it.
pub(in crate::controllers) async fn keep(shared: &Shared) {
    let mut changed = shared.controllers.hub.stores().grants.changed();
    let mut applied = None;
    let mut drift = DriftWatch::new(ACCESS);
    loop {
        reachable(shared, applied).await;
        // What memory does not hold yet would be taken away.
        while !shared.controllers.hub.stores().health().is_trusted() {
            tokio::time::sleep(TRUSTED_AGAIN).await;
        }
        changed.mark_unchanged();
        drift.start(shared);
        let digest = digest(shared);
        let done = Box::pin(apply_once(shared)).await;
        let pause = match &done {
            Ok(()) => REPAIR_EVERY,
            Err(_) => RETRY_AFTER,
        };
        shared.set_access(match done {
            Ok(()) => AccessState::Applied,
            Err(error) => {
                tracing::warn!(cluster.uid = %shared.uid, %error, "access was not applied");
                AccessState::Failed(error.to_string())
            }
        });
        let others =
            async { while self::digest(shared) == digest && changed.changed().await.is_ok() {} };
        // Early when roles change, somebody touches them, or the cluster comes back; else when it is
        // time to repair.
        let again = tokio::time::timeout(pause, async {
            tokio::select! {
                () = others => false,
                () = drift.changed(shared) => true,
                () = shared.reconnected() => false,
            }
        })
        .await;
        drift.ended(again.unwrap_or(false));
        applied = Some(digest);
    }
}

async fn apply_once(shared: &Shared) -> Result<(), ApplyError> {
    let controllers = &shared.controllers;
    // Taken by few at a time: what everybody has everywhere changes in all clusters at once.
    let _turn = controllers.applying.acquire().await;
    let stores = controllers.hub.stores();
    let grants = stores.grants.fresh(stores);
    let wanted = in_cluster(&grants.downstream(&shared.uid));
    drop(grants);
    let client = controllers.tunnels.client(&shared.uid, Lane::Controller);
    let applying = async {
        let applied = apply(&client, ACCESS_LABEL, &wanted).await;
        let bound = || Bound::of(stores, &shared.uid);
        tell_of(shared, sweep(&client, bound).await).await;
        applied
    };
    tokio::time::timeout(APPLY_WITHIN, applying)
        .await
        .unwrap_or(Err(ApplyError::TooLong(APPLY_WITHIN)))
}

/// Says what became of bindings that are not Drover's. That one of them could not be changed keeps nobody
/// from what their role allows, so it is no failure of access.
async fn tell_of(shared: &Shared, swept: Swept) {
    let Some(cluster) = shared.cluster() else {
        return;
    };
    let notices = &shared.controllers.notices;
    if let Some((first, others)) = swept.changed.split_first() {
        let others = others.len();
        tracing::info!(cluster.uid = %shared.uid, first, others, "people without a role were taken out of bindings");
        let note = format!(
            "people of Drover who have no role in this cluster were taken out of bindings that are not \
             Drover's: {first}, and {others} more. Give people roles in Drover, or name them only while \
             they have one"
        );
        notices.tell(&cluster, "NamesTakenOut", &note).await;
    }
    if let Some(error) = swept.failed {
        tracing::warn!(cluster.uid = %shared.uid, %error, "people without a role may be left in bindings");
        let note =
            format!("people of Drover without a role here may still be named in bindings: {error}");
        notices.warn(&cluster, "NamesNotTakenOut", &note).await;
    }
}

/// Waits until an agent is connected; meanwhile, what was applied may become wrong.
async fn reachable(shared: &Shared, applied: Option<u64>) {
    let mut changed = shared.controllers.hub.stores().grants.changed();
    loop {
        if is_outdated(applied, digest(shared), shared.is_connected()) {
            shared.outdate_access();
        }
        tokio::select! {
            () = shared.connected() => return,
            told = changed.changed() => if told.is_err() {
                return shared.connected().await;
            },
        }
    }
}

/// Of what has to be in the cluster now.
fn digest(shared: &Shared) -> u64 {
    let grants = shared.controllers.hub.stores().grants.current();
    grants.digest_of(&shared.uid)
}

/// Whether what was applied is wrong, and stays so for a while. In a connected cluster a change is
/// applied at once: until that fails, the last result holds, and a new grant makes no cluster unready.
fn is_outdated(applied: Option<u64>, wanted: u64, connected: bool) -> bool {
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
                is_outdated(applied, 2, connected),
                outdated,
                "{applied:?} {connected}"
            );
        }
    }
}
