//! The access of users on the hub itself: roles and bindings for requests to `local`.
//!
//! When a user loses a role, the server ends the user's permits for the hub and removes the role's
//! permissions. If a different client changes these roles or bindings, the next reconciliation
//! reverts the change.

use std::time::Duration;

use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::access::HUB_LABEL;
use crate::access::act::apply;
use crate::access::desired::on_hub;
use drover_apply::ApplyError;
use drover_hub::Hub;

/// Maximum time between two reconciliations. A reconciliation reverts changes by other clients.
const INTERVAL: Duration = Duration::from_mins(5);
/// Interval at which the controller checks incomplete stores again.
const UNTRUSTED_RETRY: Duration = Duration::from_secs(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// The reconciler that applies the hub's roles and bindings to the hub.
struct HubAccess {
    hub: Hub,
    /// The digest of the applied access, and the time when the server applied it.
    applied: Mutex<Option<(u64, Instant)>>,
}

impl Reconciler for HubAccess {
    type Key = ();
    type Error = ApplyError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, ApplyError> {
        let stores = self.hub.stores();
        if !stores.health().is_trusted() {
            return Ok(Action::requeue(UNTRUSTED_RETRY));
        }
        let grants = stores.grants.fresh(stores);
        let digest = grants.digest_of_hub();
        let applied = *self.applied.lock();
        if let Some((before, at)) = applied
            && before == digest
            && at.elapsed() < INTERVAL
        {
            return Ok(Action::requeue(INTERVAL.saturating_sub(at.elapsed())));
        }
        let desired = on_hub(&grants.on_hub());
        drop(grants);
        *self.applied.lock() = None;
        apply(&self.hub.client(), HUB_LABEL, &desired).await?;
        *self.applied.lock() = Some((digest, Instant::now()));
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller that applies the hub's roles and bindings.
pub async fn run_hub_access(hub: Hub, runtime: Runtime) {
    let options = Options {
        backoff: BACKOFF,
        timeout: Some(Duration::from_mins(10)),
        ..Options::new("hub-access")
    };
    let changed = hub.stores().grants.changed();
    let reconciler = HubAccess {
        hub,
        applied: Mutex::default(),
    };
    runtime.run_single(options, reconciler, [changed]).await;
}
