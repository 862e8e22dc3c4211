//! Releases whose bundle deployment was deleted while this agent did not run or had no access to the hub.
//!
//! A hub that was reinstalled or restored has no bundle deployments until its administrator creates the
//! GitRepos. The agent therefore waits before the removal, and never removes releases of another Cluster
//! object.

use std::collections::BTreeSet;
use std::time::Duration;

use drover_agent_link::hub::HubPlace;
use drover_api::fleet::{BundleDeployment, BundleDeploymentOptions};
use drover_deploy::deployment::{DeployError, Deployer, ReleaseOf};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use thiserror::Error;
use tokio::time::Instant;

use super::content::{ContentReadError, call};
use super::deployments::{Deployments, Removed};

/// Default time between the first list of bundle deployments and the removal. Fleet's agent collects
/// garbage at the same interval.
pub(crate) const DEFAULT_DELAY: Duration = Duration::from_mins(15);
/// Pause after a failed search.
const RETRY: Duration = Duration::from_mins(1);

/// The reason why the releases cannot be compared with the hub.
#[derive(Debug, Error)]
pub(super) enum FindStaleError {
    #[error(transparent)]
    Releases(#[from] DeployError),
    #[error(transparent)]
    Hub(#[from] ContentReadError),
}

/// The time of the next search for releases without a bundle deployment.
pub(super) struct Removal {
    delay: Duration,
    at: Option<Instant>,
    /// The known bundle deployments that the lists since the last search did not contain.
    missing: BTreeSet<String>,
}

impl Removal {
    pub(super) const fn after(delay: Duration) -> Self {
        Self {
            delay,
            at: None,
            missing: BTreeSet::new(),
        }
    }

    /// Starts the delay after a complete list of bundle deployments, or starts it again if more bundle
    /// deployments are missing. `missing` are the known bundle
    /// deployments that the list does not contain.
    pub(super) fn listed(&mut self, missing: BTreeSet<String>) {
        let is_new = !missing.is_subset(&self.missing);
        self.missing.extend(missing);
        if is_new || self.at.is_none() {
            self.at = Some(Instant::now() + self.delay);
        }
    }

    /// Returns the known bundle deployments that a list did not contain.
    pub(super) const fn missing(&self) -> &BTreeSet<String> {
        &self.missing
    }

    /// Waits until the search is due.
    pub(super) async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// Ends a search, and returns the names that it found. A failed search is repeated.
    pub(super) fn finish(&mut self, found: Result<Vec<String>, FindStaleError>) -> Vec<String> {
        match found {
            Ok(names) => {
                self.at = None;
                self.missing.clear();
                names
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot compare the releases in the cluster with the hub; the agent tries again"
                );
                self.at = Some(Instant::now() + RETRY);
                Vec::new()
            }
        }
    }
}

/// Finds the releases of bundle deployments that no longer exist on the hub. Returns their names. `missing`
/// are known bundle deployments that a list did not contain.
pub(super) async fn find(
    deployer: &Deployer,
    deployments: &Deployments,
    hub: &Client,
    place: &HubPlace,
    missing: &BTreeSet<String>,
) -> Result<Vec<String>, FindStaleError> {
    let releases = deployer.releases().await?;
    if releases.is_empty() && missing.is_empty() {
        return Ok(Vec::new());
    }
    // The watch can be interrupted, so that its bundle deployments are not complete.
    let api = Api::<BundleDeployment>::namespaced(hub.clone(), &place.namespace);
    let params = ListParams::default();
    let listed = call(
        "the bundle deployments".to_owned(),
        api.list_metadata(&params),
    )
    .await?;
    let present: BTreeSet<String> = listed.items.iter().map(ResourceExt::name_any).collect();
    let mut removed: Vec<String> = missing.difference(&present).cloned().collect();
    for name in &removed {
        deployments.remove(name);
    }
    let stale = select(releases, &present, place.cluster_uid.as_str());
    let stale = stale.into_iter().filter(|release| {
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
    removed.extend(stale.map(|release| release.deployment));
    Ok(removed)
}

/// Returns the releases of the Cluster without a bundle deployment.
fn select(releases: Vec<ReleaseOf>, present: &BTreeSet<String>, cluster: &str) -> Vec<ReleaseOf> {
    let without = releases
        .into_iter()
        .filter(|release| !present.contains(&release.deployment));
    let (own, other): (Vec<_>, Vec<_>) = without.partition(|release| release.cluster == cluster);
    for release in other {
        tracing::warn!(
            release = release.release,
            deployment = release.deployment,
            cluster = release.cluster,
            "kept a release of another Cluster object; uninstall the release with helm if it is not needed"
        );
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(deployment: &str, cluster: &str) -> ReleaseOf {
        ReleaseOf {
            deployment: deployment.to_owned(),
            release: format!("web/{deployment}:1"),
            cluster: cluster.to_owned(),
            keep_resources: false,
            service_account: String::new(),
        }
    }

    #[test]
    fn release_of_another_hub_is_not_removed() {
        let releases = vec![
            release("a", "old"),
            release("b", "new"),
            release("c", "new"),
        ];
        let present = BTreeSet::from(["b".to_owned()]);
        assert_eq!(select(releases, &present, "new"), [release("c", "new")]);
    }

    #[tokio::test(start_paused = true)]
    async fn releases_are_removed_only_after_the_delay() {
        let mut removal = Removal::after(Duration::from_mins(15));
        let is_due = async |removal: &Removal, after: Duration| {
            tokio::time::timeout(after, removal.due()).await.is_ok()
        };
        assert!(!is_due(&removal, Duration::from_hours(1)).await);
        removal.listed(BTreeSet::from(["a".to_owned()]));
        assert!(!is_due(&removal, Duration::from_mins(14)).await);
        // A second list does not start the delay again.
        removal.listed(BTreeSet::from(["a".to_owned()]));
        assert!(is_due(&removal, Duration::from_mins(2)).await);
        removal.listed(BTreeSet::from(["b".to_owned()]));
        assert!(!is_due(&removal, Duration::from_mins(14)).await);
        assert!(is_due(&removal, Duration::from_mins(2)).await);
        let missing: Vec<&str> = removal.missing().iter().map(String::as_str).collect();
        assert_eq!(missing, ["a", "b"]);
        assert!(removal.finish(Ok(Vec::new())).is_empty());
        assert!(removal.missing().is_empty());
        assert!(!is_due(&removal, Duration::from_hours(1)).await);
    }
}
