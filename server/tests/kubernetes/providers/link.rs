//! Tests of users with several linked identities, and of the first sign-in of new users.

use drover_api::kinds::{GlobalRole, GlobalRoleBinding};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use reqwest::Method;
use serde_json::{Value, json};

use super::rig::Rig;

const LINK: &str = "/v1/users/ann/identities";

async fn user(rig: &Rig, name: &str) -> Value {
    let path = format!("/v1/users/{name}");
    rig.server.get(&path, &rig.admin).await.expect(200)
}

async fn link(rig: &Rig, body: Value, code: u16) -> Value {
    let linked = rig.server.post(LINK, &rig.admin, body).await;
    linked.expect(code)
}

async fn global_role(rig: &Rig, name: &str, spec: Value) -> GlobalRole {
    let role: GlobalRole = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRole",
        "metadata": { "name": name }, "spec": spec,
    }))
    .unwrap();
    let roles: Api<GlobalRole> = Api::all(rig.server.hub.client());
    let created = roles.create(&PostParams::default(), &role).await.unwrap();
    let stores = rig.server.hub.stores();
    assert!(stores.global_roles.wait_for(&created).await);
    created
}

#[tokio::test]
async fn linked_identities_belong_to_one_user_and_tokens_of_previous_user_are_revoked() {
    let rig = Rig::start().await;
    let (corp, other) = (rig.openid("corp").await, rig.openid("other").await);
    let first = rig.sign_in("corp", &corp, "ann").await;
    let second = rig.sign_in("other", &other, "ann").await;
    let (stays, ends) = (rig.api_token(&first).await, rig.api_token(&second).await);
    let role = global_role(&rig, "reader", json!({ "rules": [] })).await;
    let binding: GlobalRoleBinding = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRoleBinding",
        "metadata": { "name": "reader" },
        "spec": {
            "role": { "name": "reader", "uid": role.uid() },
            "subject": { "user": { "name": "ann-2", "uid": user(&rig, "ann-2").await["uid"] } },
        },
    }))
    .unwrap();
    let bindings: Api<GlobalRoleBinding> = Api::all(rig.server.hub.client());
    let created = bindings.create(&PostParams::default(), &binding).await;
    let stores = rig.server.hub.stores();
    let bound = &stores.global_role_bindings;
    assert!(bound.wait_for(&created.unwrap()).await);

    let from = json!({ "from": "ann-2" });
    rig.by(&first, Method::POST, LINK, Some(from.clone()))
        .await
        .expect(403);
    let linked = link(&rig, from, 200).await;
    let providers = |user: &Value| {
        let identities = user["identities"].as_array().cloned().unwrap_or_default();
        let names = identities.iter().map(|one| one["provider"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(providers(&linked["user"]), ["corp", "other"]);
    assert_eq!(providers(&linked["former"]), [""; 0]);
    assert_eq!(linked["former"]["enabled"], false);
    assert_eq!(linked["rolesLeft"], json!([{ "role": "reader" }]));
    rig.me(&second).await.expect(401);
    rig.server.get("/v1/me", &ends).await.expect(401);
    rig.me(&first).await.expect(200);
    rig.server.get("/v1/me", &stays).await.expect(200);

    // The refresh token moved as well. Timestamps have a resolution of one second.
    let before = user(&rig, "ann").await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    let requested = rig
        .server
        .post("/v1/users/ann/refresh", &rig.admin, json!({}));
    let after = requested.await.expect(200);
    for place in 0..2 {
        let at = |user: &Value| user["identities"][place]["confirmedAt"].to_string();
        assert!(at(&after) > at(&before), "{after}");
        assert_eq!(after["identities"][place]["state"], "Confirmed");
    }
    let again = rig.sign_in("other", &other, "ann").await;
    assert_eq!(rig.me(&again).await.expect(200)["username"], "ann");
    rig.server.stop().await;
}

#[tokio::test]
async fn unlinked_identity_loses_access_and_signs_in_as_a_new_user() {
    let rig = Rig::start().await;
    let (corp, other) = (rig.openid("corp").await, rig.openid("other").await);
    let first = rig.sign_in("corp", &corp, "ann").await;
    rig.sign_in("other", &other, "ann").await;
    link(&rig, json!({ "from": "ann-2", "provider": "other" }), 200).await;
    let second = rig.sign_in("other", &other, "ann").await;
    let token = rig.api_token(&second).await;
    rig.server.get("/v1/me", &token).await.expect(200);

    let id = user(&rig, "ann").await["identities"][1]["id"].clone();
    let path = format!("{LINK}/{}", id.as_str().unwrap());
    rig.by(&first, Method::DELETE, &path, None)
        .await
        .expect(403);
    let remaining = rig.server.delete(&path, &rig.admin).await.expect(200);
    assert_eq!(remaining["identities"].as_array().unwrap().len(), 1);
    rig.server.delete(&path, &rig.admin).await.expect(404);
    rig.server.get("/v1/me", &token).await.expect(401);
    rig.me(&second).await.expect(401);
    rig.me(&first).await.expect(200);
    let again = rig.sign_in("other", &other, "ann").await;
    assert_eq!(rig.me(&again).await.expect(200)["username"], "ann-3");
    rig.server.stop().await;
}

#[tokio::test]
async fn identity_link_requires_a_recent_confirmation_and_a_user_without_that_provider() {
    let rig = Rig::start().await;
    let (corp, other) = (rig.openid("corp").await, rig.openid("other").await);
    rig.sign_in("corp", &corp, "ann").await;
    let second = rig.sign_in("other", &other, "ann").await;
    rig.sign_in("corp", &corp, "bob").await;
    // The server refreshes identities in the background, but only of users with tokens.
    let signed_out = rig.sign_in("other", &other, "bob").await;
    rig.by(&signed_out, Method::DELETE, "/v1/session", None)
        .await
        .expect(204);
    rig.me(&signed_out).await.expect(401);
    for (body, code, says) in [
        (json!({ "from": "ann" }), 422, "different user"),
        (json!({ "from": "nobody" }), 422, "no user"),
        (
            json!({ "from": "ann-2", "provider": "corp" }),
            422,
            "has no identity at this provider",
        ),
        (json!({ "from": "bob" }), 409, "already"),
        (json!({ "from": "admin" }), 409, "yourself"),
    ] {
        let message = link(&rig, body.clone(), code).await.to_string();
        assert!(message.contains(says), "{body}: {message}");
    }
    let users = rig.server.hub.users();
    let patch = async |name: &str, patch: Value| {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let changed = match patch {
            Patch::Merge(ref body) if body.get("status").is_some() => {
                users.patch_status(name, &params, &patch).await
            }
            _ => users.patch(name, &params, &patch).await,
        };
        let stores = rig.server.hub.stores();
        assert!(stores.users.wait_for(&changed.unwrap()).await);
    };
    let from = || json!({ "from": "ann-2" });
    for (name, change, says) in [
        (
            "bob-2",
            json!({ "confirmedAt": "2020-01-01T00:00:00Z" }),
            "has not confirmed",
        ),
        ("ann-2", json!({ "state": "Refused" }), "rejects the user"),
        ("ann-2", json!({ "state": "Unreachable" }), "sign in"),
    ] {
        let known = users.get(name).await.unwrap().status.unwrap().identities;
        let mut identity = serde_json::to_value(&known[0]).unwrap();
        for (field, value) in change.as_object().unwrap() {
            identity[field] = value.clone();
        }
        patch(name, json!({ "status": { "identities": [identity] } })).await;
        let body = json!({ "from": name, "provider": "other" });
        let message = link(&rig, body, 409).await.to_string();
        assert!(message.contains(says), "{change}: {message}");
        patch(name, json!({ "status": { "identities": known } })).await;
    }
    patch("ann", json!({ "spec": { "enabled": false } })).await;
    let message = link(&rig, from(), 409).await.to_string();
    assert!(message.contains("disabled"), "{message}");
    patch("ann", json!({ "spec": { "enabled": true } })).await;
    // The rejected requests have moved no identity and ended no session.
    rig.me(&second).await.expect(200);
    link(&rig, from(), 200).await;
    rig.server.stop().await;
}

#[tokio::test]
async fn new_user_receives_exactly_the_default_roles_for_new_users() {
    let rig = Rig::start().await;
    let corp = rig.openid("corp").await;
    let rules = |resource: &str| json!([{ "apiGroups": ["management.drover.dev"], "resources": [resource], "verbs": ["create"] }]);
    let marked = json!({ "rules": rules("clusters"), "newUserDefault": true });
    global_role(&rig, "for-all", marked).await;
    global_role(&rig, "for-some", json!({ "rules": rules("projects") })).await;
    let ann = rig.sign_in("corp", &corp, "ann").await;
    rig.sign_in("corp", &corp, "ann").await;
    let eve = rig.server.user(&rig.admin, "eve").await;

    let bindings: Api<GlobalRoleBinding> = Api::all(rig.server.hub.client());
    let mut value = Vec::new();
    for binding in bindings
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
    {
        let user = binding.spec.subject.user.unwrap();
        if user.name != "admin" {
            value.push((user.name, binding.spec.role.name));
        }
    }
    value.sort();
    let expected = [("ann", "for-all"), ("eve", "for-all")];
    assert_eq!(
        value,
        expected.map(|(user, role)| (user.into(), role.into()))
    );
    // The role is effective from the first request on.
    let make = |name: &str| json!({ "name": name });
    rig.by(&ann, Method::POST, "/v1/clusters", Some(make("of-ann")))
        .await
        .expect(201);
    rig.server
        .post("/v1/clusters", &eve, make("of-eve"))
        .await
        .expect(201);
    rig.server.stop().await;
}
