//! The DaemonSets of the node agents and their permissions.
//!
//! Node agents have a namespace of their own, because their pods use the network of their nodes. The
//! node agents of control-plane nodes and of workers have different service accounts.

use std::collections::BTreeMap;

use drover_api::agent::{Lane, NODE_TOKEN_AUDIENCE, NodeClass};
use drover_api::endpoint::{WEBHOOK_HOST, WEBHOOK_PORT};
use drover_api::group::{CONTROL_PLANE_LABEL, NODE_AGENT_NAMESPACE, TUNNEL_NODES};
use k8s_openapi::api::apps::v1::{
    DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet,
};
use k8s_openapi::api::core::v1::{
    Affinity, Container, EmptyDirVolumeSource, EnvVar, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, PodSecurityContext, PodSpec, PodTemplateSpec,
    ProjectedVolumeSource, ResourceRequirements, ServiceAccountTokenProjection, Toleration, Volume,
    VolumeMount, VolumeProjection,
};
use k8s_openapi::api::rbac::v1::{RoleBinding, Subject};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::roles::{CONTROLLER, REPORT, account, account_in, binding, role, role_ref, rule};
use super::workload::{
    GRACE_SECONDS, USER, amounts, from_field, linux, probe, unprivileged_container,
    unprivileged_pod, value,
};
use super::{Manifest, ManifestError, Stream, labels, meta, report_policy, service_account};

/// Name of the container, of the Role that permits node agents to read the agent's objects, and of the
/// Role that permits node agents to write reports.
pub const NODE_AGENT: &str = "drover-node-agent";
/// Name of the Role whose subjects can create the tokens of the lanes.
const TUNNELS: &str = "drover-node-agent-tunnels";
/// Name of the Role that permits node agents on control-plane nodes to read the tokens of the authorized
/// endpoint.
const ENDPOINT: &str = "drover-node-agent-endpoint";
/// Name of the RoleBinding that permits node agents on workers to create the tokens of the lanes.
const WORKER_TUNNELS: &str = "drover-node-agent-worker-tunnels";
/// Label with the class of a node agent's pod.
const CLASS_LABEL: &str = "app.kubernetes.io/component";
/// Loopback address of `/livez` and `/readyz`. The pods use the network of their nodes, so that no other
/// pod can connect to a loopback address.
const HEALTH_HOST: &str = "127.0.0.1";
const HEALTH_PORT: i32 = 6441;
/// Folder of the token that proves the node, and folder of the key.
const TOKEN_FOLDER: &str = "/var/run/secrets/drover";
const KEY_FOLDER: &str = "/var/lib/drover";
/// Lifetime of the token that proves the node, in seconds.
const TOKEN_SECONDS: i64 = 3600;

/// Writes the service accounts of node agents, their roles and the bindings.
pub(super) fn write_rbac(stream: &mut Stream) -> Result<(), ManifestError> {
    let both = NodeClass::ALL.map(node_account);
    for class in NodeClass::ALL {
        let account = service_account(node_meta(class.service_account()));
        stream.object("ServiceAccount", &account)?;
    }
    let lanes = Lane::ALL.map(Lane::service_account);
    let tokens = rule("", &["serviceaccounts/token"], &lanes, &["create"]);
    let objects = ["drover-agent-server", TUNNEL_NODES];
    let objects = rule("", &["configmaps"], &objects, &["get"]);
    role(stream, meta(NODE_AGENT), vec![objects])?;
    binding(stream, meta(NODE_AGENT), NODE_AGENT, both.to_vec())?;
    role(stream, meta(TUNNELS), vec![tokens])?;
    let control_plane = vec![node_account(NodeClass::ControlPlane)];
    binding(stream, meta(TUNNELS), TUNNELS, control_plane)?;
    write_node_rbac(stream, both.to_vec())
}

/// Writes the roles in the namespace of the node agents.
fn write_node_rbac(stream: &mut Stream, node_agents: Vec<Subject>) -> Result<(), ManifestError> {
    // The server upgrades the node agents, and writes the tokens of the authorized endpoint.
    let names = NodeClass::ALL.map(NodeClass::service_account);
    let controller = vec![
        rule("apps", &["daemonsets"], &names, &["get", "patch"]),
        rule(
            "",
            &["secrets"],
            &[],
            &["list", "create", "update", "delete"],
        ),
    ];
    // RBAC cannot restrict the names. The admission policy permits only the name of the node.
    let report = rule("", &["configmaps"], &[], &["list", "create", "patch"]);
    let read_reports = rule("", &["configmaps"], &[], &["list", "watch"]);
    let tokens = rule("", &["secrets"], &[], &["list", "watch"]);
    for (name, permissions, subjects) in [
        (CONTROLLER, controller, vec![account(CONTROLLER)]),
        (REPORT, vec![read_reports], vec![account(REPORT)]),
        (NODE_AGENT, vec![report], node_agents),
        (
            ENDPOINT,
            vec![tokens],
            vec![node_account(NodeClass::ControlPlane)],
        ),
    ] {
        role(stream, node_meta(name), permissions)?;
        binding(stream, node_meta(name), name, subjects)?;
    }
    report_policy::write(stream)
}

/// Returns the RoleBinding that permits node agents on workers to create the tokens of the lanes. The
/// server creates the RoleBinding if the Cluster allows tunnels from workers.
pub fn worker_tunnels() -> RoleBinding {
    RoleBinding {
        metadata: meta(WORKER_TUNNELS),
        role_ref: role_ref("Role", TUNNELS),
        subjects: Some(vec![node_account(NodeClass::Worker)]),
    }
}

fn node_account(class: NodeClass) -> Subject {
    account_in(NODE_AGENT_NAMESPACE, class.service_account())
}

/// Returns the metadata of an object in the namespace of the node agents.
fn node_meta(name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: Some(NODE_AGENT_NAMESPACE.to_owned()),
        ..meta(name)
    }
}

/// Returns the DaemonSet of the node agents on the nodes of a class.
pub(super) fn daemon_set(manifest: &Manifest, class: NodeClass) -> DaemonSet {
    let name = class.service_account();
    let mut labels = labels();
    // The PodDisruptionBudget of the agent selects pods by this label.
    labels.insert(super::NAME_LABEL.to_owned(), NODE_AGENT.to_owned());
    let class_label = (CLASS_LABEL.to_owned(), class.label().to_owned());
    labels.extend([class_label.clone()]);
    DaemonSet {
        metadata: node_meta(name),
        spec: Some(DaemonSetSpec {
            selector: LabelSelector {
                match_labels: Some(BTreeMap::from([class_label])),
                ..Default::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..Default::default()
                }),
                spec: Some(pod(manifest, class)),
            },
            update_strategy: Some(DaemonSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDaemonSet {
                    max_unavailable: Some(IntOrString::String("10%".to_owned())),
                    ..Default::default()
                }),
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn pod(manifest: &Manifest, class: NodeClass) -> PodSpec {
    PodSpec {
        affinity: Some(nodes_of(class)),
        automount_service_account_token: Some(true),
        containers: vec![container(manifest, class)],
        dns_policy: Some("ClusterFirstWithHostNet".to_owned()),
        host_network: Some(true),
        node_selector: Some(linux()),
        priority_class_name: Some("system-node-critical".to_owned()),
        security_context: Some(PodSecurityContext {
            fs_group: Some(USER),
            ..unprivileged_pod()
        }),
        service_account_name: Some(class.service_account().to_owned()),
        termination_grace_period_seconds: Some(GRACE_SECONDS),
        tolerations: Some(vec![Toleration {
            operator: Some("Exists".to_owned()),
            ..Default::default()
        }]),
        volumes: Some(vec![token_volume(), key_volume()]),
        ..Default::default()
    }
}

/// Returns an affinity that selects the nodes of a class.
fn nodes_of(class: NodeClass) -> Affinity {
    let operator = match class {
        NodeClass::ControlPlane => "Exists",
        NodeClass::Worker => "DoesNotExist",
    };
    let expressions = vec![NodeSelectorRequirement {
        key: CONTROL_PLANE_LABEL.to_owned(),
        operator: operator.to_owned(),
        values: None,
    }];
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(NodeSelector {
                node_selector_terms: vec![NodeSelectorTerm {
                    match_expressions: Some(expressions),
                    ..Default::default()
                }],
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The volume with the token that proves the node. The kubelet requests the token for the pod.
fn token_volume() -> Volume {
    Volume {
        name: "node-token".to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![VolumeProjection {
                service_account_token: Some(ServiceAccountTokenProjection {
                    audience: Some(NODE_TOKEN_AUDIENCE.to_owned()),
                    expiration_seconds: Some(TOKEN_SECONDS),
                    path: "token".to_owned(),
                }),
                ..Default::default()
            }]),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// The volume with the node's key. The volume exists as long as the pod, also over a restart of the node.
fn key_volume() -> Volume {
    Volume {
        name: "key".to_owned(),
        empty_dir: Some(EmptyDirVolumeSource {
            size_limit: Some(Quantity("1Mi".to_owned())),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn container(manifest: &Manifest, class: NodeClass) -> Container {
    let mount = |name: &str, path: &str, read_only| VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: Some(read_only),
        ..Default::default()
    };
    Container {
        name: NODE_AGENT.to_owned(),
        command: Some(vec!["/drover-node-agent".to_owned()]),
        image: Some(manifest.image.clone()),
        image_pull_policy: Some(manifest.image_pull_policy.clone()),
        env: Some(environment(class)),
        liveness_probe: Some(probe((Some(HEALTH_HOST), HEALTH_PORT), "/livez", 20, 3)),
        resources: Some(ResourceRequirements {
            requests: Some(amounts(&[("cpu", "5m"), ("memory", "16Mi")])),
            limits: Some(amounts(&[("memory", "256Mi")])),
            ..Default::default()
        }),
        security_context: Some(unprivileged_container()),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(vec![
            mount("node-token", TOKEN_FOLDER, true),
            mount("key", KEY_FOLDER, false),
        ]),
        ..Default::default()
    }
}

fn environment(class: NodeClass) -> Vec<EnvVar> {
    let mut variables = vec![
        from_field("DROVER_AGENT_REPLICA", "metadata.name"),
        from_field("DROVER_NODE_AGENT_NODE", "spec.nodeName"),
        from_field("DROVER_NODE_AGENT_ADDRESS", "status.hostIP"),
        from_field("DROVER_NODE_AGENT_POD_UID", "metadata.uid"),
        value(
            "DROVER_AGENT_HEALTH_LISTEN",
            &format!("{HEALTH_HOST}:{HEALTH_PORT}"),
        ),
    ];
    if class == NodeClass::ControlPlane {
        let listen = format!("{WEBHOOK_HOST}:{WEBHOOK_PORT}");
        variables.push(value("DROVER_NODE_AGENT_ENDPOINT_LISTEN", &listen));
    }
    variables
}
