//! The UID of the hub's namespace kube-system. A managed cluster with the same UID hosts the hub.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use drover_reconcile::{Action, Attempt, Backoff, Options, Reconciler, Runtime};
use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::Api;

use drover_hub::{Hub, HubError, call};

const NAMESPACE: &str = "kube-system";
/// Retry delays. The server may lack the permission until an administrator upgrades its chart.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(5));

/// The reconciler that reads the UID of namespace kube-system once.
struct HubUid {
    hub: Hub,
    known: Arc<OnceLock<String>>,
}

impl Reconciler for HubUid {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        if self.known.get().is_none() {
            let api: Api<Namespace> = Api::all(self.hub.client());
            let reading = api.get_metadata(NAMESPACE);
            let namespace = call("read the namespace kube-system", reading).await?;
            if let Some(uid) = namespace.uid() {
                let _ = self.known.set(uid);
            }
        }
        Ok(Action::await_change())
    }

    /// Returns true for all errors, so that the controller logs these errors at level debug. The
    /// charts of earlier versions grant no permission to read the namespace. Without the UID, the
    /// server omits the condition that depends on the UID.
    fn is_expected(&self, _: &HubError) -> bool {
        true
    }
}

/// Runs the controller that reads the UID.
pub(super) async fn run(hub: &Hub, known: &Arc<OnceLock<String>>, runtime: &Runtime) {
    let options = Options {
        backoff: BACKOFF,
        ..Options::new("hub-uid")
    };
    let reconciler = HubUid {
        hub: hub.clone(),
        known: Arc::clone(known),
    };
    runtime.run_single(options, reconciler, []).await;
}
