//! What a pod requests, by the scheduler's rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::quantity::Amounts;

/// The part of a pod's spec that counts; everything else is never kept in memory.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    #[serde(default)]
    containers: Vec<Container>,
    #[serde(default)]
    init_containers: Vec<Container>,
    #[serde(default)]
    overhead: BTreeMap<String, String>,
    #[serde(default)]
    resources: Option<Resources>,
}

/// The part of a pod's status that counts.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct PodStatus {
    #[serde(default)]
    phase: String,
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
    /// A finished pod holds nothing.
    fn finished(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

/// What a pod holds of its node; `None` when it is finished.
///
/// The greater of what its containers need together and what any step of its start needs, where
/// init containers that restart always (sidecars) keep running; then its own requests instead of
/// that where it has any; then its overhead (KEP-753, KEP-2837, KEP-688).
pub fn requests(spec: &PodSpec, status: Option<&PodStatus>) -> Option<Amounts> {
    if status.is_some_and(PodStatus::finished) {
        return None;
    }
    let mut sidecars = Amounts::default();
    let mut starting = Amounts::default();
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
        starting.raise_to(&step);
    }
    let mut total = sidecars;
    for container in &spec.containers {
        total.add(&container.needs());
    }
    total.raise_to(&starting);
    if let Some(own) = &spec.resources {
        total.overlay(&amounts(&own.requests));
    }
    total.add(&amounts(&spec.overhead));
    Some(total)
}

impl Container {
    fn needs(&self) -> Amounts {
        self.resources
            .as_ref()
            .map(|r| amounts(&r.requests))
            .unwrap_or_default()
    }
}

/// Quantities as an object holds them.
pub fn amounts(map: &BTreeMap<String, String>) -> Amounts {
    Amounts::read(
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
    fn a_pod_requests_what_the_scheduler_would_reserve() {
        for (what, spec, cpu) in [
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
            let written = requests(&spec, None).unwrap().written();
            assert_eq!(written.get("cpu").map(String::as_str), cpu, "{what}");
        }
    }

    #[test]
    fn a_finished_pod_requests_nothing() {
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
            };
            assert_eq!(requests(&spec, Some(&status)).is_some(), counts, "{phase}");
        }
    }
}
