//! Pods: how they are in words, and what is known of them.

use jiff::Timestamp;
use serde_json::Value;

use super::container::{Container, Role, containers};
use super::overview::{Facts, Section, Verdict, Worth};
use super::{Object, Reference, read};
use crate::severity::Severity;

/// A pod in a list of those that belong to something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLine {
    /// Its name, and where it is.
    pub pod: Reference,
    /// How it is.
    pub verdict: Verdict,
    /// How many of its containers are ready, `1/2`.
    pub ready: String,
    /// How often its containers were started again.
    pub restarts: i64,
    /// The node that it is on.
    pub node: Option<Reference>,
    /// When it was made.
    pub created: Option<Timestamp>,
}

impl PodLine {
    /// Reads a pod.
    pub fn of(pod: &Object) -> Self {
        Self::with(pod, verdict(pod))
    }

    /// Reads a pod of a cluster in which these nodes are not Ready.
    pub fn on(pod: &Object, not_ready: &[String]) -> Self {
        Self::with(pod, verdict_on(pod, not_ready))
    }

    fn with(pod: &Object, verdict: Verdict) -> Self {
        let (ready, all) = readiness(pod.value());
        Self {
            pod: Reference {
                words: pod.name().to_owned(),
                ..Reference::to("v1", "Pod", pod.namespace(), pod.name())
            },
            verdict,
            ready: format!("{ready}/{all}"),
            restarts: restarts(pod.value()),
            node: node_of(pod.value()),
            created: pod.created(),
        }
    }
}

/// Whether nothing of a pod runs any more, nor will.
pub fn is_over(pod: &Object) -> bool {
    matches!(
        read::text(pod.value(), "/status/phase"),
        Some("Succeeded" | "Failed")
    )
}

/// How a pod is, where these nodes of the cluster are not Ready: of a node that does not report,
/// nothing newer is known.
pub(crate) fn verdict_on(pod: &Object, not_ready: &[String]) -> Verdict {
    let lost = pod
        .node_name()
        .filter(|name| not_ready.iter().any(|it| it == name));
    match lost {
        Some(node) if !is_over(pod) => on_lost_node(node),
        _ => verdict(pod),
    }
}

/// How a pod is, as far as the pod itself says.
pub(crate) fn verdict(pod: &Object) -> Verdict {
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
        "Succeeded" => Verdict::of(Severity::Idle, "Succeeded")
            .because("All of its containers ended without an error."),
        "Failed" => match (reason, worst(&containers)) {
            (None, Some(sick)) => told("Failed", sick),
            _ => Verdict::of(Severity::Failing, reason.unwrap_or("Failed"))
                .because(failed(reason, message)),
        },
        "Unknown" => Verdict::of(Severity::Failing, "Unknown")
            .because("Its node does not answer, so nobody knows how it is: look at the node."),
        "Running" => running(value, &containers),
        _ => pending(value, &containers),
    }
}

fn leaving(pod: &Value) -> Verdict {
    let why = match read::number(pod, "/metadata/deletionGracePeriodSeconds") {
        Some(0) => "It is being deleted at once.".to_owned(),
        Some(seconds) => format!("It is being deleted; its containers have {seconds} s to stop."),
        None => "It is being deleted.".to_owned(),
    };
    Verdict::of(Severity::Progressing, "Terminating").because(why)
}

fn failed(reason: Option<&str>, message: &str) -> String {
    let advice = match reason {
        Some("Evicted") => "Its node was short of something and put it out.",
        Some("DeadlineExceeded") => "It ran longer than it may.",
        Some("NodeLost") => "Its node does not answer.",
        Some("UnexpectedAdmissionError" | "NodeAffinity" | "OutOfcpu" | "OutOfmemory") => {
            "Its node could not take it."
        }
        _ => "",
    };
    [advice, message]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The container that tells most about why a pod does not work.
fn worst(containers: &[Container]) -> Option<&Container> {
    // Somebody who looked into the pod and went again is no trouble of the pod's, and can never be
    // taken out of it.
    let own = containers.iter().filter(|it| it.role != Role::Ephemeral);
    own.into_iter()
        .find(|it| it.state.severity == Severity::Failing)
}

fn told(words: &str, sick: &Container) -> Verdict {
    let which = match sick.role.word() {
        "" => format!("Container {}", sick.name),
        role => format!("The {role} container {}", sick.name),
    };
    let why = sick.state.why.as_deref().unwrap_or_default();
    let why = format!("{which}: {}. {why}", sick.state.words);
    Verdict::of(Severity::Failing, words).because(why.trim_end())
}

fn running(pod: &Value, containers: &[Container]) -> Verdict {
    if let Some(sick) = worst(containers) {
        return told(&sick.state.words, sick);
    }
    let (ready, all) = readiness(pod);
    if ready < all {
        let sick = containers.iter().find(|it| {
            matches!(it.role, Role::Main | Role::Sidecar) && it.state.severity == Severity::Degraded
        });
        let why =
            sick.and_then(|sick| Some(format!("{}: {}", sick.name, sick.state.why.as_deref()?)));
        return Verdict::of(
            Severity::Degraded,
            format!("{ready} of {all} containers ready"),
        )
        .because(why.unwrap_or_default());
    }
    Verdict::of(Severity::Healthy, "Running")
}

fn pending(pod: &Value, containers: &[Container]) -> Verdict {
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
        return Verdict::of(Severity::Degraded, reason)
            .because(format!("No node takes it: {message}"));
    }
    let busy = containers
        .iter()
        .find(|it| it.state.severity == Severity::Progressing);
    match busy {
        Some(busy) if busy.role == Role::Init => Verdict::of(
            Severity::Progressing,
            format!("Pending: init container {}", busy.name),
        ),
        Some(busy) => Verdict::of(Severity::Progressing, busy.state.words.clone()),
        None => not_started(pod),
    }
}

/// No container has a state yet.
fn not_started(pod: &Value) -> Verdict {
    let node = read::text(pod, "/spec/nodeName");
    // The kubelet sets the start time when it accepts the pod.
    match node.filter(|_| read::time(pod, "/status/startTime").is_none()) {
        Some(node) => Verdict::of(Severity::Degraded, "Pending").because(format!(
            "The kubelet of the node {node} has not accepted the pod: if this lasts, check whether \
             the node is Ready."
        )),
        None => Verdict::of(Severity::Progressing, "Pending"),
    }
}

/// A pod whose node does not report: the state of its containers is out of date.
fn on_lost_node(node: &str) -> Verdict {
    Verdict::of(Severity::Failing, "NodeNotReady").because(format!(
        "The node {node} is not Ready, so the state below is the last that its kubelet reported: \
         check whether the machine runs, and its network."
    ))
}

/// Whether the node controller has taken a pod's readiness away: its node does not report, and the
/// containers still have the state that the kubelet reported last.
fn is_marked_lost(pod: &Value) -> bool {
    let conditions = read::list(pod, "/status/conditions");
    let ready = |kind: &str| {
        let mut found = conditions.iter();
        let found = found.find(|one| read::text(one, "/type") == Some(kind));
        found.and_then(|one| read::text(one, "/status"))
    };
    let (ready_containers, all) = readiness(pod);
    // The node controller changes Ready only; the kubelet sets both.
    all > 0
        && ready_containers == all
        && ready("Ready") == Some("False")
        && ready("ContainersReady") == Some("True")
        && read::list(pod, "/spec/readinessGates").is_empty()
}

/// How many containers are ready, of how many: the work and what runs beside it, as the API server's
/// own table counts.
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

/// What is known of a pod.
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
        .text("Containers ready", Some(format!("{ready} of {all}")))
        .text("Restarts", Some(restarts(value).to_string()))
        .put("Node", node_of(value).map(|node| Worth::Links(vec![node])))
        .codes("Pod IP", addresses)
        .text("Node’s IP", of("/status/hostIP"))
        .at("Started", read::time(value, "/status/startTime"))
        .text(
            "Quality of service",
            of("/status/qosClass").map(|class| service(&class)),
        )
        .text("Service account", of("/spec/serviceAccountName"))
        .text("Restart policy", of("/spec/restartPolicy"))
        .text("Priority class", of("/spec/priorityClassName"))
        .codes("Volumes", volumes);
    vec![facts.under("Pod")]
}

fn service(class: &str) -> String {
    let meaning = match class {
        "Guaranteed" => "put out last when the node is short",
        "Burstable" => "put out before guaranteed ones when the node is short",
        "BestEffort" => "put out first when the node is short",
        _ => return class.to_owned(),
    };
    format!("{class}: {meaning}")
}

/// A volume: its name, its kind, and what it is made from.
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
