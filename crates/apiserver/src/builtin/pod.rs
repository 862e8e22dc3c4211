//! Defaults of pods and pod templates, and the changes that kube-apiserver's default admission
//! plugins make.

pub(crate) mod change;
mod container;
mod placement;
pub(crate) mod resize;
pub(crate) mod validation;
mod volumes;

use serde_json::{Map, Value, json};

use crate::json::put;
use crate::json::{default, field, flag, items, list, make, number, object, text};
use drover_quantity::Quantity;

const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Lifetime of the projected token, in seconds. kube-apiserver sets the same lifetime.
const TOKEN_SECONDS: u32 = 3_607;
const TOLERATION_SECONDS: u32 = 300;

/// Sets defaults of a pod.
pub(crate) fn fill(pod: &mut Value) {
    let Some(spec) = make(pod, "spec") else {
        return;
    };
    fill_spec(spec);
    default(spec, "enableServiceLinks", true);
    let host_network = flag(spec, "hostNetwork");
    for name in ["containers", "initContainers"] {
        for container in items(spec, name) {
            requests_from_limits(container);
            if host_network {
                for port in items(container, "ports") {
                    let same = field(port, "containerPort").clone();
                    if number(port, "hostPort").unwrap_or_default() == 0 {
                        put(port, "hostPort", Some(same));
                    }
                }
            }
        }
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else {
        return;
    };
    let Some(limits) = object(resources, "limits").cloned() else {
        return;
    };
    if let Some(requests) = make(resources, "requests") {
        for (name, limit) in limits {
            default(requests, &name, limit);
        }
    }
}

/// Sets defaults of a pod template.
pub(crate) fn fill_template(template: &mut Value) {
    if let Some(spec) = make(template, "spec") {
        fill_spec(spec);
    }
}

fn fill_spec(spec: &mut Value) {
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "restartPolicy", "Always");
    default(spec, "securityContext", json!({}));
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "schedulerName", "default-scheduler");
    // `serviceAccount` is the deprecated alias of `serviceAccountName`.
    let account = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    if !account.is_empty() {
        put(spec, "serviceAccountName", Some(account.as_str().into()));
        put(spec, "serviceAccount", Some(account.into()));
    }
    for name in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(spec, name) {
            fill_container(container);
        }
    }
    for volume in items(spec, "volumes") {
        volumes::fill(volume);
    }
}

fn fill_container(container: &mut Value) {
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    let policy = pull_policy(text(container, "image"));
    default(container, "imagePullPolicy", policy);
    for port in items(container, "ports") {
        default(port, "protocol", "TCP");
    }
    for variable in items(container, "env") {
        if let Some(reference) = variable
            .get_mut("valueFrom")
            .and_then(|from| from.get_mut("fieldRef"))
        {
            default(reference, "apiVersion", "v1");
        }
        if let Some(resource) = variable
            .get_mut("valueFrom")
            .and_then(|from| from.get_mut("resourceFieldRef"))
        {
            default(resource, "divisor", "0");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(name) {
            fill_probe(probe);
        }
    }
    if let Some(lifecycle) = container.get_mut("lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = lifecycle.get_mut(name) {
                fill_handler(handler);
            }
        }
    }
    round_up(container);
}

/// Rounds the resource quantities of a container up to thousandths.
fn round_up(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else {
        return;
    };
    for name in ["limits", "requests"] {
        let Some(Value::Object(amounts)) = resources.get_mut(name) else {
            continue;
        };
        for amount in amounts.values_mut() {
            let read = amount.as_str().and_then(|text| Quantity::parse(text).ok());
            if let Some(quantity) = read.filter(|quantity| quantity.nano() % 1_000_000 != 0) {
                *amount = format!("{}m", quantity.milli()).into();
            }
        }
    }
}

fn fill_probe(probe: &mut Value) {
    for (name, set) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if number(probe, name).unwrap_or_default() == 0 {
            put(probe, name, Some(set.into()));
        }
    }
    if let Some(call) = probe.get_mut("grpc")
        && field(call, "service").is_null()
    {
        put(call, "service", Some("".into()));
    }
    fill_handler(probe);
}

fn fill_handler(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet") {
        default(get, "path", "/");
        default(get, "scheme", "HTTP");
    }
}

fn pull_policy(image: &str) -> &'static str {
    if image.contains('@') {
        return "IfNotPresent";
    }
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once(':') {
        Some((_, tag)) if tag != "latest" => "IfNotPresent",
        _ => "Always",
    }
}

/// Prepares a new pod. Applies the changes of kube-apiserver's default admission plugins: service
/// account and token volume, tolerations for lost nodes, and default priority.
pub(crate) fn prepare_create(pod: &mut Value) {
    let quality = quality(pod);
    let mut status = json!({"phase": "Pending", "qosClass": quality});
    let Some(spec) = make(pod, "spec") else {
        return;
    };
    if !list(spec, "schedulingGates").is_empty() {
        put(
            &mut status,
            "conditions",
            Some(json!([{
                "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastTransitionTime":
                    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            }])),
        );
    }
    default(spec, "serviceAccountName", "default");
    let account = field(spec, "serviceAccountName").clone();
    default(spec, "serviceAccount", account);
    if field(spec, "automountServiceAccountToken") != &json!(false) {
        mount_token(spec);
    }
    tolerate(spec, "node.kubernetes.io/not-ready");
    tolerate(spec, "node.kubernetes.io/unreachable");
    default(spec, "priority", 0);
    default(spec, "preemptionPolicy", "PreemptLowerPriority");
    put(pod, "status", Some(status));
}

fn mount_token(spec: &mut Value) {
    let mounted = |container: &Value| {
        list(container, "volumeMounts")
            .iter()
            .any(|mount| text(mount, "mountPath") == TOKEN_PATH)
    };
    let all = ["containers", "initContainers"];
    let missing = all
        .iter()
        .any(|name| list(spec, name).iter().any(|container| !mounted(container)));
    if !missing {
        return;
    }
    let alphabet = b"bcdfghjklmnpqrstvwxz2456789";
    let random = uuid::Uuid::new_v4().into_bytes();
    let suffix: String = random[..5]
        .iter()
        .map(|byte| char::from(alphabet[usize::from(*byte) % alphabet.len()]))
        .collect();
    let name = format!("kube-api-access-{suffix}");
    for list_name in all {
        for container in items(spec, list_name) {
            if mounted(container) {
                continue;
            }
            let mut mounts = list(container, "volumeMounts").to_vec();
            mounts.push(json!({"name": name, "readOnly": true, "mountPath": TOKEN_PATH}));
            put(container, "volumeMounts", Some(mounts.into()));
        }
    }
    let mut volumes = list(spec, "volumes").to_vec();
    volumes.push(json!({"name": name, "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {
            "apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]}}));
    put(spec, "volumes", Some(volumes.into()));
}

fn tolerate(spec: &mut Value, key: &str) {
    let mut tolerations = list(spec, "tolerations").to_vec();
    let tolerated = tolerations.iter().any(|toleration| {
        let same = ["", key].contains(&text(toleration, "key"));
        same && ["", "NoExecute"].contains(&text(toleration, "effect"))
    });
    if tolerated {
        return;
    }
    tolerations.push(
        json!({"key": key, "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": TOLERATION_SECONDS}),
    );
    put(spec, "tolerations", Some(tolerations.into()));
}

/// Returns the QoS class for the requests and limits of a pod.
pub(crate) fn quality(pod: &Value) -> &'static str {
    let spec = field(pod, "spec");
    let containers = ["containers", "initContainers"];
    let all = containers.iter().flat_map(|name| list(spec, name));
    let mut any = false;
    let mut guaranteed = true;
    for container in all {
        let resources = field(container, "resources");
        let (limits, requests) = (field(resources, "limits"), field(resources, "requests"));
        for name in ["cpu", "memory"] {
            let nano = |amounts: &Value| {
                let text = text(amounts, name);
                Quantity::parse(text).map_or(0, |quantity| quantity.nano())
            };
            let (limit, request) = (nano(limits), nano(requests));
            any |= limit != 0 || request != 0;
            guaranteed &= limit != 0 && (request == limit || request == 0);
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

pub(crate) fn keep_quality(new: &mut Value, old: &Value) {
    let before = field(field(old, "status"), "qosClass").clone();
    if let Some(status) = make(new, "status") {
        default(status, "qosClass", before);
    }
}

/// Reverts all changes except changes of ephemeral containers.
pub(crate) fn only_ephemeral(new: &mut Value, old: &Value) {
    let desired = field(field(new, "spec"), "ephemeralContainers").clone();
    let metadata = field(new, "metadata").clone();
    *new = old.clone();
    let managed = field(&metadata, "managedFields").clone();
    if let Some(metadata) = make(new, "metadata") {
        put(metadata, "managedFields", Some(managed));
    }
    if let Some(spec) = make(new, "spec") {
        put(spec, "ephemeralContainers", Some(desired));
    }
}

/// Reverts all changes except changes of container resources. Validation rejects added or removed
/// containers.
pub(crate) fn only_resources(new: &mut Value, old: &Value) {
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    let (desired, before) = (field(new, "spec"), field(old, "spec"));
    let same = LISTS.iter().all(|name| {
        let of = |spec| list(spec, name).iter().map(|one| text(one, "name"));
        of(desired).eq(of(before))
    });
    if !same {
        return;
    }
    let desired = desired.clone();
    let managed = field(field(new, "metadata"), "managedFields").clone();
    let version = field(field(new, "metadata"), "resourceVersion").clone();
    *new = old.clone();
    if let Some(metadata) = make(new, "metadata") {
        put(metadata, "managedFields", Some(managed));
        put(metadata, "resourceVersion", Some(version));
    }
    let Some(spec) = make(new, "spec") else {
        return;
    };
    for name in LISTS {
        for (container, desired) in items(spec, name).iter_mut().zip(list(&desired, name)) {
            for part in ["resources", "resizePolicy"] {
                put(container, part, desired.get(part).cloned());
            }
        }
    }
}

/// Returns the names of all containers of a pod.
pub(crate) fn names(spec: &Value) -> impl Iterator<Item = &str> {
    ["containers", "initContainers", "ephemeralContainers"]
        .into_iter()
        .flat_map(|name| list(spec, name))
        .map(|container| text(container, "name"))
}

/// Returns the spec without the fields in `names`.
pub(crate) fn without(spec: &Value, names: &[&str]) -> Map<String, Value> {
    let map = spec.as_object().cloned().unwrap_or_default();
    map.into_iter()
        .filter(|(name, _)| !names.contains(&name.as_str()))
        .collect()
}
