//! From what is known of a cluster to its conditions. Pure.

mod verdicts;

use std::time::Duration;

use drover_api::conditions::{
    AGENT_UP_TO_DATE, CONNECTED, READY, Tristate, Verdict, set_condition,
};
use drover_api::kinds::{AgentStatus, Cluster, ClusterStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use self::verdicts::{verdict, verdicts};
use crate::managed::Known;

/// A connected cluster without a report for so long counts as silent.
pub(crate) const SILENT_AFTER: Duration = Duration::from_secs(35);
/// `lastSeen` is written this often while nothing else changes.
const SEEN_EVERY: SignedDuration = SignedDuration::from_mins(5);

/// The status that a cluster should have; equal to the present one where nothing means something
/// else.
pub(crate) fn decide(
    cluster: &Cluster,
    known: &Known,
    image: &str,
    now: Timestamp,
) -> ClusterStatus {
    let present = cluster.status.clone().unwrap_or_default();
    let mut status = present.clone();
    let generation = cluster.metadata.generation;
    let (held, news): (Vec<_>, Vec<_>) = verdicts(cluster, known, image)
        .into_iter()
        .partition(|(kind, verdict)| holds(&present, known, kind, verdict));
    for (kind, verdict) in &news {
        set_condition(&mut status.conditions, kind, verdict, generation, now);
    }
    let verdict = match first_wrong(&news) {
        Some(wrong) => Some(wrong),
        // What is held and was wrong is what Ready was decided from; what was right still is.
        None if held
            .iter()
            .any(|(kind, _)| needs(kind) && !was_right(&present, kind)) =>
        {
            None
        }
        None => Some(ready()),
    };
    if let Some(verdict) = verdict {
        set_condition(&mut status.conditions, READY, &verdict, generation, now);
    }
    if held.is_empty() {
        status.observed_generation = generation;
    }
    copy_report(&mut status, known);
    if is_reporting(known) {
        let seen = status.last_seen.as_ref();
        let old = seen.is_none_or(|seen| now.duration_since(seen.0) >= SEEN_EVERY);
        if old || status != present {
            status.last_seen = Some(Time(now));
            copy_amounts(&mut status, known);
        }
    }
    status
}

fn condition<'a>(status: &'a ClusterStatus, kind: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|one| one.type_ == kind)
}

fn was_right(present: &ClusterStatus, kind: &str) -> bool {
    condition(present, kind).is_some_and(|before| before.status == Tristate::True.as_str())
}

/// Whether a condition stays because its facts are not known yet.
fn holds(present: &ClusterStatus, known: &Known, kind: &str, verdict: &Verdict) -> bool {
    let Some(before) = condition(present, kind) else {
        return false;
    };
    // One replica after the other comes back: how many there are is told when all had their time.
    let returning = kind == CONNECTED && before.status == verdict.status.as_str();
    known.settling && (returning || !known.knows(kind))
}

/// Keeps the last known facts while the cluster is away: its conditions say how old they are.
fn copy_report(status: &mut ClusterStatus, known: &Known) {
    let reported = &known.reported;
    if let Some(version) = &reported.version {
        status.kubernetes_version = Some(version.clone());
    }
    if let (Some(cluster), Some(hub)) = (&reported.cluster_uid, &known.hub_uid) {
        status.hosts_hub = cluster == hub;
    }
    if let Some(nodes) = &reported.nodes {
        status.nodes = Some(nodes.count);
        status.not_ready_nodes.clone_from(&nodes.not_ready);
        status.pods = nodes.pods;
        status.capacity.clone_from(&nodes.capacity);
        status.allocatable.clone_from(&nodes.allocatable);
        let others = !status.usage.keys().eq(nodes.usage.keys())
            || !status.requests.keys().eq(nodes.requests.keys());
        if others {
            copy_amounts(status, known);
        }
    }
    if let Some(components) = &reported.components {
        status.components.clone_from(components);
    }
    if let Some(version) = &known.agent_version {
        status.agent = Some(AgentStatus {
            version: version.clone(),
            protocol: known.protocol,
            tunnels: match &status.agent {
                Some(before) if known.settling => before.tunnels.max(known.tunnels),
                _ => known.tunnels,
            },
            image: match (&reported.agent, &status.agent) {
                (Some(agent), _) => Some(agent.image.clone()),
                (None, Some(before)) if known.settling => before.image.clone(),
                _ => None,
            },
        });
    } else if let Some(agent) = &mut status.agent
        && !known.settling
    {
        agent.tunnels = 0;
    }
}

/// How much pods ask for and use moves all the time, of what does not: it is copied when another
/// resource appears, with other changes, and with the regular sign of life.
fn copy_amounts(status: &mut ClusterStatus, known: &Known) {
    if let Some(nodes) = &known.reported.nodes {
        status.requests.clone_from(&nodes.requests);
        status.usage.clone_from(&nodes.usage);
    }
}

fn is_reporting(known: &Known) -> bool {
    known.tunnels > 0 && known.silence.is_some_and(|silence| silence < SILENT_AFTER)
}

/// Whether a cluster that is ready needs this to be right: an old agent works.
fn needs(kind: &str) -> bool {
    kind != AGENT_UP_TO_DATE
}

/// The first thing that is wrong is why the cluster is not ready.
fn first_wrong<'a>(
    verdicts: impl IntoIterator<Item = &'a (&'static str, Verdict)>,
) -> Option<Verdict> {
    let mut needed = verdicts.into_iter().filter(|(kind, _)| needs(kind));
    let wrong = needed.find(|(_, verdict)| verdict.status != Tristate::True);
    wrong.map(|(_, first)| first.clone())
}

fn ready() -> Verdict {
    verdict(Tristate::True, "Ready", "the cluster can be used")
}

#[cfg(test)]
mod tests;
