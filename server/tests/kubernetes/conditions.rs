//! Tests the conditions of users and tokens in the output of kubectl on the hub.

use std::time::Duration;

use drover_api::ids::ClusterUid;
use drover_api::kinds::{ClusterScope, TokenPurpose};
use drover_e2e::eventually;
use drover_identity::tokens;
use drover_identity::tokens::NewToken;
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde_json::{Value, json};

use crate::place::{TestHub, on_both_hubs};
use crate::server::Server;

on_both_hubs!(kubectl_shows_ready_users_and_tokens_and_a_restart_writes_no_status,);

const SOON: Duration = Duration::from_secs(30);

/// Waits until the object has exactly one condition, with this status and reason. Returns the
/// object.
async fn wait_for_condition(hub: &TestHub, object: &str, expected: [&str; 3]) -> Value {
    let (kind, name) = object.split_once('/').unwrap();
    let kind = format!("{kind}.management.drover.dev");
    let condition = eventually(object, SOON, async || {
        let got = hub.kubectl(["get", &kind, name, "-o", "json"]).await;
        let got: Value = serde_json::from_str(&got.unwrap().stdout).unwrap();
        let conditions = got["status"]["conditions"].as_array();
        let says = conditions.is_some_and(|list| {
            let [only] = &list[..] else { return false };
            [&only["type"], &only["status"], &only["reason"]] == expected
        });
        if says { Ok(got) } else { Err(got) }
    });
    condition.await.unwrap()
}

/// Creates a token for the administrator directly on the hub, with options that the REST API does
/// not have.
async fn create_token(server: &Server, seconds: i64, cluster: Option<ClusterScope>) -> String {
    let owner = server.hub.users().get("admin").await.unwrap();
    let wish = NewToken {
        idle: None,
        purpose: TokenPurpose::Api,
        cluster,
        provider: None,
        description: None,
        expires_at: Timestamp::now() + SignedDuration::from_secs(seconds),
    };
    let (_, create_token) = tokens::create(&server.hub, &owner, wish).await.unwrap();
    format!("tokens/{}", create_token.metadata.name.unwrap())
}

async fn kubectl_shows_ready_users_and_tokens_and_a_restart_writes_no_status(hub: TestHub) {
    let server = Server::start(&hub).await;
    let admin = server.administrator().await;
    let ann = server.user(&admin, "ann").await;
    let make = async |bearer: &str, wish: Value| {
        let answer = server.post("/v1/tokens", bearer, wish).await.expect(201);
        format!("tokens/{}", answer["metadata"]["id"].as_str().unwrap())
    };
    let lasting = make(&ann, json!({ "purpose": "Api", "ttlSeconds": 3600 })).await;
    let brief = create_token(&server, 20, None).await;
    // Simulates a token that was created while its cluster was deleted. Other tokens are deleted
    // with the cluster.
    let scope = ClusterScope {
        name: "shop".to_owned(),
        uid: ClusterUid::new("5b3c4fd4-0000-4000-8000-000000000000"),
    };
    let orphan = create_token(&server, 3600, Some(scope)).await;

    wait_for_condition(&hub, "users/admin", ["Ready", "True", "Enabled"]).await;
    wait_for_condition(&hub, "users/ann", ["Ready", "True", "Enabled"]).await;
    wait_for_condition(&hub, &lasting, ["Valid", "True", "Active"]).await;
    wait_for_condition(&hub, &brief, ["Valid", "True", "Active"]).await;
    wait_for_condition(&hub, &orphan, ["Valid", "False", "ClusterGone"]).await;

    let off = Some(json!({ "enabled": false }));
    server
        .call(Method::PATCH, "/v1/users/ann", Some(&admin), off)
        .await
        .expect(200);
    let disabled = wait_for_condition(&hub, "users/ann", ["Ready", "False", "Disabled"]).await;
    let advice = disabled["status"]["conditions"][0]["message"].as_str();
    assert!(advice.unwrap().contains("drover user enable ann"));
    let refused = wait_for_condition(&hub, &lasting, ["Valid", "False", "UserDisabled"]).await;
    let expired = wait_for_condition(&hub, &brief, ["Valid", "False", "Expired"]).await;
    let columns = hub
        .kubectl(["get", "tokens.management.drover.dev"])
        .await
        .unwrap();
    assert!(columns.stdout.contains("UserDisabled"), "{columns:?}");
    server.stop().await;

    let server = Server::start(&hub).await;
    // When the controller has reconciled a new user, it has reconciled all users.
    let body = json!({ "name": "bob", "password": "the very first password" });
    server.post("/v1/users", &admin, body).await.expect(201);
    let expected = ["Ready", "False", "PasswordChangeRequired"];
    wait_for_condition(&hub, "users/bob", expected).await;
    let wish = json!({ "purpose": "Api", "ttlSeconds": 3600 });
    let answer = server.post("/v1/tokens", &admin, wish).await.expect(201);
    let new = format!("tokens/{}", answer["metadata"]["id"].as_str().unwrap());
    wait_for_condition(&hub, &new, ["Valid", "True", "Active"]).await;
    for (object, before, says) in [
        ("users/ann", disabled, ["Ready", "False", "Disabled"]),
        (&*lasting, refused, ["Valid", "False", "UserDisabled"]),
        (&*brief, expired, ["Valid", "False", "Expired"]),
    ] {
        let after = wait_for_condition(&hub, object, says).await;
        let version = "/metadata/resourceVersion";
        assert_eq!(after.pointer(version), before.pointer(version), "{object}");
    }
    server.stop().await;
}
