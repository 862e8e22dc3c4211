//! Readiness of objects: the rules of kstatus, and the summaries of Fleet.

mod workloads;

use std::collections::BTreeMap;

use drover_api::fleet::status::ObjectSummary;
use serde_json::Value;

use crate::object::{Object, group};

/// The state of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The object is ready.
    Current,
    /// The object is expected to become ready.
    InProgress(String),
    /// The object has failed.
    Failed(String),
    /// The object is being deleted.
    Terminating,
}

/// Returns the state of an object. `ignored` lists conditions that do not count: each entry maps
/// the names of a condition's fields to values.
pub fn readiness(object: &Object, ignored: &[BTreeMap<String, String>]) -> Readiness {
    if object
        .0
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(|time| !time.is_null())
    {
        return Readiness::Terminating;
    }
    let view = View { object, ignored };
    let (generation, observed) = (
        view.number("/metadata/generation"),
        view.number("/status/observedGeneration"),
    );
    if let (Some(generation), Some(observed)) = (generation, observed)
        && observed < generation
    {
        return in_progress(format!(
            "observed generation {observed} is older than generation {generation}"
        ));
    }
    let of_kind = match (group(object.api_version()), object.kind()) {
        ("apps", "Deployment") => workloads::deployment(&view),
        ("apps", "StatefulSet") => workloads::stateful_set(&view),
        ("apps", "DaemonSet") => workloads::daemon_set(&view),
        ("apps", "ReplicaSet") => workloads::replica_set(&view),
        ("batch", "Job") => workloads::job(&view),
        ("", "Pod") => workloads::pod(&view),
        ("", "PersistentVolumeClaim") => claim(&view),
        ("", "Service") => service(&view),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(&view),
        ("apiregistration.k8s.io", "APIService") => available(&view),
        _ => generic(&view),
    };
    match of_kind {
        Readiness::Current => stalled(&view).unwrap_or(Readiness::Current),
        other => other,
    }
}

/// Returns the summary for the status of a bundle deployment.
pub fn summary(readiness: &Readiness) -> ObjectSummary {
    let (state, error, transitioning, message) = match readiness {
        Readiness::Current => ("active", false, false, None),
        Readiness::InProgress(message) => ("in-progress", false, true, Some(message.clone())),
        Readiness::Failed(message) => ("failed", true, false, Some(message.clone())),
        Readiness::Terminating => (
            "removing",
            false,
            true,
            Some("resource scheduled for deletion".to_owned()),
        ),
    };
    ObjectSummary {
        state: state.to_owned(),
        error,
        transitioning,
        message: message
            .into_iter()
            .filter(|message| !message.is_empty())
            .collect(),
    }
}

fn in_progress(message: impl Into<String>) -> Readiness {
    Readiness::InProgress(message.into())
}

/// An object without its ignored conditions.
struct View<'a> {
    object: &'a Object,
    ignored: &'a [BTreeMap<String, String>],
}

impl View<'_> {
    fn number(&self, pointer: &str) -> Option<i64> {
        self.object.0.pointer(pointer).and_then(Value::as_i64)
    }

    fn count(&self, pointer: &str) -> i64 {
        self.number(pointer).unwrap_or_default()
    }

    fn text(&self, pointer: &str) -> &str {
        self.object
            .0
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn has_status(&self) -> bool {
        self.object
            .0
            .get("status")
            .and_then(Value::as_object)
            .is_some_and(|status| !status.is_empty())
    }

    fn condition(&self, kind: &str) -> Option<Condition<'_>> {
        let conditions = self.object.0.pointer("/status/conditions")?.as_array()?;
        let found = conditions
            .iter()
            .map(Condition)
            .filter(|condition| !self.is_ignored(condition));
        found
            .into_iter()
            .find(|condition| condition.text("type") == kind)
    }

    fn is_ignored(&self, condition: &Condition<'_>) -> bool {
        let matches = |fields: &BTreeMap<String, String>| {
            fields
                .iter()
                .all(|(name, value)| condition.text(name) == value)
        };
        self.ignored.iter().any(matches)
    }
}

struct Condition<'a>(&'a Value);

impl<'a> Condition<'a> {
    fn text(&self, field: &str) -> &'a str {
        self.0
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn is(&self, status: &str) -> bool {
        self.text("status") == status
    }

    /// Returns the message, or else the reason.
    fn cause(&self) -> String {
        let (message, reason) = (self.text("message"), self.text("reason"));
        if message.is_empty() { reason } else { message }.to_owned()
    }
}

/// Checks the conditions that have the same meaning for each kind.
fn stalled(view: &View<'_>) -> Option<Readiness> {
    if let Some(condition) = view
        .condition("Stalled")
        .filter(|condition| condition.is("True"))
    {
        return Some(Readiness::Failed(condition.cause()));
    }
    let reconciling = view
        .condition("Reconciling")
        .filter(|condition| condition.is("True"))?;
    Some(in_progress(reconciling.cause()))
}

fn generic(view: &View<'_>) -> Readiness {
    if let Some(stalled) = stalled(view) {
        return stalled;
    }
    if let Some(failed) = view
        .condition("Failed")
        .filter(|condition| condition.is("True"))
    {
        return Readiness::Failed(failed.cause());
    }
    match view.condition("Ready") {
        Some(ready) if !ready.is("True") => in_progress(ready.cause()),
        _ => Readiness::Current,
    }
}

fn claim(view: &View<'_>) -> Readiness {
    match view.text("/status/phase") {
        "Bound" => Readiness::Current,
        "Lost" => Readiness::Failed("the volume of the claim is lost".to_owned()),
        _ => in_progress("PVC is not Bound"),
    }
}

fn service(view: &View<'_>) -> Readiness {
    let has_address = || {
        let addresses = view.object.0.pointer("/status/loadBalancer/ingress");
        addresses
            .and_then(Value::as_array)
            .is_some_and(|addresses| !addresses.is_empty())
    };
    if view.text("/spec/type") == "LoadBalancer" && !has_address() {
        return in_progress("Load balancer is being provisioned");
    }
    Readiness::Current
}

fn definition(view: &View<'_>) -> Readiness {
    if let Some(names) = view
        .condition("NamesAccepted")
        .filter(|condition| condition.is("False"))
    {
        return Readiness::Failed(names.cause());
    }
    match view.condition("Established") {
        Some(established) if established.is("True") => Readiness::Current,
        _ => in_progress("Install in progress"),
    }
}

fn available(view: &View<'_>) -> Readiness {
    match view.condition("Available") {
        Some(condition) if condition.is("True") => Readiness::Current,
        Some(condition) => in_progress(condition.cause()),
        None => in_progress("the API is not available yet"),
    }
}

#[cfg(test)]
mod tests;
