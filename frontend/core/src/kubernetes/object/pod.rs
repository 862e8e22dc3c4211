//! The states and overview fields of Pods.

use jiff::Timestamp;
use serde_json::Value;

use super::container::{Container, Role, containers};
use super::overview::{FactValue, Facts, ObjectState, Section};
use super::{Object, Reference, read};
use crate::kind::Kind;
use crate::messages::t;
use drover_rows::Severity;

/// A pod or a job in a list of related objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLine {
    /// The name and the location of the pod.
    pub pod: Reference,
    /// The state of the pod.
    pub object_state: ObjectState,
    /// Ready and total containers: `1/2`.
    pub ready: String,
    /// The number of restarts of all containers.
    pub restarts: i64,
    /// The node that runs the pod.
    pub node: Option<Reference>,
    /// The creation time of the pod.
    pub created: Option<Timestamp>,
}

impl PodLine {
    /// Creates the line for a pod without the state of its node.
    pub fn of(pod: &Object) -> Self {
        Self::with(pod, object_state(pod))
    }

    /// Creates the line for a pod. `not_ready` contains the names of nodes that are not Ready.
    pub fn on(pod: &Object, not_ready: &[String]) -> Self {
        Self::with(pod, state_on(pod, not_ready))
    }

    /// Creates the line for a job of a cron job. Jobs have no containers of their own.
    pub fn of_job(job: &Object) -> Self {
        Self {
            pod: Reference::named(Kind::JOBS, job.namespace(), job.name()),
            object_state: super::job::object_state(job),
            ready: String::new(),
            restarts: 0,
            node: None,
            created: job.created(),
        }
    }

    fn with(pod: &Object, object_state: ObjectState) -> Self {
        let (ready, all) = readiness(pod.value());
        Self {
            pod: Reference {
                words: pod.name().to_owned(),
                ..Reference::to("v1", "Pod", pod.namespace(), pod.name())
            },
            object_state,
            ready: format!("{ready}/{all}"),
            restarts: restarts(pod.value()),
            node: node_of(pod.value()),
            created: pod.created(),
        }
    }
}

/// Reports whether the pod has finished (`Succeeded` or `Failed`).
pub fn is_finished(pod: &Object) -> bool {
    matches!(
        read::text(pod.value(), "/status/phase"),
        Some("Succeeded" | "Failed")
    )
}

/// Returns the state of a pod: severity, text and cause. `not_ready` contains the names of nodes
/// that are not Ready.
pub(crate) fn state_on(pod: &Object, not_ready: &[String]) -> ObjectState {
    let lost = pod
        .node_name()
        .filter(|name| not_ready.iter().any(|it| it == name));
    match lost {
        Some(node) if !is_finished(pod) => on_lost_node(node),
        _ => object_state(pod),
    }
}

/// Returns the state of a pod, without regard to the state of its node.
pub(crate) fn object_state(pod: &Object) -> ObjectState {
    let value = pod.value();
    let phase = read::text(value, "/status/phase").unwrap_or_default();
    let node = read::text(value, "/spec/nodeName");
    let lost = node.filter(|_| phase == "Running" && is_marked_lost(value));
    if let Some(node) = lost {
        return on_lost_node(node);
    }
    if pod.leaving().is_some() {
        return leaving(value);
    }
    let reason = read::text(value, "/status/reason");
    let message = read::text(value, "/status/message").unwrap_or_default();
    let containers = containers(pod);
    match phase {
        "Succeeded" => ObjectState::of(Severity::Idle, "Succeeded").because(t().pods.succeeded()),
        "Failed" => match (reason, worst(&containers)) {
            (None, Some(sick)) => told("Failed", sick),
            _ => ObjectState::of(Severity::Failing, reason.unwrap_or("Failed"))
                .because(failed(reason, message)),
        },
        "Unknown" => ObjectState::of(Severity::Failing, "Unknown").because(t().pods.unknown()),
        "Running" => running(value, &containers),
        _ => pending(value, &containers),
    }
}

fn leaving(pod: &Value) -> ObjectState {
    let reason = match read::number(pod, "/metadata/deletionGracePeriodSeconds") {
        Some(0) => t().pods.deleting_now().to_owned(),
        Some(seconds) => t().pods.deleting_within(seconds),
        None => t().pods.deleting().to_owned(),
    };
    ObjectState::of(Severity::Progressing, "Terminating").because(reason)
}

fn failed(reason: Option<&str>, message: &str) -> String {
    let advice = match reason {
        Some("Evicted") => t().pods.evicted(),
        Some("DeadlineExceeded") => t().pods.deadline(),
        Some("NodeLost") => t().pods.node_lost(),
        Some("UnexpectedAdmissionError" | "NodeAffinity" | "OutOfcpu" | "OutOfmemory") => {
            t().pods.node_rejected()
        }
        _ => "",
    };
    [advice, message]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the container with the worst state.
fn worst(containers: &[Container]) -> Option<&Container> {
    // Failed debug containers do not affect the pod and cannot be removed.
    let own = containers.iter().filter(|it| it.role != Role::Ephemeral);
    own.into_iter()
        .find(|it| it.state.severity == Severity::Failing)
}

fn told(words: &str, sick: &Container) -> ObjectState {
    let which = match sick.role.word() {
        "" => t().pods.container(&sick.name),
        role => t().pods.container_of_role(role, &sick.name),
    };
    let reason = sick.state.why.as_deref().unwrap_or_default();
    let reason = format!("{which}: {}. {reason}", sick.state.words);
    ObjectState::of(Severity::Failing, words).because(reason.trim_end())
}

fn running(pod: &Value, containers: &[Container]) -> ObjectState {
    if let Some(sick) = worst(containers) {
        return told(&sick.state.words, sick);
    }
    let (ready, all) = readiness(pod);
    if ready < all {
        let sick = containers.iter().find(|it| {
            matches!(it.role, Role::Main | Role::Sidecar) && it.state.severity == Severity::Degraded
        });
        let reason =
            sick.and_then(|sick| Some(format!("{}: {}", sick.name, sick.state.why.as_deref()?)));
        return ObjectState::of(Severity::Degraded, t().pods.some_ready(ready, all))
            .because(reason.unwrap_or_default());
    }
    ObjectState::of(Severity::Healthy, "Running")
}

fn pending(pod: &Value, containers: &[Container]) -> ObjectState {
    if let Some(sick) = worst(containers) {
        return told(&sick.state.words, sick);
    }
    let conditions = read::list(pod, "/status/conditions").iter();
    let placed = conditions
        .filter(|one| read::text(one, "/type") == Some("PodScheduled"))
        .find(|one| read::text(one, "/status") == Some("False"));
    if let Some(placed) = placed {
        let message = read::text(placed, "/message").unwrap_or_default();
        let reason = read::text(placed, "/reason").unwrap_or("Unschedulable");
        return ObjectState::of(Severity::Degraded, reason)
            .because(t().pods.unschedulable(message));
    }
    let busy = containers
        .iter()
        .find(|it| it.state.severity == Severity::Progressing);
    match busy {
        Some(busy) if busy.role == Role::Init => {
            ObjectState::of(Severity::Progressing, t().pods.initializing(&busy.name))
        }
        Some(busy) => ObjectState::of(Severity::Progressing, busy.state.words.clone()),
        None => not_started(pod),
    }
}

/// Returns the state of a pod whose status contains no container states yet.
fn not_started(pod: &Value) -> ObjectState {
    let node = read::text(pod, "/spec/nodeName");
    // The kubelet sets the start time when it accepts the pod.
    match node.filter(|_| read::time(pod, "/status/startTime").is_none()) {
        Some(node) => {
            ObjectState::of(Severity::Degraded, "Pending").because(t().pods.not_accepted(node))
        }
        None => ObjectState::of(Severity::Progressing, "Pending"),
    }
}

/// Returns the state of a pod on a node that is not Ready. The status of the pod is outdated,
/// because the kubelet does not send updates.
fn on_lost_node(node: &str) -> ObjectState {
    ObjectState::of(Severity::Failing, "NodeNotReady").because(t().pods.on_lost_node(node))
}

/// Reports whether the node controller marked the pod as not ready. The controller marks the pods
/// of a node whose kubelet sends no heartbeats.
fn is_marked_lost(pod: &Value) -> bool {
    let conditions = read::list(pod, "/status/conditions");
    let ready = |kind: &str| {
        let mut found = conditions.iter();
        let found = found.find(|one| read::text(one, "/type") == Some(kind));
        found.and_then(|one| read::text(one, "/status"))
    };
    let (ready_containers, all) = readiness(pod);
    // The node controller changes only the condition Ready; the kubelet changes both conditions.
    all > 0
        && ready_containers == all
        && ready("Ready") == Some("False")
        && ready("ContainersReady") == Some("True")
        && read::list(pod, "/spec/readinessGates").is_empty()
}

/// Returns the number of ready containers and the number of all containers. Both numbers include
/// sidecars, as in the table of the API server.
fn readiness(pod: &Value) -> (usize, usize) {
    let sidecars = read::list(pod, "/spec/initContainers").iter();
    let sidecars: Vec<&str> = sidecars
        .filter(|one| read::text(one, "/restartPolicy") == Some("Always"))
        .filter_map(|one| read::text(one, "/name"))
        .collect();
    let beside = read::list(pod, "/status/initContainerStatuses").iter();
    let beside =
        beside.filter(|one| read::text(one, "/name").is_some_and(|name| sidecars.contains(&name)));
    let main = read::list(pod, "/status/containerStatuses").iter();
    let ready = main
        .chain(beside)
        .filter(|one| read::is_true(one, "/ready"));
    let all = read::list(pod, "/spec/containers").len() + sidecars.len();
    (ready.count(), all)
}

fn restarts(pod: &Value) -> i64 {
    ["/status/containerStatuses", "/status/initContainerStatuses"]
        .into_iter()
        .flat_map(|place| read::list(pod, place))
        .fold(0, |sum, one| {
            sum.saturating_add(read::count(one, "/restartCount"))
        })
}

fn node_of(pod: &Value) -> Option<Reference> {
    let name = read::text(pod, "/spec/nodeName")?;
    Some(Reference {
        words: name.to_owned(),
        ..Reference::to("v1", "Node", None, name)
    })
}

/// Returns the overview fields of a Pod.
pub(crate) fn sections(pod: &Object) -> Vec<Section> {
    let value = pod.value();
    let of = |pointer| read::owned(value, pointer);
    let addresses = read::each(value, "/status/podIPs", "/ip");
    let addresses = match of("/status/podIP") {
        Some(only) if addresses.is_empty() => vec![only],
        _ => addresses,
    };
    let (ready, all) = readiness(value);
    let volumes: Vec<String> = read::list(value, "/spec/volumes")
        .iter()
        .filter_map(volume)
        .collect();
    let facts = Facts::default()
        .text(
            t().pods.containers_ready(),
            Some(t().pods.ready_of(ready, all)),
        )
        .text(t().pods.restarts(), Some(restarts(value).to_string()))
        .put(
            t().pods.node(),
            node_of(value).map(|node| FactValue::Links(vec![node])),
        )
        .codes(t().pods.pod_ip(), addresses)
        .text(t().pods.node_ip(), of("/status/hostIP"))
        .at(
            t().workloads.started(),
            read::time(value, "/status/startTime"),
        )
        .text(
            t().pods.qos(),
            of("/status/qosClass").map(|class| service(&class)),
        )
        .text(t().pods.service_account(), of("/spec/serviceAccountName"))
        .text(t().pods.restart_policy(), of("/spec/restartPolicy"))
        .text(t().pods.priority_class(), of("/spec/priorityClassName"))
        .codes(t().pods.volumes(), volumes);
    vec![facts.under("Pod")]
}

fn service(class: &str) -> String {
    match class {
        "Guaranteed" => t().pods.guaranteed().to_owned(),
        "Burstable" => t().pods.burstable().to_owned(),
        "BestEffort" => t().pods.best_effort().to_owned(),
        _ => class.to_owned(),
    }
}

/// Formats a volume: name, type and source.
fn volume(volume: &Value) -> Option<String> {
    let name = read::text(volume, "/name")?;
    let mut sources = volume.as_object()?.iter().filter(|(key, _)| *key != "name");
    let Some((kind, source)) = sources.next() else {
        return Some(name.to_owned());
    };
    let from = ["/claimName", "/secretName", "/name", "/path", "/driver"];
    let from = from
        .into_iter()
        .find_map(|pointer| read::text(source, pointer));
    Some(match from {
        Some(from) => format!("{name}: {kind} {from}"),
        None => format!("{name}: {kind}"),
    })
}
