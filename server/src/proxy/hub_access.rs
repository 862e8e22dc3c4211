//! What people's roles allow on the hub itself, for requests to `local`: roles and bindings there.
//!
//! Whoever loses a role loses the right when the change is seen; the permit is gone at the same
//! moment. Somebody else's changes to these objects are put right with the next look.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::controllers::access::HUB_LABEL;
use crate::controllers::access::act::apply;
use crate::controllers::access::wanted::on_hub;
use drover_entropy::backoff::Backoff;
use drover_hub::Hub;

/// Looked at again after this long even without a change, in case somebody else changed something.
const AGAIN: Duration = Duration::from_mins(5);
/// Between looks at whether memory can be trusted again.
const UNTRUSTED: Duration = Duration::from_secs(1);

/// Keeps rights on the hub in step with the roles until `stop`.
pub async fn keep_hub_access(hub: Hub, stop: CancellationToken) {
    let keeping = async {
        let mut changed = hub.stores().grants.changed();
        let mut backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(30));
        loop {
            changed.mark_unchanged();
            if !hub.stores().health().is_trusted() {
                tokio::time::sleep(UNTRUSTED).await;
                continue;
            }
            let grants = hub.stores().grants.fresh(hub.stores());
            let digest = grants.digest_of_hub();
            let wanted = on_hub(&grants.on_hub());
            drop(grants);
            let applied = apply(&hub.client(), HUB_LABEL, &wanted).await;
            let pause = match applied {
                Ok(()) => {
                    backoff.reset();
                    AGAIN
                }
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "people's rights on the hub could not all be applied; trying again"
                    );
                    backoff.next_delay()
                }
            };
            let others = async {
                let unchanged = || hub.stores().grants.current().digest_of_hub() == digest;
                while unchanged() && changed.changed().await.is_ok() {}
            };
            let _ = tokio::time::timeout(pause, others).await;
        }
    };
    stop.run_until_cancelled(keeping).await;
}
