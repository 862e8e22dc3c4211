//! Tests with forged callbacks and responses.

use drover_providers::oidc::keys::Algorithm;
use serde_json::{Value, json};

use super::super::issuer::{DISCOVERY, ScriptedResponse};
use super::super::signer::Signer;
use super::super::{NOW, ResultKind, after, now, result_kind, shown};
use super::{StartedSignIn, World, client, sign_in_with_response};

#[tokio::test]
async fn sign_in_is_completed_only_by_its_own_callback() {
    let world = World::start().await;
    let started = StartedSignIn::at(&world.oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    let state = &started.sent["state"];
    let other = StartedSignIn::at(&world.oidc).await;
    for query in [
        String::new(),
        "code=a-code".to_owned(),
        "code=a-code&state=".to_owned(),
        format!("code=a-code&state={}", other.sent["state"]),
        format!("code=a-code&state={state}&state={state}"),
        format!("code=a-code&code=b-code&state={state}"),
        format!("code=a-code&error=access_denied&state={state}"),
        format!("code=&state={state}"),
        format!("state={state}"),
        format!("code=a-code&state={state}&iss=https://evil.example.com"),
        format!("code=a-code&state={state}&iss="),
        format!("code=a-code&state={state}&iss={}/", world.issuer.url),
        format!("error=access_denied&state={state}&iss=https://evil.example.com"),
        "error=access_denied".to_owned(),
        format!("code={}&state={state}", "c".repeat(20_000)),
    ] {
        let result = world.oidc.redeem(&query, &started.pending, now()).await;
        assert_eq!(
            result_kind(&result),
            ResultKind::InvalidResponse,
            "{query:.200}"
        );
        let text = shown(result);
        assert!(!text.contains(state.as_str()), "{text}");
    }
    let good = format!("code=a-code&state={state}&iss={}", world.issuer.url);
    for late in [601, -61] {
        let result = world
            .oidc
            .redeem(&good, &started.pending, after(late))
            .await;
        assert_eq!(
            result_kind(&result),
            ResultKind::InvalidResponse,
            "{late} s"
        );
    }
    assert!(world.issuer.asked("/token").is_empty(), "no code was sent");
    let result = world.oidc.redeem(&good, &started.pending, after(300)).await;
    assert_eq!(result_kind(&result), ResultKind::Accepted);
}

#[tokio::test]
async fn callback_of_a_different_provider_is_rejected() {
    let (world, evil) = (World::start().await, World::start().await);
    let started = StartedSignIn::at(&world.oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    evil.sends_claims(&evil.claims(started.nonce()));
    // The other provider receives the same state and nonce.
    let result = started.complete(&evil.oidc).await;
    assert_eq!(result_kind(&result), ResultKind::InvalidResponse);
    assert!(
        evil.issuer.asked("/token").is_empty(),
        "the other provider received the code"
    );

    // A provider that declares `iss` must send it.
    let says = json!({"authorization_response_iss_parameter_supported": true});
    world.issuer.changes_document(&says);
    let oidc = client(&world.issuer);
    let result = started.complete(&oidc).await;
    assert_eq!(result_kind(&result), ResultKind::InvalidResponse);
    let named = format!(
        "code=c&state={}&iss={}",
        started.sent["state"], world.issuer.url
    );
    let result = oidc.redeem(&named, &started.pending, now()).await;
    assert_eq!(result_kind(&result), ResultKind::Accepted);
}

#[tokio::test]
async fn http_redirects_are_not_followed() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        world
            .issuer
            .says("/elsewhere", ScriptedResponse::Json(200, json!({})));
        let result =
            sign_in_with_response(&world, path, ScriptedResponse::Redirect("/elsewhere")).await;
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{path}");
        assert!(world.issuer.asked("/elsewhere").is_empty(), "{path}");
    }
}

#[tokio::test]
async fn endless_response_returns_error_invalid_response() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        let result = sign_in_with_response(&world, path, ScriptedResponse::Endless).await;
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{path}");
    }
}

#[tokio::test]
async fn id_token_for_a_different_client_issuer_or_sign_in_is_rejected() {
    let world = World::start().await;
    let forger = Signer::new("one", Algorithm::ES256);
    let change = |nonce: &str, name: &str, value: Value| {
        let mut claims = world.claims(nonce);
        claims[name] = value;
        claims
    };
    for (case, result) in [
        (
            "signed with another key",
            world
                .sign_in_with(|nonce| forger.sign(&world.claims(nonce)))
                .await,
        ),
        (
            "for another client",
            world
                .sign_in_with(|nonce| world.signer.sign(&change(nonce, "aud", "other".into())))
                .await,
        ),
        (
            "from another issuer",
            world
                .sign_in_with(|nonce| {
                    world
                        .signer
                        .sign(&change(nonce, "iss", "https://other.example.com".into()))
                })
                .await,
        ),
        (
            "with the nonce of another sign-in",
            world
                .sign_in_with(|_| world.signer.sign(&world.claims("another-nonce")))
                .await,
        ),
        (
            "expired",
            world
                .sign_in_with(|nonce| world.signer.sign(&change(nonce, "exp", (NOW - 100).into())))
                .await,
        ),
        ("empty", world.sign_in_with(|_| String::new()).await),
    ] {
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{case}");
        let text = shown(result);
        assert!(!text.contains("eyJ"), "the error contains a token: {text}");
    }
    assert_eq!(result_kind(&world.sign_in().await), ResultKind::Accepted);
}
