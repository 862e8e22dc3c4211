//! Roll-ups in the status of objects.

use drover_api::fleet::{BundleStatus, FleetClusterStatus, StatusBase};

use super::aggregate::Aggregate;
use super::deployment::{GIT_REPO, HELM_OP};
use super::state::State;

/// Display state of a cluster whose agent has never connected.
const NEVER_SEEN: &str = "WaitCheckIn";

impl Aggregate {
    /// Writes the roll-up to the status of a GitRepo or HelmOp, without conditions and resources. The
    /// entries are from [`DeploymentState::of`](super::DeploymentState::of).
    pub fn write_status(&self, status: &mut StatusBase) {
        (status.ready_clusters, status.desired_ready_clusters) = self.ready_and_all("");
        status.summary = self.summary();
        status.resource_counts = self.resource_counts().clone();
        status.per_cluster_resource_counts = self.counts_by_cluster();
        status.display.ready_bundle_deployments = self.ready_text();
        self.state_name().clone_into(&mut status.display.state);
        self.message().clone_into(&mut status.display.message);
        status.display.error = !self.message().is_empty();
    }

    /// Writes the roll-up to the status of a Bundle, without conditions. The entries are from
    /// [`DeploymentState::of_target`](super::DeploymentState::of_target).
    pub fn write_bundle_status(&self, status: &mut BundleStatus) {
        status.summary = self.summary();
        status.display.ready_clusters = self.ready_text();
        self.state_name().clone_into(&mut status.display.state);
    }

    /// Writes the roll-up to the status of a Cluster, without conditions. The entries are from
    /// [`DeploymentState::of_member`](super::DeploymentState::of_member).
    pub fn write_cluster_status(&self, status: &mut FleetClusterStatus) {
        status.summary = self.summary();
        status.resource_counts = self.resource_counts().clone();
        (status.ready_git_repos, status.desired_ready_git_repos) = self.ready_and_all(GIT_REPO);
        (status.ready_helm_ops, status.desired_ready_helm_ops) = self.ready_and_all(HELM_OP);
        status.display.ready_bundles = self.ready_text();
        let state = match status.agent.last_seen {
            Some(_) => self.state_name(),
            None => NEVER_SEEN,
        };
        state.clone_into(&mut status.display.state);
    }

    fn state_name(&self) -> &'static str {
        self.state().map_or("", State::name)
    }
}
