//! Releases in the cluster whose bundle deployment was deleted while this agent did not run.

use drover_api::fleet::BundleDeploymentOptions;
use drover_deploy::deployment::Deployer;

use super::deployments::{Deployments, Removed};

/// Finds the releases of bundle deployments that no longer exist on the hub. Returns their names.
pub(super) async fn find(deployer: &Deployer, deployments: &Deployments) -> Vec<String> {
    let releases = match deployer.releases().await {
        Ok(releases) => releases,
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot list the releases in the cluster; deleted bundles are removed after the next list"
            );
            return Vec::new();
        }
    };
    let stale = releases.into_iter().filter(|release| {
        let options = BundleDeploymentOptions {
            keep_resources: release.keep_resources,
            service_account: release.service_account.clone(),
            ..BundleDeploymentOptions::default()
        };
        let removed = Removed {
            options,
            release: release.release.clone(),
        };
        deployments.add_stale(&release.deployment, removed)
    });
    stale.map(|release| release.deployment.clone()).collect()
}
