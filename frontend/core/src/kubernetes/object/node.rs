//! The states and overview fields of Nodes.

use serde_json::Value;

use super::overview::{Facts, ObjectState, Section};
use super::{Object, read};
use crate::cluster::words;
use crate::messages::t;
use crate::quantity;
use drover_rows::Severity;

/// Returns the state of a node: severity, text, and cause with the next step.
pub(crate) fn object_state(node: &Object) -> ObjectState {
    let node = node.value();
    let conditions = read::list(node, "/status/conditions");
    let of = |kind: &str| {
        conditions
            .iter()
            .find(|one| read::text(one, "/type") == Some(kind))
    };
    let status = of("Ready").and_then(|one| read::text(one, "/status"));
    let message = of("Ready")
        .and_then(|one| read::text(one, "/message"))
        .unwrap_or_default();
    match status {
        Some("True") => {}
        Some("False") => return ObjectState::of(Severity::Failing, "NotReady").because(message),
        _ => {
            return ObjectState::of(Severity::Failing, "NotReady")
                .because(t().conditions.node_unknown());
        }
    }
    let short = conditions.iter().find(|one| {
        let kind = read::text(one, "/type").unwrap_or_default();
        read::text(one, "/status") == Some("True")
            && kind != "Ready"
            && (kind.ends_with("Pressure") || kind == "NetworkUnavailable")
    });
    if let Some(short) = short {
        let kind = read::text(short, "/type").unwrap_or_default();
        let message = read::text(short, "/message").unwrap_or_default();
        return ObjectState::of(Severity::Degraded, format!("Ready,{kind}")).because(message);
    }
    if read::is_true(node, "/spec/unschedulable") {
        return ObjectState::of(Severity::Degraded, "Ready,SchedulingDisabled")
            .because(t().workloads.cordoned());
    }
    ObjectState::of(Severity::Healthy, "Ready")
}

/// Returns the overview fields of a Node.
pub(crate) fn sections(node: &Object) -> Vec<Section> {
    let value = node.value();
    let info = |name: &str| read::owned(value, &format!("/status/nodeInfo/{name}"));
    let addresses = read::list(value, "/status/addresses")
        .iter()
        .filter_map(|one| {
            let (kind, address) = (read::text(one, "/type")?, read::text(one, "/address")?);
            Some(format!("{address} ({})", words(kind)))
        });
    let machine = Facts::default()
        .text(t().labels.kubernetes(), info("kubeletVersion"))
        .text(t().workloads.runtime(), info("containerRuntimeVersion"))
        .text(t().workloads.operating_system(), info("osImage"))
        .text(t().workloads.kernel(), info("kernelVersion"))
        .text(t().workloads.architecture(), info("architecture"))
        .text(t().workloads.node_roles(), roles(node))
        .codes(t().workloads.addresses(), addresses.collect())
        .codes(
            t().workloads.taints(),
            read::list(value, "/spec/taints")
                .iter()
                .filter_map(taint)
                .collect(),
        )
        .codes(
            t().workloads.pod_cidr(),
            read::owned(value, "/spec/podCIDR").into_iter().collect(),
        )
        .codes(
            t().workloads.provider_id(),
            read::owned(value, "/spec/providerID").into_iter().collect(),
        );
    vec![machine.under("Node"), room(value)]
}

fn roles(node: &Object) -> Option<String> {
    let labels = node.labels().into_iter();
    let roles: Vec<String> = labels
        .filter_map(|(key, _)| Some(key.strip_prefix("node-role.kubernetes.io/")?.to_owned()))
        .filter(|role| !role.is_empty())
        .collect();
    (!roles.is_empty()).then(|| roles.join(", "))
}

fn taint(taint: &Value) -> Option<String> {
    let key = read::text(taint, "/key")?;
    let value = read::text(taint, "/value").map(|value| format!("={value}"));
    let effect = read::text(taint, "/effect").unwrap_or_default();
    Some(format!("{key}{}:{effect}", value.unwrap_or_default()))
}

/// Returns the capacity and the allocatable resources of a node.
fn room(node: &Value) -> Section {
    let capacity = read::entries(node, "/status/capacity").into_iter();
    let allocatable = read::at(node, "/status/allocatable");
    let facts = capacity.fold(Facts::default(), |facts, (name, whole)| {
        let part = allocatable.get(name).and_then(read::scalar);
        let text = match part {
            Some(part) => t()
                .workloads
                .allocatable(&amount(name, &part), &amount(name, &whole)),
            None => amount(name, &whole),
        };
        facts.text(resource(name), Some(text))
    });
    facts.under(t().workloads.capacity())
}

fn resource(name: &str) -> String {
    match name {
        "cpu" => t().labels.cpu().to_owned(),
        "memory" => t().labels.memory().to_owned(),
        "pods" => t().labels.pods().to_owned(),
        "ephemeral-storage" => t().workloads.local_disk().to_owned(),
        other => other.to_owned(),
    }
}

fn amount(name: &str, text: &str) -> String {
    let shown = match name {
        "cpu" => quantity::parse(text).map(quantity::cores_with_unit),
        "memory" | "ephemeral-storage" => quantity::parse(text).map(quantity::bytes),
        name if name.starts_with("hugepages-") => quantity::parse(text).map(quantity::bytes),
        _ => None,
    };
    shown.unwrap_or_else(|| text.to_owned())
}
