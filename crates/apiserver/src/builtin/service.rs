//! Service: defaults, allocation of addresses, and validation.
//!
//! The embedded API has no network. The server nevertheless allocates addresses from `10.96.0.0/12`
//! and node ports from 30000–32767, because clients read these fields. The name of a Service
//! determines the first candidate. A recreated Service therefore has the same address, if the
//! address is free.

use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use crate::json::put;
use crate::json::{default, field, flag, items, list, make, number, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const FIRST_ADDRESS: u32 = 0x0a60_0000;
const ADDRESSES: u32 = 1 << 20;
const FIRST_PORT: u32 = 30_000;
const PORTS: u32 = 2_768;

pub(crate) fn fill(service: &mut Value) {
    let Some(spec) = make(service, "spec") else {
        return;
    };
    default(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => put(spec, "sessionAffinityConfig", None),
        "ClientIP" => {
            let client = make(spec, "sessionAffinityConfig").and_then(|set| make(set, "clientIP"));
            if let Some(client) = client {
                default(client, "timeoutSeconds", 10_800);
            }
        }
        _ => {}
    }
    default(spec, "type", "ClusterIP");
    for port in items(spec, "ports") {
        default(port, "protocol", "TCP");
        let target = field(port, "targetPort");
        if target.is_null() || *target == 0 || *target == "" {
            let same = field(port, "port").clone();
            put(port, "targetPort", Some(same));
        }
    }
    let kind = text(spec, "type").to_owned();
    let outside = matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && !list(spec, "externalIPs").is_empty();
    if outside {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// Allocates addresses and node ports for a new Service. `taken` reports whether a value is in use.
pub fn assign(service: &mut Value, taken: &dyn Fn(&str) -> bool) {
    let metadata = field(service, "metadata");
    let name = format!("{}/{}", text(metadata, "namespace"), text(metadata, "name"));
    let Some(spec) = make(service, "spec") else {
        return;
    };
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let address = match (text(spec, "clusterIP"), list(spec, "clusterIPs")) {
        ("", [Value::String(first), ..]) => first.clone(),
        ("", _) => {
            let at = |offset: u32| {
                // The first address is the network address, the last the broadcast address.
                let host = 1 + offset % (ADDRESSES - 2);
                Ipv4Addr::from(FIRST_ADDRESS + host).to_string()
            };
            free(&name, ADDRESSES - 2, at, taken)
        }
        (address, _) => address.to_owned(),
    };
    let family = if address.contains(':') {
        "IPv6"
    } else {
        "IPv4"
    };
    // The endpoints of a headless Service without selector may have any address family.
    let any_family = address == "None"
        && crate::json::object(spec, "selector").is_none_or(serde_json::Map::is_empty);
    default(spec, "clusterIPs", json!([address]));
    put(spec, "clusterIP", Some(address.into()));
    if any_family {
        default(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
        default(spec, "ipFamilyPolicy", "RequireDualStack");
    }
    default(spec, "ipFamilies", json!([family]));
    default(spec, "ipFamilyPolicy", "SingleStack");
    assign_ports(spec, &name, taken);
}

fn assign_ports(spec: &mut Value, name: &str, taken: &dyn Fn(&str) -> bool) {
    let desired = match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => flag(spec, "allocateLoadBalancerNodePorts"),
        _ => false,
    };
    if !desired {
        return;
    }
    let mut node_ports: Vec<i64> = list(spec, "ports")
        .iter()
        .filter_map(|port| number(port, "nodePort"))
        .collect();
    for port in items(spec, "ports") {
        if number(port, "nodePort").unwrap_or_default() != 0 {
            continue;
        }
        let own = format!("{name}/{}/{}", text(port, "protocol"), field(port, "port"));
        let at = |offset: u32| (FIRST_PORT + offset % PORTS).to_string();
        let used = |text: &str| {
            taken(text)
                || text
                    .parse()
                    .is_ok_and(|number| node_ports.contains(&number))
        };
        let text = free(&own, PORTS, at, &used);
        if let Ok(number) = text.parse::<i64>() {
            node_ports.push(number);
            put(port, "nodePort", Some(number.into()));
        }
    }
}

/// Returns the first free address or port. The hash of the name determines the first candidate.
fn free(
    name: &str,
    count: u32,
    at: impl Fn(u32) -> String,
    taken: &dyn Fn(&str) -> bool,
) -> String {
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(name);
    let start = u32::try_from(hash % u64::from(count));
    let start = start.expect("the remainder is less than count");
    (0..count)
        .map(|step| at(start.wrapping_add(step) % count))
        .find(|candidate| !taken(candidate))
        .unwrap_or_else(|| at(start))
}

/// Copies allocated addresses and ports from the stored Service if the update omits them.
pub(crate) fn carry(new: &mut Value, old: &Value) {
    let before = field(old, "spec");
    let (is, was) = (
        text(field(new, "spec"), "type").to_owned(),
        text(before, "type"),
    );
    let (Some(spec), false) = (make(new, "spec"), is == "ExternalName") else {
        return;
    };
    if was == "ExternalName" {
        return assign(new, &|_| false);
    }
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        default(spec, name, field(before, name).clone());
    }
    if is != "ClusterIP" && was != "ClusterIP" {
        for port in items(spec, "ports") {
            let same = |other: &&Value| {
                field(other, "port") == field(port, "port")
                    && field(other, "protocol") == field(port, "protocol")
            };
            let previous_port = list(before, "ports").iter().find(same);
            if let Some(previous_port) = previous_port.and_then(|other| number(other, "nodePort")) {
                default(port, "nodePort", previous_port);
            }
        }
    }
    assign(new, &|_| false);
}

pub(crate) fn update(new: &Value, old: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let (new, old) = (field(new, "spec"), field(old, "spec"));
    let external = |spec: &Value| text(spec, "type") == "ExternalName";
    if !external(new) && !external(old) && !text(old, "clusterIP").is_empty() {
        let (is, was) = (text(new, "clusterIP"), text(old, "clusterIP"));
        if is != was {
            let shown = field(new, "clusterIPs").clone();
            let message = "may not change once set";
            found.invalid(&at.child("clusterIPs").index(0), shown, message);
        }
    }
}

pub(crate) fn validate(service: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(service, "spec");
    let kind = text(spec, "type");
    let known = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    found.one_of(&at.child("type"), kind, &known);
    let headless = text(spec, "clusterIP") == "None";
    let ports = list(spec, "ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        found.required(&at.child("ports"), "");
    }
    match kind {
        "LoadBalancer" if headless => {
            let message = "may not be set to 'None' for LoadBalancer services";
            found.invalid(&at.child("clusterIPs").index(0), "None", message);
        }
        "NodePort" if headless => {
            let message = "may not be set to 'None' for NodePort services";
            found.invalid(&at.child("clusterIPs").index(0), "None", message);
        }
        "ExternalName" => external_name(spec, &at, found),
        _ => {}
    }
    addresses(spec, &at, found);
    all_ports(spec, &at, found);
    selector(spec, &at, found);
    let affinity = text(spec, "sessionAffinity");
    found.one_of(
        &at.child("sessionAffinity"),
        affinity,
        &["ClientIP", "None"],
    );
    policies(spec, kind, &at, found);
}

fn addresses(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    for (index, address) in texts(spec, "clusterIPs").enumerate() {
        if address != "None" && address.parse::<std::net::IpAddr>().is_err() {
            let message = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            found.invalid(&at.child("clusterIPs").index(index), address, message);
        }
    }
}

/// Returns the addresses and node ports in the spec of a Service.
pub(crate) fn claims(service: &Value) -> Vec<String> {
    let spec = field(service, "spec");
    let ports = list(spec, "ports").iter();
    let ports = ports.filter_map(|port| number(port, "nodePort"));
    let addresses = texts(spec, "clusterIPs").chain([text(spec, "clusterIP")]);
    addresses
        .filter(|address| !matches!(*address, "" | "None"))
        .map(str::to_owned)
        .chain(ports.filter(|port| *port != 0).map(|port| port.to_string()))
        .collect()
}

/// Reports requested addresses and ports that other Services use.
pub(crate) fn collisions(service: &Value, taken: &dyn Fn(&str) -> bool, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(service, "spec");
    for (index, port) in list(spec, "ports").iter().enumerate() {
        let port = number(port, "nodePort").unwrap_or_default();
        if port != 0 && taken(&port.to_string()) {
            let ports = at.child("ports");
            let one = ports.index(index);
            found.invalid(
                &one.child("nodePort"),
                port,
                "provided port is already allocated",
            );
        }
    }
    let address = text(spec, "clusterIP");
    if !address.is_empty() && taken(address) {
        let shown = json!([address]);
        let message = format!("failed to allocate IP {address}: provided IP is already allocated");
        found.invalid(&at.child("clusterIPs"), shown, message);
    }
}

fn external_name(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let message = "may not be set for ExternalName services";
    if !text(spec, "clusterIP").is_empty() {
        found.forbidden(&at.child("clusterIPs"), message);
    }
    let name = text(spec, "externalName");
    let host = name.strip_suffix('.').unwrap_or(name);
    let under = at.child("externalName");
    if host.is_empty() {
        found.required(&under, "");
    } else {
        found.all_invalid(&under, host, names::dns_subdomain(host));
    }
}

fn all_ports(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("ports");
    let ports = list(spec, "ports");
    let mut seen: Vec<&str> = Vec::new();
    let mut used: Vec<(i64, &str)> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let at = under.index(index);
        let name = text(port, "name");
        if name.is_empty() {
            if ports.len() > 1 {
                found.required(&at.child("name"), "");
            }
        } else {
            found.all_invalid(&at.child("name"), name, names::dns_label(name));
            if seen.contains(&name) {
                found.duplicate(&at.child("name"), name);
            }
            seen.push(name);
        }
        let number = number(port, "port").unwrap_or_default();
        valid_port(&at.child("port"), number, found);
        let protocol = text(port, "protocol");
        found.one_of(&at.child("protocol"), protocol, &["SCTP", "TCP", "UDP"]);
        port_or_name(&at.child("targetPort"), field(port, "targetPort"), found);
        if used.contains(&(number, protocol)) {
            let shown = json!({"protocol": protocol, "port": number});
            found.duplicate(&at, shown);
        }
        used.push((number, protocol));
        let node_port = crate::json::number(port, "nodePort").unwrap_or_default();
        let kind = text(spec, "type");
        if node_port != 0 && matches!(kind, "ClusterIP" | "ExternalName" | "") {
            let message = format!("may not be used when `type` is '{kind}'");
            found.forbidden(&at.child("nodePort"), message);
        }
    }
}

/// Validates a port number.
pub(crate) fn valid_port(at: &Path<'_>, port: i64, found: &mut Findings) {
    if !(1..=65_535).contains(&port) {
        found.invalid(at, port, "must be between 1 and 65535, inclusive");
    }
}

/// Validates a port number or name.
pub(crate) fn port_or_name(at: &Path<'_>, port: &Value, found: &mut Findings) {
    match port {
        Value::Number(number) => {
            valid_port(at, number.as_i64().unwrap_or_default(), found);
        }
        Value::String(name) => found.all_invalid(at, name, names::port_name(name)),
        _ => {}
    }
}

fn selector(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let labels = crate::json::object(spec, "selector");
    super::metadata::labels(labels, &at.child("selector"), found);
}

fn policies(spec: &Value, kind: &str, at: &Path<'_>, found: &mut Findings) {
    let known = ["Cluster", "Local"];
    let name = "externalTrafficPolicy";
    found.maybe_one_of(&at.child(name), text(spec, name), &known);
    let name = "internalTrafficPolicy";
    found.maybe_one_of(&at.child(name), text(spec, name), &known);
    let name = "ipFamilyPolicy";
    let families = ["SingleStack", "PreferDualStack", "RequireDualStack"];
    found.maybe_one_of(&at.child(name), text(spec, name), &families);
    let outside = matches!(kind, "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && texts(spec, "externalIPs").next().is_some();
    let name = "externalTrafficPolicy";
    if !outside && !text(spec, name).is_empty() {
        let message = "may only be set for externally-accessible services";
        found.invalid(&at.child(name), text(spec, name), message);
    }
}
