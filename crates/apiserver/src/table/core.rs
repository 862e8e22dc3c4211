//! Table cells of the core group, EndpointSlice, RBAC and Lease.

use serde_json::Value;

use super::workloads::labels;
use super::{View, count, or};
use crate::json::{at, field, flag, list, object, text, texts};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
/// Maximum number of endpoints in a cell.
const MAX_ENDPOINTS: usize = 3;

pub(super) fn service(view: &View<'_>) -> Vec<Value> {
    let spec = view.spec();
    let address = texts(spec, "clusterIPs").next().unwrap_or("<none>");
    let ports: Vec<String> = list(spec, "ports")
        .iter()
        .map(|port| {
            let (number, node) = (count(port, "port"), count(port, "nodePort"));
            let protocol = text(port, "protocol");
            if node > 0 {
                format!("{number}:{node}/{protocol}")
            } else {
                format!("{number}/{protocol}")
            }
        })
        .collect();
    vec![
        view.name(),
        text(spec, "type").into(),
        address.into(),
        outside(view).into(),
        or(&ports.join(","), "<none>").into(),
        view.age(),
        labels(field(spec, "selector")).into(),
    ]
}

fn outside(view: &View<'_>) -> String {
    let spec = view.spec();
    let external_ips: Vec<&str> = texts(spec, "externalIPs").collect();
    match text(spec, "type") {
        "ClusterIP" | "NodePort" => or(&external_ips.join(","), "<none>").to_owned(),
        "LoadBalancer" => {
            let mut balancers: Vec<&str> = list(at(view.status(), "loadBalancer"), "ingress")
                .iter()
                .map(|ingress| or(text(ingress, "ip"), text(ingress, "hostname")))
                .filter(|address| !address.is_empty())
                .collect();
            balancers.sort_unstable();
            balancers.dedup();
            balancers.extend(external_ips);
            or(&balancers.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text(spec, "externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

pub(super) fn node(view: &View<'_>) -> Vec<Value> {
    let status = view.status();
    let ready = list(status, "conditions")
        .iter()
        .rfind(|condition| text(condition, "type") == "Ready");
    let mut state = match ready {
        None => "Unknown",
        Some(condition) if text(condition, "status") == "True" => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if flag(view.spec(), "unschedulable") {
        state.push_str(",SchedulingDisabled");
    }
    let address = |kind: &str| {
        list(status, "addresses")
            .iter()
            .find(|address| text(address, "type") == kind)
            .map_or("<none>", |address| text(address, "address"))
    };
    let info = field(status, "nodeInfo");
    let mut kernel = or(text(info, "kernelVersion"), "<unknown>").to_owned();
    let architecture = text(info, "architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    vec![
        view.name(),
        state.into(),
        roles(view).into(),
        view.age(),
        text(info, "kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        or(text(info, "osImage"), "<unknown>").into(),
        kernel.into(),
        or(text(info, "containerRuntimeVersion"), "<unknown>").into(),
    ]
}

fn roles(view: &View<'_>) -> String {
    let mut roles: Vec<&str> = object(field(view.object, "metadata"), "labels")
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    or(&roles.join(","), "<none>").to_owned()
}

/// Returns the cells of an Event; `group` is the API group of the request.
pub(super) fn event(view: &View<'_>, group: &str) -> Vec<Value> {
    let event = view.object;
    let new = group == "events.k8s.io";
    let name = |core: &'static str, newer: &'static str| if new { newer } else { core };
    let time = |value: &Value, name: &str| view.since(text(value, name));
    let written = |name: &str| !text(event, name).is_empty();
    let first_name = name("firstTimestamp", "deprecatedFirstTimestamp");
    let first = if written(first_name) {
        time(event, first_name)
    } else {
        time(event, "eventTime")
    };
    let last_name = name("lastTimestamp", "deprecatedLastTimestamp");
    let mut last = if written(last_name) {
        time(event, last_name)
    } else {
        first.clone()
    };
    let mut times = count(event, name("count", "deprecatedCount"));
    let series = field(event, "series");
    if !series.is_null() {
        last = time(series, "lastObservedTime");
        times = count(series, "count");
    } else if times == 0 {
        times = 1;
    }
    let about = field(event, name("involvedObject", "regarding"));
    let kind = text(about, "kind").to_lowercase();
    let target = match text(about, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let message = text(event, name("message", "note")).trim();
    vec![
        last.into(),
        text(event, "type").into(),
        text(event, "reason").into(),
        target.into(),
        text(about, "fieldPath").into(),
        source(event, new).into(),
        message.into(),
        first.into(),
        times.into(),
        view.name(),
    ]
}

fn source(event: &Value, new: bool) -> String {
    let (source, reporter) = if new {
        ("deprecatedSource", "reportingController")
    } else {
        ("source", "reportingComponent")
    };
    let source = field(event, source);
    let component = or(text(source, "component"), text(event, reporter));
    match or(text(source, "host"), text(event, "reportingInstance")) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

pub(super) fn namespace(view: &View<'_>) -> Vec<Value> {
    vec![view.name(), text(view.status(), "phase").into(), view.age()]
}

fn entries(value: &Value, name: &str) -> usize {
    object(value, name).map_or(0, serde_json::Map::len)
}

pub(super) fn secret(view: &View<'_>) -> Vec<Value> {
    vec![
        view.name(),
        text(view.object, "type").into(),
        entries(view.object, "data").into(),
        view.age(),
    ]
}

pub(super) fn config_map(view: &View<'_>) -> Vec<Value> {
    let keys = entries(view.object, "data") + entries(view.object, "binaryData");
    vec![view.name(), keys.into(), view.age()]
}

pub(super) fn endpoints(view: &View<'_>) -> Vec<Value> {
    let mut all = Vec::new();
    for subset in list(view.object, "subsets") {
        let addresses = || list(subset, "addresses").iter().map(|one| text(one, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            let number = count(port, "port");
            all.extend(addresses().map(|ip| {
                if ip.contains(':') {
                    format!("[{ip}]:{number}")
                } else {
                    format!("{ip}:{number}")
                }
            }));
        }
    }
    let shown = if list(view.object, "subsets").is_empty() {
        "<none>".to_owned()
    } else {
        shortened(&all)
    };
    vec![view.name(), shown.into(), view.age()]
}

fn shortened(all: &[String]) -> String {
    let shown = all[..all.len().min(MAX_ENDPOINTS)].join(",");
    match all.len().saturating_sub(MAX_ENDPOINTS) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

pub(super) fn endpoint_slice(view: &View<'_>) -> Vec<Value> {
    let ports: Vec<String> = list(view.object, "ports")
        .iter()
        .map(|port| match field(port, "port").as_i64() {
            Some(number) => number.to_string(),
            None if port.get("name").is_some() => text(port, "name").to_owned(),
            None => "*".to_owned(),
        })
        .collect();
    let addresses: Vec<String> = list(view.object, "endpoints")
        .iter()
        .flat_map(|endpoint| texts(endpoint, "addresses"))
        .map(str::to_owned)
        .collect();
    vec![
        view.name(),
        text(view.object, "addressType").into(),
        or(&shortened(&ports), "<unset>").into(),
        or(&shortened(&addresses), "<unset>").into(),
        view.age(),
    ]
}

fn access_modes(value: &Value) -> String {
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let set: Vec<&str> = texts(value, "accessModes").collect();
    let short: Vec<&str> = known
        .iter()
        .filter(|(mode, _)| set.contains(mode))
        .map(|(_, short)| *short)
        .collect();
    short.join(",")
}

fn storage_class(view: &View<'_>) -> String {
    let annotations = at(view.object, "metadata.annotations");
    let old = text(annotations, "volume.beta.kubernetes.io/storage-class");
    or(old, text(view.spec(), "storageClassName")).to_owned()
}

fn phase<'a>(view: &View<'a>) -> &'a str {
    if view.is_deleting() {
        "Terminating"
    } else {
        text(view.status(), "phase")
    }
}

pub(super) fn volume(view: &View<'_>) -> Vec<Value> {
    let spec = view.spec();
    let claim = field(spec, "claimRef");
    let claim = if claim.is_null() {
        String::new()
    } else {
        format!("{}/{}", text(claim, "namespace"), text(claim, "name"))
    };
    vec![
        view.name(),
        or(text(field(spec, "capacity"), "storage"), "0").into(),
        access_modes(spec).into(),
        text(spec, "persistentVolumeReclaimPolicy").into(),
        phase(view).into(),
        claim.into(),
        storage_class(view).into(),
        or(text(spec, "volumeAttributesClassName"), "<unset>").into(),
        text(view.status(), "reason").into(),
        view.age(),
        or(text(spec, "volumeMode"), "<unset>").into(),
    ]
}

pub(super) fn claim(view: &View<'_>) -> Vec<Value> {
    let (spec, status) = (view.spec(), view.status());
    let volume = text(spec, "volumeName");
    let (capacity, modes) = match volume {
        "" => (String::new(), String::new()),
        _ => (
            or(text(field(status, "capacity"), "storage"), "0").to_owned(),
            access_modes(status),
        ),
    };
    vec![
        view.name(),
        phase(view).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        storage_class(view).into(),
        or(text(spec, "volumeAttributesClassName"), "<unset>").into(),
        view.age(),
        or(text(spec, "volumeMode"), "<unset>").into(),
    ]
}

pub(super) fn role_binding(view: &View<'_>) -> Vec<Value> {
    let role = field(view.object, "roleRef");
    let subjects = |kind: &str| -> Value {
        let names: Vec<String> = list(view.object, "subjects")
            .iter()
            .filter(|subject| text(subject, "kind") == kind)
            .map(|subject| match (kind, text(subject, "namespace")) {
                ("ServiceAccount", namespace) if !namespace.is_empty() => {
                    format!("{namespace}/{}", text(subject, "name"))
                }
                _ => text(subject, "name").to_owned(),
            })
            .collect();
        names.join(", ").into()
    };
    vec![
        view.name(),
        format!("{}/{}", text(role, "kind"), text(role, "name")).into(),
        view.age(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(super) fn lease(view: &View<'_>) -> Vec<Value> {
    vec![
        view.name(),
        text(view.spec(), "holderIdentity").into(),
        view.age(),
    ]
}
