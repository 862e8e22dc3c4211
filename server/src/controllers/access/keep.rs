//! Applies access whenever people or the connection change, and repairs drift.

use std::time::Duration;

use drover_api::agent::Lane;

use super::act::apply;
use super::decide::People;
use crate::controllers::cluster::decide::AccessState;
use crate::controllers::keeper::Shared;

/// What somebody changed in the cluster is put right at least this often.
const REPAIR_EVERY: Duration = Duration::from_mins(5);
/// After a failure.
const RETRY_AFTER: Duration = Duration::from_secs(20);

/// Keeps access in one cluster as the hub wants it.
pub(in crate::controllers) async fn keep(shared: &Shared) {
    let users = &shared.controllers.hub.stores().users;
    let mut changed = users.changed();
    let mut applied_to = None;
    loop {
        reachable(shared, applied_to.as_ref()).await;
        let mut seen = users.changes();
        let people = people(shared);
        let client = shared
            .controllers
            .tunnels
            .client(&shared.uid, Lane::Controller);
        let applied = Box::pin(apply(&client, &people)).await;
        // It has a task and a queue of its own, too much to hold through the pause in each cluster.
        drop(client);
        let pause = match &applied {
            Ok(()) => REPAIR_EVERY,
            Err(_) => RETRY_AFTER,
        };
        shared.set_access(match applied {
            Ok(()) => AccessState::Applied,
            Err(error) => {
                tracing::warn!(cluster.uid = %shared.uid, %error, "access was not applied");
                AccessState::Failed(error.to_string())
            }
        });
        let others = async {
            while changed.changed().await.is_ok() {
                // One look may come after two changes.
                let before = std::mem::replace(&mut seen, users.changes());
                if before != seen && self::people(shared) != people {
                    return;
                }
            }
        };
        // Early when the people change or the cluster comes back, else when it is time to repair.
        let _ = tokio::time::timeout(pause, async {
            tokio::select! {
                () = others => {}
                () = reconnected(shared) => {}
            }
        })
        .await;
        applied_to = Some(people);
    }
}

/// Waits until an agent is connected; meanwhile, what was applied may become wrong.
async fn reachable(shared: &Shared, applied_to: Option<&People>) {
    let users = &shared.controllers.hub.stores().users;
    let mut changed = users.changed();
    let mut seen = None;
    loop {
        let before = seen.replace(users.changes());
        let fresh = before != seen;
        if fresh && applied_to.is_some_and(|applied| *applied != people(shared)) {
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

/// Resolves when the cluster was away and is back.
async fn reconnected(shared: &Shared) {
    let mut tunnels = shared.controllers.tunnels.watch_cluster(&shared.uid);
    while shared.is_connected() && tunnels.changed().await.is_ok() {}
    shared.connected().await;
}

fn people(shared: &Shared) -> People {
    let users = shared.controllers.hub.stores().users.all();
    People::of(users.iter().map(AsRef::as_ref))
}
