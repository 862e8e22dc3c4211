//! Pure functions that compute the status, reason and message of each condition.

use std::fmt::Write as _;
use std::time::Duration;

use drover_api::cluster_state::node_problems;
use drover_api::conditions::{
    ACCESS_APPLIED, AGENT_UP_TO_DATE, API_SERVER_READY, AUTHORIZED_ENDPOINT_READY, CONNECTED,
    ConditionValue, GITOPS_ONLY, KEYS_CURRENT, NODES_HEALTHY, REGISTERED, Tristate,
};
use drover_api::kinds::{AgentSpec, AgentUpgrade, Cluster};
use jiff::Timestamp;

use super::{SILENT_AFTER, endpoint, keys};
use crate::managed::{AccessState, ClusterFacts, UpgradeState};
use drover_agent_gateway::tunnels::SwitchReason;

/// Maximum number of failing components in a message.
const MAX_NAMED: usize = 8;

/// Creates the status, reason and message of a condition.
pub(super) fn condition_value(
    status: Tristate,
    reason: &'static str,
    message: impl Into<String>,
) -> ConditionValue {
    ConditionValue {
        status,
        reason,
        message: message.into(),
    }
}

/// Computes all conditions except Ready, in the order in which an administrator checks the
/// conditions.
pub(super) fn condition_values(
    cluster: &Cluster,
    facts: &ClusterFacts,
    image: &str,
    now: Timestamp,
) -> Vec<(&'static str, ConditionValue)> {
    if cluster.spec.agent.gitops_only {
        return vec![
            (REGISTERED, registered(cluster)),
            (CONNECTED, gitops_only()),
        ];
    }
    let mut values = vec![
        (REGISTERED, registered(cluster)),
        (CONNECTED, connected(cluster, facts)),
        (API_SERVER_READY, api_server(facts)),
        (NODES_HEALTHY, nodes(facts, now)),
        (ACCESS_APPLIED, access(facts)),
        (AGENT_UP_TO_DATE, agent(&cluster.spec.agent, facts, image)),
    ];
    if let Some(value) = endpoint::condition(cluster, facts) {
        values.push((AUTHORIZED_ENDPOINT_READY, value));
    }
    if let Some(value) = keys::condition(cluster, facts, now) {
        values.push((KEYS_CURRENT, value));
    }
    values
}

fn gitops_only() -> ConditionValue {
    let message = "the agent opens no tunnel and only deploys bundles (spec.agent.gitopsOnly); the status \
                   of the Fleet Cluster in the namespace fleet-default contains its last check-in";
    condition_value(Tristate::False, GITOPS_ONLY, message)
}

fn is_registered(cluster: &Cluster) -> bool {
    cluster
        .status
        .as_ref()
        .is_some_and(|status| status.registration.is_some())
}

fn registered(cluster: &Cluster) -> ConditionValue {
    if is_registered(cluster) {
        condition_value(
            Tristate::True,
            "KeyBound",
            "the agent's key is bound to this Cluster",
        )
    } else {
        condition_value(
            Tristate::False,
            "NotImported",
            "apply the manifest of \"drover cluster import\" in the cluster",
        )
    }
}

fn connected(cluster: &Cluster, facts: &ClusterFacts) -> ConditionValue {
    if let Some(active) = facts.active()
        && let Some(node) = active.source.node()
    {
        let agent = match active.reason {
            SwitchReason::ApiServerUnreachable => "has no response from the API server",
            SwitchReason::AgentSilent => "does not respond",
            _ => "is not connected, or connected later",
        };
        return condition_value(
            Tristate::True,
            "NodeAgent",
            format!(
                "the cluster's agent {agent}, so the server uses the node agent on {node}; check \
                the pods in the cluster's namespace drover-agent"
            ),
        );
    }
    match (facts.tunnels, is_registered(cluster)) {
        (0, false) => condition_value(
            Tristate::False,
            "NotRegistered",
            "the cluster's agent has not registered yet; if you applied the manifest, check the \
            log and the events of Deployment drover-agent",
        ),
        (0, true) => condition_value(
            Tristate::False,
            "AgentGone",
            "no agent of the cluster is connected; check ConfigMap drover-agent-status and the \
            pods in the cluster's namespace drover-agent",
        ),
        (1, _) => condition_value(
            Tristate::True,
            "TunnelOpen",
            "1 replica of the agent is connected",
        ),
        (n, _) => condition_value(
            Tristate::True,
            "TunnelOpen",
            format!("{n} replicas of the agent are connected"),
        ),
    }
}

pub(super) fn unknown_while_away() -> ConditionValue {
    condition_value(
        Tristate::Unknown,
        "NotConnected",
        "unknown while no agent is connected",
    )
}

fn api_server(facts: &ClusterFacts) -> ConditionValue {
    if !facts.is_connected() {
        return unknown_while_away();
    }
    if facts.silence.is_some_and(|silence| silence >= SILENT_AFTER) {
        return condition_value(
            Tristate::Unknown,
            "ReportsStopped",
            "the agent is connected but sends no reports; check the agent's log",
        );
    }
    let Some(components) = &facts.reported.components else {
        return condition_value(
            Tristate::Unknown,
            "NoReportYet",
            "waiting for the agent's first report",
        );
    };
    let failing = components.iter().filter(|component| !component.healthy);
    let more = failing.clone().count().saturating_sub(MAX_NAMED);
    let failing: Vec<String> = failing
        .take(MAX_NAMED)
        .map(|component| match &component.message {
            Some(message) => format!("{} ({message})", component.name),
            None => component.name.clone(),
        })
        .collect();
    if failing.is_empty() {
        condition_value(
            Tristate::True,
            "Healthy",
            "the API server passes its readiness check",
        )
    } else {
        let mut list = failing.join(", ");
        if more > 0 {
            let _ = write!(list, " and {more} more");
        }
        condition_value(
            Tristate::False,
            "Unhealthy",
            format!("failing: {list}; check the cluster's control plane"),
        )
    }
}

pub(super) fn no_node_report() -> ConditionValue {
    condition_value(
        Tristate::Unknown,
        "NoReportYet",
        "waiting for the agent's report about nodes; agents of earlier versions send no report about \
         nodes",
    )
}

fn nodes(facts: &ClusterFacts, now: Timestamp) -> ConditionValue {
    if !facts.is_connected() {
        return unknown_while_away();
    }
    let Some(nodes) = &facts.reported.node_facts else {
        return no_node_report();
    };
    let failing = nodes.iter().filter_map(|node| {
        let problems = node_problems(node, now);
        (!problems.is_empty()).then(|| format!("{}: {}", node.name, problems.join(", ")))
    });
    let failing: Vec<String> = failing.collect();
    if failing.is_empty() {
        return condition_value(Tristate::True, "Healthy", "no node reports a problem");
    }
    let mut list = failing[..failing.len().min(MAX_NAMED)].join("; ");
    if failing.len() > MAX_NAMED {
        let _ = write!(list, "; and {} more nodes", failing.len() - MAX_NAMED);
    }
    condition_value(Tristate::False, "NodeProblems", list)
}

fn access(facts: &ClusterFacts) -> ConditionValue {
    match &facts.access {
        AccessState::Applied => condition_value(
            Tristate::True,
            "Applied",
            "the cluster has the roles and bindings that the hub grants",
        ),
        _ if !facts.is_connected() => unknown_while_away(),
        AccessState::Pending => condition_value(
            Tristate::Unknown,
            "Pending",
            "the server is applying roles and bindings",
        ),
        AccessState::Failed(why) => condition_value(
            Tristate::False,
            "ApplyFailed",
            format!("{why}; the server retries within a minute"),
        ),
    }
}

/// Maximum duration of a rollout. A condition reports a longer rollout as stuck.
const ROLLOUT_WITHIN: Duration = Duration::from_mins(5);

fn agent(spec: &AgentSpec, facts: &ClusterFacts, image: &str) -> ConditionValue {
    if !facts.is_connected() {
        return unknown_while_away();
    }
    let ours = env!("CARGO_PKG_VERSION");
    let Some(deployment) = &facts.reported.agent else {
        let same = facts.agent_version.as_deref() == Some(ours);
        return if same {
            condition_value(
                Tristate::True,
                "SameVersion",
                "the agent has the server's version",
            )
        } else {
            condition_value(
                Tristate::Unknown,
                "NotADeployment",
                format!(
                    "the agent does not run as Deployment drover-agent; upgrade the agent to \
                    {ours} manually"
                ),
            )
        };
    };
    if let UpgradeState::Failed(why) = &facts.upgrade {
        let message = format!("{why}; the server retries within a minute");
        return condition_value(Tristate::False, "UpgradeFailed", message);
    }
    if deployment.image != image {
        return match (spec.upgrade, &spec.image) {
            (AgentUpgrade::Manual, None) => condition_value(
                Tristate::False,
                "UpgradeAvailable",
                format!(
                    "the agent runs {}; to upgrade the agent, set spec.agent.image to {image}",
                    deployment.image
                ),
            ),
            _ => condition_value(
                Tristate::False,
                "Upgrading",
                format!(
                    "the server is changing the image \
                to {image}"
                ),
            ),
        };
    }
    let (done, desired) = (deployment.updated_available, deployment.wanted);
    if done >= desired {
        return condition_value(
            Tristate::True,
            "UpToDate",
            format!("the agent runs {image}"),
        );
    }
    let progress = format!("{done} of {desired} replicas run {image} and are available");
    match &facts.upgrade {
        UpgradeState::Requested { since, .. } if *since > ROLLOUT_WITHIN => condition_value(
            Tristate::False,
            "UpgradeStuck",
            format!(
                "{progress}; check the pods in namespace drover-agent, for example for errors of \
                the image pull"
            ),
        ),
        _ => condition_value(Tristate::False, "RollingOut", progress),
    }
}
