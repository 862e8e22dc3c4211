//! An agent that reads its bundle deployments as `drover-agent` does, and reports them as ready without
//! applying their objects.

use std::convert::Infallible;
use std::time::Duration;

use drover_agent_link::hub::{HubAccess, HubPlace};
use drover_agent_link::registration::Store;
use drover_api::fleet::{BundleDeployment, BundleDeploymentResource, Content, FleetCluster};
use drover_deploy::deployment::{Report, status};
use drover_gitops::states::state_of;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::sync::mpsc;

/// Pause after a failed request.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs the agent of one cluster until the process ends. Sends a message to `ready` when the agent follows
/// its bundle deployments.
pub(super) async fn run(hub: HubAccess<Store>, ready: mpsc::Sender<()>) -> Infallible {
    loop {
        if let Ok((client, place)) = hub.client().await {
            check_in(&client, &place).await;
            follow(&client, &place, &ready).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Writes the time of the check-in, as `drover-agent` does. A rollout does not wait for agents without
/// a check-in.
async fn check_in(client: &Client, place: &HubPlace) {
    let clusters = Api::<FleetCluster>::namespaced(client.clone(), &place.cluster_namespace);
    loop {
        let patch = json!({ "status": { "agent": { "lastSeen": now(), "namespace": "bench" } } });
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = clusters.patch_status(&place.cluster_name, &params, &patch);
        if patched.await.is_ok() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn follow(client: &Client, place: &HubPlace, ready: &mpsc::Sender<()>) {
    let api = Api::<BundleDeployment>::namespaced(client.clone(), &place.namespace);
    let mut events = Box::pin(watcher(api.clone(), watcher::Config::default()).default_backoff());
    let mut is_listed = false;
    loop {
        match events.try_next().await {
            Ok(Some(Event::Apply(object) | Event::InitApply(object))) => {
                // The next change of the object repeats a failed report.
                while let Err(_error) = report(client, &api, &object).await {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            Ok(Some(Event::InitDone)) if !is_listed => {
                is_listed = true;
                // Ignore errors, because the receiver can have ended.
                let _ = ready.send(()).await;
            }
            Ok(Some(_)) | Err(_) => {}
            Ok(None) => return,
        }
    }
}

/// Reads the Content of a new deployment, and reports the deployment as ready.
async fn report(
    client: &Client,
    api: &Api<BundleDeployment>,
    deployment: &BundleDeployment,
) -> kube::Result<()> {
    let desired = &deployment.spec.deployment_id;
    let before = deployment.status.clone().unwrap_or_default();
    let Some((content, _)) = desired.split_once(':') else {
        return Ok(());
    };
    if before.applied_deployment_id == *desired {
        return Ok(());
    }
    let contents = Api::<Content>::all(client.clone());
    contents.get(content).await?;
    let (spec, name, now) = (&deployment.spec, deployment.name_any(), now());
    let release = format!("{}/{name}:1", spec.options.default_namespace);
    let object = BundleDeploymentResource {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: name.clone(),
        namespace: spec.options.default_namespace.clone(),
        ..BundleDeploymentResource::default()
    };
    let observed = Report {
        resources: vec![object],
        ..Report::default()
    };
    let after = status::deployed(before, spec, &release, &now);
    let mut after = status::observed(after, &observed, &now);
    let mut current = deployment.clone();
    current.status = Some(after.clone());
    let state = state_of(&current, desired);
    state.name().clone_into(&mut after.display.state);
    let operations = json!([{ "op": "add", "path": "/status", "value": after }]);
    let operations = serde_json::from_value(operations).expect("the operations are constant JSON");
    let patch: Patch<()> = Patch::Json(operations);
    api.patch_status(&name, &PatchParams::default(), &patch)
        .await
        .map(drop)
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
