//! The UID of the hub's namespace kube-system, which tells whether a managed cluster is the one in
//! which the hub runs.

use std::sync::OnceLock;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::Api;

use drover_entropy::backoff::Backoff;
use drover_hub::{Hub, call};

const NAMESPACE: &str = "kube-system";
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The server may lack the right until an administrator upgrades its chart.
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Reads the UID, and tries again until it is known.
pub(super) async fn find(hub: &Hub, known: &OnceLock<String>) {
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    let api: Api<Namespace> = Api::all(hub.client());
    while known.get().is_none() {
        match call(
            "read the namespace kube-system",
            api.get_metadata(NAMESPACE),
        )
        .await
        {
            Ok(namespace) => {
                if let Some(uid) = namespace.uid() {
                    // Another task of this server may have read the same.
                    let _ = known.set(uid);
                    return;
                }
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "failed to read the UID of the hub's kube-system");
            }
        }
        tokio::time::sleep(backoff.next_delay()).await;
    }
}
