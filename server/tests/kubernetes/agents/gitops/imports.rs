//! Tests of the import of a cluster with a kubeconfig, with a real cluster and the real agent.

use std::time::Duration;

use drover_agent::wire::assemble_fleet;
use drover_api::fleet::{Bundle, ClusterRegistration, FleetCluster, FleetClusterRegistrationToken};
use drover_api::gitops::FLEET_NAMESPACE;
use drover_e2e::{ControlPlane, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::rig::{NAMESPACE, Rig, SOON, in_pod, renderer, secret};
use super::{bundle, config_map, create, wait_for_data};
use crate::place::{TestHub, on_both_hubs};

on_both_hubs!(imported_cluster_registers_deploys_bundles_and_can_be_imported_again);

const CLUSTER: &str = "edge";

/// A running agent. The agent stops when the value is dropped.
struct Agent {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

/// Starts an agent with the permissions of the imported manifest.
async fn start(cluster: &ControlPlane) -> Agent {
    let renderer = renderer();
    let (config, stop) = (in_pod(cluster).await, CancellationToken::new());
    let name = "pod-0".to_owned();
    let mut replica = assemble_fleet(&config, NAMESPACE, name, renderer, stop.clone()).unwrap();
    replica.removal_delay = Duration::ZERO;
    Agent {
        stop,
        task: tokio::spawn(async move { replica.run().await }),
    }
}

impl Rig {
    /// Changes the spec of the imported cluster.
    async fn change(&self, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let params = PatchParams::default();
        let clusters = self.fleet::<FleetCluster>();
        clusters.patch(CLUSTER, &params, &patch).await.unwrap();
    }

    /// Writes the Secret with the kubeconfig.
    async fn store(&self, kubeconfig: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "kubeconfig" },
            "stringData": { "value": kubeconfig },
        });
        let params = PatchParams::apply("test").force();
        let secrets = self.fleet::<Secret>();
        let patch = Patch::Apply(&secret);
        secrets.patch("kubeconfig", &params, &patch).await.unwrap();
    }

    /// Waits until the condition Imported has this status and reason. Returns its message.
    async fn imported(&self, status: &str, reason: &str) -> String {
        let waiting = eventually(reason, SOON, async || {
            let cluster = self.fleet::<FleetCluster>().get(CLUSTER).await.unwrap();
            let conditions = cluster.status.unwrap_or_default().conditions;
            let found = conditions.iter().find(|it| it.type_ == "Imported");
            let found = found.filter(|it| it.status == status && it.reason == reason);
            found
                .map(|it| it.message.clone())
                .ok_or_else(|| format!("{conditions:?}"))
        });
        waiting.await.unwrap()
    }
}

/// Checks the objects that the import has applied in the cluster.
async fn check_manifest(rig: &Rig, cluster: &ControlPlane) {
    let deployments = Api::<Deployment>::namespaced(cluster.client(), NAMESPACE);
    let deployment = deployments.get("drover-agent").await.unwrap();
    let pod = deployment.spec.unwrap().template.spec.unwrap();
    let env = pod.containers[0].env.clone().unwrap();
    let value = |name: &str| env.iter().find(|it| it.name == name)?.value.clone();
    assert_eq!(value("DROVER_AGENT_FLEET_HUB").as_deref(), Some("true"));
    assert_eq!(value("LANG").as_deref(), Some("C"));
    let bootstrap = secret(cluster, "fleet-agent-bootstrap")
        .await
        .unwrap()
        .data
        .unwrap();
    let text = |key: &str| String::from_utf8(bootstrap[key].0.clone()).unwrap();
    let url = text("apiServerURL");
    assert_eq!(url, format!("{}/k8s/clusters/local", rig.server.url));
    assert_eq!(text("apiServerCA"), rig.server.trust);
    assert_eq!(text("tokenName"), "import-token-edge");
    assert_eq!(text("clusterNamespace"), FLEET_NAMESPACE);
    let maps = Api::<ConfigMap>::namespaced(cluster.client(), NAMESPACE);
    let config = maps.get("fleet-agent").await.unwrap().data.unwrap();
    let config: Value = serde_json::from_str(&config["config"]).unwrap();
    let imported = rig.fleet::<FleetCluster>().get(CLUSTER).await.unwrap();
    assert_eq!(config["clientID"], imported.spec.client_id);
    assert_eq!(imported.spec.client_id.len(), 32);
}

/// Waits until the agent has a credential, and no registration token is left.
async fn wait_for_registration(rig: &Rig, cluster: &ControlPlane) {
    eventually("the registration", SOON, async || {
        let tokens = rig.fleet::<FleetClusterRegistrationToken>();
        let token = tokens.get_opt("import-token-edge").await.unwrap();
        let bootstrap = secret(cluster, "fleet-agent-bootstrap").await;
        let credential = secret(cluster, "fleet-agent").await;
        if token.is_none() && bootstrap.is_none() && credential.is_some() {
            return Ok(());
        }
        let found = (token.is_some(), bootstrap.is_some(), credential.is_some());
        let status = Api::<ConfigMap>::namespaced(cluster.client(), NAMESPACE);
        let status = status.get_opt("drover-agent-status").await.unwrap();
        Err(format!("{found:?} {:?}", status.and_then(|it| it.data)))
    })
    .await
    .unwrap();
}

/// Deletes the registration of the agent, which revokes the credential. Waits until the agent reports it.
async fn revoke(rig: &Rig, cluster: &ControlPlane) {
    let requests = rig.fleet::<ClusterRegistration>();
    let params = ListParams::default();
    for request in requests.list(&params).await.unwrap() {
        let name = request.metadata.name.unwrap();
        requests
            .delete(&name, &DeleteParams::default())
            .await
            .unwrap();
    }
    let maps = Api::<ConfigMap>::namespaced(cluster.client(), NAMESPACE);
    eventually("the rejected credential", SOON, async || {
        let status = maps.get("drover-agent-status").await.unwrap().data;
        let status = status.unwrap_or_default();
        if status.values().any(|it| it.contains("CredentialRejected")) {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    })
    .await
    .unwrap();
}

/// Checks that the server installs no agent beside the agent of another hub, and beside Fleet's agent.
async fn refuses_other_agents(rig: &Rig, cluster: &ControlPlane) {
    let namespaces = Api::<Namespace>::all(cluster.client());
    for (generation, namespace, expected) in [
        (2, NAMESPACE, "another hub"),
        (3, "cattle-fleet-system", "Fleet's agent"),
    ] {
        let object = json!({ "metadata": { "name": namespace } });
        create_if_missing(&namespaces, &object).await;
        let maps = Api::<ConfigMap>::namespaced(cluster.client(), namespace);
        let config = json!({
            "metadata": { "name": "fleet-agent" }, "data": { "config": r#"{"clientID":"other"}"# },
        });
        create_if_missing(&maps, &config).await;
        rig.change(json!({ "redeployAgentGeneration": generation }))
            .await;
        let waiting = eventually(expected, SOON, async || {
            let message = rig.imported("False", "AgentExists").await;
            message.contains(expected).then_some(()).ok_or(message)
        });
        waiting.await.unwrap();
        let params = DeleteParams::default();
        maps.delete("fleet-agent", &params).await.unwrap();
    }
}

async fn create_if_missing<K>(api: &Api<K>, object: &Value)
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    let object = serde_json::from_value(object.clone()).unwrap();
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
}

/// Ends a running import. Checks that its token ends, and imports the cluster again.
async fn stop_and_import_again(rig: &Rig) {
    let tokens = rig.fleet::<FleetClusterRegistrationToken>();
    rig.change(json!({ "kubeConfigSecret": null })).await;
    eventually("the end of the import", SOON, async || {
        let token = tokens.get_opt("import-token-edge").await.unwrap();
        token.map_or(Ok(()), |token| Err(format!("{:?}", token.metadata)))
    })
    .await
    .unwrap();
    rig.change(json!({ "kubeConfigSecret": "kubeconfig", "redeployAgentGeneration": 5 }))
        .await;
}

/// Checks that a running agent finds the token of a repeated import, and keeps its credential.
async fn import_with_a_running_agent(rig: &Rig, cluster: &ControlPlane) {
    let requests = rig.fleet::<ClusterRegistration>();
    let names = async || {
        let params = ListParams::default();
        let found = requests.list_metadata(&params).await.unwrap();
        let names = found.into_iter().map(|it| it.metadata.name);
        names.collect::<Vec<_>>()
    };
    let before = names().await;
    rig.change(json!({ "redeployAgentGeneration": 7 })).await;
    eventually("the repeated import", SOON, async || {
        let found = rig.fleet::<FleetCluster>().get(CLUSTER).await.unwrap();
        let status = found.status.unwrap_or_default();
        match status.agent_deployed_generation {
            Some(7) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();
    wait_for_registration(rig, cluster).await;
    assert_eq!(names().await, before);
}

async fn imported_cluster_registers_deploys_bundles_and_can_be_imported_again(hub: TestHub) {
    let (rig, cluster) = Rig::with_cluster_on(hub).await;
    let imported = json!({
        "metadata": { "name": CLUSTER },
        "spec": {
            "kubeConfigSecret": "kubeconfig", "kubeConfigSecretNamespace": "default",
            "agentEnvVars": [{ "name": "LANG", "value": "C" }],
        },
    });
    let clusters = rig.fleet::<FleetCluster>();
    eventually("the namespace of Fleet Clusters", SOON, async || {
        let imported = serde_json::from_value(imported.clone()).unwrap();
        clusters.create(&PostParams::default(), &imported).await
    })
    .await
    .unwrap();
    rig.imported("False", "SecretNamespaceRefused").await;
    rig.change(json!({ "kubeConfigSecretNamespace": null }))
        .await;
    let message = rig.imported("False", "KubeConfigMissing").await;
    assert!(message.contains("next attempt at"), "{message}");
    let identity = cluster
        .identity("importer", Some("system:masters"))
        .unwrap();
    let kubeconfig = identity.kubeconfig;
    let mut exec: Value = serde_json::from_str(&kubeconfig).unwrap();
    exec["users"][0]["user"]["exec"] = json!({ "command": "sh", "args": ["s3cr3t"] });
    rig.store(&exec.to_string()).await;
    // A change of the spec repeats the import at once.
    rig.change(json!({ "redeployAgentGeneration": 1 })).await;
    let message = rig.imported("False", "KubeConfigInvalid").await;
    assert!(
        message.contains("exec") && !message.contains("s3cr3t"),
        "{message}"
    );
    let tokens = rig.fleet::<FleetClusterRegistrationToken>();
    assert!(
        tokens
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );

    rig.store(&kubeconfig).await;
    refuses_other_agents(&rig, &cluster).await;
    assert!(
        tokens
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    rig.change(json!({ "redeployAgentGeneration": 4 })).await;
    rig.imported("True", "Imported").await;
    check_manifest(&rig, &cluster).await;

    stop_and_import_again(&rig).await;
    let agent = start(&cluster).await;
    wait_for_registration(&rig, &cluster).await;
    let bundles = rig.fleet::<Bundle>();
    let files = json!([config_map(&json!({ "color": "red" }))]);
    create(&bundles, &serde_json::to_value(bundle(&files)).unwrap()).await;
    rig.wait_for_ready(1).await;
    wait_for_data(&cluster, Some(&[("color", "red")])).await;

    // The import restores the access of an agent whose credential was revoked.
    revoke(&rig, &cluster).await;
    rig.change(json!({ "redeployAgentGeneration": 6 })).await;
    wait_for_registration(&rig, &cluster).await;
    let files = json!([config_map(&json!({ "color": "blue" }))]);
    let patch = Patch::Merge(json!({ "spec": { "resources": files } }));
    let params = PatchParams::default();
    bundles.patch("shop", &params, &patch).await.unwrap();
    wait_for_data(&cluster, Some(&[("color", "blue")])).await;

    import_with_a_running_agent(&rig, &cluster).await;

    let params = DeleteParams::default();
    clusters.delete(CLUSTER, &params).await.unwrap();
    eventually("the deletion of the cluster", SOON, async || match clusters
        .get_opt(CLUSTER)
        .await
        .unwrap()
    {
        None => Ok(()),
        Some(left) => Err(format!("{:?}", left.metadata)),
    })
    .await
    .unwrap();
    drop(agent);
    rig.server.stop().await;
}
