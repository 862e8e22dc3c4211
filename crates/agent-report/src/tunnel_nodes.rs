//! Selects the nodes of a cluster that are candidates for tunnels of node agents.

use drover_api::agent::NodeClass;
use drover_api::report::{MAX_TUNNEL_NODES, TunnelNode};
use drover_apply::drift;

use crate::sums::{ObservedNode, Tally};

/// Returns the candidates of both classes, best first, or `None` until the first list of nodes is
/// complete.
///
/// The order depends only on the UIDs of the nodes (rendezvous hashing), so that a new node rarely
/// changes the candidates. A node that is not ready for a short time stays a candidate, because its node
/// agent would lose its key.
pub(crate) fn candidates(nodes: &Tally<ObservedNode>) -> Option<Vec<TunnelNode>> {
    if !nodes.complete() {
        return None;
    }
    let of_class = |class: NodeClass| {
        let mut found: Vec<_> = nodes
            .iter()
            .filter(|(_, node)| node.facts.control_plane == (class == NodeClass::ControlPlane))
            .map(|(uid, node)| ((drift::version(uid.as_bytes()), uid), node))
            .collect();
        found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        found.truncate(MAX_TUNNEL_NODES);
        found.into_iter().map(move |((_, uid), node)| TunnelNode {
            name: node.facts.name.clone(),
            uid: uid.to_owned(),
            class,
        })
    };
    Some(NodeClass::ALL.into_iter().flat_map(of_class).collect())
}

#[cfg(test)]
mod tests {
    use drover_api::kinds::NodeFacts;
    use proptest::prelude::*;

    use super::*;

    fn tally(nodes: impl IntoIterator<Item = (String, bool)>) -> Tally<ObservedNode> {
        let mut tally = Tally::default();
        tally.begin();
        for (name, control_plane) in nodes {
            let facts = NodeFacts {
                name: name.clone(),
                control_plane,
                ..NodeFacts::default()
            };
            let node = ObservedNode {
                facts,
                ..ObservedNode::default()
            };
            tally.listed(format!("uid-of-{name}"), node);
        }
        tally.finish();
        tally
    }

    fn names(nodes: &[TunnelNode], class: NodeClass) -> Vec<&str> {
        let of_class = nodes.iter().filter(|node| node.class == class);
        of_class.map(|node| node.name.as_str()).collect()
    }

    #[test]
    fn candidates_are_unknown_until_the_nodes_are_listed() {
        assert_eq!(candidates(&Tally::default()), None);
        assert_eq!(candidates(&tally([])), Some(Vec::new()));
    }

    #[test]
    fn at_most_three_nodes_of_each_class_are_candidates() {
        let nodes = (0..20).map(|n| (format!("n{n}"), n < 5));
        let found = candidates(&tally(nodes)).unwrap();
        assert_eq!(names(&found, NodeClass::ControlPlane).len(), 3);
        assert_eq!(names(&found, NodeClass::Worker).len(), 3);
        assert_eq!(found[0].class, NodeClass::ControlPlane);
        assert_eq!(found[0].uid, format!("uid-of-{}", found[0].name));
    }

    proptest! {
        #[test]
        fn new_node_replaces_at_most_one_candidate(count in 3_usize..30) {
            let nodes = |count: usize| (0..count).map(|n| (format!("n{n}"), false));
            let before = candidates(&tally(nodes(count))).unwrap();
            let after = candidates(&tally(nodes(count + 1))).unwrap();
            let kept = before.iter().filter(|node| after.contains(node)).count();
            prop_assert!(kept >= 2, "{before:?} {after:?}");
        }
    }
}
