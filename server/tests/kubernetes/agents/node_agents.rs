//! Tests of node agents. The node agents run in this process with the permissions of the manifest. The
//! cluster has no kubelets, so the tests create the nodes and request the tokens of the pods.

use std::time::Duration;

use drover_api::agent::{NODE_TOKEN_AUDIENCE, NodeClass};
use drover_api::kinds::{Cluster, NodeAgentStatus};
use drover_e2e::{ControlPlane, SharedControlPlane, eventually};
use drover_node_agent::args::NodeArgs;
use drover_node_agent::wire::assemble;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::AuthInfo;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::rig::{NAMESPACE, Rig, Running, SOON, outside, start};

const NODE_AGENTS: &str = "drover-node-agent";
/// Maximum time until requests use a node agent after the agent has failed.
const TAKEOVER: Duration = Duration::from_secs(5);

/// A running node agent with its volumes.
pub(super) struct NodeAgent {
    shutdown: CancellationToken,
    task: JoinHandle<()>,
    _folder: TempDir,
}

impl Drop for NodeAgent {
    fn drop(&mut self) {
        self.shutdown.cancel();
        self.task.abort();
    }
}

/// Creates a node, and a pod of the node agent on the node.
pub(super) async fn create_node(cluster: &ControlPlane, name: &str, class: NodeClass) -> Pod {
    let labels = match class {
        NodeClass::ControlPlane => json!({ "node-role.kubernetes.io/control-plane": "" }),
        NodeClass::Worker => json!({}),
    };
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
    });
    let params = PostParams::default();
    let node: Node = serde_json::from_value(node).unwrap();
    let nodes: Api<Node> = Api::all(cluster.client());
    nodes.create(&params, &node).await.unwrap();
    let status = json!({ "status": { "addresses": [
        { "type": "InternalIP", "address": "127.0.0.1" },
    ]}});
    let (patch, params) = (Patch::Merge(status), PatchParams::default());
    let patched = nodes.patch_status(name, &params, &patch);
    patched.await.unwrap();
    create_pod(cluster, name, class).await
}

pub(super) async fn create_pod(cluster: &ControlPlane, node: &str, class: NodeClass) -> Pod {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "generateName": "node-agent-", "namespace": NODE_AGENTS },
        "spec": {
            "nodeName": node,
            "serviceAccountName": class.service_account(),
            "containers": [{ "name": "node-agent", "image": "none" }],
        },
    });
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let pods: Api<Pod> = Api::namespaced(cluster.client(), NODE_AGENTS);
    pods.create(&PostParams::default(), &pod).await.unwrap()
}

/// Requests a token of a node agent's service account, as the kubelet does for a pod.
pub(super) async fn token(
    cluster: &ControlPlane,
    class: NodeClass,
    pod: Option<&Pod>,
    audience: Option<&str>,
) -> String {
    let bound = pod.map(|pod| BoundObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(pod.name_any()),
        uid: pod.uid(),
    });
    let request = TokenRequest {
        spec: TokenRequestSpec {
            audiences: audience.map(|audience| vec![audience.to_owned()]),
            bound_object_ref: bound,
            expiration_seconds: Some(3600),
        }
        .into(),
        ..TokenRequest::default()
    };
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), NODE_AGENTS);
    let params = PostParams::default();
    let answer = accounts.create_token_request(class.service_account(), &params, &request);
    answer.await.unwrap().status.unwrap().token.unwrap()
}

/// Starts a node agent that proves its node with `node_token`.
async fn start_with(
    cluster: &ControlPlane,
    node: &str,
    class: NodeClass,
    node_token: &str,
) -> NodeAgent {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, node_token).unwrap();
    let mut config = outside(cluster).await;
    config.auth_info = AuthInfo {
        token: Some(token(cluster, class, None, None).await.into()),
        ..AuthInfo::default()
    };
    let args = NodeArgs {
        node: node.to_owned(),
        token_file,
        key_folder: folder.path().to_owned(),
    };
    let (name, shutdown) = (format!("pod-on-{node}"), CancellationToken::new());
    let connection = assemble(&config, NAMESPACE, name, args, shutdown.clone()).unwrap();
    NodeAgent {
        shutdown,
        task: tokio::spawn(async move { connection.run().await }),
        _folder: folder,
    }
}

/// Creates a control-plane node, and starts its node agent.
pub(super) async fn start_on_new_node(rig: &Rig, cluster: &ControlPlane, node: &str) -> NodeAgent {
    start_on_new_node_of(NodeClass::ControlPlane, rig, cluster, node).await
}

/// Creates a node of a class, and starts its node agent.
pub(super) async fn start_on_new_node_of(
    class: NodeClass,
    rig: &Rig,
    cluster: &ControlPlane,
    node: &str,
) -> NodeAgent {
    let pod = create_node(cluster, node, class).await;
    wait_for_nodes(rig, "the node is selected", |nodes| {
        nodes.iter().any(|agent| agent.node == node)
    })
    .await;
    let proof = token(cluster, class, Some(&pod), Some(NODE_TOKEN_AUDIENCE)).await;
    start_with(cluster, node, class, &proof).await
}

async fn wait_for_nodes(rig: &Rig, what: &str, matches: impl Fn(&[NodeAgentStatus]) -> bool) {
    eventually(what, SOON, async || {
        let nodes = rig.status("shop").await.node_agents;
        if matches(&nodes) {
            Ok(())
        } else {
            Err(format!("{nodes:?}"))
        }
    })
    .await
    .unwrap();
}

/// Allows or forbids tunnels of workers.
pub(super) async fn allow_workers(rig: &Rig, allowed: bool) {
    let clusters: Api<Cluster> = rig.server.hub.clusters();
    let patch = Patch::Merge(json!({ "spec": { "nodeAgents": { "workerTunnels": allowed } } }));
    let params = PatchParams::default();
    clusters.patch("shop", &params, &patch).await.unwrap();
}

pub(super) async fn wait_for_key(rig: &Rig) {
    wait_for_nodes(rig, "the key is bound", |nodes| {
        nodes.iter().any(|agent| agent.key.is_some())
    })
    .await;
}

/// Starts a server, and a cluster with a connected agent.
pub(super) async fn with_ready_cluster() -> (Rig, SharedControlPlane, Running) {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    (rig, cluster, agent)
}

/// Waits until new requests use the agent (`None`) or a node agent.
async fn wait_for_active(rig: &Rig, node: Option<&str>, reason: &str) {
    eventually(&format!("requests use {node:?}"), SOON, async || {
        let connection = rig.status("shop").await.connection;
        let last = connection.as_ref().and_then(|found| found.switches.first());
        match last {
            Some(last) if last.node.as_deref() == node && last.reason == reason => Ok(()),
            _ => Err(format!("{connection:?}")),
        }
    })
    .await
    .unwrap();
}

pub(super) async fn list_nodes(rig: &Rig) -> Result<(), String> {
    let path = "/k8s/clusters/shop/api/v1/nodes";
    let answer = rig.server.get(path, &rig.admin).await;
    if answer.code == 200 {
        Ok(())
    } else {
        Err(format!("{answer:?}"))
    }
}

#[tokio::test]
async fn node_agent_takes_over_from_the_agent_and_returns_the_requests_to_it() {
    let (rig, cluster, agent) = with_ready_cluster().await;
    let _node_agent = start_on_new_node(&rig, &cluster, "cp-1").await;
    wait_for_key(&rig).await;
    list_nodes(&rig).await.unwrap();
    wait_for_active(&rig, None, "Connected").await;
    // The node agent connects soon after its registration.
    tokio::time::sleep(Duration::from_secs(2)).await;

    agent.terminate().await;
    eventually("a request through the node agent", TAKEOVER, async || {
        list_nodes(&rig).await
    })
    .await
    .unwrap();
    wait_for_active(&rig, Some("cp-1"), "TunnelClosed").await;
    rig.wait_for("shop", "Connected", ("True", "NodeAgent"))
        .await;
    // The controllers and the reports use the node agent, too.
    let worker = create_node(&cluster, "w-1", NodeClass::Worker).await;
    assert_eq!(worker.spec.unwrap().node_name.as_deref(), Some("w-1"));
    eventually("a report through the node agent", SOON, async || match rig
        .status("shop")
        .await
        .nodes
    {
        Some(nodes) if nodes.total == 2 => Ok(()),
        nodes => Err(format!("{nodes:?}")),
    })
    .await
    .unwrap();

    let _agent = start(&cluster, "pod-1").await;
    wait_for_active(&rig, None, "PreferredAgentAvailable").await;
    rig.wait_for("shop", "Connected", ("True", "TunnelOpen"))
        .await;
    list_nodes(&rig).await.unwrap();
    assert_eq!(rig.status("shop").await.connection.unwrap().generation, 3);
}

#[tokio::test]
async fn key_of_a_deleted_node_stops_working() {
    let (rig, cluster, agent) = with_ready_cluster().await;
    let _node_agent = start_on_new_node(&rig, &cluster, "cp-1").await;
    wait_for_key(&rig).await;
    let nodes: Api<Node> = Api::all(cluster.client());
    nodes
        .delete("cp-1", &DeleteParams::default())
        .await
        .unwrap();
    wait_for_nodes(&rig, "the node is not selected", <[_]>::is_empty).await;
    // The tunnel of the node agent is closed, so that nothing replaces the agent.
    agent.terminate().await;
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
    assert!(list_nodes(&rig).await.is_err());
}

#[tokio::test]
async fn node_agent_cannot_register_with_a_token_that_does_not_prove_its_node() {
    let (rig, cluster, _agent) = with_ready_cluster().await;
    let class = NodeClass::ControlPlane;
    let pod = create_node(&cluster, "cp-1", class).await;
    let of_worker = create_pod(&cluster, "cp-1", NodeClass::Worker).await;
    wait_for_nodes(&rig, "the node is selected", |nodes| !nodes.is_empty()).await;
    let ours = Some(NODE_TOKEN_AUDIENCE);
    let for_api_server = token(&cluster, class, Some(&pod), None).await;
    let without_pod = token(&cluster, class, None, ours).await;
    let of_other_class = token(&cluster, NodeClass::Worker, Some(&of_worker), ours).await;
    let uid = rig.cluster("shop").await.metadata.uid.unwrap();
    for (token, code, reason) in [
        ("no-token", 401, "NodeTokenRefused"),
        (&*for_api_server, 401, "NodeTokenRefused"),
        (&*without_pod, 401, "NodeTokenRefused"),
        (&*of_other_class, 409, "NodeNotSelected"),
    ] {
        let key = drover_agent_link::key::AgentKey::generate().unwrap();
        let key = drover_agent_link::key::AgentKey::from_pkcs8(&key).unwrap();
        let uid = drover_api::ids::ClusterUid::new(&uid);
        let message = drover_access::proof::node_register_message(&uid, key.public());
        let body = json!({
            "clusterUid": uid,
            "publicKey": key.public().encode(),
            "token": token,
            "signature": key.sign(&message),
            "agentVersion": "test",
        });
        let call = rig
            .server
            .call(reqwest::Method::POST, "/v1/agent/node", None, Some(body));
        let refused = call.await.expect(code);
        assert_eq!(
            refused["details"]["causes"][0]["reason"], reason,
            "{refused}"
        );
    }
    let nodes = rig.status("shop").await.node_agents;
    assert!(nodes.iter().all(|agent| agent.key.is_none()), "{nodes:?}");
}

#[tokio::test]
async fn workers_have_tunnels_and_lane_tokens_only_if_the_cluster_allows_it() {
    let (rig, cluster, agent) = with_ready_cluster().await;
    let class = NodeClass::Worker;
    let pod = create_node(&cluster, "w-1", class).await;
    let proof = token(&cluster, class, Some(&pod), Some(NODE_TOKEN_AUDIENCE)).await;
    assert_eq!(rig.status("shop").await.node_agents, []);
    allow_workers(&rig, true).await;
    wait_for_nodes(&rig, "the worker is selected", |nodes| !nodes.is_empty()).await;
    let _node_agent = start_with(&cluster, "w-1", class, &proof).await;
    wait_for_key(&rig).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    agent.terminate().await;
    eventually("a request through the worker", SOON, async || {
        list_nodes(&rig).await
    })
    .await
    .unwrap();
    allow_workers(&rig, false).await;
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
}
