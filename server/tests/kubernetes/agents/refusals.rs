//! Tests of registrations that the server must reject (attack group 17). Each rejection creates an
//! event on the Cluster.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_access::proof::{PublicKey, register_message};
use drover_api::ids::ClusterUid;
use drover_api::kinds::{ClusterRegistrationToken, ClusterRegistrationTokenSpec};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Patch, PatchParams, PostParams};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::rig::Rig;
use crate::place::TestHub;
use crate::server::{Answer, Server};

/// A key pair of an agent that no cluster has registered.
struct Key(Ed25519KeyPair);

impl Key {
    fn new(seed: u8) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    fn public(&self) -> PublicKey {
        PublicKey::from_bytes(self.0.public_key().as_ref().try_into().unwrap())
    }

    fn request(&self, uid: &str, token: &str) -> Value {
        let id = token.split('_').nth(1).unwrap_or_default();
        let message = register_message(&ClusterUid::new(uid), &self.public(), id);
        json!({
            "clusterUid": uid,
            "publicKey": self.public().encode(),
            "signature": STANDARD.encode(self.0.sign(&message)),
            "agentVersion": "test",
        })
    }
}

async fn rig() -> Rig {
    let hub = TestHub::chosen().await;
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    Rig::on(hub, server, admin)
}

async fn register(rig: &Rig, token: Option<&str>, body: Value) -> Answer {
    rig.server
        .call(Method::POST, "/v1/agent/register", token, Some(body))
        .await
}

async fn token(rig: &Rig, name: &str) -> String {
    rig.import(name).await["registrationToken"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn cause(body: &Value) -> &str {
    body["details"]["causes"][0]["reason"]
        .as_str()
        .unwrap_or_default()
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one table and the assertions about its effects"
)]
async fn invalid_registrations_are_rejected_with_an_event() {
    let rig = rig().await;
    let a = rig.create("a").await;
    let b = rig.create("b").await;
    let (ours, other) = (Key::new(1), Key::new(2));
    let (token_a, token_b) = (token(&rig, "a").await, token(&rig, "b").await);
    let second_token = token(&rig, "a").await;
    let unsigned = {
        let mut request = ours.request(&a, &token_a);
        request["signature"] = other.request(&a, &token_a)["signature"].clone();
        request
    };

    for (case, token, body, code, reason) in [
        ("no token", None, ours.request(&a, ""), 401, "TokenRequired"),
        (
            "another key's signature",
            Some(&token_a),
            unsigned,
            401,
            "BadSignature",
        ),
        (
            "a token of another Cluster",
            Some(&token_b),
            ours.request(&a, &token_b),
            403,
            "TokenOfOtherCluster",
        ),
        (
            "a signature for another token",
            Some(&token_a),
            ours.request(&a, &token_b),
            401,
            "BadSignature",
        ),
        (
            "a signature for another Cluster",
            Some(&token_a),
            ours.request("x", &token_a),
            404,
            "NoSuchCluster",
        ),
    ] {
        let answer = register(&rig, token.map(String::as_str), body).await;
        let body = answer.expect(code);
        assert_eq!(cause(&body), reason, "{case}: {body}");
    }
    register(&rig, Some(&token_a), ours.request(&a, &token_a))
        .await
        .expect(200);
    for (case, token, body, code, reason) in [
        (
            "a second key with a fresh token",
            Some(&second_token),
            other.request(&a, &second_token),
            409,
            "AlreadyRegistered",
        ),
        (
            "a stolen token after binding",
            Some(&token_a),
            other.request(&a, &token_a),
            409,
            "AlreadyRegistered",
        ),
        (
            "A's key for B",
            Some(&token_b),
            ours.request(&b, &token_b),
            409,
            "KeyOfOtherCluster",
        ),
        (
            "a used token for B",
            Some(&token_a),
            other.request(&b, &token_a),
            401,
            "TokenInvalid",
        ),
    ] {
        let body = register(&rig, token.map(String::as_str), body)
            .await
            .expect(code);
        assert_eq!(cause(&body), reason, "{case}: {body}");
    }
    // The bound key authenticates the agent with a deleted token and without a token.
    register(&rig, Some(&token_a), ours.request(&a, &token_a))
        .await
        .expect(200);
    register(&rig, None, ours.request(&a, "")).await.expect(200);

    let (on_a, on_b) = (rig.events("a").await, rig.events("b").await);
    for reason in [
        "TokenRequired",
        "BadSignature",
        "TokenOfOtherCluster",
        "AlreadyRegistered",
        "Registered",
    ] {
        assert!(on_a.iter().any(|seen| seen == reason), "{reason} {on_a:?}");
    }
    for reason in ["KeyOfOtherCluster", "TokenInvalid"] {
        assert!(on_b.iter().any(|seen| seen == reason), "{reason} {on_b:?}");
    }
    assert!(rig.status("b").await.registration.is_none());
    assert_eq!(
        rig.status("a").await.registration.unwrap().public_key,
        ours.public().encode()
    );
}

#[tokio::test]
async fn expired_registration_token_is_rejected() {
    let rig = rig().await;
    let uid = rig.create("a").await;
    let issued = drover_access::token::issue::<drover_access::token::ForRegistration>(&[5; 32]);
    let spec = ClusterRegistrationTokenSpec {
        cluster_name: "a".into(),
        cluster_uid: ClusterUid::new(&uid),
        hash: issued.hash.as_str().to_owned(),
        expires_at: Time(Timestamp::now() - SignedDuration::from_secs(1)),
    };
    let object = ClusterRegistrationToken::new(&issued.id, spec);
    let tokens = rig.server.hub.registration_tokens();
    tokens
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let token = issued.token.expose_secret();
    let body = register(&rig, Some(token), Key::new(1).request(&uid, token))
        .await
        .expect(401);
    assert_eq!(cause(&body), "TokenExpired");
    let (code, _) = rig
        .server
        .call_text(Method::GET, "/v1/import/manifest", Some(token))
        .await;
    assert_eq!(code, 401);
}

#[tokio::test]
async fn user_tokens_and_registration_tokens_are_not_interchangeable() {
    let rig = rig().await;
    let uid = rig.create("a").await;
    let token = token(&rig, "a").await;
    for path in [
        "/v1/me",
        "/v1/clusters",
        "/k8s/clusters/a/api",
        "/k8s/clusters/local/api",
    ] {
        rig.server.get(path, &token).await.expect(401);
    }
    let body = Key::new(1).request(&uid, &rig.admin);
    register(&rig, Some(&rig.admin), body).await.expect(401);
    assert!(rig.status("a").await.registration.is_none());
}

#[tokio::test]
async fn recreated_cluster_inherits_no_key_and_no_token() {
    let rig = rig().await;
    let old = rig.create("a").await;
    let key = Key::new(1);
    let (first, spare) = (token(&rig, "a").await, token(&rig, "a").await);
    register(&rig, Some(&first), key.request(&old, &first))
        .await
        .expect(200);
    rig.server
        .delete("/v1/clusters/a", &rig.admin)
        .await
        .expect(204);
    let new = drover_e2e::eventually("the name to be free", super::rig::SOON, async || {
        // No agent connects to clean up, so remove the finalizers.
        let free = Patch::Merge(json!({"metadata": {"uid": old, "finalizers": []}}));
        let (clusters, params) = (rig.server.hub.clusters(), PatchParams::default());
        match clusters.patch("a", &params, &free).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            freed => drop(freed.unwrap()),
        }
        let body = json!({ "name": "a" });
        let created = rig.server.post("/v1/clusters", &rig.admin, body).await;
        if created.code == 201 {
            Ok(created.body["uid"].as_str().unwrap().to_owned())
        } else {
            Err(created.body.to_string())
        }
    })
    .await
    .unwrap();
    assert_ne!(old, new);
    // The unused token of a Cluster is deleted shortly after its Cluster.
    for (uid, token, codes) in [
        (&old, &spare, &[404][..]),
        (&new, &spare, &[401, 403]),
        (&new, &first, &[401]),
    ] {
        let answer = register(&rig, Some(token), key.request(uid, token)).await;
        assert!(codes.contains(&answer.code.as_u16()), "{}", answer.body);
    }
    register(&rig, None, key.request(&new, ""))
        .await
        .expect(401);
    assert!(rig.status("a").await.registration.is_none());
}
