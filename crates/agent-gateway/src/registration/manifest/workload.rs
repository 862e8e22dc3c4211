//! The agent's Deployment and its PodDisruptionBudget.

use std::collections::BTreeMap;

use drover_api::group::CONTROL_PLANE_LABEL;
use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment,
};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, EnvVarSource,
    HTTPGetAction, ObjectFieldSelector, PodAffinityTerm, PodAntiAffinity, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, ResourceRequirements, SeccompProfile, SecurityContext,
    Toleration, Volume, VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{AGENT, NAME_LABEL, labels, meta};

/// Number of agent replicas. With two replicas on different nodes, the agent tolerates the failure
/// of one node.
const REPLICAS: i32 = 2;
/// Port of `/livez` and `/readyz` in the pod.
const HEALTH_PORT: i32 = 8081;
/// User and group ID of the image's process.
pub(super) const USER: i64 = 65532;
/// Grace period of the pod, in seconds. The period is longer than the time that the agent waits at
/// shutdown for requests in flight.
pub(super) const GRACE_SECONDS: i64 = 40;
/// Name of the volume for temporary files.
const TEMPORARY: &str = "temporary";

fn selector() -> LabelSelector {
    LabelSelector {
        match_labels: Some(BTreeMap::from([(NAME_LABEL.to_owned(), AGENT.to_owned())])),
        ..Default::default()
    }
}

pub(super) fn disruption_budget() -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: meta(AGENT),
        spec: Some(PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(1)),
            selector: Some(selector()),
            // A pod that cannot connect must not block the drain of its node.
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub(super) fn deployment(image: &str, pull_policy: &str) -> Deployment {
    let rolling = RollingUpdateDeployment {
        max_surge: Some(IntOrString::Int(1)),
        max_unavailable: Some(IntOrString::Int(0)),
    };
    Deployment {
        metadata: meta(AGENT),
        spec: Some(DeploymentSpec {
            replicas: Some(REPLICAS),
            selector: selector(),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(rolling),
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels()),
                    ..Default::default()
                }),
                spec: Some(pod(image, pull_policy)),
            },
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Adds an environment variable to the containers.
pub(super) fn set_variable(deployment: &mut Deployment, name: &str, text: &str) {
    let pod = deployment.spec.as_mut();
    let pod = pod.and_then(|spec| spec.template.spec.as_mut());
    for container in pod.into_iter().flat_map(|pod| &mut pod.containers) {
        let environment = container.env.get_or_insert_default();
        environment.push(value(name, text));
    }
}

fn pod(image: &str, pull_policy: &str) -> PodSpec {
    PodSpec {
        affinity: Some(spread_over_nodes()),
        automount_service_account_token: Some(true),
        containers: vec![container(image, pull_policy)],
        node_selector: Some(linux()),
        security_context: Some(unprivileged_pod()),
        service_account_name: Some(AGENT.to_owned()),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        // A cluster with only control-plane nodes has no other nodes for the agent.
        tolerations: Some(vec![Toleration {
            key: Some(CONTROL_PLANE_LABEL.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some("NoSchedule".to_owned()),
            ..Default::default()
        }]),
        volumes: Some(vec![Volume {
            name: TEMPORARY.to_owned(),
            empty_dir: Some(EmptyDirVolumeSource {
                size_limit: Some(Quantity("512Mi".to_owned())),
                ..Default::default()
            }),
            ..Default::default()
        }]),
        ..Default::default()
    }
}

/// Returns the selector of Linux nodes.
pub(super) fn linux() -> BTreeMap<String, String> {
    BTreeMap::from([("kubernetes.io/os".to_owned(), "linux".to_owned())])
}

/// Returns the security context of pods whose process is not root.
pub(super) fn unprivileged_pod() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Returns the security context of containers without capabilities.
pub(super) fn unprivileged_container() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            ..Default::default()
        }),
        privileged: Some(false),
        read_only_root_filesystem: Some(true),
        ..Default::default()
    }
}

/// Returns an affinity that prefers two different nodes for the replicas.
fn spread_over_nodes() -> Affinity {
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: PodAffinityTerm {
                        label_selector: Some(selector()),
                        topology_key: "kubernetes.io/hostname".to_owned(),
                        ..Default::default()
                    },
                },
            ]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn container(image: &str, pull_policy: &str) -> Container {
    Container {
        name: AGENT.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: Some(pull_policy.to_owned()),
        env: Some(vec![
            from_field("DROVER_AGENT_REPLICA", "metadata.name"),
            from_field("DROVER_AGENT_NAMESPACE", "metadata.namespace"),
            value("DROVER_AGENT_HEALTH_LISTEN", &format!("[::]:{HEALTH_PORT}")),
        ]),
        ports: Some(vec![ContainerPort {
            name: Some("health".to_owned()),
            container_port: HEALTH_PORT,
            ..Default::default()
        }]),
        liveness_probe: Some(probe((None, HEALTH_PORT), "/livez", 20, 3)),
        readiness_probe: Some(probe((None, HEALTH_PORT), "/readyz", 5, 2)),
        resources: Some(ResourceRequirements {
            requests: Some(amounts(&[("cpu", "20m"), ("memory", "32Mi")])),
            limits: Some(amounts(&[("memory", "512Mi")])),
            ..Default::default()
        }),
        security_context: Some(unprivileged_container()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        // The root file system is read-only, and the renderer needs a home folder.
        volume_mounts: Some(vec![VolumeMount {
            name: TEMPORARY.to_owned(),
            mount_path: "/tmp".to_owned(),
            ..Default::default()
        }]),
        ..Default::default()
    }
}

pub(super) fn value(name: &str, value: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.to_owned()),
        ..Default::default()
    }
}

pub(super) fn from_field(name: &str, path: &str) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                field_path: path.to_owned(),
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// Returns a probe of the process's health listener. `host` is `None` for the address of the pod.
pub(super) fn probe(
    (host, port): (Option<&str>, i32),
    path: &str,
    period_seconds: i32,
    failures: i32,
) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            host: host.map(str::to_owned),
            path: Some(path.to_owned()),
            port: IntOrString::Int(port),
            ..Default::default()
        }),
        period_seconds: Some(period_seconds),
        failure_threshold: Some(failures),
        timeout_seconds: Some(5),
        ..Default::default()
    }
}

pub(super) fn amounts(pairs: &[(&str, &str)]) -> BTreeMap<String, Quantity> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), Quantity((*text).to_owned())))
        .collect()
}
