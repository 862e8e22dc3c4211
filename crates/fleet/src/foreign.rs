//! Waits while Fleet itself runs on the hub, because two controllers would change the same objects.

use std::time::Duration;

use drover_hub::{HubError, call};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Api, Client};

/// Namespace of Fleet's Deployments.
const NAMESPACE: &str = "cattle-fleet-system";
/// Names of Fleet's Deployments that write to the hub.
const PROGRAMS: [&str; 3] = ["fleet-controller", "gitjob", "helmops"];
/// Interval of the checks while Fleet runs, or while the hub is unreachable.
const INTERVAL: Duration = Duration::from_secs(30);

/// Returns as soon as Fleet does not run on the hub.
pub(crate) async fn absent(client: &Client) {
    let deployments = Api::<Deployment>::namespaced(client.clone(), NAMESPACE);
    loop {
        match active(&deployments).await {
            Ok(None) => return,
            Ok(Some(name)) => tracing::error!(
                "Fleet's Deployment {name} runs on the hub, so this server deploys no bundles. To let this \
                 server take over Fleet's objects: kubectl -n {NAMESPACE} scale --replicas=0 deployment/{}",
                PROGRAMS.join(" deployment/")
            ),
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot check whether Fleet runs on the hub"
            ),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns the name of an active Deployment of Fleet.
async fn active(deployments: &Api<Deployment>) -> Result<Option<&'static str>, HubError> {
    for name in PROGRAMS {
        let found = call("read Fleet's Deployment", deployments.get_opt(name)).await;
        match found {
            Ok(Some(deployment)) if is_active(&deployment) => return Ok(Some(name)),
            Ok(_) => {}
            // The embedded hub has no Deployments.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Reports whether a Deployment has replicas. The default number of replicas is 1.
fn is_active(deployment: &Deployment) -> bool {
    let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    replicas.unwrap_or(1) > 0
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::DeploymentSpec;

    use super::*;

    #[test]
    fn deployment_without_replicas_is_not_active() {
        for (replicas, active) in [(None, true), (Some(1), true), (Some(0), false)] {
            let deployment = Deployment {
                spec: Some(DeploymentSpec {
                    replicas,
                    ..DeploymentSpec::default()
                }),
                ..Deployment::default()
            };
            assert_eq!(is_active(&deployment), active, "{replicas:?}");
        }
    }
}
