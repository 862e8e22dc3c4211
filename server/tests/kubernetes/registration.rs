//! Tests of concurrent registrations with one agent key.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use drover_access::proof::register_message;
use drover_access::token::RegistrationToken;
use drover_agent_link::key::AgentKey;
use drover_api::ids::ClusterUid;
use drover_e2e::eventually;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use reqwest::Method;
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(agent_key_is_bound_to_one_cluster_only);

const SOON: std::time::Duration = std::time::Duration::from_mins(1);

/// An unregistered Cluster with a registration token.
pub(crate) struct PendingCluster {
    pub(crate) name: String,
    pub(crate) uid: String,
    token: String,
}

pub(crate) async fn pending_cluster(server: &Server, admin: &str, name: &str) -> PendingCluster {
    let body = json!({ "name": name });
    let created = server.post("/v1/clusters", admin, body).await.expect(201);
    let path = format!("/v1/clusters/{name}/import");
    let import = server.post(&path, admin, json!({})).await.expect(200);
    PendingCluster {
        name: name.to_owned(),
        uid: created["uid"].as_str().unwrap().to_owned(),
        token: import["registrationToken"].as_str().unwrap().to_owned(),
    }
}

pub(crate) async fn register(
    server: &Server,
    key: &AgentKey,
    pending_cluster: &PendingCluster,
) -> (u16, Value) {
    let uid = ClusterUid::new(&*pending_cluster.uid);
    let token = RegistrationToken::parse(&pending_cluster.token).unwrap();
    let message = register_message(&uid, key.public(), token.id());
    let body = json!({
        "clusterUid": pending_cluster.uid,
        "publicKey": key.public().encode(),
        "signature": key.sign(&message),
        "agentVersion": "test",
    });
    let path = "/v1/agent/register";
    let answer = server
        .call(Method::POST, path, Some(&pending_cluster.token), Some(body))
        .await;
    (answer.code.as_u16(), answer.body)
}

/// Returns the names of the Clusters whose status contains the agent's key.
async fn bound(server: &Server, key: &AgentKey) -> Vec<String> {
    let clusters = server.hub.clusters();
    let all = clusters.list(&ListParams::default()).await.unwrap();
    let encoded = key.public().encode();
    let registered = all.into_iter().filter(|cluster| {
        let status = cluster.status.as_ref();
        let registration = status.and_then(|status| status.registration.as_ref());
        registration.is_some_and(|it| it.public_key == encoded)
    });
    registered.filter_map(|it| it.metadata.name).collect()
}

pub(crate) fn key() -> AgentKey {
    AgentKey::from_pkcs8(&AgentKey::generate().unwrap()).unwrap()
}

async fn claims(server: &Server) -> Vec<Secret> {
    let all = server.hub.secrets().list(&ListParams::default()).await;
    let all = all.unwrap().into_iter();
    let claim = |secret: &Secret| {
        let name = secret.metadata.name.as_deref().unwrap_or_default();
        name.starts_with("cluster-key-")
    };
    all.filter(claim).collect()
}

async fn agent_key_is_bound_to_one_cluster_only(hub: TestHub) {
    let server = Arc::new(Server::start(&hub).await);
    let admin = server.administrator().await;
    for round in 0..3 {
        let key = Arc::new(key());
        let mut all = Vec::new();
        for number in 0..4 {
            let name = format!("shop-{round}-{number}");
            all.push(pending_cluster(&server, &admin, &name).await);
        }
        let barrier = Arc::new(tokio::sync::Barrier::new(all.len()));
        let tasks = all.into_iter().map(|pending_cluster| {
            let (server, key) = (Arc::clone(&server), Arc::clone(&key));
            let barrier = Arc::clone(&barrier);
            tokio::spawn(async move {
                barrier.wait().await;
                let answer = register(&server, &key, &pending_cluster).await;
                (pending_cluster, answer)
            })
        });
        let answers = futures::future::try_join_all(tasks).await.unwrap();
        let (done, refused): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(_, (code, _))| *code == 200);
        assert_eq!(
            done.len(),
            1,
            "{:?}",
            done.iter().map(|it| &it.0.name).collect::<Vec<_>>()
        );
        let (holder, _) = &done[0];
        assert_eq!(
            bound(&server, &key).await,
            std::slice::from_ref(&holder.name)
        );
        for (other, (code, answer)) in &refused {
            assert_eq!(*code, 409, "{answer}");
            // A repeated registration gets the same response.
            let (code, answer) = register(&server, &key, other).await;
            assert_eq!(code, 409, "{answer}");
            let message = answer["message"].as_str().unwrap();
            assert!(message.contains(&holder.name), "{message}");
        }
        if round == 0 {
            deleted_cluster_releases_its_key(&server, &admin, &key, holder, &refused[0].0).await;
        }
    }
    claim_without_binding_is_repaired(&server, &admin).await;
    cluster_bound_without_a_claim_keeps_its_key(&server, &admin).await;
    Arc::into_inner(server).unwrap().stop().await;
}

async fn deleted_cluster_releases_its_key(
    server: &Server,
    admin: &str,
    key: &AgentKey,
    holder: &PendingCluster,
    other: &PendingCluster,
) {
    // No agent connects to clean up the cluster, so the test removes the finalizers.
    let clusters = server.hub.clusters();
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    server
        .delete(&format!("/v1/clusters/{}", holder.name), admin)
        .await
        .expect(204);
    eventually("the Cluster to be deleted", SOON, async || {
        let params = PatchParams::default();
        let _ = clusters.patch(&holder.name, &params, &patch).await;
        match clusters.get_opt(&holder.name).await.unwrap() {
            None => Ok(()),
            Some(remaining) => Err(format!("{:?}", remaining.metadata.finalizers)),
        }
    })
    .await
    .unwrap();
    eventually("the key to be free", SOON, async || {
        match register(server, key, other).await {
            (200, _) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();
    assert_eq!(bound(server, key).await, std::slice::from_ref(&other.name));
}

/// Creates a key claim in the server's format.
async fn claim(server: &Server, key: &AgentKey, uid: &str, name: &str) {
    let fingerprint = digest(&SHA256, key.public().encode().as_bytes());
    let hex: Vec<_> = fingerprint
        .as_ref()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let claim: Secret = serde_json::from_value(json!({
        "metadata": { "name": format!("cluster-key-{}", hex.concat()) },
        "type": "management.drover.dev/cluster-key",
        "stringData": { "cluster-uid": uid, "cluster-name": name },
    }))
    .unwrap();
    let params = PostParams::default();
    server.hub.secrets().create(&params, &claim).await.unwrap();
}

/// Simulates a crash between the claim and the binding.
async fn claim_without_binding_is_repaired(server: &Server, admin: &str) {
    let (crashed, other) = (
        pending_cluster(server, admin, "crashed").await,
        pending_cluster(server, admin, "other").await,
    );
    let lost = key();
    claim(server, &lost, &crashed.uid, &crashed.name).await;
    assert_eq!(register(server, &lost, &other).await.0, 409);
    assert_eq!(register(server, &lost, &crashed).await.0, 200);
    assert_eq!(bound(server, &lost).await, ["crashed"]);
    // Neither Cluster can bind the key: the first one is deleted, and the second one has another
    // key.
    let (of_gone, of_bound) = (key(), key());
    claim(server, &of_gone, "5a1d", "gone").await;
    claim(server, &of_bound, &crashed.uid, &crashed.name).await;
    assert_eq!(register(server, &of_gone, &other).await.0, 200);
    let third = pending_cluster(server, admin, "third").await;
    assert_eq!(register(server, &of_bound, &third).await.0, 200);
    assert_eq!(bound(server, &of_bound).await, ["third"]);
}

/// Deletes the claim of a registered key. Simulates an upgrade from a version without claims.
async fn cluster_bound_without_a_claim_keeps_its_key(server: &Server, admin: &str) {
    let (old, new) = (
        pending_cluster(server, admin, "old").await,
        pending_cluster(server, admin, "new").await,
    );
    let key = key();
    assert_eq!(register(server, &key, &old).await.0, 200);
    for claim in claims(server).await {
        let name = claim.metadata.name.unwrap();
        let params = DeleteParams::default();
        server.hub.secrets().delete(&name, &params).await.unwrap();
    }
    assert_eq!(register(server, &key, &new).await.0, 409);
    assert_eq!(bound(server, &key).await, ["old"]);
    // The bound Cluster registers again without a claim.
    assert_eq!(register(server, &key, &old).await.0, 200);
}
