//! Renders lists of clusters as tables, and a single cluster as a page.

use drover_api::cluster_state::{
    HOSTS_HUB, LastContact, active_agent, condition, last_contact, node_problems, state, words,
};
use drover_api::conditions::{CLEANED_UP, READY};
use drover_api::kinds::ConnectionSwitch;
use drover_api::rest::ClusterView;
use jiff::Timestamp;

use crate::output::{Listed, Page};
use crate::table::{DASH, Table, age, describe, or_dash};

/// Reports whether the cluster is ready and is not being deleted.
pub(super) fn is_ready(cluster: &ClusterView) -> bool {
    !cluster.deleting && condition(cluster, READY).is_some_and(|c| c.status == "True")
}

/// Describes the state of a cluster. Adds the message of the Ready condition if Ready is not True.
pub(super) fn progress(cluster: &ClusterView) -> String {
    let reason = condition(cluster, READY)
        .filter(|c| c.status != "True" && !c.message.is_empty())
        .map(|c| format!(" ({})", c.message));
    format!(
        "{}: {}{}",
        cluster.name,
        state(cluster).summary,
        reason.unwrap_or_default()
    )
}

/// Describes the progress of a cluster's deletion.
pub(super) fn deletion_progress(cluster: &ClusterView) -> String {
    let cleaning = condition(cluster, CLEANED_UP).filter(|_| cluster.deleting);
    match cleaning {
        Some(condition) => format!("{}: {}", state(cluster).summary, condition.message),
        None => state(cluster).summary,
    }
}

/// Returns the message of the condition about a cleanup that failed or is incomplete.
pub(super) fn incomplete_cleanup(cluster: &ClusterView) -> Option<String> {
    condition(cluster, CLEANED_UP)
        .filter(|condition| condition.status == "False")
        .map(|condition| condition.message.clone())
}

fn nodes(cluster: &ClusterView) -> String {
    match cluster.nodes {
        Some(nodes) if nodes.ready == nodes.total => nodes.total.to_string(),
        Some(nodes) => format!("{} of {} ready", nodes.ready, nodes.total),
        None => DASH.to_owned(),
    }
}

fn last_seen(cluster: &ClusterView, now: Timestamp) -> String {
    match last_contact(cluster) {
        LastContact::Connected => "connected".to_owned(),
        LastContact::At(at) => age(at, now),
        LastContact::Never => DASH.to_owned(),
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
            state(self).summary,
            or_dash(self.kubernetes_version.as_deref()),
            nodes(self),
            or_dash(self.agent.as_ref().map(|agent| agent.version.as_str())),
            last_seen(self, now),
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
        let seen = match last_contact(self) {
            LastContact::At(_) => format!("{} ago", last_seen(self, now)),
            LastContact::Connected | LastContact::Never => last_seen(self, now),
        };
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
        let key = self
            .key_bound_at
            .map(|at| format!("bound {} ago", age(at, now)));
        let image = self.agent.as_ref().and_then(|agent| agent.image.as_deref());
        let mut facts = vec![
            ("Name", self.name.clone()),
            ("UID", self.uid.clone()),
            ("Description", or_dash(self.description.as_deref())),
            ("Labels", or_dash(Some(&labels.join(", ")))),
            ("State", state(self).summary),
            ("Kubernetes", or_dash(self.kubernetes_version.as_deref())),
            ("Nodes", nodes(self)),
            ("Agent", or_dash(agent.as_deref())),
            ("Agent image", or_dash(image)),
            ("Agent key", or_dash(key.as_deref())),
            ("Connection", or_dash(connection(self, now).as_deref())),
            ("Reports", or_dash(reports(self).as_deref())),
            ("Node agents", or_dash(node_agents(self).as_deref())),
            ("Last seen", seen),
            ("Created", format!("{} ago", age(self.created_at, now))),
        ];
        if !self.rights.all_namespaces && !self.rights.namespaces.is_empty() {
            facts.push(("Your namespaces", self.rights.namespaces.join(", ")));
        }
        let mut text = describe(&facts);
        if self.hosts_hub {
            text.push_str("\nWarning: ");
            text.push_str(HOSTS_HUB);
            text.push('\n');
        }
        push_section(&mut text, "Switches", switches(self, now));
        push_section(&mut text, "Conditions", conditions(self, now));
        push_section(&mut text, "Nodes", node_facts(self, now));
        push_section(&mut text, "Resources", resources(self));
        push_section(&mut text, "Components", components(self));
        text
    }
}

/// Returns the agent that the server uses, with the time and the reason of the last switch. `None` if
/// the cluster is not connected.
fn connection(cluster: &ClusterView, now: Timestamp) -> Option<String> {
    let last = active_agent(cluster)?;
    let time = age(last.at.0, now);
    Some(format!("{}, for {time} ({})", agent_of(last), last.reason))
}

/// Returns the agent that sends the reports about the cluster and its nodes. `None` if the cluster is not
/// connected.
fn reports(cluster: &ClusterView) -> Option<String> {
    active_agent(cluster)?;
    let node = cluster.connection.as_ref()?.reporting_node.as_deref();
    Some(agent_on(node))
}

fn agent_of(switch: &ConnectionSwitch) -> String {
    agent_on(switch.node.as_deref())
}

fn agent_on(node: Option<&str>) -> String {
    match node {
        None => "agent".to_owned(),
        Some(node) => format!("node agent on {node}"),
    }
}

fn node_agents(cluster: &ClusterView) -> Option<String> {
    let nodes = cluster.node_agents.iter().map(|agent| {
        let suffix = if agent.key_bound_at.is_some() {
            ""
        } else {
            " (not registered)"
        };
        format!("{}{suffix}", agent.node)
    });
    let nodes: Vec<String> = nodes.collect();
    (!nodes.is_empty()).then(|| nodes.join(", "))
}

/// Returns the switches between agents, or `None` if the server always used the same agent.
fn switches(cluster: &ClusterView, now: Timestamp) -> Option<Table> {
    let switches = &cluster.connection.as_ref()?.switches;
    if switches.len() < 2 {
        return None;
    }
    let mut table = Table::new(&["TO", "REASON", "AGE"]);
    for switch in switches {
        table.row(&[
            agent_of(switch),
            switch.reason.clone(),
            age(switch.at.0, now),
        ]);
    }
    Some(table)
}

/// Returns the facts about nodes, or `None` if the server knows none.
fn node_facts(cluster: &ClusterView, now: Timestamp) -> Option<Table> {
    let mut table = Table::new(&[
        "NODE",
        "KUBELET",
        "OS",
        "KERNEL",
        "RUNTIME",
        "NODE AGENT",
        "PROBLEMS",
    ]);
    for node in &cluster.node_facts {
        let agent = node.node_agent.as_ref();
        table.row(&[
            node.name.clone(),
            or_dash(Some(&node.kubelet_version)),
            or_dash(Some(&node.os_image)),
            or_dash(Some(&node.kernel_version)),
            or_dash(Some(&node.container_runtime)),
            or_dash(agent.map(|agent| agent.version.as_str())),
            or_dash(Some(&node_problems(node, now).join(", "))),
        ]);
    }
    (!cluster.node_facts.is_empty()).then_some(table)
}

pub(super) fn push_section(text: &mut String, title: &str, table: Option<Table>) {
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
            or_dash(map.get(name).map(String::as_str))
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
