//! Tests of the replacement of agents' keys.

use std::sync::Arc;

use drover_access::proof::connect_message;
use drover_agent_link::key::AgentKey;
use drover_agent_link::registration::KEY_SECRET;
use drover_api::agent::ConnectProof;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, ClusterStatus};
use drover_e2e::{ControlPlane, eventually};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams, PostParams};
use reqwest::Method;
use secrecy::SecretSlice;
use serde_json::json;

use super::connection::{challenge, connect};
use super::node_agents::{start_on_new_node, wait_for_key, with_ready_cluster};
use super::rig::{Rig, SOON, Steps, secret, start};

const ROTATE: &str = "/v1/clusters/shop/rotate-keys";

/// Returns the public keys of the agent and of the first node agent.
fn keys(status: &ClusterStatus) -> (String, Option<String>) {
    let agent = status.registration.as_ref().unwrap().public_key.clone();
    let node = status.node_agents.first();
    let node = node.and_then(|node| Some(node.key.as_ref()?.public_key.clone()));
    (agent, node)
}

/// Returns a key in the agent's Secret.
async fn stored_key(cluster: &ControlPlane, name: &str) -> Option<AgentKey> {
    let data = secret(cluster, KEY_SECRET).await.unwrap().data.unwrap();
    let stored = data.get(name)?.0.clone();
    Some(AgentKey::from_pkcs8(&SecretSlice::from(stored)).unwrap())
}

async fn wait_for_stored_key(cluster: &ControlPlane, public: &str) {
    eventually("the agent stores the key", SOON, async || {
        let stored = stored_key(cluster, "key.pkcs8").await.unwrap();
        let stored = stored.public().encode();
        if stored == public {
            Ok(())
        } else {
            Err(stored)
        }
    })
    .await
    .unwrap();
}

/// Binds a different key to the Cluster. Without the name of the replaced key, the Cluster is in the
/// state of a restored backup.
async fn bind(rig: &Rig, public_key: &str, keep_previous: bool) {
    let clusters: Api<Cluster> = rig.server.hub.clusters();
    let (replaced, _) = keys(&rig.status("shop").await);
    let params = PatchParams::default();
    let mut previous = vec![json!(replaced)];
    if !keep_previous {
        previous.push(json!(null));
    }
    for previous in previous {
        let registration = json!({ "publicKey": public_key, "previousKey": previous });
        let patch = json!({ "status": { "registration": registration } });
        clusters
            .patch_status("shop", &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn keys_of_all_agents_are_replaced_without_losing_a_stream() {
    let (rig, cluster, _agent) = with_ready_cluster().await;
    let _replica = start(&cluster, "pod-1").await;
    let _node_agent = start_on_new_node(&rig, &cluster, "cp-1").await;
    wait_for_key(&rig).await;
    let before = keys(&rig.status("shop").await);
    let watch = "k8s/clusters/shop/api/v1/namespaces/default/configmaps?watch=true";
    let mut watch = crate::server::client(&rig.server.trust)
        .get(format!("{}/{watch}", rig.server.url))
        .bearer_auth(&rig.admin)
        .send()
        .await
        .unwrap();

    let post = |token| rig.server.call(Method::POST, ROTATE, token, None);
    post(None).await.expect(401);
    post(Some(rig.admin.as_str())).await.expect(200);
    eventually("both keys are replaced", SOON, async || {
        let now = keys(&rig.status("shop").await);
        let replaced = now.0 != before.0 && now.1.is_some() && now.1 != before.1;
        if replaced {
            Ok(())
        } else {
            Err(format!("{now:?}"))
        }
    })
    .await
    .unwrap();
    let status = rig.status("shop").await;
    let (agent, node) = keys(&status);
    let registration = status.registration.unwrap();
    assert_eq!(registration.previous_key.as_ref(), Some(&before.0));
    wait_for_stored_key(&cluster, &agent).await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    assert!(rig.events("shop").await.contains(&"KeyReplaced".to_owned()));

    // The watch continues on the tunnel with the replaced key.
    let object = json!({ "metadata": { "name": "after-the-rotation" } });
    let object: ConfigMap = serde_json::from_value(object).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    maps.create(&PostParams::default(), &object).await.unwrap();
    let event = async {
        let mut received = String::new();
        while !received.contains("after-the-rotation") {
            let chunk = watch.chunk().await.unwrap().expect("the watch is open");
            received.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    tokio::time::timeout(SOON, event).await.unwrap();

    // The replaced key does not open a tunnel, and the refusal is not reported as an attack.
    let replaced = stored_key(&cluster, "previous-key.pkcs8").await.unwrap();
    assert_eq!(replaced.public().encode(), before.0);
    let uid = ClusterUid::new(rig.cluster("shop").await.uid().unwrap());
    let nonce = challenge(&rig, &uid).await;
    let proof = ConnectProof {
        signature: replaced.sign(&connect_message(&uid, &nonce, "pod-9")),
        cluster_uid: uid,
        nonce,
        node: None,
        replica: "pod-9".to_owned(),
        agent_version: "test".to_owned(),
    };
    let (code, body) = connect(&rig, &proof, "1, 2").await;
    assert_eq!(code, 401, "{body}");
    assert_eq!(body["details"]["causes"][0]["reason"], "KeyReplaced");
    assert!(!rig.events("shop").await.contains(&"ForeignKey".to_owned()));

    // The agents keep their keys until the next request.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(keys(&rig.status("shop").await), (agent, node));
}

#[tokio::test]
async fn schedule_replaces_an_old_key() {
    let (rig, cluster, _agent) = with_ready_cluster().await;
    let (before, _) = keys(&rig.status("shop").await);
    let clusters: Api<Cluster> = rig.server.hub.clusters();
    let params = PatchParams::default();
    let bound = json!({ "boundAt": "2026-01-01T00:00:00Z" });
    let patch = Patch::Merge(json!({ "status": { "registration": bound } }));
    clusters
        .patch_status("shop", &params, &patch)
        .await
        .unwrap();
    eventually("the key is replaced", SOON, async || {
        let (now, _) = keys(&rig.status("shop").await);
        if now == before { Err(now) } else { Ok(()) }
    })
    .await
    .unwrap();
    let (after, _) = keys(&rig.status("shop").await);
    wait_for_stored_key(&cluster, &after).await;
}

#[tokio::test]
async fn agent_connects_after_a_crash_during_the_replacement_and_after_a_restored_backup() {
    let (rig, cluster) = Rig::with_cluster().await;
    rig.join("shop", &cluster).await;
    let steps = Steps::of(&cluster).await;
    steps.registrar().run().await.unwrap();
    let (first, _) = keys(&rig.status("shop").await);
    // The server has bound the next key, and the agent does not use it yet.
    let next = Arc::new(steps.store.next_key().await.unwrap());
    let next = next.public().encode();
    bind(&rig, &next, true).await;
    let agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    wait_for_stored_key(&cluster, &next).await;
    agent.terminate().await;

    assert!(!rig.events("shop").await.contains(&"ForeignKey".to_owned()));
    bind(&rig, &first, false).await;
    rig.wait_for("shop", "Connected", ("False", "AgentGone"))
        .await;
    let _agent = start(&cluster, "pod-0").await;
    rig.wait_for("shop", "Ready", ("True", "Ready")).await;
    wait_for_stored_key(&cluster, &first).await;
}
