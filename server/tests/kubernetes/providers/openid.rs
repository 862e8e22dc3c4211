//! Tests of sign-in with OpenID Connect, and of the events that end a session (attack groups 15 and
//! 23).

use drover_api::kinds::{GlobalRole, GlobalRoleBinding, RoleTemplate};
use futures::StreamExt as _;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use reqwest::Method;
use serde_json::{Value, json};

use super::rig::{Rig, SOON, set_cookie, spec_of};

/// Grants all permissions in all clusters to a group of a provider.
async fn administrators(rig: &Rig, group: &str, provider: &str) {
    let client = rig.server.hub.client();
    let every = json!([
        { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
        { "nonResourceURLs": ["*"], "verbs": ["*"] },
    ]);
    let template: RoleTemplate = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "RoleTemplate",
        "metadata": { "name": "everything" },
        "spec": { "context": "Cluster", "rules": every },
    }))
    .unwrap();
    let templates: Api<RoleTemplate> = Api::all(client.clone());
    let params = PostParams::default();
    templates.create(&params, &template).await.unwrap();
    let role: GlobalRole = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRole",
        "metadata": { "name": "everything" },
        "spec": { "rules": every, "inEveryCluster": ["everything"] },
    }))
    .unwrap();
    let roles: Api<GlobalRole> = Api::all(client.clone());
    let role = roles.create(&params, &role).await.unwrap();
    let owned = rig.server.hub.stores().auth_providers.by_name(provider);
    let binding: GlobalRoleBinding = serde_json::from_value(json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "GlobalRoleBinding",
        "metadata": { "name": "everything" },
        "spec": {
            "role": { "name": "everything", "uid": role.uid() },
            "subject": { "group": { "name": group, "providerUid": owned.unwrap().uid() } },
        },
    }))
    .unwrap();
    let bindings: Api<GlobalRoleBinding> = Api::all(client);
    bindings.create(&params, &binding).await.unwrap();
}

#[tokio::test]
async fn new_user_has_no_access_until_a_group_of_the_user_is_bound() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    let list = rig
        .server
        .call(Method::GET, "/v1/providers", None, None)
        .await;
    let shown = json!([{ "name": "corp", "displayName": "The corp", "way": "Redirect" }]);
    assert_eq!(list.expect(200)["items"], shown);

    let ann = rig.sign_in("corp", &provider, "ann").await;
    let me = rig.me(&ann).await.expect(200);
    assert_eq!(
        (&me["username"], &me["administrator"]),
        (&"ann".into(), &false.into())
    );
    let token = rig.api_token(&ann).await;
    rig.server.get("/v1/users", &token).await.expect(403);

    administrators(&rig, "drover:corp:team-a", "corp").await;
    rig.until("/v1/users", &token, 200).await;

    // A second sign-in of the same person uses the same user. New groups are effective immediately.
    let again = rig.sign_in("corp", &provider, "ann").await;
    assert_eq!(rig.me(&again).await.expect(200)["username"], "ann");
    rig.by(&again, Method::GET, "/v1/users", None)
        .await
        .expect(200);
    let bob = rig.sign_in("corp", &provider, "bob").await;
    rig.by(&bob, Method::GET, "/v1/users", None)
        .await
        .expect(403);
    rig.server.stop().await;
}

#[tokio::test]
async fn disabled_provider_invalidates_its_tokens_and_closes_open_watches() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    let ann = rig.sign_in("corp", &provider, "ann").await;
    let token = rig.api_token(&ann).await;
    let promoted = Some(json!({ "administrator": true }));
    let patched = rig
        .server
        .call(Method::PATCH, "/v1/users/ann", Some(&rig.admin), promoted);
    patched.await.expect(200);

    let watch = "/k8s/clusters/local/apis/management.drover.dev/v1alpha1/settings?watch=true";
    rig.until(&watch.replace("?watch=true", ""), &token, 200)
        .await;
    let http = crate::server::client(&rig.server.trust);
    let requested = http
        .get(format!("{}{watch}", rig.server.url))
        .bearer_auth(&token);
    let mut open = requested.send().await.unwrap().bytes_stream();

    rig.change("corp", json!({ "enabled": false })).await;
    let problem = rig.server.get("/v1/me", &token).await.expect(401);
    let message = problem["message"].as_str().unwrap();
    assert!(
        message.contains("identity provider of the token is disabled"),
        "{message}"
    );
    rig.me(&ann).await.expect(401);
    let cut = async { while let Some(Ok(_)) = open.next().await {} };
    tokio::time::timeout(SOON, cut)
        .await
        .expect("the watch ends");
    let list = rig
        .server
        .call(Method::GET, "/v1/providers", None, None)
        .await;
    assert_eq!(list.expect(200)["items"], json!([]));

    rig.change("corp", json!({ "enabled": true })).await;
    rig.until("/v1/me", &token, 200).await;
    rig.server.stop().await;
}

#[tokio::test]
async fn sign_in_can_be_completed_only_once_and_only_in_its_own_browser() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    let (url, cookie) = rig.begin("corp").await;
    let back = provider.browser().sign_in(url, "ann").await;

    // Other browsers have no sign-in, or a different one.
    for other in ["x=1".to_owned(), rig.begin("corp").await.1] {
        let answer = rig.come_back(&back, &other).await;
        let session = set_cookie(&answer).filter(|cookie| cookie.starts_with("__Host-drover="));
        assert_eq!(session, None);
        let problem = answer.expect(401);
        let message = problem["message"].as_str().unwrap();
        assert!(
            message.starts_with("cannot sign in with The corp: "),
            "{message}"
        );
        assert!(!problem.to_string().contains(&provider.issuer), "{problem}");
    }
    let both = format!("{cookie}; {cookie}");
    rig.come_back(&back, &both).await.expect(401);

    let ended = rig.come_back(&back, &cookie).await;
    assert_eq!(ended.code.as_u16(), 200);
    rig.session(&ended).await;
    let twice = rig.come_back(&back, &cookie).await.expect(401);
    assert!(
        twice["message"]
            .as_str()
            .unwrap()
            .contains("is already complete"),
        "{twice}"
    );

    // A refusal at the provider is reported to the user.
    let (url, cookie) = rig.begin("corp").await;
    let back = provider.browser().cancel_sign_in(url).await;
    rig.come_back(&back, &cookie).await.expect(401);
    rig.server.stop().await;
}

#[tokio::test]
async fn cross_origin_page_cannot_start_a_sign_in_or_change_its_redirect() {
    let rig = Rig::start().await;
    let _provider = rig.openid("corp").await;
    let path = "/v1/providers/corp/sign-in";
    for headers in [vec![], vec![("origin", "https://evil.example")]] {
        let begun = rig
            .server
            .call_with(Method::POST, path, &headers, Some(json!({})));
        begun.await.expect(403);
    }
    let own = [("origin", rig.server.url.as_str())];
    for elsewhere in ["https://evil.example", "//evil.example", "/\\evil.example"] {
        let body = Some(json!({ "returnTo": elsewhere }));
        let begun = rig.server.call_with(Method::POST, path, &own, body);
        begun.await.expect(422);
    }
    // A provider with its own sign-in page accepts no password here.
    let typed = Some(json!({ "login": "ann", "password": "secret" }));
    let refused = rig.server.call_with(Method::POST, path, &own, typed);
    refused.await.expect(400);
    rig.server.stop().await;
}

#[tokio::test]
async fn same_login_at_two_providers_creates_two_users() {
    let rig = Rig::start().await;
    rig.server.user(&rig.admin, "ann").await;
    let (corp, other) = (rig.openid("corp").await, rig.openid("other").await);
    let name = |me: Value| me["username"].as_str().unwrap().to_owned();
    let at_corp = rig.sign_in("corp", &corp, "ann").await;
    let at_other = rig.sign_in("other", &other, "ann").await;
    assert_eq!(name(rig.me(&at_corp).await.expect(200)), "ann-2");
    assert_eq!(name(rig.me(&at_other).await.expect(200)), "ann-3");
    // The search for subjects shows the provider of each of the three users.
    let known = async |name: &str| {
        let path = format!("/v1/access/people?name={name}");
        rig.server.get(&path, &rig.admin).await.expect(200)["items"].take()
    };
    let at = |provider: &str| json!([{ "provider": provider, "login": "ann" }]);
    let three = known("ann").await;
    assert_eq!(three[0]["name"], "ann");
    assert_eq!(three[0].get("identities"), None);
    assert_eq!(three[1]["identities"], at("corp"));
    assert_eq!(three[2]["identities"], at("other"));
    assert_eq!(known("ann-2").await.as_array().unwrap().len(), 1);
    assert_eq!(known("an").await, json!([]));
    let give = json!({ "role": "viewer", "user": "ann-3" });
    let value = rig.server.post("/v1/global-members", &rig.admin, give);
    let value = value.await.expect(201);
    assert_eq!(value["identities"], at("other"), "{value}");

    // A code of one provider is invalid at another provider.
    let (url, cookie) = rig.begin("corp").await;
    let back = corp.browser().sign_in(url, "ann").await;
    let mut elsewhere = back.clone();
    elsewhere.set_path("/v1/providers/other/callback");
    rig.come_back(&elsewhere, &cookie).await.expect(401);
    rig.server.stop().await;
}

#[tokio::test]
async fn users_of_a_deleted_provider_have_no_access_after_the_provider_is_recreated() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    administrators(&rig, "drover:corp:team-a", "corp").await;
    let ann = rig.sign_in("corp", &provider, "ann").await;
    let token = rig.api_token(&ann).await;
    rig.until("/v1/users", &token, 200).await;

    rig.delete("corp").await;
    rig.server.get("/v1/me", &token).await.expect(401);
    rig.provider("corp", spec_of("corp", &provider)).await;
    rig.server.get("/v1/me", &token).await.expect(401);
    rig.me(&ann).await.expect(401);
    // The new provider has another UID, so the same subject ID is another user with other groups.
    let again = rig.sign_in("corp", &provider, "ann").await;
    let me = rig.me(&again).await.expect(200);
    assert_eq!(me["username"], "ann-2");
    rig.by(&again, Method::GET, "/v1/users", None)
        .await
        .expect(403);
    rig.server.stop().await;
}

#[tokio::test]
async fn only_allowed_and_enabled_users_can_sign_in() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    rig.change("corp", json!({ "allowed": { "groups": ["team-a"] } }))
        .await;
    rig.sign_in("corp", &provider, "ann").await;
    let (url, cookie) = rig.begin("corp").await;
    let back = provider.browser().sign_in(url, "bob").await;
    let problem = rig.come_back(&back, &cookie).await.expect(403);
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .contains("ask an administrator")
    );
    rig.server
        .get("/v1/users/bob", &rig.admin)
        .await
        .expect(404);

    let off = Some(json!({ "enabled": false }));
    let off = rig
        .server
        .call(Method::PATCH, "/v1/users/ann", Some(&rig.admin), off);
    off.await.expect(200);
    let (url, cookie) = rig.begin("corp").await;
    let back = provider.browser().sign_in(url, "ann").await;
    rig.come_back(&back, &cookie).await.expect(403);
    rig.server.stop().await;
}

#[tokio::test]
async fn device_login_completes_after_a_user_confirms_its_code() {
    let rig = Rig::start().await;
    let provider = rig.openid("corp").await;
    let ann = rig.sign_in("corp", &provider, "ann").await;
    let begun = rig
        .server
        .call(Method::POST, "/v1/device", None, None)
        .await;
    let codes = begun.expect(201);
    let (device, user) = (&codes["deviceCode"], codes["userCode"].as_str().unwrap());
    let poll = async || {
        let body = Some(json!({ "deviceCode": device }));
        rig.server
            .call(Method::POST, "/v1/device/token", None, body)
            .await
    };
    assert_eq!(poll().await.expect(200), json!({}));
    let path = format!("/v1/device/{user}");
    let shown = rig.by(&ann, Method::GET, &path, None).await.expect(200);
    assert_eq!(shown["source"], "127.0.0.1");

    // A page of another origin cannot confirm the login, and an API token cannot confirm it.
    let confirm = format!("{path}/confirm");
    let headers = [("cookie", ann.cookie.as_str()), ("origin", &rig.server.url)];
    let forged = rig.server.call_with(Method::POST, &confirm, &headers, None);
    forged.await.expect(403);
    let api = rig.api_token(&ann).await;
    rig.server.post(&confirm, &api, json!({})).await.expect(403);
    assert_eq!(poll().await.expect(200), json!({}));

    rig.by(&ann, Method::POST, &confirm, None).await.expect(204);
    let token = crate::server::token(&poll().await.expect(200)["issued"]);
    poll().await.expect(404);
    rig.by(&ann, Method::POST, &confirm, None).await.expect(404);
    assert_eq!(
        rig.server.get("/v1/me", &token).await.expect(200)["username"],
        "ann"
    );
    // The confirmed login depends on the same provider as the session that confirmed it.
    rig.change("corp", json!({ "enabled": false })).await;
    rig.server.get("/v1/me", &token).await.expect(401);
    rig.server.stop().await;
}
