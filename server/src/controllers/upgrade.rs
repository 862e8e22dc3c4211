//! Upgrades of clusters' agents: which image, and the patch of their Deployment.

use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::group::{AGENT_NAMESPACE, SERVER_FIELD_MANAGER};
use drover_api::kinds::{AgentSpec, AgentUpgrade};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use tokio::time::Instant;

use super::keeper::{Shared, Upgrade};
use drover_agent_gateway::registration::import::wanted_image;
use drover_agent_gateway::registration::manifest::AGENT;
use drover_apply::{ApplyError, call};

/// After a failure, and between two patches of one cluster.
const RETRY_AFTER: Duration = Duration::from_mins(1);
/// The shortest time between two looks.
const BREATH: Duration = Duration::from_millis(500);
/// The longest.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// The image that the Deployment must be told to run; `None` when it may stay as it is.
///
/// An image that the Cluster names always counts; the server's own only where upgrades are
/// automatic.
pub fn decide(spec: &AgentSpec, wanted: &str, runs: &str) -> Option<String> {
    let may = spec.image.is_some() || spec.upgrade == AgentUpgrade::Automatic;
    (may && runs != wanted && !runs.is_empty()).then(|| wanted.to_owned())
}

/// Tells the Deployment to run another image whenever it should.
pub(super) async fn keep(shared: &Shared) {
    let mut told = shared.changed();
    let mut cluster = shared.followed();
    let mut settings = shared.controllers.hub.stores().settings.changed();
    loop {
        shared.connected().await;
        if let Some(image) = next(shared) {
            match Box::pin(patch(shared, &image)).await {
                Ok(()) => {
                    tracing::info!(cluster.uid = %shared.uid, image, "upgrading the agent");
                    shared.set_upgrade(Upgrade::Asked {
                        image,
                        at: Instant::now(),
                    });
                }
                Err(error) => {
                    tracing::warn!(cluster.uid = %shared.uid, %error, "an agent was not upgraded");
                    shared.set_upgrade(Upgrade::Failed(error.to_string()));
                }
            }
            tokio::time::sleep(RETRY_AFTER).await;
        } else {
            shared.settle_upgrade();
        }
        // A burst of changes is one look.
        tokio::time::sleep(BREATH).await;
        let tick = tokio::time::sleep(LOOK_EVERY);
        tokio::select! {
            _ = told.changed() => {}
            _ = cluster.changed() => {}
            _ = settings.changed() => {}
            () = tick => {}
        }
    }
}

fn next(shared: &Shared) -> Option<String> {
    let cluster = shared.cluster()?;
    let runs = shared.heard().agent?.image;
    let wanted = wanted_image(&shared.controllers.settings, &cluster);
    decide(&cluster.spec.agent, &wanted, &runs)
}

async fn patch(shared: &Shared, image: &str) -> Result<(), ApplyError> {
    let client = shared
        .controllers
        .tunnels
        .client(&shared.uid, Lane::Controller);
    let api: Api<Deployment> = Api::namespaced(client, AGENT_NAMESPACE);
    // A strategic merge finds the container by its name and leaves the rest alone.
    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": {"containers": [
        {"name": AGENT, "image": image}
    ]}}}}));
    let params = PatchParams {
        field_manager: Some(SERVER_FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let patched = api.patch(AGENT, &params, &patch);
    call(format!("set the image of Deployment {AGENT}"), patched)
        .await
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use AgentUpgrade::{Automatic, Manual};

    use super::*;

    #[test]
    fn an_agent_is_changed_when_policy_says_so_and_the_image_differs() {
        let spec = |upgrade, image: Option<&str>| AgentSpec {
            image: image.map(str::to_owned),
            upgrade,
        };
        for (spec, wanted, runs, changes) in [
            (spec(Automatic, None), "a:2", "a:1", true),
            (spec(Automatic, None), "a:2", "a:2", false),
            (spec(Manual, None), "a:2", "a:1", false),
            (spec(Manual, Some("b:1")), "b:1", "a:1", true),
            (spec(Manual, Some("b:1")), "b:1", "b:1", false),
            (spec(Automatic, None), "a:2", "", false),
        ] {
            assert_eq!(
                decide(&spec, wanted, runs).is_some(),
                changes,
                "{spec:?} {runs}"
            );
        }
    }
}
