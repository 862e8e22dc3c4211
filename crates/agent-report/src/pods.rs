//! The resources that a pod requests, by the rules of the scheduler.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::resource_list::ResourceList;
use crate::sums::PodFacts;

/// The fields of a pod's spec that the report needs. The agent does not store the other fields.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Name of the node. Empty until the scheduler has bound the pod.
    #[serde(default)]
    node_name: String,
    #[serde(default)]
    containers: Vec<Container>,
    #[serde(default)]
    init_containers: Vec<Container>,
    #[serde(default)]
    overhead: BTreeMap<String, String>,
    #[serde(default)]
    resources: Option<Resources>,
}

/// The fields of a pod's status that the report needs.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatus {
    #[serde(default)]
    phase: String,
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default)]
    container_statuses: Vec<ContainerStatus>,
    #[serde(default)]
    init_container_statuses: Vec<ContainerStatus>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Condition {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct ContainerStatus {
    #[serde(default)]
    state: ContainerState,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct ContainerState {
    #[serde(default)]
    waiting: Option<Waiting>,
    #[serde(default)]
    terminated: Option<Terminated>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Waiting {
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Terminated {
    #[serde(default)]
    exit_code: i32,
}

impl ContainerStatus {
    /// Returns true if a container of the pod has crashed or cannot start. Every waiting reason
    /// except `ContainerCreating` and `PodInitializing` is an error.
    fn is_failing(&self) -> bool {
        let waits = self.state.waiting.as_ref();
        let reason = waits.and_then(|waits| waits.reason.as_deref());
        let ended = self.state.terminated.as_ref();
        ended.is_some_and(|ended| ended.exit_code != 0)
            || reason.is_some_and(|it| !matches!(it, "ContainerCreating" | "PodInitializing"))
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Container {
    #[serde(default)]
    resources: Option<Resources>,
    #[serde(default)]
    restart_policy: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Resources {
    #[serde(default)]
    requests: BTreeMap<String, String>,
}

impl PodStatus {
    /// Returns true if the pod has ended. An ended pod requests no resources.
    fn finished(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }

    fn is_failing(&self) -> bool {
        let all = self.container_statuses.iter();
        let mut all = all.chain(&self.init_container_statuses);
        all.any(ContainerStatus::is_failing)
    }

    /// Returns true if the scheduler found no node for the pod. Returns false for pods with
    /// scheduling gates.
    fn is_unschedulable(&self) -> bool {
        self.conditions.iter().any(|condition| {
            condition.kind == "PodScheduled"
                && condition.status == "False"
                && condition.reason.as_deref() == Some("Unschedulable")
        })
    }
}

/// Returns the values of a pod that the report needs, or `None` for a finished pod.
pub fn facts(spec: &PodSpec, status: Option<&PodStatus>) -> Option<PodFacts> {
    let requests = requests(spec, status)?;
    Some(PodFacts {
        requests: (!spec.node_name.is_empty()).then_some(requests),
        failing: status.is_some_and(PodStatus::is_failing),
        unschedulable: status.is_some_and(PodStatus::is_unschedulable),
    })
}

/// Returns the resources that a pod reserves on its node, or `None` for a finished pod.
///
/// A pod starts in steps: each init container is a step, and the sum of all containers is the last
/// step. A sidecar (an init container with the restart policy `Always`) is part of all later steps.
/// The result is the maximum of all steps. A pod-level request replaces the maximum for its
/// resource. The result includes the pod's overhead (KEP-753, KEP-2837, KEP-688).
pub fn requests(spec: &PodSpec, status: Option<&PodStatus>) -> Option<ResourceList> {
    if status.is_some_and(PodStatus::finished) {
        return None;
    }
    let mut sidecars = ResourceList::default();
    let mut starting = ResourceList::default();
    for container in &spec.init_containers {
        let needs = container.needs();
        let step = if container.restart_policy.as_deref() == Some("Always") {
            sidecars.add(&needs);
            sidecars.clone()
        } else {
            let mut step = sidecars.clone();
            step.add(&needs);
            step
        };
        starting.max(&step);
    }
    let mut total = sidecars;
    for container in &spec.containers {
        total.add(&container.needs());
    }
    total.max(&starting);
    if let Some(own) = &spec.resources {
        total.overlay(&amounts(&own.requests));
    }
    total.add(&amounts(&spec.overhead));
    Some(total)
}

impl Container {
    fn needs(&self) -> ResourceList {
        self.resources
            .as_ref()
            .map(|r| amounts(&r.requests))
            .unwrap_or_default()
    }
}

/// Parses a map of resource names and Kubernetes quantities.
pub fn amounts(map: &BTreeMap<String, String>) -> ResourceList {
    ResourceList::read(
        map.iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn container(cpu: &str) -> Value {
        json!({"resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(cpu: &str) -> Value {
        json!({"restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}})
    }

    #[test]
    fn pod_requests_equal_the_resources_that_the_scheduler_reserves() {
        for (case, spec, cpu) in [
            ("nothing", json!({"containers": [{}]}), None),
            (
                "a sum",
                json!({"containers": [container("100m"), container("1")]}),
                Some("1100m"),
            ),
            (
                "a greater init container",
                json!({"containers": [container("1")], "initContainers": [container("3")]}),
                Some("3"),
            ),
            (
                "a smaller init container",
                json!({"containers": [container("2")], "initContainers": [container("1")]}),
                Some("2"),
            ),
            (
                "a sidecar beside the containers",
                json!({"containers": [container("1")], "initContainers": [sidecar("500m")]}),
                Some("1500m"),
            ),
            (
                "an init container after a sidecar",
                json!({"containers": [container("1")],
                       "initContainers": [sidecar("500m"), container("2")]}),
                Some("2500m"),
            ),
            (
                "an init container before a sidecar",
                json!({"containers": [container("1")],
                       "initContainers": [container("2"), sidecar("500m")]}),
                Some("2"),
            ),
            (
                "requests of the pod itself",
                json!({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}}}),
                Some("4"),
            ),
            (
                "overhead",
                json!({"containers": [container("1")], "overhead": {"cpu": "250m"}}),
                Some("1250m"),
            ),
        ] {
            let spec: PodSpec = serde_json::from_value(spec).unwrap();
            let written = requests(&spec, None).unwrap().to_strings();
            assert_eq!(written.get("cpu").map(String::as_str), cpu, "{case}");
        }
    }

    #[test]
    fn resource_requests_of_finished_pods_are_zero() {
        let spec: PodSpec =
            serde_json::from_value(json!({"containers": [container("1")]})).unwrap();
        for (phase, counts) in [
            ("Pending", true),
            ("Running", true),
            ("Succeeded", false),
            ("Failed", false),
        ] {
            let status = PodStatus {
                phase: phase.to_owned(),
                ..PodStatus::default()
            };
            assert_eq!(requests(&spec, Some(&status)).is_some(), counts, "{phase}");
        }
    }

    #[test]
    fn requests_of_unscheduled_pods_are_excluded_from_cluster_requests() {
        let read = |spec, status| {
            let spec: PodSpec = serde_json::from_value(spec).unwrap();
            let status: PodStatus = serde_json::from_value(status).unwrap();
            facts(&spec, Some(&status)).unwrap()
        };
        let waits = read(
            json!({"containers": [container("100")]}),
            json!({"phase": "Pending", "conditions": [{"type": "PodScheduled",
                "status": "False", "reason": "Unschedulable"}]}),
        );
        assert!(waits.requests.is_none() && waits.unschedulable && !waits.failing);
        let gated = read(
            json!({"containers": []}),
            json!({"conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "SchedulingGated"}]}),
        );
        assert!(!gated.unschedulable);
        let placed = read(
            json!({"nodeName": "n", "containers": [container("1")]}),
            json!({"phase": "Running"}),
        );
        assert!(placed.requests.is_some() && !placed.unschedulable && !placed.failing);
    }

    #[test]
    fn pod_with_crashing_or_unstartable_container_is_reported_as_failing() {
        for (state, failing) in [
            (json!({"waiting": {"reason": "CrashLoopBackOff"}}), true),
            (json!({"waiting": {"reason": "ImagePullBackOff"}}), true),
            (json!({"waiting": {"reason": "ContainerCreating"}}), false),
            (json!({"waiting": {}}), false),
            (json!({"terminated": {"exitCode": 1}}), true),
            (json!({"terminated": {"exitCode": 0}}), false),
            (json!({"running": {}}), false),
        ] {
            let status = json!({"phase": "Running", "containerStatuses": [{"state": state}]});
            let status: PodStatus = serde_json::from_value(status).unwrap();
            assert_eq!(status.is_failing(), failing, "{status:?}");
        }
    }
}
