//! What people's roles allow on the hub itself, for requests to `local`: roles and bindings there.
//!
//! Whoever loses a role loses the right when the change is seen; the permit is gone at the same
//! moment. Somebody else's changes to these objects are put right with the next look.

use std::time::Duration;

use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::access::HUB_LABEL;
use crate::access::act::apply;
use crate::access::wanted::on_hub;
use drover_apply::ApplyError;
use drover_hub::Hub;

/// Reconciled again after this long even without a change, in case somebody else changed something.
const INTERVAL: Duration = Duration::from_mins(5);
/// Between checks whether the stores can be trusted again.
const UNTRUSTED: Duration = Duration::from_secs(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));

/// Keeps rights on the hub in step with the roles.
struct HubAccess {
    hub: Hub,
    /// The rights that were applied last, and when.
    applied: Mutex<Option<(u64, Instant)>>,
}

impl Reconciler for HubAccess {
    type Key = ();
    type Error = ApplyError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, ApplyError> {
        let stores = self.hub.stores();
        if !stores.health().is_trusted() {
            return Ok(Action::requeue(UNTRUSTED));
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
        let wanted = on_hub(&grants.on_hub());
        drop(grants);
        *self.applied.lock() = None;
        apply(&self.hub.client(), HUB_LABEL, &wanted).await?;
        *self.applied.lock() = Some((digest, Instant::now()));
        Ok(Action::requeue(INTERVAL))
    }
}

/// Runs the controller.
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
