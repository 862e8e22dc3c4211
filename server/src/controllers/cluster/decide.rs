//! From what is known of a cluster to its conditions. Pure.

use std::time::Duration;

use drover_api::conditions::{
    ACCESS_APPLIED, AGENT_UP_TO_DATE, API_SERVER_READY, CONNECTED, READY, REGISTERED, Tristate,
    Verdict, set_condition,
};
use drover_api::kinds::{AgentSpec, AgentStatus, AgentUpgrade, Cluster, ClusterStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::heard::Heard;

/// A connected cluster that has said nothing for so long is not heard any more.
pub const SILENT_AFTER: Duration = Duration::from_secs(35);
/// `lastSeen` is written this often while nothing else changes.
const SEEN_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// Everything that a cluster's status is decided from.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Tunnels that the cluster's agents hold.
    pub tunnels: u32,
    /// Version of the agent that connected last.
    pub agent_version: Option<String>,
    /// Protocol of that tunnel.
    pub protocol: u32,
    /// The report stream.
    pub heard: Heard,
    /// Time since its last line; `None` when there was none on this server.
    pub silence: Option<Duration>,
    /// How access stands.
    pub access: AccessState,
    /// How an upgrade of the agent stands.
    pub upgrade: UpgradeState,
}

/// How access in a cluster stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessState {
    /// Not tried yet.
    #[default]
    Pending,
    /// As the hub wants it.
    Applied,
    /// Tried and failed.
    Failed(String),
}

/// How the wish for another agent image stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UpgradeState {
    /// Nothing was tried.
    #[default]
    Idle,
    /// The Deployment was told to run this image.
    Asked {
        /// The image.
        image: String,
        /// Time since.
        since: Duration,
    },
    /// The Deployment could not be told.
    Failed(String),
}

/// The status that a cluster should have; equal to the present one where nothing means something
/// else.
pub fn decide(cluster: &Cluster, known: &Known, image: &str, now: Timestamp) -> ClusterStatus {
    let present = cluster.status.clone().unwrap_or_default();
    let mut status = present.clone();
    let verdicts = verdicts(cluster, known, image);
    let generation = cluster.metadata.generation;
    for (kind, verdict) in &verdicts {
        set_condition(&mut status.conditions, kind, verdict, generation, now);
    }
    let ready = readiness(&verdicts);
    set_condition(&mut status.conditions, READY, &ready, generation, now);
    status.observed_generation = generation;
    copy_report(&mut status, known);
    if is_heard(known) {
        let seen = status.last_seen.as_ref();
        let old = seen.is_none_or(|seen| now.duration_since(seen.0) >= SEEN_EVERY);
        if old || status != present {
            status.last_seen = Some(Time(now));
            copy_amounts(&mut status, known);
        }
    }
    status
}

/// Keeps the last known facts while the cluster is away: its conditions say how old they are.
fn copy_report(status: &mut ClusterStatus, known: &Known) {
    let heard = &known.heard;
    if let Some(version) = &heard.version {
        status.kubernetes_version = Some(version.clone());
    }
    if let Some(nodes) = &heard.nodes {
        status.nodes = Some(nodes.count);
        status.capacity.clone_from(&nodes.capacity);
        status.allocatable.clone_from(&nodes.allocatable);
        let appeared = status.usage.is_empty() != nodes.usage.is_empty()
            || status.requests.is_empty() != nodes.requests.is_empty();
        if appeared {
            copy_amounts(status, known);
        }
    }
    if let Some(components) = &heard.components {
        status.components.clone_from(components);
    }
    if let Some(version) = &known.agent_version {
        status.agent = Some(AgentStatus {
            version: version.clone(),
            protocol: known.protocol,
            tunnels: known.tunnels,
            image: heard.agent.as_ref().map(|agent| agent.image.clone()),
        });
    } else if let Some(agent) = &mut status.agent {
        agent.tunnels = 0;
    }
}

/// What pods ask for and use moves all the time, its meaning does not: it is copied when it
/// appears, with other changes, and with the regular sign of life.
fn copy_amounts(status: &mut ClusterStatus, known: &Known) {
    if let Some(nodes) = &known.heard.nodes {
        status.requests.clone_from(&nodes.requests);
        status.usage.clone_from(&nodes.usage);
    }
}

fn is_heard(known: &Known) -> bool {
    known.tunnels > 0 && known.silence.is_some_and(|silence| silence < SILENT_AFTER)
}

fn verdict(status: Tristate, reason: &'static str, message: impl Into<String>) -> Verdict {
    Verdict {
        status,
        reason,
        message: message.into(),
    }
}

/// Every condition but Ready, in the order in which a person should look at them.
fn verdicts(cluster: &Cluster, known: &Known, image: &str) -> [(&'static str, Verdict); 5] {
    [
        (REGISTERED, registered(cluster)),
        (CONNECTED, connected(cluster, known)),
        (API_SERVER_READY, api_server(known)),
        (ACCESS_APPLIED, access(known)),
        (AGENT_UP_TO_DATE, agent(&cluster.spec.agent, known, image)),
    ]
}

fn is_registered(cluster: &Cluster) -> bool {
    cluster
        .status
        .as_ref()
        .is_some_and(|status| status.registration.is_some())
}

fn registered(cluster: &Cluster) -> Verdict {
    if is_registered(cluster) {
        verdict(
            Tristate::True,
            "KeyBound",
            "the cluster's key is bound to this object",
        )
    } else {
        verdict(
            Tristate::False,
            "NotImported",
            "apply the manifest of \"drover cluster import\" in the cluster",
        )
    }
}

fn connected(cluster: &Cluster, known: &Known) -> Verdict {
    match (known.tunnels, is_registered(cluster)) {
        (0, false) => verdict(
            Tristate::False,
            "NotRegistered",
            "the cluster's agent has not registered yet; if the manifest is applied, look at the log and the events of Deployment drover-agent there",
        ),
        (0, true) => verdict(
            Tristate::False,
            "AgentGone",
            "no agent of the cluster is connected; look at ConfigMap drover-agent-status and the pods in its namespace drover-agent",
        ),
        (1, _) => verdict(
            Tristate::True,
            "TunnelOpen",
            "1 replica of the agent is connected",
        ),
        (n, _) => verdict(
            Tristate::True,
            "TunnelOpen",
            format!("{n} replicas of the agent are connected"),
        ),
    }
}

fn unknown_while_away() -> Verdict {
    verdict(
        Tristate::Unknown,
        "NotConnected",
        "not known while no agent is connected",
    )
}

fn api_server(known: &Known) -> Verdict {
    if known.tunnels == 0 {
        return unknown_while_away();
    }
    if known.silence.is_some_and(|silence| silence >= SILENT_AFTER) {
        return verdict(
            Tristate::Unknown,
            "ReportsStopped",
            "the agent is connected but reports nothing; look at its log",
        );
    }
    let Some(components) = &known.heard.components else {
        return verdict(
            Tristate::Unknown,
            "NoReportYet",
            "waiting for the agent's first report",
        );
    };
    let failing: Vec<String> = components
        .iter()
        .filter(|component| !component.healthy)
        .map(|component| match &component.message {
            Some(message) => format!("{} ({message})", component.name),
            None => component.name.clone(),
        })
        .collect();
    if failing.is_empty() {
        verdict(
            Tristate::True,
            "Healthy",
            "the API server passes its readiness check",
        )
    } else {
        let list = failing.join(", ");
        verdict(
            Tristate::False,
            "Unhealthy",
            format!("failing: {list}; look at the cluster's control plane"),
        )
    }
}

fn access(known: &Known) -> Verdict {
    match &known.access {
        AccessState::Applied => verdict(
            Tristate::True,
            "Applied",
            "roles and bindings in the cluster are as the hub wants them",
        ),
        _ if known.tunnels == 0 => unknown_while_away(),
        AccessState::Pending => verdict(
            Tristate::Unknown,
            "Pending",
            "roles and bindings are being applied",
        ),
        AccessState::Failed(why) => verdict(
            Tristate::False,
            "ApplyFailed",
            format!("{why}; tried again within a minute"),
        ),
    }
}

/// How long a roll-out may take before it is called stuck.
const ROLLOUT_WITHIN: Duration = Duration::from_mins(5);

fn agent(spec: &AgentSpec, known: &Known, image: &str) -> Verdict {
    if known.tunnels == 0 {
        return unknown_while_away();
    }
    let ours = env!("CARGO_PKG_VERSION");
    let Some(deployment) = &known.heard.agent else {
        let same = known.agent_version.as_deref() == Some(ours);
        return if same {
            verdict(
                Tristate::True,
                "SameVersion",
                "the agent has the server's version",
            )
        } else {
            verdict(
                Tristate::Unknown,
                "NotADeployment",
                format!(
                    "the agent does not run as Deployment drover-agent; upgrade it to {ours} by hand"
                ),
            )
        };
    };
    if let UpgradeState::Failed(why) = &known.upgrade {
        let message = format!("{why}; tried again within a minute");
        return verdict(Tristate::False, "UpgradeFailed", message);
    }
    if deployment.image != image {
        return match (spec.upgrade, &spec.image) {
            (AgentUpgrade::Manual, None) => verdict(
                Tristate::False,
                "UpgradeAvailable",
                format!(
                    "runs {}; set spec.agent.image to {image} to upgrade",
                    deployment.image
                ),
            ),
            _ => verdict(Tristate::False, "Upgrading", format!("changing to {image}")),
        };
    }
    let (done, wanted) = (deployment.updated_available, deployment.wanted);
    if done >= wanted {
        return verdict(
            Tristate::True,
            "UpToDate",
            format!("the agent runs {image}"),
        );
    }
    let progress = format!("{done} of {wanted} replicas run {image} and are available");
    match &known.upgrade {
        UpgradeState::Asked { since, .. } if *since > ROLLOUT_WITHIN => verdict(
            Tristate::False,
            "UpgradeStuck",
            format!(
                "{progress}; look at the pods in namespace drover-agent: can the nodes pull the image?"
            ),
        ),
        _ => verdict(Tristate::False, "RollingOut", progress),
    }
}

/// The first thing that is wrong is why the cluster is not ready; an old agent works, and is not.
fn readiness(verdicts: &[(&'static str, Verdict)]) -> Verdict {
    let wrong = verdicts
        .iter()
        .filter(|(kind, _)| *kind != AGENT_UP_TO_DATE)
        .find(|(_, verdict)| verdict.status != Tristate::True);
    match wrong {
        None => verdict(Tristate::True, "Ready", "the cluster can be used"),
        Some((_, first)) => Verdict {
            status: first.status,
            reason: first.reason,
            message: first.message.clone(),
        },
    }
}

#[cfg(test)]
mod tests;
