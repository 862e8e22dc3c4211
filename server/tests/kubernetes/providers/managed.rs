//! Tests of identity provider management by administrators.

use drover_api::group::PROVIDER_SECRET_LABEL;
use drover_e2e::eventually;
use drover_testkit::openid::{CLIENT, Provider, SECRET, Settings};
use kube::api::ListParams;
use reqwest::Method;
use serde_json::{Value, json};

use super::rig::{Rig, SOON};
use crate::server::Answer;

async fn put(rig: &Rig, path: &str, body: Value) -> Answer {
    let sent = rig
        .server
        .call(Method::PUT, path, Some(&rig.admin), Some(body));
    sent.await
}

/// Waits until the condition of a provider has this reason, and returns the condition.
async fn ready(rig: &Rig, reason: &str) -> Value {
    let reason_text = eventually(reason, SOON * 3, async || {
        let path = "/v1/auth-providers/corp";
        let view = rig.server.get(path, &rig.admin).await.expect(200);
        let now = &view["conditions"][0]["reason"];
        if now == reason { Ok(view) } else { Err(view) }
    });
    reason_text.await.unwrap()
}

#[tokio::test]
async fn administrator_manages_a_provider_without_access_to_its_secret() {
    let rig = Rig::start().await;
    let provider = Provider::start(&Settings {
        back: format!("{}/v1/providers/corp/callback", rig.server.url),
        ..Settings::default()
    })
    .await;
    let spec = |enabled: bool| {
        json!({
            "enabled": enabled,
            "oidc": {
                "issuer": provider.issuer,
                "clientId": CLIENT,
                "caBundle": provider.authority,
                "scopes": ["profile", "email", "groups", "offline_access"],
            },
        })
    };
    let wish = json!({ "name": "corp", "spec": spec(false), "secret": "not the secret" });
    let created = rig
        .server
        .post("/v1/auth-providers", &rig.admin, wish.clone())
        .await;
    let created = created.expect(201);
    assert_eq!(created["hasSecret"], true);
    assert!(
        created["spec"]["oidc"].get("clientSecret").is_none(),
        "{created}"
    );
    rig.server
        .post("/v1/auth-providers", &rig.admin, wish)
        .await
        .expect(409);
    ready(&rig, "Disabled").await;
    let (own, path) = (
        [("origin", rig.server.url.as_str())],
        "/v1/providers/corp/sign-in",
    );
    let begun = rig
        .server
        .call_with(Method::POST, path, &own, Some(json!({})));
    begun.await.expect(404);

    // The connection test finds the wrong secret before the provider is enabled. Then the secret is
    // corrected.
    let test = "/v1/providers/corp/test";
    let trial = rig
        .server
        .post(test, &rig.admin, json!({}))
        .await
        .expect(200);
    assert_eq!(trial["works"], false);
    assert!(trial.to_string().contains("oidc.clientSecret"), "{trial}");
    let path = "/v1/auth-providers/corp";
    let change = json!({
        "spec": spec(true), "secret": SECRET, "resourceVersion": created["resourceVersion"],
    });
    // The server has updated the condition since the read.
    put(&rig, path, change).await.expect(409);
    let changed = put(&rig, path, json!({ "spec": spec(true), "secret": SECRET })).await;
    let changed = changed.expect(200).to_string();
    assert!(!changed.contains(SECRET), "{changed}");
    let works = ready(&rig, "Answers").await;
    assert!(works["lastAnswerAt"].is_string(), "{works}");
    let trial = rig
        .server
        .post(test, &rig.admin, json!({}))
        .await
        .expect(200);
    assert_eq!(trial["works"], true, "{trial}");
    let ann = rig.sign_in("corp", &provider, "ann").await;

    // A change without a secret keeps the stored secret.
    let mut renamed = spec(true);
    renamed["displayName"] = "Our own".into();
    put(&rig, path, json!({ "spec": renamed }))
        .await
        .expect(200);
    rig.sign_in("corp", &provider, "ann").await;
    let mut stolen = spec(true);
    stolen["oidc"]["clientSecret"] = json!({ "name": "challenge-key", "key": "key" });
    put(&rig, path, json!({ "spec": stolen })).await.expect(422);

    rig.server.delete(path, &rig.admin).await.expect(204);
    rig.me(&ann).await.expect(401);
    let secrets = rig.server.hub.secrets();
    let gone = eventually("the secret to be deleted", SOON * 3, async || {
        let of_corp = ListParams::default().labels(&format!("{PROVIDER_SECRET_LABEL}=corp"));
        let is_shown = secrets.list(&of_corp).await.unwrap();
        is_shown
            .items
            .is_empty()
            .then_some(())
            .ok_or("the secret still exists")
    });
    gone.await.unwrap();
    rig.server.stop().await;
}

#[tokio::test]
async fn provider_receives_only_its_own_secret() {
    let rig = Rig::start().await;
    let _other = rig.openid("other").await;
    for (secret, key, reported) in [
        ("challenge-key", "key", "belongs to the server"),
        ("other", "clientSecret", "does not have the label"),
    ] {
        let spec = json!({
            "enabled": true,
            "oidc": {
                "issuer": "https://evil.example",
                "clientId": "drover",
                "clientSecret": { "name": secret, "key": key },
            },
        });
        rig.provider("corp", serde_json::from_value(spec).unwrap())
            .await;
        let view = ready(&rig, "Misconfigured").await;
        let message = view["conditions"][0]["message"].as_str().unwrap();
        assert!(message.contains(reported), "{message}");
        rig.delete("corp").await;
    }
    rig.server.stop().await;
}
