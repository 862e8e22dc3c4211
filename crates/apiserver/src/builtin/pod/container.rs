//! Validation of containers: ports, environment, mounts, resources and probes.

use serde_json::Value;

use super::super::service::{port_or_name, valid_port};
use super::placement;
use crate::json::{field, list, number, object, text};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;
use drover_quantity::Quantity;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Pod fields that `fieldRef` of an environment variable supports.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Pod fields that `fieldRef` supports in volumes, but not in environment variables.
const OTHER_FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "spec.restartPolicy",
    "spec.schedulerName",
    "status.phase",
];
/// Valid resource names without a domain. Names of huge pages are also valid.
const STANDARD: [&str; 20] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];

pub(crate) fn container(one: &Value, mountable: &[&str], at: &Path<'_>, found: &mut Findings) {
    placement::container(one, at, found);
    let name = text(one, "name");
    if name.is_empty() {
        found.required(&at.child("name"), "");
    } else {
        found.all_invalid(&at.child("name"), name, names::dns_label(name));
    }
    if text(one, "image").is_empty() {
        found.required(&at.child("image"), "");
    }
    let policy = "terminationMessagePolicy";
    let known = ["File", "FallbackToLogsOnError"];
    found.one_of(&at.child(policy), text(one, policy), &known);
    ports(one, at, found);
    environment(one, at, found);
    mounts(one, mountable, at, found);
    let policy = "imagePullPolicy";
    let known = ["Always", "IfNotPresent", "Never"];
    found.one_of(&at.child(policy), text(one, policy), &known);
    resources(field(one, "resources"), &at.child("resources"), found);
}

fn ports(one: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("ports");
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in list(one, "ports").iter().enumerate() {
        let at = under.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let wrong = names::port_name(name);
            if wrong.is_empty() && seen.contains(&name) {
                found.duplicate(&at.child("name"), name);
            } else if wrong.is_empty() {
                seen.push(name);
            }
            found.all_invalid(&at.child("name"), name, wrong);
        }
        match number(port, "containerPort").unwrap_or_default() {
            0 => found.required(&at.child("containerPort"), ""),
            port => valid_port(&at.child("containerPort"), port, found),
        }
        if let Some(port) = number(port, "hostPort").filter(|port| *port != 0) {
            valid_port(&at.child("hostPort"), port, found);
        }
        found.one_of(&at.child("protocol"), text(port, "protocol"), &PROTOCOLS);
    }
}

pub(crate) fn conflicts(one: &Value, taken: &mut Vec<String>, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("ports");
    for (index, port) in list(one, "ports").iter().enumerate() {
        let Some(number) = number(port, "hostPort").filter(|port| *port != 0) else {
            continue;
        };
        let this = format!(
            "{}/{}/{number}",
            text(port, "protocol"),
            text(port, "hostIP")
        );
        let at = under.index(index);
        if taken.contains(&this) {
            found.duplicate(&at.child("hostPort"), this);
        } else {
            taken.push(this);
        }
    }
}

fn environment(one: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("env");
    for (index, variable) in list(one, "env").iter().enumerate() {
        let at = under.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            found.required(&at.child("name"), "");
        } else {
            found.all_invalid(&at.child("name"), name, names::environment_name(name));
        }
        let Some(from) = object(variable, "valueFrom") else {
            continue;
        };
        let at = at.child("valueFrom");
        if from.is_empty() {
            let message = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
                        `secretKeyRef` or `fileKeyRef`";
            found.invalid(&at, "", message);
        } else if !text(variable, "value").is_empty() {
            found.invalid(&at, "", "may not be specified when `value` is not empty");
        } else if from.len() > 1 {
            found.invalid(
                &at,
                "",
                "may not have more than one field specified at a time",
            );
        }
        if let Some(reference) = from.get("fieldRef") {
            field_reference(reference, &at.child("fieldRef"), found);
        }
        for name in ["configMapKeyRef", "secretKeyRef"] {
            if let Some(reference) = from.get(name) {
                let at = at.child(name);
                if text(reference, "name").is_empty() {
                    found.required(&at.child("name"), "");
                }
                if text(reference, "key").is_empty() {
                    found.required(&at.child("key"), "");
                }
            }
        }
    }
    let under = at.child("envFrom");
    for source in list(one, "envFrom") {
        let count = ["configMapRef", "secretRef"]
            .iter()
            .filter(|name| !field(source, name).is_null())
            .count();
        match count {
            0 => {
                let message = "must specify one of: `configMapRef` or `secretRef`";
                found.invalid(&under, "", message);
            }
            1 => {}
            _ => {
                let message = "may not have more than one field specified at a time";
                found.invalid(&under, "", message);
            }
        }
    }
}

/// Validates `fieldRef` of an environment variable.
fn field_reference(reference: &Value, at: &Path<'_>, found: &mut Findings) {
    let path = text(reference, "fieldPath");
    let under = at.child("fieldPath");
    if path.is_empty() {
        return found.required(&under, "");
    }
    if let Some((map, key)) = path
        .strip_suffix("']")
        .and_then(|path| path.split_once("['"))
    {
        let wrong = match map {
            "metadata.annotations" => names::qualified_name(&key.to_lowercase()),
            "metadata.labels" => names::qualified_name(key),
            _ => {
                let message = format!(
                    "error converting fieldPath: field label does not support subscript: {path}"
                );
                return found.invalid(&under, path, message);
            }
        };
        return found.all_invalid(at, key, wrong);
    }
    if FIELDS.contains(&path) || path == "spec.host" {
        return;
    }
    if OTHER_FIELDS.contains(&path) {
        found.not_supported(&under, path, &FIELDS);
    } else {
        let message = format!("error converting fieldPath: field label not supported: {path}");
        found.invalid(&under, path, message);
    }
}

fn mounts(one: &Value, mountable: &[&str], at: &Path<'_>, found: &mut Findings) {
    let under = at.child("volumeMounts");
    let mut seen: Vec<&str> = Vec::new();
    for (index, mount) in list(one, "volumeMounts").iter().enumerate() {
        let at = under.index(index);
        let name = text(mount, "name");
        if name.is_empty() {
            found.required(&at.child("name"), "");
        }
        if !mountable.contains(&name) {
            found.not_found(&at.child("name"), name);
        }
        let path = text(mount, "mountPath");
        if path.is_empty() {
            found.required(&at.child("mountPath"), "");
        }
        if seen.contains(&path) {
            found.invalid(&at.child("mountPath"), path, "must be unique");
        }
        seen.push(path);
        let sub = text(mount, "subPath");
        if sub.starts_with('/') {
            found.invalid(&under.child("subPath"), sub, "must be a relative path");
        } else if sub.split('/').any(|part| part == "..") {
            found.invalid(&under.child("subPath"), sub, "must not contain '..'");
        }
    }
}

fn resources(resources: &Value, at: &Path<'_>, found: &mut Findings) {
    let amounts = |name: &str| object(resources, name).into_iter().flatten();
    let requests = at.child("requests");
    for (name, under) in [("limits", at.child("limits")), ("requests", requests)] {
        for (resource, amount) in amounts(name) {
            let at = under.key(resource);
            resource_name(resource, &at, found);
            let quantity = amount.as_str().and_then(|text| Quantity::parse(text).ok());
            if quantity.is_some_and(|quantity| quantity.nano() < 0) {
                let message = "must be greater than or equal to 0";
                found.invalid(&at, amount.clone(), message);
            }
        }
    }
    for (resource, amount) in amounts("requests") {
        let limit = text(field(resources, "limits"), resource);
        let Ok(most) = Quantity::parse(limit) else {
            continue;
        };
        let request = amount.as_str().unwrap_or_default();
        if Quantity::parse(request).is_ok_and(|request| request.nano() > most.nano()) {
            let message = format!("must be less than or equal to {resource} limit of {limit}");
            found.invalid(&requests, request, message);
        }
    }
}

fn resource_name(name: &str, at: &Path<'_>, found: &mut Findings) {
    let wrong = names::qualified_name(name);
    let is_name = wrong.is_empty();
    found.all_invalid(at, name, wrong);
    if name.contains('/') || name.starts_with("hugepages-") {
        return;
    }
    if is_name && !STANDARD.contains(&name) {
        let message = "must be a standard resource type or fully qualified";
        found.invalid(at, name, message);
    }
    if !["cpu", "memory", "ephemeral-storage"].contains(&name) {
        found.invalid(at, name, "must be a standard resource for containers");
    }
}

pub(crate) fn probes(one: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = field(one, name);
        if probe.is_null() {
            continue;
        }
        let at = at.child(name);
        handler(probe, &at, found);
        for name in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            found.not_negative(&at.child(name), number(probe, name));
        }
        let threshold = number(probe, "successThreshold").unwrap_or(1);
        if name != "readinessProbe" && threshold != 1 {
            found.invalid(&at.child("successThreshold"), threshold, "must be 1");
        }
        let under = at.child("terminationGracePeriodSeconds");
        match number(probe, "terminationGracePeriodSeconds") {
            Some(seconds) if name == "readinessProbe" => {
                found.invalid(&under, seconds, "must not be set for readinessProbes");
            }
            Some(seconds) if seconds <= 0 => {
                found.invalid(&under, seconds, "must be greater than 0");
            }
            _ => {}
        }
    }
    let under = at.child("lifecycle");
    for name in ["postStart", "preStop"] {
        let hook = field(field(one, "lifecycle"), name);
        if !hook.is_null() {
            handler(hook, &under.child(name), found);
        }
    }
}

fn handler(handler: &Value, at: &Path<'_>, found: &mut Findings) {
    let mut set = HANDLERS
        .iter()
        .filter(|name| !field(handler, name).is_null());
    let Some(first) = set.next() else {
        return found.required(at, "must specify a handler type");
    };
    let action = field(handler, first);
    let under = at.child(first);
    match *first {
        "exec" if list(action, "command").is_empty() => {
            found.required(&under.child("command"), "");
        }
        "httpGet" => {
            if text(action, "path").is_empty() {
                found.required(&under.child("path"), "");
            }
            port_or_name(&under.child("port"), field(action, "port"), found);
            let scheme = text(action, "scheme");
            if !["HTTP", "HTTPS"].contains(&scheme) {
                found.not_supported(&under.child("scheme"), scheme, &["HTTP", "HTTPS"]);
            }
        }
        "tcpSocket" | "grpc" => {
            port_or_name(&under.child("port"), field(action, "port"), found);
        }
        _ => {}
    }
    for name in set {
        found.forbidden(&at.child(name), "may not specify more than 1 handler type");
    }
}
