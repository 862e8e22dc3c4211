//! A cluster's state in words, and what is worst first.

use drover_api::conditions::{CLEANED_UP, CONNECTED, READY, REGISTERED};
use drover_api::rest::ClusterView;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::quantity;

/// How a cluster is; the order is that in which people should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// It is connected, and something that must be true is not.
    Failing,
    /// Its agent holds no tunnel.
    Disconnected,
    /// It can be used, but a node or a component is not well.
    Degraded,
    /// Nobody has applied its manifest yet.
    Waiting,
    /// It is being deleted.
    Leaving,
    /// Everything is as it should be.
    Ready,
}

impl Health {
    /// All of them, worst first.
    pub const ALL: [Self; 6] = [
        Self::Failing,
        Self::Disconnected,
        Self::Degraded,
        Self::Waiting,
        Self::Leaving,
        Self::Ready,
    ];

    /// One or two words for a heading.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Disconnected => "disconnected",
            Self::Degraded => "degraded",
            Self::Waiting => "waiting",
            Self::Leaving => "leaving",
            Self::Ready => "ready",
        }
    }
}

/// A cluster's state, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How it is.
    pub health: Health,
    /// A few words, the same that `drover cluster list` uses.
    pub words: String,
    /// A sentence that says why and what to do, if there is something to do.
    pub why: Option<String>,
}

/// The condition of this type.
pub fn condition<'a>(cluster: &'a ClusterView, kind: &str) -> Option<&'a Condition> {
    cluster.conditions.iter().find(|c| c.type_ == kind)
}

fn holds(cluster: &ClusterView, kind: &str) -> bool {
    condition(cluster, kind).is_some_and(|c| c.status == "True")
}

fn message(condition: Option<&Condition>) -> Option<String> {
    condition
        .map(|c| c.message.clone())
        .filter(|text| !text.is_empty())
}

/// What people should know of a cluster at first sight.
pub fn state(cluster: &ClusterView) -> State {
    let told = |health, words: &str, why| State {
        health,
        words: words.to_owned(),
        why,
    };
    if cluster.deleting {
        let cleaning = message(condition(cluster, CLEANED_UP));
        return told(Health::Leaving, "being deleted", cleaning);
    }
    let ready = condition(cluster, READY);
    if !holds(cluster, REGISTERED) {
        return told(
            Health::Waiting,
            "waiting for its manifest",
            message(ready.or_else(|| condition(cluster, REGISTERED))),
        );
    }
    if !holds(cluster, CONNECTED) {
        let why = message(condition(cluster, CONNECTED));
        return told(Health::Disconnected, "agent not connected", why);
    }
    if !holds(cluster, READY) {
        let reason = ready.map(|c| words(&c.reason)).unwrap_or_default();
        let reason = if reason.is_empty() {
            "not ready"
        } else {
            &reason
        };
        return told(Health::Failing, reason, message(ready));
    }
    match complaint(cluster) {
        Some((words, why)) => told(Health::Degraded, &words, why),
        None => told(Health::Ready, "ready", None),
    }
}

/// What is not well in a cluster that can be used.
fn complaint(cluster: &ClusterView) -> Option<(String, Option<String>)> {
    if let Some(nodes) = cluster.nodes.filter(|nodes| nodes.ready < nodes.total) {
        let words = format!("{} of {} nodes ready", nodes.ready, nodes.total);
        return Some((words, None));
    }
    let sick = cluster.components.iter().find(|part| !part.healthy)?;
    Some((format!("{} unhealthy", sick.name), sick.message.clone()))
}

/// `AgentNotConnected` as `agent not connected`, `APIServerReady` as `API server ready`.
pub fn words(pascal: &str) -> String {
    let letters: Vec<char> = pascal.chars().collect();
    let mut text = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let next_is_lower = letters.get(place + 1).is_some_and(|c| c.is_lowercase());
        let after_lower = place > 0 && letters[place - 1].is_lowercase();
        let starts = letter.is_uppercase() && (after_lower || next_is_lower);
        if starts && place > 0 {
            text.push(' ');
        }
        let acronym = letter.is_uppercase() && !next_is_lower && letters.len() > 1;
        if acronym {
            text.push(*letter);
        } else {
            text.extend(letter.to_lowercase());
        }
    }
    text
}

/// How much of something a cluster has, and how much of it is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// What pods can have.
    pub total: f64,
    /// What pods asked for.
    pub requested: Option<f64>,
    /// What is in use, where the cluster measures it.
    pub used: Option<f64>,
}

impl Load {
    /// The load of a resource; `None` when the cluster has not told it.
    pub fn of(cluster: &ClusterView, resource: &str) -> Option<Self> {
        let number = |map: &std::collections::BTreeMap<String, String>| {
            map.get(resource).and_then(|text| quantity::parse(text))
        };
        let total = number(&cluster.allocatable).or_else(|| number(&cluster.capacity))?;
        (total > 0.0).then(|| Self {
            total,
            requested: number(&cluster.requests),
            used: number(&cluster.usage),
        })
    }

    /// What is in use if that is measured, else what was asked for.
    pub fn taken(&self) -> Option<f64> {
        self.used.or(self.requested)
    }

    /// The taken part of the whole, from 0 to 1.
    pub fn part(&self) -> Option<f64> {
        self.taken()
            .map(|taken| (taken / self.total).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests;
