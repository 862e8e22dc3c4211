//! Writes the status of Clusters. Outside of this module, only the registration of an agent writes
//! the status.

use std::time::Duration;

use drover_api::conditions::NODES_HEALTHY;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, ClusterStatus};
use drover_reconcile::{Action, Attempt, Reconciler, Urgency, Write};
use jiff::Timestamp;
use tokio::time::Instant;

use super::decide::decide;
use crate::Controllers;
use crate::managed::ManagedCluster;
use drover_agent_gateway::registration::import::agent_image;
use drover_hub::HubError;

/// Maximum time between two computations of a Cluster's status. Conditions depend on the current
/// time.
const INTERVAL: Duration = Duration::from_secs(5);

/// Reports whether a condition is new or has a different status.
fn changes_a_condition(present: Option<&ClusterStatus>, desired: &ClusterStatus) -> bool {
    let before = present.map_or(&[][..], |status| &status.conditions);
    desired.conditions.iter().any(|condition| {
        let before = before.iter().find(|before| before.type_ == condition.type_);
        before.is_none_or(|before| before.status != condition.status)
    })
}

/// The reconciler that writes the status of each Cluster.
pub(crate) struct ClusterStatuses(pub(crate) Controllers);

impl Reconciler for ClusterStatuses {
    type Key = ClusterUid;
    type Error = HubError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, HubError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        match cluster.unless_deleted(write(&cluster)).await {
            None => Ok(Action::await_change()),
            Some(Err(error)) if error.is_conflict() || error.is_not_found() => {
                Ok(Action::requeue(INTERVAL))
            }
            Some(written) => written,
        }
    }
}

async fn write(managed: &ManagedCluster) -> Result<Action, HubError> {
    let again = Ok(Action::requeue(INTERVAL));
    let Some(cluster) = managed.object() else {
        return Ok(Action::await_change());
    };
    let image = agent_image(&managed.controllers.settings, &cluster);
    let status = decide(&cluster, &managed.facts(), &image, Timestamp::now());
    let present = cluster.status.as_ref();
    let urgency = if changes_a_condition(present, &status) {
        Urgency::Urgent
    } else {
        Urgency::Normal
    };
    let now = Instant::now();
    let decided = managed
        .state
        .status_rate
        .lock()
        .decide(present, &status, urgency, now);
    if decided != Write::Now {
        return again;
    }
    // The resourceVersion of the decision protects concurrent writes, such as the binding of an
    // agent's key.
    let desired = Cluster {
        status: Some(status),
        ..Cluster::clone(&cluster)
    };
    let problems = new_node_problems(present, desired.status.as_ref()).map(str::to_owned);
    replace(managed, &desired).await?;
    if let Some(problems) = problems {
        let notices = &managed.controllers.notices;
        notices.warn(&cluster, "NodeProblems", &problems).await;
    }
    again
}

/// Returns the message of the condition NodesHealthy if the nodes have other problems than before.
fn new_node_problems<'a>(
    present: Option<&ClusterStatus>,
    desired: Option<&'a ClusterStatus>,
) -> Option<&'a str> {
    fn find(status: Option<&ClusterStatus>) -> Option<&str> {
        let mut conditions = status?.conditions.iter();
        let found = conditions.find(|one| one.type_ == NODES_HEALTHY && one.status == "False")?;
        Some(&found.message)
    }
    find(desired).filter(|problems| find(present) != Some(problems))
}

async fn replace(managed: &ManagedCluster, desired: &Cluster) -> Result<(), HubError> {
    let hub = &managed.controllers.hub;
    let writer = hub.writer();
    let writing = writer.replace_status("write the status of a Cluster", desired);
    writing.await.map(drop)
}
