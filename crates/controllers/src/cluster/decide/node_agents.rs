//! Pure functions that select the nodes with a tunnel, and that record switches between agents.

use drover_agent_gateway::tunnels::ActiveAgent;
use drover_api::agent::NodeClass;
use drover_api::kinds::{ConnectionStatus, ConnectionSwitch, NodeAgentStatus, NodeAgentsSpec};
use drover_api::report::TunnelNode;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Maximum number of nodes with a tunnel in one cluster.
const MAX_NODES: usize = 3;
/// Maximum number of recorded switches.
const MAX_SWITCHES: usize = 10;

/// Returns the nodes whose node agents may have a tunnel. A node that stays selected keeps its key.
///
/// Without candidates, which an older agent does not report, the selected nodes stay.
pub(super) fn select(
    spec: NodeAgentsSpec,
    candidates: Option<&[TunnelNode]>,
    present: Vec<NodeAgentStatus>,
) -> Vec<NodeAgentStatus> {
    let allowed = |class| class == NodeClass::ControlPlane || spec.worker_tunnels;
    let Some(candidates) = candidates else {
        let mut kept = present;
        kept.retain(|agent| allowed(agent.class));
        return kept;
    };
    let of_class = |class| {
        let nodes = candidates.iter().filter(move |node| node.class == class);
        nodes.filter(move |_| allowed(class))
    };
    let selected = NodeClass::ALL
        .into_iter()
        .flat_map(of_class)
        .take(MAX_NODES);
    selected
        .map(|node| {
            let same = |agent: &&NodeAgentStatus| {
                agent.node == node.name && agent.node_uid == node.uid && agent.class == node.class
            };
            NodeAgentStatus {
                node: node.name.clone(),
                node_uid: node.uid.clone(),
                class: node.class,
                key: present
                    .iter()
                    .find(same)
                    .and_then(|agent| agent.key.clone()),
            }
        })
        .collect()
}

/// Adds the switches that the status does not contain yet. Several switches can occur between two writes
/// of the status.
pub(super) fn record_switches(connection: &mut Option<ConnectionStatus>, switches: &[ActiveAgent]) {
    for switch in switches {
        let known = connection.as_ref().map_or(&[][..], |it| &it.switches);
        if is_recorded(known, switch) {
            continue;
        }
        let connection = connection.get_or_insert(ConnectionStatus {
            generation: 0,
            switches: Vec::new(),
            reporting_node: None,
        });
        connection.generation = connection.generation.saturating_add(1);
        connection.switches.truncate(MAX_SWITCHES - 1);
        let recorded = ConnectionSwitch {
            at: Time(switch.since),
            node: switch.source.node().map(str::to_owned),
            reason: switch.reason.as_str().to_owned(),
        };
        connection.switches.insert(0, recorded);
    }
}

/// Reports whether the recorded switches, newest first, contain a switch or need not contain it. The hub
/// stores times in seconds.
fn is_recorded(known: &[ConnectionSwitch], switch: &ActiveAgent) -> bool {
    let since = switch.since.as_second();
    let is_same_agent = |known: &ConnectionSwitch| known.node.as_deref() == switch.source.node();
    let second = |known: &ConnectionSwitch| known.at.0.as_second();
    let is_old = |last: &ConnectionSwitch| is_same_agent(last) || since < second(last);
    known.first().is_some_and(is_old)
        || known
            .iter()
            .any(|known| second(known) == since && is_same_agent(known))
}

#[cfg(test)]
mod tests {
    use drover_agent_gateway::tunnels::{SwitchReason, TunnelSource};
    use drover_api::kinds::NodeAgentKey;
    use jiff::Timestamp;

    use super::*;

    fn node(name: &str, class: NodeClass) -> TunnelNode {
        TunnelNode {
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            class,
        }
    }

    fn names(selected: &[NodeAgentStatus]) -> Vec<&str> {
        selected.iter().map(|agent| agent.node.as_str()).collect()
    }

    const WITH_WORKERS: NodeAgentsSpec = NodeAgentsSpec {
        worker_tunnels: true,
    };

    #[test]
    fn workers_are_selected_after_control_plane_nodes_and_only_if_the_cluster_allows_it() {
        let one = [
            node("w1", NodeClass::Worker),
            node("w2", NodeClass::Worker),
            node("w3", NodeClass::Worker),
            node("c1", NodeClass::ControlPlane),
        ];
        let select = |spec| select(spec, Some(&one), Vec::new());
        assert_eq!(names(&select(NodeAgentsSpec::default())), ["c1"]);
        assert_eq!(names(&select(WITH_WORKERS)), ["c1", "w1", "w2"]);
    }

    #[test]
    fn key_is_kept_for_the_same_node_and_dropped_for_a_recreated_or_deselected_node() {
        let candidates = [node("c1", NodeClass::ControlPlane)];
        let mut present = select(NodeAgentsSpec::default(), Some(&candidates), Vec::new());
        present[0].key = Some(NodeAgentKey {
            public_key: "key".to_owned(),
            previous_key: None,
            bound_at: Time(Timestamp::UNIX_EPOCH),
        });
        let again = select(
            NodeAgentsSpec::default(),
            Some(&candidates),
            present.clone(),
        );
        assert_eq!(again, present);
        let without_report = select(NodeAgentsSpec::default(), None, present.clone());
        assert_eq!(without_report, present);
        let recreated = [TunnelNode {
            uid: "other".to_owned(),
            ..candidates[0].clone()
        }];
        let selected = select(NodeAgentsSpec::default(), Some(&recreated), present.clone());
        assert_eq!(selected[0].key, None);
        assert_eq!(select(NodeAgentsSpec::default(), Some(&[]), present), []);
    }

    #[test]
    fn key_of_a_worker_is_dropped_when_the_cluster_no_longer_allows_workers() {
        let candidates = [node("w1", NodeClass::Worker)];
        let present = select(WITH_WORKERS, Some(&candidates), Vec::new());
        assert_eq!(names(&present), ["w1"]);
        assert_eq!(select(NodeAgentsSpec::default(), None, present), []);
    }

    #[test]
    fn switches_are_recorded_newest_first_and_their_number_is_limited() {
        let active = |node: Option<&str>, second| ActiveAgent {
            source: node.map_or(TunnelSource::Agent, |node| TunnelSource::Node {
                node: node.to_owned(),
                class: NodeClass::ControlPlane,
            }),
            since: Timestamp::from_second(second).unwrap(),
            reason: SwitchReason::TunnelClosed,
        };
        let mut connection = None;
        record_switches(&mut connection, &[]);
        assert_eq!(connection, None);
        record_switches(&mut connection, &[active(None, 1)]);
        record_switches(&mut connection, &[active(None, 2)]);
        record_switches(&mut connection, &[active(None, 2), active(Some("c1"), 3)]);
        let found = connection.clone().unwrap();
        assert_eq!(found.generation, 2);
        let nodes: Vec<_> = found.switches.iter().map(|s| s.node.as_deref()).collect();
        assert_eq!(nodes, [Some("c1"), None]);
        assert_eq!(
            found.switches[1].at,
            Time(Timestamp::from_second(1).unwrap())
        );
        // A switch to the agent and back between two writes.
        let history = [
            active(None, 1),
            active(Some("c1"), 3),
            active(None, 4),
            active(Some("c1"), 5),
        ];
        record_switches(&mut connection, &history);
        record_switches(&mut connection, &history);
        assert_eq!(connection.as_ref().unwrap().generation, 4);
        for n in 3..13 {
            record_switches(
                &mut connection,
                &[active(None, 2 * n), active(Some("c1"), 2 * n + 1)],
            );
        }
        let found = connection.unwrap();
        assert_eq!((found.generation, found.switches.len()), (24, MAX_SWITCHES));
    }
}
