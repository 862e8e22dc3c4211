//! Pure functions that decide the conditions of a cluster from the facts about the cluster.

mod condition_values;
mod endpoint;
mod keys;
mod node_agents;

use std::time::Duration;

use drover_api::conditions::{
    AGENT_UP_TO_DATE, AUTHORIZED_ENDPOINT_READY, CLEANED_UP, CONNECTED, ConditionValue,
    GITOPS_ONLY, KEYS_CURRENT, NODES_HEALTHY, READY, Tristate, set_condition,
};
use drover_api::kinds::{AgentStatus, Cluster, ClusterStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use self::condition_values::{condition_value, condition_values};
use crate::managed::ClusterFacts;

/// Maximum time between two reports of a connected cluster. If no report arrives within this time,
/// a condition of the cluster shows the delay.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(35);
/// Interval at which the server writes `lastSeen` if no other value changes.
const LAST_SEEN_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

/// Computes the desired status of a cluster. The result equals the current status if the meaning of
/// every value is unchanged.
pub(crate) fn decide(
    cluster: &Cluster,
    facts: &ClusterFacts,
    image: &str,
    now: Timestamp,
) -> ClusterStatus {
    let present = cluster.status.clone().unwrap_or_default();
    let mut status = present.clone();
    let generation = cluster.metadata.generation;
    let values = condition_values(cluster, facts, image, now);
    let is_decided = |kind: &str| values.iter().any(|(decided, _)| *decided == kind);
    let is_optional = |kind: &str| {
        matches!(kind, AUTHORIZED_ENDPOINT_READY | KEYS_CURRENT)
            || cluster.spec.agent.gitops_only && !matches!(kind, READY | CLEANED_UP)
    };
    let conditions = &mut status.conditions;
    conditions.retain(|one| !is_optional(&one.type_) || is_decided(&one.type_));
    let (retained, events): (Vec<_>, Vec<_>) = values
        .into_iter()
        .partition(|(kind, condition_value)| is_retained(&present, facts, kind, condition_value));
    for (kind, condition_value) in &events {
        set_condition(
            &mut status.conditions,
            kind,
            condition_value,
            generation,
            now,
        );
    }
    let condition_value = match first_not_true(&events) {
        Some(wrong) => Some(wrong),
        // A retained condition that is not True was the reason for the present Ready condition, so
        // Ready stays.
        None if retained
            .iter()
            .any(|(kind, _)| is_required_for_ready(kind) && !was_true(&present, kind)) =>
        {
            None
        }
        None if cluster.spec.agent.gitops_only => Some(condition_value(
            Tristate::True,
            GITOPS_ONLY,
            "the agent is registered; the Fleet Cluster shows its last check-in",
        )),
        None => Some(ready()),
    };
    if let Some(condition_value) = condition_value {
        set_condition(
            &mut status.conditions,
            READY,
            &condition_value,
            generation,
            now,
        );
    }
    if retained.is_empty() {
        status.observed_generation = generation;
    }
    copy_report(&mut status, facts);
    status.authorized_endpoint = endpoint::status(status.authorized_endpoint.take(), facts);
    let present_nodes = std::mem::take(&mut status.node_agents);
    let candidates = facts.reported.tunnel_nodes.as_deref();
    status.node_agents = node_agents::select(cluster.spec.node_agents, candidates, present_nodes);
    if !facts.settling || status.connection.is_none() {
        node_agents::record_switches(&mut status.connection, &facts.switches);
    }
    if is_reporting(facts) {
        if let Some(connection) = &mut status.connection {
            connection.reporting_node.clone_from(&facts.reported.node);
        }
        let seen = status.last_seen.as_ref();
        let old = seen.is_none_or(|seen| now.duration_since(seen.0) >= LAST_SEEN_INTERVAL);
        if old || status != present {
            status.last_seen = Some(Time(now));
            copy_amounts(&mut status, facts);
        }
    }
    status
}

fn condition<'a>(status: &'a ClusterStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|one| one.type_ == kind)
}

fn was_true(present: &ClusterStatus, kind: &str) -> bool {
    condition(present, kind).is_some_and(|before| before.status == Tristate::True.as_str())
}

/// Reports whether a condition keeps its current value because the facts for the condition are not
/// available yet.
fn is_retained(
    present: &ClusterStatus,
    facts: &ClusterFacts,
    kind: &str,
    condition_value: &ConditionValue,
) -> bool {
    let Some(before) = condition(present, kind) else {
        return false;
    };
    // Replicas reconnect one after the other. The condition shows their number only after all had
    // time to reconnect.
    let returning = kind == CONNECTED && before.status == condition_value.status.as_str();
    facts.settling && (returning || !facts.has_facts_for(kind))
}

/// Copies the reported values to the status. The values of a disconnected cluster stay, and its
/// conditions show the age of the values.
fn copy_report(status: &mut ClusterStatus, facts: &ClusterFacts) {
    let reported = &facts.reported;
    if let Some(version) = &reported.version {
        status.kubernetes_version = Some(version.clone());
    }
    if let (Some(cluster), Some(hub)) = (&reported.cluster_uid, &facts.hub_uid) {
        status.hosts_hub = cluster == hub;
    }
    if let Some(nodes) = &reported.nodes {
        status.nodes = Some(nodes.count);
        status.not_ready_nodes.clone_from(&nodes.not_ready);
        status.pods = nodes.pods;
        status.capacity.clone_from(&nodes.capacity);
        status.allocatable.clone_from(&nodes.allocatable);
        let others = !status.usage.names().eq(nodes.usage.names())
            || !status.requests.names().eq(nodes.requests.names());
        if others {
            copy_amounts(status, facts);
        }
    }
    if let Some(nodes) = &reported.node_facts {
        status.node_facts.clone_from(nodes);
    }
    if let Some(components) = &reported.components {
        status.components.clone_from(components);
    }
    if let Some(version) = &facts.agent_version {
        status.agent = Some(AgentStatus {
            version: version.clone(),
            protocol: facts.protocol,
            tunnels: match &status.agent {
                Some(before) if facts.settling => before.tunnels.max(facts.tunnels),
                _ => facts.tunnels,
            },
            image: match (&reported.agent, &status.agent) {
                (Some(agent), _) => Some(agent.image.clone()),
                (None, Some(before)) if facts.settling => before.image.clone(),
                _ => None,
            },
        });
    } else if let Some(agent) = &mut status.agent
        && !facts.settling
    {
        agent.tunnels = 0;
    }
}

/// Copies the pods' requests and usage. These values change constantly. The server writes these
/// values only together with a change of other values, with a new resource, or with the periodic
/// update of `lastSeen`.
fn copy_amounts(status: &mut ClusterStatus, facts: &ClusterFacts) {
    if let Some(nodes) = &facts.reported.nodes {
        status.requests.clone_from(&nodes.requests);
        status.usage.clone_from(&nodes.usage);
    }
}

fn is_reporting(facts: &ClusterFacts) -> bool {
    facts.is_connected() && facts.silence.is_some_and(|silence| silence < SILENT_AFTER)
}

/// Reports whether Ready requires a condition to be True. A cluster with an outdated agent, with a node
/// that has a problem, with old keys, or whose API servers do not call the webhook of the authorized
/// endpoint, can be ready.
fn is_required_for_ready(kind: &str) -> bool {
    !matches!(
        kind,
        AGENT_UP_TO_DATE | NODES_HEALTHY | AUTHORIZED_ENDPOINT_READY | KEYS_CURRENT
    )
}

/// Returns the first required condition that is not True. The type and message of this condition
/// become the reason and message of Ready.
fn first_not_true<'a>(
    condition_values: impl IntoIterator<Item = &'a (&'static str, ConditionValue)>,
) -> Option<ConditionValue> {
    let mut needed = condition_values
        .into_iter()
        .filter(|(kind, value)| is_required_for_ready(kind) && value.reason != GITOPS_ONLY);
    let wrong = needed.find(|(_, condition_value)| condition_value.status != Tristate::True);
    wrong.map(|(_, first)| first.clone())
}

fn ready() -> ConditionValue {
    condition_value(Tristate::True, "Ready", "the cluster can be used")
}

#[cfg(test)]
mod tests;
