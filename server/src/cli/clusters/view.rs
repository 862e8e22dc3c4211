//! A cluster in words.

use drover_api::conditions::{CLEANED_UP, CONNECTED, READY, REGISTERED};
use drover_api::rest::ClusterView;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::cli::output::{Listed, Page};
use crate::cli::table::{NOTHING, Table, age, describe, or_nothing, words};

fn condition<'a>(cluster: &'a ClusterView, kind: &str) -> Option<&'a Condition> {
    cluster.conditions.iter().find(|c| c.type_ == kind)
}

/// Whether the cluster can be used.
pub(super) fn is_ready(cluster: &ClusterView) -> bool {
    !cluster.deleting && condition(cluster, READY).is_some_and(|c| c.status == "True")
}

/// One or a few words: `ready`, `being deleted`, `waiting for the manifest`, `agent not connected`.
pub(super) fn state(cluster: &ClusterView) -> String {
    if cluster.deleting {
        return "being deleted".to_owned();
    }
    if is_ready(cluster) {
        return "ready".to_owned();
    }
    if condition(cluster, REGISTERED).is_none_or(|c| c.status != "True") {
        return "waiting for its manifest".to_owned();
    }
    let reason = condition(cluster, READY)
        .or_else(|| condition(cluster, CONNECTED))
        .map(|c| words(&c.reason));
    match reason {
        Some(reason) if !reason.is_empty() => reason,
        _ => "not ready".to_owned(),
    }
}

/// The state, with the sentence that says why and what to do.
pub(super) fn progress(cluster: &ClusterView) -> String {
    let why = condition(cluster, READY)
        .filter(|c| c.status != "True" && !c.message.is_empty())
        .map(|c| format!(" ({})", c.message));
    format!(
        "{}: {}{}",
        cluster.name,
        state(cluster),
        why.unwrap_or_default()
    )
}

/// How far the end of a cluster is.
pub(super) fn leaving(cluster: &ClusterView) -> String {
    let cleaning = condition(cluster, CLEANED_UP).filter(|_| cluster.deleting);
    match cleaning {
        Some(condition) => format!("{}: {}", state(cluster), condition.message),
        None => state(cluster),
    }
}

/// What stays in a cluster that is being deleted, and what to do about it.
pub(super) fn uncleaned(cluster: &ClusterView) -> Option<String> {
    condition(cluster, CLEANED_UP)
        .filter(|condition| condition.status == "False")
        .map(|condition| condition.message.clone())
}

fn nodes(cluster: &ClusterView) -> String {
    match cluster.nodes {
        Some(nodes) if nodes.ready == nodes.total => nodes.total.to_string(),
        Some(nodes) => format!("{} of {} ready", nodes.ready, nodes.total),
        None => NOTHING.to_owned(),
    }
}

impl Listed for ClusterView {
    const HEADINGS: &'static [&'static str] = &[
        "NAME",
        "STATE",
        "VERSION",
        "NODES",
        "AGENT",
        "LAST SEEN",
        "AGE",
    ];

    fn cells(&self, now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            state(self),
            or_nothing(self.kubernetes_version.as_deref()),
            nodes(self),
            or_nothing(self.agent.as_ref().map(|agent| agent.version.as_str())),
            self.last_seen
                .map_or_else(|| NOTHING.to_owned(), |seen| age(seen, now)),
            age(self.created_at, now),
        ]
    }
}

impl Page for ClusterView {
    fn page(&self, now: Timestamp) -> String {
        let labels: Vec<_> = self
            .labels
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        let seen = self.last_seen.map(|seen| format!("{} ago", age(seen, now)));
        let agent = self.agent.as_ref().map(|agent| {
            let copies = if agent.tunnels == 1 {
                "tunnel"
            } else {
                "tunnels"
            };
            format!(
                "{}, protocol {}, {} {copies}",
                agent.version, agent.protocol, agent.tunnels
            )
        });
        let image = self.agent.as_ref().and_then(|agent| agent.image.as_deref());
        let mut facts = vec![
            ("Name", self.name.clone()),
            ("UID", self.uid.clone()),
            ("Description", or_nothing(self.description.as_deref())),
            ("Labels", or_nothing(Some(&labels.join(", ")))),
            ("State", state(self)),
            ("Kubernetes", or_nothing(self.kubernetes_version.as_deref())),
            ("Nodes", nodes(self)),
            ("Agent", or_nothing(agent.as_deref())),
            ("Agent image", or_nothing(image)),
            ("Last seen", or_nothing(seen.as_deref())),
            ("Made", format!("{} ago", age(self.created_at, now))),
        ];
        if !self.rights.all_namespaces && !self.rights.namespaces.is_empty() {
            facts.push(("Your namespaces", self.rights.namespaces.join(", ")));
        }
        let mut text = describe(&facts);
        push_section(&mut text, "Conditions", conditions(self, now));
        push_section(&mut text, "Resources", resources(self));
        push_section(&mut text, "Components", components(self));
        text
    }
}

fn push_section(text: &mut String, title: &str, table: Option<Table>) {
    if let Some(table) = table {
        text.push('\n');
        text.push_str(title);
        text.push_str(":\n");
        for line in table.render().lines() {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        }
    }
}

fn conditions(cluster: &ClusterView, now: Timestamp) -> Option<Table> {
    let mut table = Table::new(&["CONDITION", "STATUS", "SINCE", "REASON", "MESSAGE"]);
    for condition in &cluster.conditions {
        table.row(&[
            words(&condition.type_),
            match condition.status.as_str() {
                "True" => "yes",
                "False" => "no",
                _ => "unknown",
            }
            .to_owned(),
            age(condition.last_transition_time.0, now),
            words(&condition.reason),
            condition.message.clone(),
        ]);
    }
    (!cluster.conditions.is_empty()).then_some(table)
}

fn resources(cluster: &ClusterView) -> Option<Table> {
    let mut table = Table::new(&["RESOURCE", "CAPACITY", "ALLOCATABLE", "REQUESTED", "USED"]);
    for (name, capacity) in &cluster.capacity {
        let of = |map: &std::collections::BTreeMap<String, String>| {
            or_nothing(map.get(name).map(String::as_str))
        };
        table.row(&[
            name.clone(),
            capacity.clone(),
            of(&cluster.allocatable),
            of(&cluster.requests),
            of(&cluster.usage),
        ]);
    }
    (!cluster.capacity.is_empty()).then_some(table)
}

fn components(cluster: &ClusterView) -> Option<Table> {
    let mut table = Table::new(&["COMPONENT", "HEALTH", "MESSAGE"]);
    for component in &cluster.components {
        let health = if component.healthy {
            "healthy"
        } else {
            "unhealthy"
        };
        table.row(&[
            component.name.clone(),
            health.to_owned(),
            component.message.clone().unwrap_or_default(),
        ]);
    }
    (!cluster.components.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests;
