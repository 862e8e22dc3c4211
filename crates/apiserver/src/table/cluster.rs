//! Table cells of quotas, autoscalers, Ingresses and other kinds of
//! [`Kinds::Cluster`](crate::builtin::Kinds::Cluster).

use std::collections::BTreeSet;

use serde_json::Value;

use super::workloads::selector;
use super::{View, count, or};
use crate::json::{at, field, flag, list, number, object, text};

/// Maximum number of Ingress hosts in a cell.
const MAX_HOSTS: usize = 3;
/// Maximum number of autoscaler metrics in a cell.
const MAX_METRICS: usize = 2;
const UNKNOWN: &str = "<unknown>";

/// Returns the cells of a kind; `None` for a kind without a printer.
pub(super) fn cells(kind: &str, view: &View<'_>) -> Option<Vec<Value>> {
    Some(match kind {
        "Ingress" => ingress(view),
        "IngressClass" => ingress_class(view),
        "NetworkPolicy" => vec![
            view.name(),
            selector(field(view.spec(), "podSelector"), "<none>").into(),
            view.age(),
        ],
        "HorizontalPodAutoscaler" => autoscaler(view),
        "PodDisruptionBudget" => vec![
            view.name(),
            amount(field(view.spec(), "minAvailable")),
            amount(field(view.spec(), "maxUnavailable")),
            count(view.status(), "disruptionsAllowed").into(),
            view.age(),
        ],
        "StorageClass" => storage_class(view),
        "PriorityClass" => vec![
            view.name(),
            count(view.object, "value").into(),
            flag(view.object, "globalDefault").into(),
            view.age(),
            text(view.object, "preemptionPolicy").into(),
        ],
        "ResourceQuota" => quota(view),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => vec![
            view.name(),
            list(view.object, "webhooks").len().into(),
            view.age(),
        ],
        "ValidatingAdmissionPolicy" => policy(view),
        "ValidatingAdmissionPolicyBinding" => vec![
            view.name(),
            text(view.spec(), "policyName").into(),
            parameter(field(view.spec(), "paramRef")).into(),
            view.age(),
        ],
        "CertificateSigningRequest" => request(view),
        _ => return None,
    })
}

fn ingress(view: &View<'_>) -> Vec<Value> {
    let (spec, balancer) = (view.spec(), at(view.status(), "loadBalancer"));
    let rules = list(spec, "rules");
    let hosts = rules.iter().map(|rule| text(rule, "host"));
    let hosts = hosts.filter(|host| !host.is_empty());
    let shown: Vec<&str> = hosts.take(MAX_HOSTS).collect();
    let mut hosts = or(&shown.join(","), "*").to_owned();
    if shown.len() == MAX_HOSTS && rules.len() > MAX_HOSTS {
        hosts = format!("{hosts} + {} more...", rules.len() - MAX_HOSTS);
    }
    let addresses: BTreeSet<&str> = list(balancer, "ingress")
        .iter()
        .map(|one| or(text(one, "ip"), text(one, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let class = field(spec, "ingressClassName").as_str();
    let encrypted = !list(spec, "tls").is_empty();
    vec![
        view.name(),
        class.unwrap_or("<none>").into(),
        hosts.into(),
        addresses.join(",").into(),
        if encrypted { "80, 443" } else { "80" }.into(),
        view.age(),
    ]
}

/// Returns the name, with a mark if an annotation makes the object the default.
fn named(view: &View<'_>, annotations: &[&str]) -> Value {
    let own = at(view.object, "metadata.annotations");
    let name = text(field(view.object, "metadata"), "name");
    if annotations.iter().any(|one| text(own, one) == "true") {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}

fn ingress_class(view: &View<'_>) -> Vec<Value> {
    let parameters = field(view.spec(), "parameters");
    let (kind, name) = (text(parameters, "kind"), text(parameters, "name"));
    let shown = match parameters.get("apiGroup").and_then(Value::as_str) {
        _ if parameters.is_null() => "<none>".to_owned(),
        Some(group) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    };
    vec![
        named(view, &["ingressclass.kubernetes.io/is-default-class"]),
        text(view.spec(), "controller").into(),
        shown.into(),
        view.age(),
    ]
}

fn storage_class(view: &View<'_>) -> Vec<Value> {
    let default = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    vec![
        named(view, &default),
        text(view.object, "provisioner").into(),
        or(text(view.object, "reclaimPolicy"), "Delete").into(),
        or(text(view.object, "volumeBindingMode"), "Immediate").into(),
        flag(view.object, "allowVolumeExpansion").into(),
        view.age(),
    ]
}

/// Returns an integer or a percentage as a cell.
fn amount(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        number => number.to_string().into(),
    }
}

fn autoscaler(view: &View<'_>) -> Vec<Value> {
    // `v1` objects are converted to `v2` first.
    let mut object = view.object.clone();
    if text(&object, "apiVersion") == "autoscaling/v1" {
        crate::builtin::autoscaling::from_v1(&mut object);
    }
    let (spec, status) = (field(&object, "spec"), field(&object, "status"));
    let target = field(spec, "scaleTargetRef");
    let least = number(spec, "minReplicas");
    let least = least.map_or_else(|| "<unset>".to_owned(), |least| least.to_string());
    vec![
        view.name(),
        format!("{}/{}", text(target, "kind"), text(target, "name")).into(),
        metrics(list(spec, "metrics"), list(status, "currentMetrics")).into(),
        least.into(),
        count(spec, "maxReplicas").into(),
        count(status, "currentReplicas").into(),
        view.age(),
    ]
}

fn metrics(desired: &[Value], now: &[Value]) -> String {
    let all = desired.iter().enumerate();
    let all = all.map(|(index, metric)| shown_metric(metric, now.get(index)));
    let shown: Vec<String> = all.take(MAX_METRICS).collect();
    let shown = shown.join(", ");
    match desired.len().saturating_sub(MAX_METRICS) {
        _ if desired.is_empty() => "<none>".to_owned(),
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

fn shown_metric(metric: &Value, now: Option<&Value>) -> String {
    let kind = match text(metric, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let source = field(metric, kind);
    let target = field(source, "target");
    let now = now.map_or(&Value::Null, |now| field(field(now, kind), "current"));
    let current = |name: &str| or(text(now, name), UNKNOWN).to_owned();
    let average = text(target, "averageValue");
    let percent = |of: &Value, none: &str| {
        let percent = number(of, "averageUtilization");
        percent.map_or_else(|| none.to_owned(), |percent| format!("{percent}%"))
    };
    match kind {
        "pods" => format!("{}/{average}", current("averageValue")),
        "external" | "object" if !average.is_empty() => {
            format!("{}/{average} (avg)", current("averageValue"))
        }
        "external" | "object" => format!("{}/{}", current("value"), text(target, "value")),
        _ => {
            let name = text(source, "name");
            if average.is_empty() {
                let (now, goal) = (percent(now, UNKNOWN), percent(target, "<auto>"));
                format!("{name}: {now}/{goal}")
            } else {
                format!("{name}: {}/{average}", current("averageValue"))
            }
        }
    }
}

fn quota(view: &View<'_>) -> Vec<Value> {
    let status = view.status();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let mut hard: Vec<_> = object(status, "hard").into_iter().flatten().collect();
    hard.sort_by_key(|(name, _)| name.as_str());
    for (name, most) in hard {
        let used = or(text(field(status, "used"), name), "0");
        let shown = format!("{name}: {used}/{}", most.as_str().unwrap_or_default());
        if name.starts_with("limits.") {
            limits.push(shown);
        } else {
            requests.push(shown);
        }
    }
    vec![
        view.name(),
        requests.join(", ").into(),
        limits.join(", ").into(),
        view.age(),
    ]
}

fn policy(view: &View<'_>) -> Vec<Value> {
    let kind = field(view.spec(), "paramKind");
    let shown = if kind.is_null() {
        "<unset>".to_owned()
    } else {
        format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind"))
    };
    vec![
        view.name(),
        list(view.spec(), "validations").len().into(),
        shown.into(),
        view.age(),
    ]
}

fn parameter(reference: &Value) -> String {
    let (namespace, name) = (text(reference, "namespace"), text(reference, "name"));
    match (namespace, name) {
        ("", "") => {
            let chosen = field(reference, "selector");
            if chosen.is_null() {
                "<unset>".to_owned()
            } else {
                selector(chosen, "")
            }
        }
        ("", name) => format!("*/{name}"),
        _ => format!("{namespace}/{name}"),
    }
}

fn request(view: &View<'_>) -> Vec<Value> {
    let (spec, status) = (view.spec(), view.status());
    let conditions = list(status, "conditions");
    let has = |kind: &str| conditions.iter().any(|one| text(one, "type") == kind);
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(status, "certificate").is_empty() {
        state.push_str(",Issued");
    }
    let lifetime = number(spec, "expirationSeconds");
    let lifetime = lifetime.map_or_else(|| "<none>".to_owned(), super::human_duration);
    vec![
        view.name(),
        view.age(),
        or(text(spec, "signerName"), "<none>").into(),
        text(spec, "username").into(),
        lifetime.into(),
        state.into(),
    ]
}
