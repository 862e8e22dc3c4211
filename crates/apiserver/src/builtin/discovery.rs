//! EndpointSlice and Endpoints.

use std::net::IpAddr;

use serde_json::Value;

use super::service::valid_port;
use crate::json::put;
use crate::json::{default, field, items, list, number, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

pub(crate) fn fill(slice: &mut Value) {
    for port in items(slice, "ports") {
        if field(port, "name").is_null() {
            put(port, "name", Some("".into()));
        }
        default(port, "protocol", "TCP");
    }
}

pub(crate) fn fill_endpoints(endpoints: &mut Value) {
    for subset in items(endpoints, "subsets") {
        for port in items(subset, "ports") {
            default(port, "protocol", "TCP");
        }
    }
}

pub(crate) fn validate(slice: &Value, found: &mut Findings) {
    let kind = text(slice, "addressType");
    found.one_of(&Path::new("addressType"), kind, &["FQDN", "IPv4", "IPv6"]);
    let under = Path::new("endpoints");
    let endpoints = list(slice, "endpoints");
    if endpoints.len() > MAX_ENDPOINTS {
        found.too_many(&under, endpoints.len(), MAX_ENDPOINTS);
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let at = under.index(index);
        let under = at.child("addresses");
        let addresses: Vec<&str> = texts(endpoint, "addresses").collect();
        if addresses.is_empty() {
            found.required(&under, "must contain at least 1 address");
        } else if addresses.len() > MAX_ADDRESSES {
            found.too_many(&under, addresses.len(), MAX_ADDRESSES);
        }
        for (index, address) in addresses.iter().enumerate() {
            valid_address(kind, address, &under, index, found);
        }
        if let Some(name) = endpoint.get("hostname").and_then(Value::as_str) {
            found.all_invalid(&at.child("hostname"), name, names::dns_label(name));
        }
    }
    ports(slice, found);
}

fn valid_address(kind: &str, address: &str, under: &Path<'_>, index: usize, found: &mut Findings) {
    let at = under.index(index);
    match (kind, address.parse::<IpAddr>()) {
        ("IPv4" | "IPv6", Err(_)) => found.invalid(&at, address, NO_ADDRESS),
        ("IPv4", Ok(ip)) => {
            if !ip.is_ipv4() {
                found.invalid(under, address, "must be an IPv4 address");
            }
            reachable(ip, address, &at, found);
        }
        ("IPv6", Ok(ip)) => {
            if !ip.is_ipv6() {
                found.invalid(under, address, "must be an IPv6 address");
            }
            reachable(ip, address, &at, found);
        }
        ("FQDN", _) => found.all_invalid(&at, address, names::dns_subdomain(address)),
        _ => {}
    }
}

/// Rejects addresses that are valid only on one host or link, such as loopback and link-local
/// addresses.
fn reachable(ip: IpAddr, address: &str, at: &Path<'_>, found: &mut Findings) {
    let (link_local, link_local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => {
            let first = ip.segments()[0];
            (ip.is_unicast_link_local(), first & 0xff0f == 0xff02)
        }
    };
    if ip.is_unspecified() {
        found.invalid(at, address, format!("may not be unspecified ({address})"));
    }
    if ip.is_loopback() {
        let message = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
        found.invalid(at, address, message);
    }
    if link_local {
        let message = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
        found.invalid(at, address, message);
    }
    if link_local_multicast {
        let message = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        found.invalid(at, address, message);
    }
}

fn ports(slice: &Value, found: &mut Findings) {
    let under = Path::new("ports");
    let ports = list(slice, "ports");
    if ports.len() > MAX_PORTS {
        found.too_many(&under, ports.len(), MAX_PORTS);
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let at = under.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            found.all_invalid(&at.child("name"), name, names::dns_label(name));
        }
        if seen.contains(&name) {
            found.duplicate(&at.child("name"), name);
        }
        seen.push(name);
        let known = ["SCTP", "TCP", "UDP"];
        found.one_of(&at.child("protocol"), text(port, "protocol"), &known);
        if let Some(port) = number(port, "port") {
            valid_port(&at.child("port"), port, found);
        }
    }
}

pub(crate) fn update(new: &Value, old: &Value, found: &mut Findings) {
    validate(new, found);
    found.immutable(
        &Path::new("addressType"),
        field(new, "addressType"),
        field(old, "addressType"),
    );
}

pub(crate) fn endpoints(endpoints: &Value, found: &mut Findings) {
    let under = Path::new("subsets");
    for (index, subset) in list(endpoints, "subsets").iter().enumerate() {
        let at = under.index(index);
        let addresses = list(subset, "addresses");
        let waiting = list(subset, "notReadyAddresses");
        if addresses.is_empty() && waiting.is_empty() {
            found.required(&at, "must specify `addresses` or `notReadyAddresses`");
        }
        let under = at.child("addresses");
        for (index, address) in addresses.iter().enumerate() {
            let ip = text(address, "ip");
            let at = under.index(index);
            let at = at.child("ip");
            match ip.parse::<IpAddr>() {
                Err(_) => found.invalid(&at, ip, NO_ADDRESS),
                Ok(address) => reachable(address, ip, &at, found),
            }
        }
        let under = at.child("ports");
        for (index, port) in list(subset, "ports").iter().enumerate() {
            let at = under.index(index);
            valid_port(
                &at.child("port"),
                number(port, "port").unwrap_or_default(),
                found,
            );
        }
    }
}
