//! The condition of a cluster whose keys must be replaced.

use drover_api::conditions::{ConditionValue, Tristate};
use drover_api::kinds::Cluster;
use jiff::{SignedDuration, Timestamp};

use super::condition_values::condition_value;
use crate::managed::ClusterFacts;

/// Time after which a key that is not replaced yet is a problem. Usually the replacement takes seconds.
const EXPECTED: SignedDuration = SignedDuration::from_mins(1);

/// Returns the condition, or `None` if no key must be replaced.
pub(super) fn condition(
    cluster: &Cluster,
    facts: &ClusterFacts,
    now: Timestamp,
) -> Option<ConditionValue> {
    let status = cluster.status.as_ref()?;
    let due = |bound_at: Timestamp| {
        let since = now - EXPECTED;
        cluster.spec.key_rotation.is_due(bound_at, since)
    };
    let agent = status.registration.as_ref();
    let agent = agent.filter(|registration| due(registration.bound_at.0));
    let nodes = status.node_agents.iter().filter(|agent| {
        let key = agent.key.as_ref();
        key.is_some_and(|key| due(key.bound_at.0))
    });
    let nodes = nodes.map(|agent| format!("the node agent on {}", agent.node));
    let owners: Vec<_> = agent
        .map(|_| "the agent".to_owned())
        .into_iter()
        .chain(nodes)
        .collect();
    if owners.is_empty() {
        return None;
    }
    let reason = facts.key_error.as_deref();
    let reason = reason.unwrap_or("no tunnel with the present key is open");
    let message = format!(
        "cannot replace the key of {}: {reason}; the server tries again",
        owners.join(", ")
    );
    Some(condition_value(Tristate::False, "RotationPending", message))
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
            "cannot replace the key of the agent: no tunnel with the present key is open; the server \
             tries again"
        );
        facts.key_error = Some("the agent did not respond: timeout".to_owned());
        assert_eq!(
            message(&facts, 101),
            "cannot replace the key of the agent, the node agent on cp-1: the agent did not respond: \
             timeout; the server tries again"
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
