//! NetworkPolicies and PodDisruptionBudgets.

use serde_json::Value;

use super::{KindFacts, joined, scalar, strings};
use crate::messages::t;
use crate::object::overview::{FactTable, FactValue, Facts, ObjectState, Section};
use crate::object::related::{selector, terms};
use crate::object::{Object, read};
use drover_rows::Severity;

/// The direction of the traffic of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Ingress,
    Egress,
}

impl Direction {
    const ALL: [Self; 2] = [Self::Ingress, Self::Egress];

    const fn name(self) -> &'static str {
        match self {
            Self::Ingress => "Ingress",
            Self::Egress => "Egress",
        }
    }

    /// Reports whether a policy restricts the direction. A policy without types restricts ingress,
    /// and also egress if it has egress rules.
    fn is_restricted(self, policy: &Value) -> bool {
        let types = strings(policy, "/spec/policyTypes");
        match self {
            _ if !types.is_empty() => types.iter().any(|it| it == self.name()),
            Self::Ingress => true,
            Self::Egress => !read::list(policy, "/spec/egress").is_empty(),
        }
    }

    fn rules(self, policy: &Value) -> &[Value] {
        match self {
            Self::Ingress => read::list(policy, "/spec/ingress"),
            Self::Egress => read::list(policy, "/spec/egress"),
        }
    }

    fn peers(self, rule: &Value) -> &[Value] {
        match self {
            Self::Ingress => read::list(rule, "/from"),
            Self::Egress => read::list(rule, "/to"),
        }
    }
}

/// Returns the facts of a NetworkPolicy.
pub(super) fn network_policy(policy: &Object) -> KindFacts {
    let value = policy.value();
    let types: Vec<_> = Direction::ALL
        .into_iter()
        .filter(|direction| direction.is_restricted(value))
        .collect();
    let names: Vec<_> = types.iter().map(|direction| direction.name()).collect();
    let facts = Facts::default()
        .text(
            t().facts.selected_pods(),
            Some(pods(read::at(value, "/spec/podSelector"))),
        )
        .text(t().facts.policy_types(), Some(names.join(", ")));
    let rows = types.into_iter().flat_map(|direction| {
        let rules = direction.rules(value);
        let denied = rules.is_empty().then(|| {
            let denied = t().facts.denied().to_owned();
            row(direction, vec![denied], Vec::new())
        });
        let allowed = rules.iter().map(move |rule| {
            let peers: Vec<_> = direction.peers(rule).iter().map(peer).collect();
            let ports: Vec<_> = read::list(rule, "/ports").iter().map(port).collect();
            let any = |list: Vec<String>, any: &str| match list.len() {
                0 => vec![any.to_owned()],
                _ => list,
            };
            row(
                direction,
                any(peers, t().facts.any_peer()),
                any(ports, t().facts.any_port()),
            )
        });
        denied.into_iter().chain(allowed)
    });
    let columns = [
        t().facts.direction(),
        t().facts.allowed_peers(),
        t().object.ports(),
    ];
    let rules: Section = FactTable::of(columns, rows).under(t().facts.rules());
    KindFacts::new(None, [facts.under("NetworkPolicy"), rules])
}

fn row(direction: Direction, peers: Vec<String>, ports: Vec<String>) -> [FactValue; 3] {
    [
        FactValue::Text(direction.name().to_owned()),
        FactValue::Lines(peers),
        FactValue::Lines(ports),
    ]
}

/// Describes the pods that a label selector selects.
fn pods(selector: &Value) -> String {
    match terms(selector) {
        None => t().facts.all_pods().to_owned(),
        Some(terms) => t().facts.pods_with(&terms),
    }
}

fn peer(peer: &Value) -> String {
    if let Some(range) = read::text(peer, "/ipBlock/cidr") {
        return match joined(peer, "/ipBlock/except") {
            None => range.to_owned(),
            Some(except) => t().facts.except(range, &except),
        };
    }
    let pods = pods(read::at(peer, "/podSelector"));
    match peer.get("namespaceSelector") {
        None => t().facts.in_this_namespace(&pods),
        Some(namespaces) => match terms(namespaces) {
            None => t().facts.in_all_namespaces(&pods),
            Some(terms) => t().facts.in_namespaces_with(&pods, &terms),
        },
    }
}

fn port(port: &Value) -> String {
    let protocol = read::text(port, "/protocol").unwrap_or("TCP");
    match (scalar(port, "/port"), scalar(port, "/endPort")) {
        (None, _) => t().facts.all_ports_of(protocol),
        (Some(port), None) => format!("{port}/{protocol}"),
        (Some(port), Some(end)) => format!("{port}–{end}/{protocol}"),
    }
}

/// Returns the facts of a PodDisruptionBudget.
pub(super) fn disruption_budget(budget: &Object) -> KindFacts {
    let value = budget.value();
    let status = |name: &str| scalar(value, &format!("/status/{name}"));
    let facts = Facts::default()
        .text(
            t().facts.min_available(),
            scalar(value, "/spec/minAvailable"),
        )
        .text(
            t().facts.max_unavailable(),
            scalar(value, "/spec/maxUnavailable"),
        )
        .codes(
            t().workloads.selector(),
            selector(value).into_iter().collect(),
        )
        .text(t().facts.healthy_pods(), status("currentHealthy"))
        .text(t().facts.required_pods(), status("desiredHealthy"))
        .text(t().facts.expected_pods(), status("expectedPods"))
        .text(
            t().facts.allowed_disruptions(),
            status("disruptionsAllowed"),
        )
        .text(
            t().facts.unhealthy_eviction(),
            read::owned(value, "/spec/unhealthyPodEvictionPolicy"),
        );
    let state = read::number(value, "/status/disruptionsAllowed").map(|allowed| {
        let expected = read::count(value, "/status/expectedPods");
        match (allowed, expected) {
            (0, 0) => ObjectState::of(Severity::Idle, t().facts.budget_without_pods()),
            (0, _) => ObjectState::of(Severity::Degraded, t().facts.no_disruption())
                .because(t().facts.no_disruption_help()),
            (allowed, _) => ObjectState::of(Severity::Healthy, t().facts.disruptions(allowed)),
        }
    });
    KindFacts::new(state, [facts.under("PodDisruptionBudget")])
}
