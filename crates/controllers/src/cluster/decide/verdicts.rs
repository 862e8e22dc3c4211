//! What each condition says. Pure.

use std::fmt::Write as _;
use std::time::Duration;

use drover_api::conditions::{
    ACCESS_APPLIED, AGENT_UP_TO_DATE, API_SERVER_READY, CONNECTED, REGISTERED, Tristate, Verdict,
};
use drover_api::kinds::{AgentSpec, AgentUpgrade, Cluster};

use super::SILENT_AFTER;
use crate::managed::{AccessState, Known, UpgradeState};

/// Failing components that a message names.
const NAMED: usize = 8;

/// A verdict in one line.
pub(super) fn verdict(
    status: Tristate,
    reason: &'static str,
    message: impl Into<String>,
) -> Verdict {
    Verdict {
        status,
        reason,
        message: message.into(),
    }
}

/// Every condition but Ready, in the order in which a person should look at them.
pub(super) fn verdicts(
    cluster: &Cluster,
    known: &Known,
    image: &str,
) -> [(&'static str, Verdict); 5] {
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
    let Some(components) = &known.reported.components else {
        return verdict(
            Tristate::Unknown,
            "NoReportYet",
            "waiting for the agent's first report",
        );
    };
    let failing = components.iter().filter(|component| !component.healthy);
    let more = failing.clone().count().saturating_sub(NAMED);
    let failing: Vec<String> = failing
        .take(NAMED)
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
        let mut list = failing.join(", ");
        if more > 0 {
            let _ = write!(list, " and {more} more");
        }
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
    let Some(deployment) = &known.reported.agent else {
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
