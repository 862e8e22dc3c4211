//! Reports to the hub that the agent runs.

use std::time::Duration;

use drover_agent_link::hub::HubPlace;
use drover_api::fleet::FleetCluster;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use super::content::call;
use super::windows::Windows;

/// Interval of check-ins.
const INTERVAL: Duration = Duration::from_mins(5);
/// Pause after a failed check-in.
const RETRY: Duration = Duration::from_secs(15);

/// Writes the time of the last check-in to the Fleet Cluster, in each window. Does not return.
pub(super) async fn run(client: &Client, place: &HubPlace, namespace: &str, windows: &Windows) {
    loop {
        windows.opened().await;
        tokio::select! {
            () = run_window(client, place, namespace) => {}
            () = windows.closed() => {}
        }
    }
}

async fn run_window(client: &Client, place: &HubPlace, namespace: &str) {
    let clusters = Api::<FleetCluster>::namespaced(client.clone(), &place.cluster_namespace);
    loop {
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let patch = json!({ "status": { "agent": { "lastSeen": now, "namespace": namespace } } });
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = clusters.patch_status(&place.cluster_name, &params, &patch);
        let pause = match call("the status of the Fleet Cluster".to_owned(), patched).await {
            Ok(_) => INTERVAL,
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "cannot check in at the hub"
                );
                RETRY
            }
        };
        tokio::time::sleep(pause).await;
    }
}
