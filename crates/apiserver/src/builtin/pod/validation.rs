//! What is wrong with a Pod or a template (pkg/apis/core/validation), as far as users meet it.

use serde_json::Value;

use super::super::service::{port_or_name, valid_port};
use super::super::{metadata, names};
use super::{placement, volumes};
use crate::schema::Path;
use crate::schema::findings::Findings;
use crate::schema::look::{field, list, number, object, text};
use crate::schema::quantity::Quantity;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Checks a new Pod.
pub(crate) fn pod(pod: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let body = field(pod, "spec");
    spec(body, &[], &at, found);
    if !list(body, "ephemeralContainers").is_empty() {
        found.forbidden(&at.child("ephemeralContainers"), "cannot be set on create");
    }
    if !text(body, "nodeName").is_empty() && !list(body, "schedulingGates").is_empty() {
        let said = "cannot be set until all schedulingGates have been cleared";
        found.forbidden(&at.child("nodeName"), said);
    }
}

/// Checks a template; `claims` are volumes that its owner adds.
pub(crate) fn template(template: &Value, claims: &[&str], at: &Path<'_>, found: &mut Findings) {
    let meta = field(template, "metadata");
    metadata::labels(object(meta, "labels"), &at.child("labels"), found);
    let under = at.child("annotations");
    metadata::annotations(object(meta, "annotations"), &under, found);
    let body = field(template, "spec");
    let at = at.child("spec");
    spec(body, claims, &at, found);
    if !list(body, "ephemeralContainers").is_empty() {
        let said = "ephemeral containers not allowed in pod template";
        found.forbidden(&at.child("ephemeralContainers"), said);
    }
}

fn spec(spec: &Value, claims: &[&str], at: &Path<'_>, found: &mut Findings) {
    let mut mountable = volumes::validate(spec, at, found);
    mountable.extend(claims);
    let all = list(spec, "containers");
    let under = at.child("containers");
    if all.is_empty() {
        found.required(&under, "");
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut host_ports: Vec<String> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let at = under.index(index);
        container(one, &mountable, &at, found);
        unique(one, &mut seen, &at, found);
        probes(one, &at, found);
        conflicts(one, &mut host_ports, &at, found);
    }
    let under = at.child("initContainers");
    for (index, one) in list(spec, "initContainers").iter().enumerate() {
        let at = under.index(index);
        container(one, &mountable, &at, found);
        unique(one, &mut seen, &at, found);
        if text(one, "restartPolicy") == "Always" {
            probes(one, &at, found);
        } else {
            for name in [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ] {
                if !field(one, name).is_null() {
                    let said = "may not be set for init containers without restartPolicy=Always";
                    found.forbidden(&at.child(name), said);
                }
            }
        }
    }
    policies(spec, at, found);
    named(spec, at, found);
    tolerations(spec, at, found);
    placement::validate(spec, at, found);
}

fn unique<'a>(one: &'a Value, seen: &mut Vec<&'a str>, at: &Path<'_>, found: &mut Findings) {
    let name = text(one, "name");
    if seen.contains(&name) {
        found.duplicate(&at.child("name"), name);
    } else if !name.is_empty() {
        seen.push(name);
    }
}

fn policies(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let known = ["Always", "OnFailure", "Never"];
    let name = "restartPolicy";
    found.one_of(&at.child(name), text(spec, name), &known);
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    let name = "dnsPolicy";
    found.one_of(&at.child(name), text(spec, name), &known);
    let selector = object(spec, "nodeSelector");
    metadata::labels(selector, &at.child("nodeSelector"), found);
    let name = "activeDeadlineSeconds";
    if let Some(seconds) = number(spec, name).filter(|s| !(1..=i64::from(i32::MAX)).contains(s)) {
        let said = "must be between 1 and 2147483647, inclusive";
        found.invalid(&at.child(name), seconds, said);
    }
    let name = "preemptionPolicy";
    let known = ["Never", "PreemptLowerPriority"];
    found.maybe_one_of(&at.child(name), text(spec, name), &known);
}

fn named(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let subdomains = [
        "serviceAccountName",
        "nodeName",
        "priorityClassName",
        "runtimeClassName",
    ];
    for name in subdomains {
        let value = text(spec, name);
        if !value.is_empty() {
            found.all_invalid(&at.child(name), value, names::dns_subdomain(value));
        }
    }
    for name in ["hostname", "subdomain"] {
        let value = text(spec, name);
        if !value.is_empty() {
            found.all_invalid(&at.child(name), value, names::dns_label(value));
        }
    }
}

fn tolerations(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("tolerations");
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let at = under.index(index);
        let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
        let (value, effect) = (text(toleration, "value"), text(toleration, "effect"));
        if !key.is_empty() {
            found.all_invalid(&at.child("key"), key, names::qualified_name(key));
        } else if operator != "Exists" {
            let said = "operator must be Exists when `key` is empty, which means \"match all \
                        values and all keys\"";
            found.invalid(&at.child("operator"), operator, said);
        }
        if !field(toleration, "tolerationSeconds").is_null() && effect != "NoExecute" {
            let said = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            found.invalid(&at.child("effect"), effect, said);
        }
        match operator {
            "" | "Equal" => {
                let wrong = names::label_value(value);
                if !wrong.is_empty() {
                    found.invalid(&at.child("operator"), value, wrong.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let said = "value must be empty when `operator` is 'Exists'";
                    found.invalid(&at.child("operator"), value, said);
                }
            }
            other => found.not_supported(&at.child("operator"), other, &["Equal", "Exists"]),
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        found.maybe_one_of(&at.child("effect"), effect, &known);
    }
}

fn container(one: &Value, mountable: &[&str], at: &Path<'_>, found: &mut Findings) {
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

fn conflicts(one: &Value, taken: &mut Vec<String>, at: &Path<'_>, found: &mut Findings) {
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
            let said = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
                        `secretKeyRef` or `fileKeyRef`";
            found.invalid(&at, "", said);
        } else if !text(variable, "value").is_empty() {
            found.invalid(&at, "", "may not be specified when `value` is not empty");
        } else if from.len() > 1 {
            found.invalid(
                &at,
                "",
                "may not have more than one field specified at a time",
            );
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
                let said = "must specify one of: `configMapRef` or `secretRef`";
                found.invalid(&under, "", said);
            }
            1 => {}
            _ => {
                let said = "may not have more than one field specified at a time";
                found.invalid(&under, "", said);
            }
        }
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
            if !["cpu", "memory", "ephemeral-storage"].contains(&resource.as_str())
                && !resource.starts_with("hugepages-")
                && !resource.contains('/')
            {
                let said = "must be a standard resource for containers";
                found.invalid(&at, resource.as_str(), said);
            }
            let quantity = amount.as_str().and_then(|text| Quantity::parse(text).ok());
            if quantity.is_some_and(|quantity| quantity.nano() < 0) {
                let said = "must be greater than or equal to 0";
                found.invalid(&at, amount.clone(), said);
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
            let said = format!("must be less than or equal to {resource} limit of {limit}");
            found.invalid(&requests, request, said);
        }
    }
}

fn probes(one: &Value, at: &Path<'_>, found: &mut Findings) {
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

/// Checks a changed Pod: little of its spec may change.
pub(crate) fn update(new: &Value, old: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let (now, before) = (field(new, "spec"), field(old, "spec"));
    let same_count = |name: &str| list(now, name).len() == list(before, name).len();
    for name in ["containers", "initContainers"] {
        if !same_count(name) {
            let said = "pod updates may not add or remove containers";
            return found.forbidden(&at.child(name), said);
        }
    }
    for name in ["containers", "initContainers"] {
        let under = at.child(name);
        for (index, container) in list(now, name).iter().enumerate() {
            if text(container, "image").is_empty() {
                found.required(&under.index(index).child("image"), "");
            }
        }
    }
    deadline(now, before, &at, found);
    let tolerated = list(now, "tolerations");
    if !list(before, "tolerations")
        .iter()
        .all(|old| tolerated.contains(old))
    {
        let said = "existing toleration can not be modified except its tolerationSeconds";
        found.forbidden(&at.child("tolerations"), said);
    }
    let gates = list(before, "schedulingGates");
    if !list(now, "schedulingGates")
        .iter()
        .all(|gate| gates.contains(gate))
    {
        let said = "only deletion is allowed, but found new scheduling gate";
        found.forbidden(&at.child("schedulingGates"), said);
    }
    if comparable(now) != comparable(before) {
        let said = "pod updates may not change fields other than \
                    `spec.containers[*].image`,`spec.initContainers[*].image`,\
                    `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
                    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if \
                    it was previously negative)";
        found.forbidden(&at, said);
    }
}

fn deadline(now: &Value, before: &Value, at: &Path<'_>, found: &mut Findings) {
    let name = "activeDeadlineSeconds";
    match (number(now, name), number(before, name)) {
        (Some(now), Some(before)) if now > before => {
            let said = "must be less than or equal to previous value";
            found.invalid(&at.child(name), now, said);
        }
        (None, Some(_)) => {
            let said = "must not update from a positive integer to nil value";
            found.invalid(&at.child(name), Value::Null, said);
        }
        _ => {}
    }
}

fn comparable(spec: &Value) -> serde_json::Map<String, Value> {
    let free = ["activeDeadlineSeconds", "tolerations", "schedulingGates"];
    let mut rest = super::without(spec, &free);
    for name in ["containers", "initContainers"] {
        if let Some(Value::Array(containers)) = rest.get_mut(name) {
            for container in containers {
                crate::schema::object::put(container, "image", None);
            }
        }
    }
    rest
}

/// Checks ephemeral containers that were added.
pub(crate) fn ephemeral(new: &Value, old: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let under = at.child("ephemeralContainers");
    let (now, before) = (field(new, "spec"), field(old, "spec"));
    let containers = list(now, "ephemeralContainers");
    for kept in list(before, "ephemeralContainers") {
        let name = text(kept, "name");
        match containers.iter().find(|other| text(other, "name") == name) {
            None => {
                let said = format!("existing ephemeral containers {name:?} may not be removed\n");
                found.forbidden(&under, said);
            }
            Some(other) if other != kept => {
                let said = format!("existing ephemeral containers {name:?} may not be changed\n");
                found.forbidden(&under, said);
            }
            Some(_) => {}
        }
    }
    let mountable: Vec<&str> = list(now, "volumes")
        .iter()
        .map(|v| text(v, "name"))
        .collect();
    for (index, one) in containers.iter().enumerate() {
        let at = under.index(index);
        container(one, &mountable, &at, found);
        let name = text(one, "name");
        if super::names(now).filter(|other| *other == name).count() > 1 {
            found.duplicate(&at.child("name"), name);
        }
        for name in [
            "ports",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle",
        ] {
            if !field(one, name).is_null() {
                let said = "cannot be set for an Ephemeral Container";
                found.forbidden(&at.child(name), said);
            }
        }
    }
}
