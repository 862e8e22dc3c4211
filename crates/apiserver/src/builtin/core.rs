//! Strategies of Lease, and of core kinds for which Kubernetes runs no controller.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::json::put;
use crate::json::{default, field, flag, list, make, number, object, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

/// Maximum size of the data of a Secret or ConfigMap, in bytes.
const MAX_DATA_BYTES: usize = 1024 * 1024;
const SERVICE_ACCOUNT: &str = "kubernetes.io/service-account.name";
const FINALIZER: &str = "kubernetes";

/// Moves `stringData` into `data`.
pub(crate) fn read_secret(secret: &mut Value) {
    let texts = object(secret, "stringData").cloned();
    put(secret, "stringData", None);
    let Some(texts) = texts else { return };
    if let Some(Value::Object(data)) = make(secret, "data") {
        for (key, value) in texts {
            let bytes = value.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(bytes).into());
        }
    }
}

pub(crate) fn secret(secret: &Value, found: &mut Findings) {
    let at = Path::new("data");
    let data = object(secret, "data");
    let size = keys(data, &at, found, |text| {
        STANDARD.decode(text).map_or(0, |bytes| bytes.len())
    });
    if size > MAX_DATA_BYTES {
        found.too_long(&at, MAX_DATA_BYTES);
    }
    let holds = |key: &str| data.is_some_and(|data| data.contains_key(key));
    let mut needs = |key: &str| {
        if !holds(key) {
            found.required(&at.key(key), "");
        }
    };
    match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            let annotations = field(field(secret, "metadata"), "annotations");
            if text(annotations, SERVICE_ACCOUNT).is_empty() {
                let at = Path::new("metadata");
                let at = at.child("annotations");
                found.required(&at.key(SERVICE_ACCOUNT), "");
            }
        }
        "kubernetes.io/dockercfg" => needs(".dockercfg"),
        "kubernetes.io/dockerconfigjson" => needs(".dockerconfigjson"),
        "kubernetes.io/basic-auth" if !holds("username") && !holds("password") => {
            needs("username");
            needs("password");
        }
        "kubernetes.io/ssh-auth" => needs("ssh-privatekey"),
        "kubernetes.io/tls" => {
            needs("tls.crt");
            needs("tls.key");
        }
        _ => {}
    }
}

pub(crate) fn secret_update(new: &Value, old: &Value, found: &mut Findings) {
    found.immutable(&Path::new("type"), field(new, "type"), field(old, "type"));
    frozen(new, old, &["data"], found);
}

pub(crate) fn config_map(map: &Value, found: &mut Findings) {
    let (data, binary) = (object(map, "data"), object(map, "binaryData"));
    let at = Path::new("data");
    let mut size = keys(data, &at, found, str::len);
    for key in data.into_iter().flat_map(Map::keys) {
        if binary.is_some_and(|binary| binary.contains_key(key)) {
            let message = "duplicate of key present in binaryData";
            found.invalid(&at.key(key), key.as_str(), message);
        }
    }
    size += keys(binary, &Path::new("binaryData"), found, |text| {
        STANDARD.decode(text).map_or(0, |bytes| bytes.len())
    });
    if size > MAX_DATA_BYTES {
        found.too_long(&Path::new("[]"), MAX_DATA_BYTES);
    }
}

pub(crate) fn config_map_update(new: &Value, old: &Value, found: &mut Findings) {
    frozen(new, old, &["data", "binaryData"], found);
}

fn keys(
    data: Option<&Map<String, Value>>,
    at: &Path<'_>,
    found: &mut Findings,
    size: impl Fn(&str) -> usize,
) -> usize {
    let mut total = 0;
    for (key, value) in data.into_iter().flatten() {
        found.all_invalid(&at.key(key), key, names::config_key(key));
        total += size(value.as_str().unwrap_or_default());
    }
    total
}

fn frozen(new: &Value, old: &Value, fields: &[&str], found: &mut Findings) {
    if !flag(old, "immutable") {
        return;
    }
    let message = "field is immutable when `immutable` is set";
    if !flag(new, "immutable") {
        found.forbidden(&Path::new("immutable"), message);
    }
    for name in fields {
        if field(new, name) != field(old, name) {
            found.forbidden(&Path::new(name), message);
        }
    }
}

pub(crate) fn fill_namespace(namespace: &mut Value) {
    let name = text(field(namespace, "metadata"), "name").to_owned();
    if !name.is_empty()
        && let Some(labels) = make(namespace, "metadata").and_then(|meta| make(meta, "labels"))
    {
        put(labels, "kubernetes.io/metadata.name", Some(name.into()));
    }
    if let Some(status) = make(namespace, "status") {
        default(status, "phase", "Active");
    }
}

pub(crate) fn prepare_namespace(namespace: &mut Value) {
    put(
        namespace,
        "status",
        Some(serde_json::json!({"phase": "Active"})),
    );
    let Some(spec) = make(namespace, "spec") else {
        return;
    };
    let mut finalizers = list(spec, "finalizers").to_vec();
    if !finalizers.iter().any(|name| name == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    put(spec, "finalizers", Some(finalizers.into()));
}

pub(crate) fn finalizers(namespace: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let at = at.child("finalizers");
    for (index, name) in texts(field(namespace, "spec"), "finalizers").enumerate() {
        let at = at.index(index);
        found.all_invalid(&at, name, names::qualified_name(name));
        super::metadata::standard_finalizer(name, &at, found);
    }
}

pub(crate) fn fill_node(node: &mut Value) {
    if let Some(spec) = node.get_mut("spec") {
        one_range(spec);
    }
    if let Some(status) = node.get_mut("status")
        && let Some(capacity) = status.get("capacity").cloned()
    {
        default(status, "allocatable", capacity);
    }
}

/// Makes `podCIDR` and the first entry of `podCIDRs` equal. If both are set, the value of `podCIDR`
/// applies.
fn one_range(spec: &mut Value) {
    let ranges = list(spec, "podCIDRs").first().cloned();
    let range = text(spec, "podCIDR").to_owned();
    match ranges {
        Some(first) if range.is_empty() => put(spec, "podCIDR", Some(first)),
        Some(first) if first == *range => {}
        _ if range.is_empty() => {}
        _ => put(spec, "podCIDRs", Some(vec![Value::from(range)].into())),
    }
}

const RANGE_STAYS: &str = "node updates may not change podCIDR except from \"\" to valid";

pub(crate) fn node_update(new: &Value, old: &Value, found: &mut Findings) {
    node(new, found);
    let at = Path::new("spec");
    let (spec, before) = (field(new, "spec"), field(old, "spec"));
    let (ranges, former) = (list(spec, "podCIDRs"), list(before, "podCIDRs"));
    if !former.is_empty() && ranges != former {
        found.forbidden(&at.child("podCIDRs"), RANGE_STAYS);
    }
    let id = text(before, "providerID");
    if !id.is_empty() && id != text(spec, "providerID") {
        let message = "node updates may not change providerID except from \"\" to valid";
        found.forbidden(&at.child("providerID"), message);
    }
    node_status(new, found);
    // kube-apiserver validates taints twice on update, and returns each error twice.
    taints(new, found);
}

pub(crate) fn node_status(node: &Value, found: &mut Findings) {
    let at = Path::new("status");
    let under = at.child("addresses");
    let addresses = list(field(node, "status"), "addresses");
    let mut seen = HashSet::new();
    for (index, address) in addresses.iter().enumerate() {
        if !seen.insert(address.to_string()) {
            found.duplicate(&under.index(index), address.clone());
        }
    }
}

pub(crate) fn node(node: &Value, found: &mut Findings) {
    taints(node, found);
    let at = Path::new("spec");
    let under = at.child("podCIDRs");
    let ranges: Vec<&str> = texts(field(node, "spec"), "podCIDRs").collect();
    for (index, range) in ranges.iter().enumerate() {
        if family_of_range(range).is_none() {
            let message = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            found.invalid(&under.index(index), *range, message);
        }
    }
    if let [first, second, rest @ ..] = ranges.as_slice()
        && (!rest.is_empty() || family_of_range(first) == family_of_range(second))
    {
        let message = "may specify no more than one CIDR for each IP family";
        found.invalid(
            &under,
            field(field(node, "spec"), "podCIDRs").clone(),
            message,
        );
    }
}

/// Returns true for an IPv6 CIDR, false for an IPv4 CIDR, and `None` for a malformed CIDR.
fn family_of_range(range: &str) -> Option<bool> {
    let (address, length) = range.split_once('/')?;
    let address: std::net::IpAddr = address.parse().ok()?;
    let most = if address.is_ipv6() { 128 } else { 32 };
    let length: u8 = length.parse().ok()?;
    (length <= most).then_some(address.is_ipv6())
}

/// Validates taints. Like kube-apiserver, reports errors below the path `metadata.taints`.
fn taints(node: &Value, found: &mut Findings) {
    let at = Path::new("metadata");
    let at = at.child("taints");
    let mut seen = Vec::new();
    for (index, taint) in list(field(node, "spec"), "taints").iter().enumerate() {
        let at = at.index(index);
        let key = text(taint, "key");
        found.all_invalid(&at.child("key"), key, names::qualified_name(key));
        let value = text(taint, "value");
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            found.invalid(&at.child("value"), value, wrong.join(";"));
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        found.one_of(&at.child("effect"), text(taint, "effect"), &known);
        let this = (key, text(taint, "effect"));
        if seen.contains(&this) {
            found.duplicate(&at, taint.clone());
        }
        seen.push(this);
    }
}

/// Validates Events of the core group and of `events.k8s.io`. `reporter` is the name of the field
/// with the reporting component.
pub(crate) fn event(event: &Value, reporter: &str, found: &mut Findings) {
    let namespace = text(field(event, "metadata"), "namespace");
    let involved = match reporter {
        "reportingComponent" => text(field(event, "involvedObject"), "namespace"),
        _ => text(field(event, "regarding"), "namespace"),
    };
    let at = Path::new("involvedObject");
    let at = at.child("namespace");
    let message = "does not match event.namespace";
    let is_new = !field(event, "eventTime").is_null();
    let wrong = match (is_new, involved) {
        (false, "") => !namespace.is_empty() && namespace != "default",
        (false, involved) => involved != namespace,
        (true, "") => namespace != "default" && namespace != "kube-system",
        (true, _) => false,
    };
    if wrong {
        found.invalid(&at, involved, message);
    }
    if is_new {
        let controller = text(event, reporter);
        let under = Path::new(reporter);
        if controller.is_empty() {
            found.required(&under, "");
        }
        found.all_invalid(&under, controller, names::qualified_name(controller));
        let note = if reporter == "reportingComponent" {
            "message"
        } else {
            "note"
        };
        for (name, most) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            if text(event, name).is_empty() {
                found.required(&Path::new(name), "");
            }
            limit(event, name, name, most, found);
        }
        limit(event, note, "message", 1024, found);
    }
    found.all_invalid(
        &Path::new("namespace"),
        namespace,
        names::dns_subdomain(namespace),
    );
}

fn limit(event: &Value, name: &str, said_as: &str, most: usize, found: &mut Findings) {
    if text(event, name).len() > most {
        let message = format!("can have at most {most} characters");
        found.invalid(&Path::new(said_as), "", message);
    }
}

pub(crate) fn new_event(value: &Value, found: &mut Findings) {
    event(value, "reportingController", found);
    if field(value, "eventTime").is_null() {
        found.required(&Path::new("eventTime"), "");
    }
    let kind = text(value, "type");
    if kind != "Normal" && kind != "Warning" {
        found.invalid(&Path::new("type"), "", format!("has invalid value: {kind}"));
    }
    for (name, said_as) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
    ] {
        if !field(value, name).is_null() {
            found.invalid(&Path::new(said_as), "", "needs to be unset");
        }
    }
    let source = field(value, "deprecatedSource");
    if !text(source, "component").is_empty() || !text(source, "host").is_empty() {
        found.invalid(&Path::new("source"), "", "needs to be unset");
    }
}

pub(crate) fn new_event_update(new: &Value, old: &Value, found: &mut Findings) {
    event(new, "reportingController", found);
    for (name, said_as) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        found.immutable(&Path::new(said_as), field(new, name), field(old, name));
    }
}

pub(crate) fn lease(lease: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(lease, "spec");
    let name = "leaseDurationSeconds";
    if let Some(seconds) = number(spec, name).filter(|seconds| *seconds <= 0) {
        found.invalid(&at.child(name), seconds, "must be greater than 0");
    }
    let name = "leaseTransitions";
    found.not_negative(&at.child(name), number(spec, name));
    let strategy = text(spec, "strategy");
    if !text(spec, "preferredHolder").is_empty() && strategy.is_empty() {
        let message = "may only be specified if `strategy` is defined";
        found.forbidden(&at.child("preferredHolder"), message);
    }
}
