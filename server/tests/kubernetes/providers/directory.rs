//! Tests of sign-in with an LDAP directory, by user name and password (attack groups 23 and 26).

use drover_testkit::slapd::{DROVER, DROVER_PASSWORD, Slapd, group, person};
use reqwest::Method;
use serde_json::{Value, json};

use super::rig::Rig;
use crate::server::{Answer, token};

/// Creates an LDAP provider with this name, and waits until the provider is ready.
pub(super) async fn directory(rig: &Rig, name: &str, slapd: &Slapd, password: &str) {
    rig.secret(name, "bindPassword", password).await;
    let spec = json!({
        "enabled": true,
        "ldap": {
            "servers": [slapd.ldaps()],
            "caBundle": slapd.authority().pem(),
            "bindDn": DROVER,
            "bindPassword": { "name": name, "key": "bindPassword" },
            "users": { "base": "ou=people,dc=example,dc=org" },
            "groups": { "base": "ou=groups,dc=example,dc=org" },
        },
    });
    rig.provider(name, serde_json::from_value(spec).unwrap())
        .await;
}

fn people() -> String {
    let member = "uid=ann,ou=people,dc=example,dc=org";
    [
        person("ann", ""),
        person("bob", ""),
        group("devs", &[member]),
    ]
    .concat()
}

pub(super) async fn log_in_with_password(rig: &Rig, login: &str, password: &str) -> Answer {
    let body = json!({ "by": "Program", "login": login, "password": password });
    let path = "/v1/providers/corp/sign-in";
    rig.server.call(Method::POST, path, None, Some(body)).await
}

#[tokio::test]
async fn directory_user_signs_in_with_the_directory_password() {
    let rig = Rig::start().await;
    let slapd = Slapd::with(&people());
    directory(&rig, "corp", &slapd, DROVER_PASSWORD).await;
    let list = rig
        .server
        .call(Method::GET, "/v1/providers", None, None)
        .await;
    let shown = json!([{ "name": "corp", "displayName": "corp", "way": "Password" }]);
    assert_eq!(list.expect(200)["items"], shown);

    let ann = token(
        &log_in_with_password(&rig, "ann", "password of ann")
            .await
            .expect(201),
    );
    let me = rig.server.get("/v1/me", &ann).await.expect(200);
    assert_eq!(me["username"], "ann");
    let users = rig.server.hub.stores().users.by_name("ann").unwrap();
    let identity = &users.status.as_ref().unwrap().identities[0];
    assert_eq!(identity.groups.len(), 1);
    assert_eq!(identity.groups[0].display_name, "devs");

    // A browser gets a session instead of a token.
    let body = json!({ "login": "ann", "password": "password of ann" });
    let headers = [("origin", rig.server.url.as_str())];
    let path = "/v1/providers/corp/sign-in";
    let answer = rig
        .server
        .call_with(Method::POST, path, &headers, Some(body))
        .await;
    rig.session(&answer).await;
    rig.server.stop().await;
}

#[tokio::test]
async fn directory_sign_in_rejects_injected_names_and_wrong_passwords() {
    let rig = Rig::start().await;
    let slapd = Slapd::with(&people());
    directory(&rig, "corp", &slapd, DROVER_PASSWORD).await;
    let mut results: Vec<Value> = Vec::new();
    for (login, password) in [
        ("ann", "wrong"),
        ("nobody", "wrong"),
        ("ann", ""),
        ("*", "password of ann"),
        ("ann)(uid=*", "password of ann"),
        ("ann\u{0}", "password of ann"),
        ("", ""),
    ] {
        results.push(
            log_in_with_password(&rig, login, password)
                .await
                .expect(401),
        );
    }
    results.dedup();
    assert_eq!(
        results.len(),
        1,
        "responses to known and unknown names must not differ: {results:?}"
    );
    // Programs cannot use the redirect flow of a browser.
    let body = json!({ "by": "Program" });
    let path = "/v1/providers/corp/sign-in";
    let begun = rig.server.call(Method::POST, path, None, Some(body)).await;
    begun.expect(422);
    rig.server.stop().await;
}

#[tokio::test]
async fn directory_password_attempts_are_limited_and_wrong_bind_password_is_not_retried() {
    let rig = Rig::start().await;
    let slapd = Slapd::with(&people());
    directory(&rig, "corp", &slapd, DROVER_PASSWORD).await;
    let mut last = 0;
    for _ in 0..25 {
        last = log_in_with_password(&rig, "bob", "wrong")
            .await
            .code
            .as_u16();
    }
    assert_eq!(last, 429);
    log_in_with_password(&rig, "ann", "password of ann")
        .await
        .expect(201);

    directory(&rig, "broken", &slapd, "not the password").await;
    let path = "/v1/providers/broken/sign-in";
    for _ in 0..3 {
        let body = json!({ "by": "Program", "login": "ann", "password": "password of ann" });
        let answer = rig.server.call(Method::POST, path, None, Some(body)).await;
        let problem = answer.expect(503);
        assert!(!problem.to_string().contains("bindPassword"), "{problem}");
    }
    rig.server.stop().await;
}
