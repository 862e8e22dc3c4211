//! Tests of the Cluster status fields that agents report.

use drover_e2e::{Component, ControlPlane, eventually};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::rig::{NAMESPACE, Rig, SOON, start};

#[tokio::test]
async fn nodes_capacity_and_requests_are_reported_in_the_status() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    delete_agent_pods(&cluster).await;
    let nodes: Api<Node> = Api::all(cluster.client());
    for (name, cpu) in [("a", "2"), ("b", "1500m")] {
        let node = json!({ "metadata": { "name": name } });
        nodes
            .create(
                &PostParams::default(),
                &serde_json::from_value(node).unwrap(),
            )
            .await
            .unwrap();
        let status = json!({ "status": {
            "capacity": { "cpu": cpu, "memory": "1Gi" },
            "allocatable": { "cpu": cpu, "memory": "512Mi" },
            "conditions": [{ "type": "Ready", "status": if name == "a" { "True" } else { "False" } }],
        }});
        let patch = Patch::Merge(&status);
        nodes
            .patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    cluster
        .kubectl(["create", "serviceaccount", "default"])
        .await
        .ok();
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "nodeName": "a",
        "automountServiceAccountToken": false, "containers": [
        { "name": "c", "image": "x", "resources": { "requests": { "cpu": "250m" } } }
    ]}});
    let pod: Pod = serde_json::from_value(pod).unwrap();
    eventually("the pod to be created", SOON, async || {
        pods.create(&PostParams::default(), &pod).await.map(|_| ())
    })
    .await
    .unwrap();

    let _agent = start(&cluster, "pod-0").await;
    let seen = async |ready: u32, total: u32, cpu: &str| {
        eventually(
            &format!("{ready} of {total} nodes, {cpu}"),
            SOON,
            async || {
                let status = rig.status("shop").await;
                let nodes = status.nodes.unwrap_or_default();
                let capacity = status.capacity.get("cpu").unwrap_or_default();
                if (nodes.ready, nodes.total, capacity) == (ready, total, cpu) {
                    Ok(status.requests.get("cpu").map(str::to_owned))
                } else {
                    Err(format!("{nodes:?} {capacity}"))
                }
            },
        )
        .await
        .unwrap()
    };
    let requests = seen(1, 2, "3500m").await;
    assert_eq!(requests.as_deref(), Some("250m"));
    nodes.delete("b", &DeleteParams::default()).await.unwrap();
    seen(1, 1, "2").await;
    let status = rig.status("shop").await;
    assert_eq!(status.allocatable.get("memory"), Some("512Mi"));
    assert!(
        status
            .components
            .iter()
            .any(|c| c.name == "etcd" && c.healthy),
        "{status:?}"
    );
    assert!(status.last_seen.is_some());
}

#[tokio::test]
async fn hanging_etcd_and_disconnected_agent_are_reported_in_conditions() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    cluster.pause(Component::Etcd).unwrap();
    rig.wait_for("shop", "APIServerReady", ("False", "Unhealthy"))
        .await;
    cluster.resume(Component::Etcd).unwrap();
    rig.wait_for("shop", "APIServerReady", ("True", "Healthy"))
        .await;
    drop(agent);
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
    rig.wait_for("shop", "Ready", ("False", "AgentGone")).await;
    let refused = rig.server.get("/k8s/clusters/shop/api", &rig.admin).await;
    assert_eq!(refused.code, 503, "{}", refused.body);
}

#[tokio::test]
async fn agent_deployment_receives_the_image_of_the_cluster_spec_and_rollout_is_reported() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let _agent = start(&cluster, "pod-0").await;
    // This cluster has no node, so the rollout stays in progress.
    rig.wait_for("shop", "AgentUpToDate", ("False", "RollingOut"))
        .await;
    let patch = json!({ "spec": { "agent": { "image": "registry.example/agent:next" } } });
    rig.server
        .hub
        .clusters()
        .patch("shop", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    eventually("the Deployment to be changed", SOON, async || {
        let image = cluster
            .kubectl([
                "-n",
                "drover-agent",
                "get",
                "deployment",
                "drover-agent",
                "-o",
                "jsonpath={.spec.template.spec.containers[0].image}",
            ])
            .await
            .map_err(|error| error.to_string())?
            .stdout;
        if image == "registry.example/agent:next" {
            Ok(())
        } else {
            Err(image)
        }
    })
    .await
    .unwrap();
    eventually(
        "the rollout in the status of the Cluster",
        SOON,
        async || {
            let agent = rig.status("shop").await.agent.unwrap_or_default();
            match agent.image.as_deref() {
                Some("registry.example/agent:next") => Ok(()),
                other => Err(format!("{other:?}")),
            }
        },
    )
    .await
    .unwrap();
    rig.wait_for("shop", "AgentUpToDate", ("False", "RollingOut"))
        .await;
}

/// Scales the agent's Deployment to 0 and waits until its pods are deleted. The totals in the
/// report include the resource requests of these pods.
async fn delete_agent_pods(cluster: &ControlPlane) {
    let scale = [
        "-n",
        NAMESPACE,
        "scale",
        "deployment",
        "drover-agent",
        "--replicas=0",
    ];
    cluster.kubectl(scale).await.unwrap();
    eventually("no pod of the agent", SOON, async || {
        let listed = cluster
            .kubectl(["-n", NAMESPACE, "get", "pods", "-o", "name"])
            .await;
        let remaining = listed.map_err(|error| error.to_string())?.stdout;
        if remaining.trim().is_empty() {
            Ok(())
        } else {
            Err(remaining)
        }
    })
    .await
    .unwrap();
}
