//! Ingress, IngressClass and NetworkPolicy.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::metadata::kind_and_name;
use super::rbac::label_selector;
use super::service::valid_port;
use crate::json::{at, default, field, items, list, make, number, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
const MAX_CONTROLLER_LENGTH: usize = 250;
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const NOT_AN_ADDRESS: &str = "must be a DNS name, not an IP address";
const BAD_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

pub(crate) fn fill(kind: &str, value: &mut Value) {
    let Some(spec) = make(value, "spec") else {
        return;
    };
    match kind {
        "NetworkPolicy" => fill_policy(spec),
        "IngressClass" => {
            if let Some(parameters) = spec.get_mut("parameters") {
                default(parameters, "scope", "Cluster");
            }
        }
        _ => {}
    }
}

fn fill_policy(spec: &mut Value) {
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            for port in items(rule, "ports") {
                default(port, "protocol", "TCP");
            }
        }
    }
    if list(spec, "policyTypes").is_empty() {
        let types = if list(spec, "egress").is_empty() {
            json!(["Ingress"])
        } else {
            json!(["Ingress", "Egress"])
        };
        spec["policyTypes"] = types;
    }
}

pub(crate) fn validate(kind: &str, value: &Value, found: &mut Findings) {
    match kind {
        "Ingress" => ingress(value, found),
        "IngressClass" => ingress_class(field(value, "spec"), found),
        "NetworkPolicy" => policy(field(value, "spec"), found),
        _ => {}
    }
}

/// Validates a new object. If an Ingress sets its class in the annotation and in the field, the
/// values must be equal.
pub(crate) fn validate_new(kind: &str, value: &Value, found: &mut Findings) {
    validate(kind, value, found);
    let annotation = field(at(value, "metadata.annotations"), CLASS_ANNOTATION);
    let class = at(value, "spec.ingressClassName");
    if kind == "Ingress" && !annotation.is_null() && !class.is_null() && annotation != class {
        let message = "must match `ingressClassName` when both are specified";
        let at = Path::new("annotations");
        found.invalid(&at.child(CLASS_ANNOTATION), annotation.clone(), message);
    }
}

pub(crate) fn update(kind: &str, new: &Value, old: &Value, found: &mut Findings) {
    if kind == "IngressClass" {
        let controller = |value| at(value, "spec.controller");
        let at = Path::new("spec");
        found.immutable(&at.child("controller"), controller(new), controller(old));
    }
    validate(kind, new, found);
}

fn ingress(value: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(value, "spec");
    let backend = field(spec, "defaultBackend");
    if list(spec, "rules").is_empty() && backend.is_null() {
        let message = "either `defaultBackend` or `rules` must be specified";
        found.invalid(&at, field(spec, "rules").clone(), message);
    }
    if !backend.is_null() {
        ingress_backend(backend, &at.child("defaultBackend"), found);
    }
    let under = at.child("rules");
    for (index, rule) in list(spec, "rules").iter().enumerate() {
        ingress_rule(rule, &under.index(index), found);
    }
    let under = at.child("tls");
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let at = under.index(index);
        let hosts = at.child("hosts");
        for (index, name) in texts(tls, "hosts").enumerate() {
            host(name, &hosts.index(index), found);
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            found.all_invalid(
                &at.child("secretName"),
                secret,
                names::dns_subdomain(secret),
            );
        }
    }
    if let Some(class) = spec.get("ingressClassName").and_then(Value::as_str) {
        let at = at.child("ingressClassName");
        found.all_invalid(&at, class, names::dns_subdomain(class));
    }
}

fn host(name: &str, at: &Path<'_>, found: &mut Findings) {
    let wrong = if name.contains('*') {
        names::wildcard_subdomain(name)
    } else {
        names::dns_subdomain(name)
    };
    found.all_invalid(at, name, wrong);
}

fn ingress_rule(rule: &Value, at: &Path<'_>, found: &mut Findings) {
    let name = text(rule, "host");
    if !name.is_empty() {
        let at = at.child("host");
        if name.parse::<IpAddr>().is_ok() {
            found.invalid(&at, name, NOT_AN_ADDRESS);
        }
        host(name, &at, found);
    }
    let http = field(rule, "http");
    if http.is_null() {
        return;
    }
    let at = at.child("http");
    let under = at.child("paths");
    if list(http, "paths").is_empty() {
        found.required(&under, "");
    }
    for (index, path) in list(http, "paths").iter().enumerate() {
        ingress_path(path, &under.index(index), found);
    }
}

fn ingress_path(value: &Value, at: &Path<'_>, found: &mut Findings) {
    let path = text(value, "path");
    let under = at.child("path");
    let kind = text(value, "pathType");
    let mut absolute = || {
        if !path.starts_with('/') {
            found.invalid(&under, path, "must be an absolute path");
        }
    };
    match kind {
        "" => {
            found.required(&at.child("pathType"), "pathType must be specified");
            return;
        }
        "Exact" | "Prefix" => {
            absolute();
            for wrong in ["//", "/./", "/../", "%2f", "%2F"] {
                if path.contains(wrong) {
                    found.invalid(&under, path, format!("must not contain '{wrong}'"));
                }
            }
            for wrong in ["/..", "/."] {
                if path.ends_with(wrong) {
                    found.invalid(&under, path, format!("cannot end with '{wrong}'"));
                }
            }
        }
        "ImplementationSpecific" if path.is_empty() => {}
        "ImplementationSpecific" => absolute(),
        _ => found.not_supported(&at.child("pathType"), kind, &PATH_TYPES),
    }
    ingress_backend(field(value, "backend"), &at.child("backend"), found);
}

fn ingress_backend(backend: &Value, at: &Path<'_>, found: &mut Findings) {
    let (resource, service) = (field(backend, "resource"), field(backend, "service"));
    match (resource.is_null(), service.is_null()) {
        (false, false) => {
            found.invalid(at, "", "cannot set both resource and service backends");
            return;
        }
        (false, true) => {
            reference(resource, &at.child("resource"), found);
            return;
        }
        (true, true) => {
            found.invalid(at, "", "resource or service backend is required");
            return;
        }
        (true, false) => {}
    }
    let under = at.child("service");
    let name = text(service, "name");
    let at_name = under.child("name");
    if name.is_empty() {
        found.required(&at_name, "");
    } else {
        found.all_invalid(&at_name, name, names::dns_label(name));
    }
    let port = field(service, "port");
    let under = under.child("port");
    let (name, value) = (text(port, "name"), number(port, "number").unwrap_or(0));
    match (name.is_empty(), value) {
        (false, 0) => found.all_invalid(&under.child("name"), name, names::port_name(name)),
        (false, _) => found.invalid(at, "", "cannot set both port name & port number"),
        (true, 0) => found.required(at, "port name or number is required"),
        (true, value) => valid_port(&under.child("number"), value, found),
    }
}

fn reference(value: &Value, at: &Path<'_>, found: &mut Findings) {
    if let Some(group) = value.get("apiGroup").and_then(Value::as_str) {
        found.all_invalid(&at.child("apiGroup"), group, names::dns_subdomain(group));
    }
    kind_and_name(value, at, found);
}

fn ingress_class(spec: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let controller = text(spec, "controller");
    let under = at.child("controller");
    if controller.len() > MAX_CONTROLLER_LENGTH {
        found.too_long(&under, MAX_CONTROLLER_LENGTH);
    }
    match controller.split_once('/') {
        _ if controller.is_empty() => found.required(&under, ""),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            found.all_invalid(&under, domain, names::dns_subdomain(domain));
        }
        _ => {
            let message = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            found.invalid(&under, controller, message);
        }
    }
    let parameters = field(spec, "parameters");
    if parameters.is_null() {
        return;
    }
    let at = at.child("parameters");
    reference(parameters, &at, found);
    let scope = text(parameters, "scope");
    let namespace = parameters.get("namespace").and_then(Value::as_str);
    let under = at.child("namespace");
    match (scope, namespace) {
        ("Namespace", None | Some("")) => {
            let message = "`parameters.scope` is set to 'Namespace'";
            found.required(&under, message);
        }
        ("Namespace", Some(name)) => found.all_invalid(&under, name, names::dns_label(name)),
        ("Cluster", Some(_)) => {
            found.forbidden(&under, "`parameters.scope` is set to 'Cluster'");
        }
        ("Cluster", None) => {}
        _ => found.not_supported(&at.child("scope"), scope, &["Cluster", "Namespace"]),
    }
}

fn policy(spec: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    label_selector(field(spec, "podSelector"), &at.child("podSelector"), found);
    for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
        let under = at.child(direction);
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let at = under.index(index);
            let under = at.child("ports");
            for (index, port) in list(rule, "ports").iter().enumerate() {
                policy_port(port, &under.index(index), found);
            }
            let under = at.child(peers);
            for (index, peer) in list(rule, peers).iter().enumerate() {
                policy_peer(peer, &under.index(index), found);
            }
        }
    }
    let under = at.child("policyTypes");
    let types = field(spec, "policyTypes");
    if list(spec, "policyTypes").len() > 2 {
        let message = "may not specify more than two policyTypes";
        found.invalid(&under, types.clone(), message);
        return;
    }
    for (index, kind) in texts(spec, "policyTypes").enumerate() {
        found.maybe_one_of(&under.index(index), kind, &["Ingress", "Egress"]);
    }
}

fn policy_port(port: &Value, at: &Path<'_>, found: &mut Findings) {
    let protocol = text(port, "protocol");
    found.maybe_one_of(&at.child("protocol"), protocol, &PROTOCOLS);
    let (first, last) = (field(port, "port"), number(port, "endPort"));
    let end = at.child("endPort");
    super::service::port_or_name(&at.child("port"), first, found);
    let Some(last) = last else { return };
    match first {
        Value::Number(first) => {
            if last < first.as_i64().unwrap_or_default() {
                let message = "must be greater than or equal to `port`";
                found.invalid(&end, first.clone(), message);
            }
            valid_port(&end, last, found);
        }
        Value::String(_) => {
            found.invalid(
                &end,
                last,
                "may not be specified when `port` is non-numeric",
            );
        }
        _ => {
            let message = "may not be specified when `port` is not specified";
            found.invalid(&end, last, message);
        }
    }
}

fn policy_peer(peer: &Value, at: &Path<'_>, found: &mut Findings) {
    let mut others = 0;
    for name in ["podSelector", "namespaceSelector"] {
        let selector = field(peer, name);
        if !selector.is_null() {
            others += 1;
            label_selector(selector, &at.child(name), found);
        }
    }
    let block = field(peer, "ipBlock");
    if block.is_null() {
        if others == 0 {
            found.required(at, "must specify a peer");
        }
        return;
    }
    ip_block(block, &at.child("ipBlock"), found);
    if others > 0 {
        found.forbidden(at, "may not specify both ipBlock and another peer");
    }
}

fn ip_block(block: &Value, at: &Path<'_>, found: &mut Findings) {
    let cidr = text(block, "cidr");
    if cidr.is_empty() {
        found.required(&at.child("cidr"), "");
        return;
    }
    let Some(whole) = range(cidr) else {
        found.invalid(&at.child("cidr"), cidr, BAD_RANGE);
        return;
    };
    let under = at.child("except");
    for (index, except) in texts(block, "except").enumerate() {
        let at = under.index(index);
        match range(except) {
            None => found.invalid(&at, except, BAD_RANGE),
            Some(part) if !is_strict_part(part, whole) => {
                found.invalid(&at, except, "must be a strict subset of `cidr`");
            }
            Some(_) => {}
        }
    }
}

/// An address range as a tuple: true for IPv6, the first address, and the prefix length.
type Range = (bool, u128, u32);

fn range(text: &str) -> Option<Range> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (is_v6, bits, width) = match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(ip) => (false, u128::from(ip.to_bits()), 32),
        IpAddr::V6(ip) => (true, ip.to_bits(), 128),
    };
    (length <= width).then_some((is_v6, bits, length))
}

fn is_strict_part(part: Range, whole: Range) -> bool {
    let width = if whole.0 { 128 } else { 32 };
    let prefix = |bits: u128| bits.checked_shr(width - whole.2).unwrap_or_default();
    part.0 == whole.0 && part.2 > whole.2 && prefix(part.1) == prefix(whole.1)
}

#[cfg(test)]
mod tests;
