//! Tests that the server refreshes identities at their provider (attack group 15).

use drover_testkit::slapd::{Slapd, person};
use kube::api::{Patch, PatchParams};
use reqwest::Method;
use serde_json::{Value, json};

use super::directory::{directory, log_in_with_password};
use super::rig::Rig;
use crate::server::token;

/// Refreshes the identities of a user. Returns the updated user.
async fn refresh(rig: &Rig, name: &str) -> Value {
    let path = format!("/v1/users/{name}/refresh");
    let requested = rig.server.call(Method::POST, &path, Some(&rig.admin), None);
    let user = requested.await.expect(200);
    assert!(
        !user.to_string().contains("eyJ"),
        "the response must contain no token: {user}"
    );
    user["identities"][0].clone()
}

/// Sets the confirmation time of a user's identities to a time in the past.
async fn hours_ago(rig: &Rig, name: &str, hours: i64) {
    let (users, params) = (rig.server.hub.users(), PatchParams::default());
    let user = users.get(name).await.unwrap();
    let mut identities = user.status.unwrap().identities;
    let ago = jiff::SignedDuration::from_hours(hours);
    identities[0].confirmed_at.0 = jiff::Timestamp::now() - ago;
    let patch = Patch::Merge(json!({ "status": { "identities": identities } }));
    let changed = users.patch_status(name, &params, &patch).await.unwrap();
    let stores = rig.server.hub.stores();
    assert!(stores.users.wait_for(&changed).await);
}

#[tokio::test]
async fn identity_refresh_updates_groups_and_rejected_refresh_revokes_access() {
    let rig = Rig::start().await;
    let mut provider = rig.openid("corp").await;
    let ann = rig.sign_in("corp", &provider, "ann").await;
    let token = rig.api_token(&ann).await;
    provider
        .change("ann", &json!({ "groups": ["team-c"] }))
        .await;
    // Each refresh uses the refresh token of the previous response, because the provider accepts
    // each one once.
    for _ in 0..3 {
        let identity = refresh(&rig, "ann").await;
        assert_eq!(identity["state"], "Confirmed", "{identity}");
        assert_eq!(identity["groups"][0]["name"], "drover:corp:team-c");
    }
    provider.change("ann", &json!({ "disabled": true })).await;
    let identity = refresh(&rig, "ann").await;
    assert_eq!(identity["state"], "Refused", "{identity}");
    let problem = rig.server.get("/v1/me", &token).await.expect(401);
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .contains("rejects the user"),
        "{problem}"
    );
    rig.me(&ann).await.expect(401);
    // A user whom the provider accepts again signs in again.
    provider.change("ann", &json!({ "disabled": false })).await;
    let again = rig.sign_in("corp", &provider, "ann").await;
    assert_eq!(rig.me(&again).await.expect(200)["username"], "ann");
    rig.server.stop().await;
}

#[tokio::test]
async fn users_of_an_unreachable_provider_have_access_only_for_the_grace_period() {
    let rig = Rig::start().await;
    let mut provider = rig.openid("corp").await;
    let mut tokens = Vec::new();
    for name in ["ann", "bob"] {
        let session = rig.sign_in("corp", &provider, name).await;
        tokens.push(rig.api_token(&session).await);
    }
    provider.stop().await;
    // The test uses two users, because the server refreshes in the background after each change and
    // then writes the confirmation that it read before.
    for (name, token, hours, code) in [("ann", &tokens[0], 23, 200), ("bob", &tokens[1], 25, 401)] {
        let identity = refresh(&rig, name).await;
        assert_eq!(identity["state"], "Unreachable", "{identity}");
        rig.server.get("/v1/me", token).await.expect(200);
        hours_ago(&rig, name, hours).await;
        let problem = rig.server.get("/v1/me", token).await.expect(code);
        let too_long = problem["message"].as_str().unwrap_or_default();
        assert_eq!(too_long.contains("too long"), code == 401, "{problem}");
    }
    rig.server.stop().await;
}

#[tokio::test]
async fn user_removed_from_the_allow_list_loses_access_without_a_refresh() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    let ann = rig.sign_in("corp", &provider, "ann").await;
    let bob = rig.sign_in("corp", &provider, "bob").await;
    let (ann, bob) = (rig.api_token(&ann).await, rig.api_token(&bob).await);
    rig.change("corp", json!({ "allowed": { "groups": ["team-a"] } }))
        .await;
    rig.until("/v1/me", &bob, 401).await;
    rig.server.get("/v1/me", &ann).await.expect(200);
    rig.server.stop().await;
}

#[tokio::test]
async fn user_deleted_from_a_directory_loses_access_at_the_next_refresh() {
    let rig = Rig::start().await;
    let slapd = Slapd::with(&[person("ann", ""), person("bob", "")].concat());
    directory(&rig, "corp", &slapd, drover_testkit::slapd::DROVER_PASSWORD).await;
    let ann = token(
        &log_in_with_password(&rig, "ann", "password of ann")
            .await
            .expect(201),
    );
    assert_eq!(refresh(&rig, "ann").await["state"], "Confirmed");
    slapd.change("dn: uid=ann,ou=people,dc=example,dc=org\nchangetype: delete\n");
    assert_eq!(refresh(&rig, "ann").await["state"], "Refused");
    rig.server.get("/v1/me", &ann).await.expect(401);
    rig.server.stop().await;
}
