//! Tests of the permissions of a registration token and of a registered agent.

use drover_api::fleet::{Bundle, BundleDeployment, Content, FleetCluster};
use drover_e2e::eventually;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use super::{
    Agent, CREDENTIALS, Credential, HUB, NAMESPACE, SOON, api, fleet, new_cluster, patch,
    registration_token, request_of, secrets,
};
use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(fleet_agent_registers_and_has_only_the_permissions_for_its_own_cluster);

async fn fleet_agent_registers_and_has_only_the_permissions_for_its_own_cluster(hub: TestHub) {
    let server = Server::start(&hub).await;
    let values = registration_token(&server, "edge", "1h").await;
    assert!(values["apiServerURL"].ends_with(HUB), "{values:?}");
    assert_eq!(values["apiServerCA"], server.trust);
    assert_eq!(values["clusterNamespace"], NAMESPACE);
    assert_eq!(values["systemRegistrationNamespace"], CREDENTIALS);

    let agent = Agent::new(&server, &values, "edge-id", "random");
    let request = agent.request().await;
    let credential = agent.credential().await;
    assert_eq!(credential.cluster, new_cluster("edge-id"));
    let clusters: Api<FleetCluster> = api(&server, NAMESPACE);
    let cluster = clusters.get(&credential.cluster).await.unwrap();
    let labels = cluster.metadata.labels.unwrap();
    assert_eq!(labels["env"], "test");
    assert_eq!(labels.len(), 2, "{labels:?}");
    eventually("the request is granted", SOON, async || {
        let status = request_of(&server, &request).await.unwrap().status;
        status.filter(|it| it.granted).ok_or("not granted")
    })
    .await
    .unwrap();

    agent_can_work(&server, &credential).await;
    agent_can_read_the_content_of_its_bundle(&server, &credential).await;
    agent_cannot_reach_other_objects(&server, &credential).await;
    registration_token_cannot_read(&server, &values["token"]).await;
    server.stop().await;
}

/// Sends the requests of a registered agent.
async fn agent_can_work(server: &Server, credential: &Credential) {
    let (token, namespace) = (&*credential.token, &*credential.namespace);
    eventually("the agent can list", SOON, async || {
        match credential.list(server).await {
            200 => Ok(()),
            code => Err(format!("{code}")),
        }
    })
    .await
    .unwrap();
    let watch = "bundledeployments?watch=true&timeoutSeconds=1&allowWatchBookmarks=true";
    server
        .get(&fleet(namespace, watch), token)
        .await
        .expect(200);

    let deployment = json!({ "metadata": { "name": "web" }, "spec": {} });
    let deployment: BundleDeployment = serde_json::from_value(deployment).unwrap();
    let deployments: Api<BundleDeployment> = api(server, namespace);
    deployments
        .create(&PostParams::default(), &deployment)
        .await
        .unwrap();
    let status = json!({ "status": { "ready": true } });
    let path = fleet(namespace, "bundledeployments/web/status");
    let code = patch(server, &path, token, "merge-patch", status.clone()).await;
    assert_eq!(code, 200);
    let spec = fleet(namespace, "bundledeployments/web");
    let written = json!({ "spec": { "deploymentID": "x" } });
    let code = patch(server, &spec, token, "merge-patch", written).await;
    assert_eq!(code, 403);

    let path = fleet(
        NAMESPACE,
        &format!("clusters/{}/status", credential.cluster),
    );
    let seen = json!([{ "op": "add", "path": "/status/agent", "value": {
        "lastSeen": "2026-01-02T03:04:05Z", "namespace": "cattle-fleet-system",
    } }]);
    assert_eq!(patch(server, &path, token, "json-patch", seen).await, 200);
    let clusters: Api<FleetCluster> = api(server, NAMESPACE);
    let cluster = clusters.get(&credential.cluster).await.unwrap();
    assert!(cluster.status.unwrap().agent.last_seen.is_some());
}

/// Waits for the bundle deployment of a new bundle. The agent can then read its Content.
async fn agent_can_read_the_content_of_its_bundle(server: &Server, credential: &Credential) {
    let bundle = json!({
        "metadata": { "name": "settings" },
        "spec": {
            "resources": [{ "name": "a.yaml", "content": "kind: ConfigMap" }],
            "targets": [{ "clusterName": credential.cluster }],
        },
    });
    let bundle: Bundle = serde_json::from_value(bundle).unwrap();
    let bundles: Api<Bundle> = api(server, NAMESPACE);
    let params = PostParams::default();
    bundles.create(&params, &bundle).await.unwrap();
    let path = fleet(&credential.namespace, "bundledeployments/settings");
    let deployment = eventually("the bundle is deployed", SOON, async || {
        let answer = server.get(&path, &credential.token).await;
        match answer.code.as_u16() {
            200 => Ok(answer.body),
            code => Err(format!("{code}")),
        }
    });
    let deployment = deployment.await.unwrap();
    let id = deployment["spec"]["stagedDeploymentID"].as_str().unwrap();
    let (content, _) = id.split_once(':').unwrap();
    let path = format!("{HUB}/apis/fleet.cattle.io/v1alpha1/contents/{content}");
    let content = server.get(&path, &credential.token).await.expect(200);
    assert!(content["content"].is_string(), "{content}");
}

async fn agent_cannot_reach_other_objects(server: &Server, credential: &Credential) {
    let (token, namespace) = (&*credential.token, &*credential.namespace);
    let content =
        json!({ "metadata": { "name": "s-foreign" }, "content": "AA==", "sha256sum": "x" });
    let content: Content = serde_json::from_value(content).unwrap();
    let contents: Api<Content> = Api::all(server.hub.client());
    let params = PostParams::default();
    contents.create(&params, &content).await.unwrap();
    for path in [
        format!("{HUB}/apis/fleet.cattle.io/v1alpha1/contents/s-foreign"),
        format!("{HUB}/apis/fleet.cattle.io/v1alpha1/contents"),
        format!("{HUB}/apis/fleet.cattle.io/v1alpha1/bundledeployments"),
        fleet(NAMESPACE, "bundledeployments"),
        fleet(NAMESPACE, "clusters"),
        fleet(NAMESPACE, "clusterregistrations"),
        secrets(namespace, ""),
        secrets(CREDENTIALS, ""),
        secrets(NAMESPACE, "edge"),
    ] {
        let path = path.trim_end_matches('/');
        let answer = server.get(path, token).await;
        assert_eq!(answer.code.as_u16(), 403, "{path}: {}", answer.body);
    }
    let other = json!({ "metadata": { "name": "other" }, "spec": {} });
    let other: FleetCluster = serde_json::from_value(other).unwrap();
    let clusters: Api<FleetCluster> = api(server, NAMESPACE);
    clusters.create(&params, &other).await.unwrap();
    let status = json!({ "status": { "agent": {} } });
    let own = format!("clusters/{}", credential.cluster);
    for path in ["clusters/other/status", &own] {
        let path = fleet(NAMESPACE, path);
        let code = patch(server, &path, token, "merge-patch", status.clone()).await;
        assert_eq!(code, 403, "{path}");
    }
}

async fn registration_token_cannot_read(server: &Server, token: &str) {
    for path in [
        fleet(NAMESPACE, "clusterregistrations"),
        fleet(NAMESPACE, "clusters"),
        secrets(CREDENTIALS, ""),
        secrets(CREDENTIALS, "c-other"),
        secrets(NAMESPACE, "edge"),
    ] {
        let path = path.trim_end_matches('/');
        let answer = server.get(path, token).await;
        assert_eq!(answer.code.as_u16(), 403, "{path}: {}", answer.body);
    }
}
