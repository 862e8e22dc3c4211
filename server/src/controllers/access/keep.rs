//! Applies access whenever roles or the connection change, and repairs drift.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::ACCESS_LABEL;

use super::act::{AccessError, apply};
use super::wanted::in_cluster;
use crate::controllers::cluster::decide::AccessState;
use crate::controllers::keeper::Shared;

/// What somebody changed in the cluster is put right at least this often.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// Least time between a look and the next because somebody touched something.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// After a failure.
const RETRY_AFTER: Duration = Duration::from_secs(20);

/// Keeps access in one cluster as the hub wants it.
pub(in crate::controllers) async fn keep(shared: &Shared) {
    let mut changed = shared.controllers.hub.stores().grants.changed();
    let mut applied = None;
    loop {
        reachable(shared, applied).await;
        changed.mark_unchanged();
        let (digest, heard) = (digest(shared), shared.heard_access());
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
        let _ = tokio::time::timeout(pause, async {
            tokio::select! {
                () = others => {}
                () = touched(shared, heard.clone()) => {}
                () = reconnected(shared) => {}
            }
        })
        .await;
        applied = Some(digest);
    }
}

async fn apply_once(shared: &Shared) -> Result<(), AccessError> {
    let controllers = &shared.controllers;
    // Taken by few at a time: what everybody has everywhere changes in all clusters at once.
    let _turn = controllers.applying.acquire().await;
    let grants = controllers.hub.stores().grants.current();
    let wanted = in_cluster(&grants.downstream(&shared.uid));
    drop(grants);
    let client = controllers.tunnels.client(&shared.uid, Lane::Controller);
    apply(&client, ACCESS_LABEL, &wanted).await
}

/// Waits until an agent is connected; meanwhile, what was applied may become wrong.
async fn reachable(shared: &Shared, applied: Option<u64>) {
    let mut changed = shared.controllers.hub.stores().grants.changed();
    loop {
        if applied.is_some_and(|applied| applied != digest(shared)) {
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

/// Resolves when the agent tells that the cluster's roles or bindings are others than `before`. What
/// was written here is among that, so that each change is followed by one look that finds nothing.
async fn touched(shared: &Shared, before: Option<String>) {
    tokio::time::sleep(SETTLED_AFTER).await;
    let mut told = shared.changed();
    while shared.heard_access() == before {
        // The sender lives in `shared`, so this cannot fail.
        let _ = told.changed().await;
    }
}

/// Resolves when the cluster was away and is back.
async fn reconnected(shared: &Shared) {
    let mut tunnels = shared.controllers.tunnels.watch_cluster(&shared.uid);
    while shared.is_connected() && tunnels.changed().await.is_ok() {}
    shared.connected().await;
}

/// Of what has to be in the cluster now.
fn digest(shared: &Shared) -> u64 {
    let grants = shared.controllers.hub.stores().grants.current();
    grants.digest_of(&shared.uid)
}
