//! The condition of a cluster whose keys must be replaced.

use drover_agent_gateway::tunnels::TunnelSource;
use drover_api::conditions::{ConditionValue, Tristate};
use drover_api::kinds::{Cluster, NodeAgentStatus};
use jiff::{SignedDuration, Timestamp};

use super::condition_values::condition_value;
use crate::managed::ClusterFacts;

/// Time after which the condition reports an overdue key. A replacement usually takes seconds.
const EXPECTED: SignedDuration = SignedDuration::from_mins(1);

/// Returns the condition, or `None` if no key is overdue.
pub(super) fn condition(
    cluster: &Cluster,
    facts: &ClusterFacts,
    now: Timestamp,
) -> Option<ConditionValue> {
    let nodes = cluster.status.iter().flat_map(|status| &status.node_agents);
    let nodes = nodes.map(|agent: &NodeAgentStatus| TunnelSource::Node {
        node: agent.node.clone(),
        class: agent.class,
    });
    let is_overdue = |source: &TunnelSource| {
        let bound = source.bound_key(cluster);
        let spec = &cluster.spec.key_rotation;
        bound.is_some_and(|bound| spec.is_due(bound.at, now - EXPECTED))
    };
    let overdue = std::iter::once(TunnelSource::Agent).chain(nodes);
    let problems: Vec<String> = overdue
        .filter(is_overdue)
        .map(|source| {
            let error = facts
                .key_errors
                .iter()
                .find(|(failed, _)| *failed == source);
            let error = error.map_or("no tunnel with the current key is open", |(_, error)| error);
            format!("cannot replace the key of {source}: {error}")
        })
        .collect();
    (!problems.is_empty()).then(|| {
        let message = format!("{}; the server tries again", problems.join("; "));
        condition_value(Tristate::False, "RotationPending", message)
    })
}

#[cfg(test)]
mod tests {
    use drover_api::agent::NodeClass;
    use drover_api::kinds::{
        ClusterSpec, ClusterStatus, KeyRotationSpec, NodeAgentKey, NodeAgentStatus, Registration,
    };
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    const BOUND: Timestamp = Timestamp::UNIX_EPOCH;

    fn days(days: i64) -> Timestamp {
        BOUND + SignedDuration::from_hours(24 * days)
    }

    fn cluster() -> Cluster {
        let mut cluster = Cluster::new("shop", ClusterSpec::default());
        cluster.status = Some(ClusterStatus {
            registration: Some(Registration {
                public_key: "key".to_owned(),
                previous_key: None,
                bound_at: Time(BOUND),
                token_id: "t".to_owned(),
            }),
            node_agents: vec![NodeAgentStatus {
                node: "cp-1".to_owned(),
                node_uid: "uid".to_owned(),
                class: NodeClass::ControlPlane,
                key: Some(NodeAgentKey {
                    public_key: "key".to_owned(),
                    previous_key: None,
                    bound_at: Time(days(10)),
                }),
            }],
            ..ClusterStatus::default()
        });
        cluster
    }

    #[test]
    fn condition_names_the_agents_with_old_keys_and_the_error() {
        let cluster = cluster();
        let mut facts = ClusterFacts::default();
        assert_eq!(condition(&cluster, &facts, days(89)), None);
        assert_eq!(condition(&cluster, &facts, days(90)), None);
        let message = |facts: &_, day| condition(&cluster, facts, days(day)).unwrap().message;
        assert_eq!(
            message(&facts, 91),
            "cannot replace the key of the agent: no tunnel with the current key is open; the server \
             tries again"
        );
        let node = TunnelSource::Node {
            node: "cp-1".to_owned(),
            class: NodeClass::ControlPlane,
        };
        facts.key_errors = vec![(node, "timeout".to_owned())];
        assert_eq!(
            message(&facts, 101),
            "cannot replace the key of the agent: no tunnel with the current key is open; cannot \
             replace the key of the node agent on cp-1: timeout; the server tries again"
        );
    }

    #[test]
    fn request_is_due_for_older_keys_also_without_a_schedule() {
        let mut cluster = cluster();
        let facts = ClusterFacts::default();
        cluster.spec.key_rotation = KeyRotationSpec {
            days: 0,
            requested_at: None,
        };
        assert_eq!(condition(&cluster, &facts, days(1000)), None);
        cluster.spec.key_rotation.requested_at = Some(Time(days(5)));
        let found = condition(&cluster, &facts, days(6)).unwrap();
        assert!(
            found.message.contains("the key of the agent: "),
            "{found:?}"
        );
        assert_eq!(condition(&cluster, &facts, days(4)), None);
    }
}
