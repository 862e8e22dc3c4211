//! Sums up bundle deployments, and writes the status of Fleet Clusters and ClusterGroups.

use drover_api::fleet::labels::{CLUSTER, CLUSTER_NAMESPACE};
use drover_api::fleet::status::StatusBase;
use drover_api::fleet::{BundleDeployment, ClusterGroup, FleetCluster, FleetClusterStatus};
use drover_gitops::states::{
    Aggregate, DeploymentState, GroupAggregate, State, ready_condition, resources,
};
use drover_gitops::targeting::{Groups, deployment_namespace};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler};
use jiff::Timestamp;
use kube::{Api, Client, ResourceExt as _};
use std::sync::Arc;
use std::time::Duration;

use crate::mirror::Key;
use crate::offline::{Contact, check_ins};
use crate::rights::{Rights, readable_names};
use crate::world::World;
use crate::writes::{now, write_status};

/// Time between two looks at the last check-in of a cluster.
const OFFLINE_CHECK: Duration = Duration::from_mins(2);

/// The controller of Fleet Cluster statuses. The key is the namespace and name of a Fleet Cluster.
#[derive(Clone)]
pub(crate) struct ClusterStatuses {
    pub(crate) client: Client,
    pub(crate) world: World,
    pub(crate) rights: Rights,
}

impl ClusterStatuses {
    fn status(&self, cluster: &FleetCluster, namespace: &str) -> FleetClusterStatus {
        let mut status = cluster.status.clone().unwrap_or_default();
        let mut aggregate = Aggregate::default();
        for deployment in self.world.deployments.in_namespace(namespace) {
            aggregate.set(
                &deployment.name_any(),
                DeploymentState::of_member(&deployment),
            );
        }
        aggregate.write_cluster_status(&mut status);
        let mut message = aggregate.ready_message("Bundle");
        let time = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        match Contact::of(cluster, Timestamp::now()) {
            Contact::Offline {
                last_seen: Some(seen),
            } => {
                "Offline".clone_into(&mut status.display.state);
                let has_windows = check_ins(cluster).is_some_and(|windows| windows.is_ok());
                let missed = if has_windows {
                    ", also not in its last window"
                } else {
                    ""
                };
                message = format!(
                    "the agent has not checked in since {}{missed}; check the agent's pods and its connection \
                     to the server. Bundles are deployed after the next check-in",
                    time(seen)
                );
            }
            Contact::Waiting { next } if aggregate.count(State::WaitApplied) > 0 => {
                "WaitCheckIn".clone_into(&mut status.display.state);
                message = format!("{message}; the agent checks in by {}", time(next));
            }
            Contact::Waiting { .. } | Contact::Online | Contact::Offline { .. } => {}
        }
        if let Some(Err(error)) = check_ins(cluster) {
            message =
                format!("the Cluster's spec.{error}; the agent is always connected; {message}");
        }
        ready_condition(&mut status.conditions, &message, &now());
        status
    }
}

impl Reconciler for ClusterStatuses {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(cluster) = self.world.clusters.get(key) else {
            return Ok(Action::await_change());
        };
        let Some(namespace) = deployment_namespace(&cluster) else {
            return Ok(Action::await_change());
        };
        let current = || readable_names(&self.world, &namespace);
        self.rights.retain(&namespace, current).await?;
        let status = self.status(&cluster, &namespace);
        let clusters = Api::<FleetCluster>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the status of a Fleet Cluster";
        let before = cluster.status.as_ref();
        let written = write_status(operation, &clusters, &key.name, before, &status).await?;
        if let Some(written) = written {
            self.world.clusters.observe(written);
        }
        Ok(Action::requeue(OFFLINE_CHECK))
    }
}

/// Writes the roll-up of the bundle deployments of a GitRepo or HelmOp, without conditions.
pub(crate) fn write_deployments(
    status: &mut StatusBase,
    deployments: &[Arc<BundleDeployment>],
) -> Aggregate {
    let mut aggregate = Aggregate::default();
    for deployment in deployments {
        let uid = deployment.uid().unwrap_or_default();
        aggregate.set(&uid, DeploymentState::of(deployment));
    }
    aggregate.write_status(status);
    status.resources = resources(deployments.iter().map(|deployment| &**deployment));
    aggregate
}

/// Writes an error of a GitRepo or HelmOp to the texts for lists.
pub(crate) fn write_error(status: &mut StatusBase, state: &str, message: &str) {
    state.clone_into(&mut status.display.state);
    message.clone_into(&mut status.display.message);
    status.display.error = true;
}

/// The controller of ClusterGroup statuses. The key is the namespace and name of a ClusterGroup.
#[derive(Clone)]
pub(crate) struct GroupStatuses {
    pub(crate) client: Client,
    pub(crate) world: World,
}

impl Reconciler for GroupStatuses {
    type Key = Key;
    type Error = HubError;

    async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, HubError> {
        let Some(group) = self.world.groups.get(key) else {
            return Ok(Action::await_change());
        };
        let groups = Groups::new(vec![group.clone()]);
        let mut aggregate = GroupAggregate::default();
        for cluster in self.world.clusters.in_namespace(&key.namespace) {
            if !groups.of(&cluster).is_empty() {
                aggregate.set(&cluster);
            }
        }
        let mut status = group.status.clone().unwrap_or_default();
        aggregate.write_status(&mut status, &now());
        let groups = Api::<ClusterGroup>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the status of a ClusterGroup";
        let before = group.status.as_ref();
        let written = write_status(operation, &groups, &key.name, before, &status).await?;
        if let Some(written) = written {
            self.world.groups.observe(written);
        }
        Ok(Action::await_change())
    }
}

/// Returns the key of the Fleet Cluster of a bundle deployment.
pub(crate) fn cluster_of(deployment: &BundleDeployment) -> Option<Key> {
    let labels = deployment.labels();
    Some(Key::new(
        labels.get(CLUSTER_NAMESPACE)?,
        labels.get(CLUSTER)?,
    ))
}

#[cfg(test)]
mod tests {
    use drover_api::fleet::FleetClusterStatus;
    use jiff::SignedDuration;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    #[tokio::test]
    async fn status_of_an_offline_cluster_changes_only_once() {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no hub"))
        });
        let client = Client::new(service, "default");
        let statuses = ClusterStatuses {
            rights: Rights::new(client.clone()),
            client,
            world: World::new(),
        };
        let mut status = FleetClusterStatus::default();
        status.agent.last_seen = Some(Time(Timestamp::now() - SignedDuration::from_hours(1)));
        let mut cluster = FleetCluster {
            status: Some(status),
            ..FleetCluster::default()
        };
        let mut first = statuses.status(&cluster, "shop");
        assert_eq!(first.display.state, "Offline");
        // The status was written some time ago.
        for condition in &mut first.conditions {
            "2026-01-01T00:00:00Z".clone_into(&mut condition.last_update_time);
            "2026-01-01T00:00:00Z".clone_into(&mut condition.last_transition_time);
        }
        cluster.status = Some(first.clone());
        assert_eq!(statuses.status(&cluster, "shop"), first);
    }
}
