//! The state of one bundle deployment.

use drover_api::fleet::{
    BundleDeployment, BundleDeploymentStatus, FleetCondition, ModifiedStatus, NonReadyStatus,
    ResourceCounts, labels,
};

use super::state::State;

/// Prefix of the names of GitRepos in the roll-up of a Cluster.
pub(super) const GIT_REPO: &str = "GitRepo/";
/// Prefix of the names of HelmOps in the roll-up of a Cluster.
pub(super) const HELM_OP: &str = "HelmOp/";

/// The contribution of one bundle deployment to roll-ups.
#[derive(Clone, Debug, PartialEq)]
pub struct DeploymentState {
    /// Name in lists of deployments that are not ready.
    pub name: String,
    /// Namespace and name of the cluster, `namespace/name`. Empty if unknown. In the roll-up of a
    /// Cluster: the owner, `GitRepo/namespace/name` or `HelmOp/namespace/name`.
    pub cluster: String,
    /// The state.
    pub state: State,
    /// The cause of the state.
    pub message: String,
    /// Objects that differ from the bundle.
    pub modified: Vec<ModifiedStatus>,
    /// Objects that are not ready.
    pub non_ready: Vec<NonReadyStatus>,
    /// Numbers of objects by state.
    pub counts: ResourceCounts,
}

impl DeploymentState {
    /// Returns the contribution of a deployment to its GitRepo or HelmOp. The entry has the
    /// deployment's name.
    #[must_use]
    pub fn of(deployment: &BundleDeployment) -> Self {
        let wanted = &deployment.spec.deployment_id;
        Self {
            name: deployment.metadata.name.clone().unwrap_or_default(),
            cluster: cluster_of(deployment),
            ..Self::with_id(deployment, wanted)
        }
    }

    /// Returns the contribution of a deployment to its Cluster. The entry has the deployment's name.
    #[must_use]
    pub fn of_member(deployment: &BundleDeployment) -> Self {
        Self {
            cluster: owner_of(deployment),
            ..Self::of(deployment)
        }
    }

    /// Returns the contribution of a deployment to its Bundle. The entry has the cluster's name.
    ///
    /// `wanted` is the deployment ID of the bundle's current generation, which the deployment may not
    /// have yet. Without a deployment, the state is `Pending`.
    #[must_use]
    pub fn of_target(cluster: &str, deployment: Option<&BundleDeployment>, wanted: &str) -> Self {
        let state = match deployment {
            Some(deployment) => Self::with_id(deployment, wanted),
            None => Self {
                name: String::new(),
                cluster: String::new(),
                state: State::Pending,
                message: String::new(),
                modified: Vec::new(),
                non_ready: Vec::new(),
                counts: ResourceCounts::default(),
            },
        };
        Self {
            name: cluster.to_owned(),
            cluster: cluster.to_owned(),
            ..state
        }
    }

    fn with_id(deployment: &BundleDeployment, wanted: &str) -> Self {
        let status = deployment.status.as_ref();
        let list = |status: &BundleDeploymentStatus| {
            (
                status.modified_status.clone(),
                status.non_ready_status.clone(),
                status.resource_counts.clone(),
            )
        };
        let (modified, non_ready, counts) = status.map(list).unwrap_or_default();
        Self {
            name: String::new(),
            cluster: String::new(),
            state: state_of(deployment, wanted),
            message: message_of(deployment, wanted),
            modified,
            non_ready,
            counts,
        }
    }
}

fn cluster_of(deployment: &BundleDeployment) -> String {
    let labels = deployment.metadata.labels.as_ref();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .filter(|it| !it.is_empty())
    };
    match (label(labels::CLUSTER_NAMESPACE), label(labels::CLUSTER)) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
        _ => String::new(),
    }
}

/// Returns the GitRepo or HelmOp of a deployment.
fn owner_of(deployment: &BundleDeployment) -> String {
    let labels = deployment.metadata.labels.as_ref();
    let label = |key: &str| {
        labels
            .and_then(|labels| labels.get(key))
            .filter(|it| !it.is_empty())
    };
    let Some(namespace) = label(labels::BUNDLE_NAMESPACE) else {
        return String::new();
    };
    match (label(labels::REPO_NAME), label(labels::HELM_OP_NAME)) {
        (Some(repo), _) => format!("{GIT_REPO}{namespace}/{repo}"),
        (None, Some(helm_op)) => format!("{HELM_OP}{namespace}/{helm_op}"),
        (None, None) => String::new(),
    }
}

/// Returns the state of a deployment whose deployment ID should be `wanted`.
#[must_use]
pub fn state_of(deployment: &BundleDeployment, wanted: &str) -> State {
    let status = deployment.status.as_ref();
    if status.map_or("", |status| &status.applied_deployment_id) != wanted {
        let conditions = status.map_or(&[][..], |status| &status.conditions);
        let deployed = condition(conditions, "Deployed");
        return if deployed.is_some_and(|it| it.status == "False") {
            State::ErrApplied
        } else {
            State::WaitApplied
        };
    }
    if !status.is_some_and(|status| status.ready) {
        State::NotReady
    } else if wanted != deployment.spec.staged_deployment_id {
        State::OutOfSync
    } else if !status.is_some_and(|status| status.non_modified) {
        State::Modified
    } else {
        State::Ready
    }
}

/// Returns the message of the condition that explains the state of a deployment.
#[must_use]
pub fn message_of(deployment: &BundleDeployment, wanted: &str) -> String {
    let Some(status) = &deployment.status else {
        return String::new();
    };
    // The condition `Installed` of an older deployment does not explain the state of a newer one.
    let is_current = status.applied_deployment_id == wanted;
    let types = [
        Some("Deployed"),
        is_current.then_some("Installed"),
        Some("Monitored"),
    ];
    types
        .into_iter()
        .flatten()
        .filter_map(|name| condition(&status.conditions, name))
        .map(|condition| condition.message.clone())
        .find(|message| !message.is_empty())
        .unwrap_or_default()
}

/// Reports whether a deployment counts against the limits of a rollout: the agent has not applied its
/// deployment ID, or it is not ready.
#[must_use]
pub fn is_unavailable(deployment: &BundleDeployment) -> bool {
    let (applied, ready) = deployment.status.as_ref().map_or(("", false), |status| {
        (status.applied_deployment_id.as_str(), status.ready)
    });
    applied != deployment.spec.deployment_id || !ready
}

fn condition<'a>(conditions: &'a [FleetCondition], name: &str) -> Option<&'a FleetCondition> {
    conditions.iter().find(|condition| condition.type_ == name)
}
