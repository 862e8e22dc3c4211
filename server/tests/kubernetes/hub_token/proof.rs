//! Tests of the proof that the server requires for a hub token.

use std::time::Duration;

use drover_access::proof::{connect_message, hub_token_message};
use drover_api::ids::ClusterUid;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::{challenge, create_account, key, refusal, registered_cluster, request, request_signed};
use crate::place::{TestHub, on_both_hubs};
use crate::registration::pending_cluster;
use crate::server::Server;

on_both_hubs!(hub_token_requires_an_unused_challenge_signed_with_the_key_of_the_cluster);

async fn hub_token_requires_an_unused_challenge_signed_with_the_key_of_the_cluster(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let shop = registered_cluster(&server, &admin, "shop").await;
    let other = registered_cluster(&server, &admin, "other").await;
    let pending = pending_cluster(&server, &admin, "pending").await;
    let pending = ClusterUid::new(&*pending.uid);
    create_account(&server, json!([])).await;
    let node_key = bind_node_agent(&server).await;

    for (case, key) in [
        ("the key of another Cluster", &*other.key),
        ("the key of a node agent", &node_key),
        ("a key that no Cluster has", &key()),
    ] {
        let nonce = challenge(&server, &shop.uid).await;
        let answer = request(&server, &shop.uid, key, &nonce).await;
        assert_eq!(refusal(&answer), (401, "ForeignKey"), "{case}");
    }
    // A signature for a different purpose, challenge or Cluster.
    let nonce = challenge(&server, &shop.uid).await;
    let next = challenge(&server, &shop.uid).await;
    for message in [
        connect_message(&shop.uid, &nonce, ""),
        connect_message(&shop.uid, &nonce, "pod-0"),
        hub_token_message(&shop.uid, &next),
        hub_token_message(&other.uid, &nonce),
    ] {
        let answer = request_signed(&server, &shop.uid, &shop.key, &nonce, &message).await;
        assert_eq!(refusal(&answer), (401, "ForeignKey"));
    }
    let foreign = challenge(&server, &other.uid).await;
    let unknown = ClusterUid::new("unknown");
    let of_pending = challenge(&server, &pending).await;
    for (case, uid, nonce, reason) in [
        (
            "a challenge of another Cluster",
            &shop.uid,
            &foreign,
            "ForeignChallenge",
        ),
        ("an unknown Cluster", &unknown, &next, "ForeignChallenge"),
        (
            "a Cluster without a key",
            &pending,
            &of_pending,
            "NotRegistered",
        ),
    ] {
        let answer = request(&server, uid, &shop.key, nonce).await;
        assert_eq!(refusal(&answer), (401, reason), "{case}");
    }
    let answer = request(&server, &shop.uid, &shop.key, &nonce).await;
    assert!(answer.body["token"].is_string(), "{}", answer.code);
    let answer = request(&server, &shop.uid, &shop.key, &nonce).await;
    assert_eq!(refusal(&answer), (401, "ReplayedChallenge"));
    server.stop().await;
}

/// Binds the key of a node agent to a node of the cluster `shop`.
async fn bind_node_agent(server: &Server) -> drover_agent_link::key::AgentKey {
    let key = key();
    let bound = json!({ "publicKey": key.public().encode(), "boundAt": "2026-01-01T00:00:00Z" });
    let agent = json!({ "node": "n", "nodeUid": "u", "class": "ControlPlane", "key": bound });
    let patch = Patch::Merge(json!({ "status": { "nodeAgents": [agent] } }));
    let clusters = server.hub.clusters();
    let params = PatchParams::default();
    let patched = clusters.patch_status("shop", &params, &patch).await;
    patched.unwrap();
    key
}

#[tokio::test]
async fn hub_token_requires_a_challenge_that_is_not_older_than_a_minute() {
    let server = Server::start(&TestHub::embedded()).await;
    let admin = server.administrator().await;
    let shop = registered_cluster(&server, &admin, "shop").await;
    let nonce = challenge(&server, &shop.uid).await;
    tokio::time::sleep(Duration::from_secs(61)).await;
    let answer = request(&server, &shop.uid, &shop.key, &nonce).await;
    assert_eq!(refusal(&answer), (401, "StaleChallenge"));
    server.stop().await;
}
