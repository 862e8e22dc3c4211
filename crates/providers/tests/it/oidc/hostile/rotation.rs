//! Tests of key rotation at the issuer, and of tokens with invented key IDs.

use drover_providers::oidc::keys::Algorithm;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::super::issuer::{DISCOVERY, ScriptedResponse};
use super::super::signer::{Signer, document};
use super::super::{NOW, ResultKind, after, as_sign_in, now, result_kind};
use super::{StartedSignIn, World};

#[tokio::test]
async fn rotated_key_is_fetched_once_and_invented_key_ids_are_rate_limited() {
    let mut world = World::start().await;
    world.sign_in().await.unwrap();
    world.sign_in().await.unwrap();
    assert_eq!(world.issuer.asked("/keys").len(), 1, "the keys are cached");

    // The issuer now signs with another key; fetches are at least one minute apart.
    world.signer = Signer::new("two", Algorithm::ES256);
    let published = document(&[world.signer.published()]);
    world
        .issuer
        .says("/keys", ScriptedResponse::Json(200, published));
    let started = StartedSignIn::at(&world.oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    let query = format!("code=a-code&state={}", started.sent["state"]);
    let result = world.oidc.redeem(&query, &started.pending, now()).await;
    assert_eq!(
        result_kind(&result),
        ResultKind::InvalidResponse,
        "no fetch within the minute"
    );
    for _ in 0..3 {
        let result = world.oidc.redeem(&query, &started.pending, after(60)).await;
        assert_eq!(result_kind(&result), ResultKind::Accepted);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 2);

    let made_up = |number: u32| {
        let header = json!({"alg": "ES256", "kid": format!("made-up-{number}")});
        world
            .signer
            .sign_with(&header, &world.claims(started.nonce()))
    };
    for number in 0..1000 {
        world.sends_token(&made_up(number));
        let result = world
            .oidc
            .redeem(&query, &started.pending, after(121))
            .await;
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse);
    }
    assert_eq!(
        world.issuer.asked("/keys").len(),
        3,
        "one fetch in this minute"
    );
}

#[tokio::test]
async fn concurrent_sign_ins_share_one_key_fetch() {
    let world = World::start().await;
    let started = StartedSignIn::at(&world.oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    let many = (0..20).map(|_| started.complete(&world.oidc));
    for result in futures::future::join_all(many).await {
        assert_eq!(result_kind(&result), ResultKind::Accepted);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 1);
    assert_eq!(world.issuer.asked(DISCOVERY).len(), 1);
}

#[tokio::test]
async fn failed_key_fetch_returns_error_unavailable_and_is_retried() {
    let mut world = World::start().await;
    world.sign_in().await.unwrap();
    world.signer = Signer::new("two", Algorithm::ES256);
    world
        .issuer
        .says("/keys", ScriptedResponse::Json(503, json!({})));
    let started = StartedSignIn::at(&world.oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    let query = format!("code=a-code&state={}", started.sent["state"]);
    for _ in 0..2 {
        let result = world.oidc.redeem(&query, &started.pending, after(90)).await;
        assert_eq!(result_kind(&result), ResultKind::Unavailable);
    }
    let published = document(&[world.signer.published()]);
    world
        .issuer
        .says("/keys", ScriptedResponse::Json(200, published));
    let result = world.oidc.redeem(&query, &started.pending, after(90)).await;
    assert_eq!(result_kind(&result), ResultKind::Accepted);
}

#[tokio::test]
async fn withdrawn_key_is_trusted_for_at_most_one_hour() {
    let world = World::start().await;
    world.sign_in().await.unwrap();
    let other = Signer::new("two", Algorithm::ES256);
    world.issuer.says(
        "/keys",
        ScriptedResponse::Json(200, document(&[other.published()])),
    );
    let mut claims = world.claims("");
    claims["exp"] = (NOW + 86_400).into();
    world.sends_claims(&claims);
    let token = SecretString::from("refresh-1");
    let result = as_sign_in(world.oidc.refresh(&token, "ann-1", after(3599)).await);
    assert_eq!(result_kind(&result), ResultKind::Accepted);
    let result = as_sign_in(world.oidc.refresh(&token, "ann-1", after(3600)).await);
    assert_eq!(result_kind(&result), ResultKind::InvalidResponse);
}

#[tokio::test]
async fn sign_in_with_an_unusable_key_set_fails() {
    let enc = {
        let mut key = Signer::new("one", Algorithm::ES256).published();
        key["use"] = "enc".into();
        key
    };
    let many: Vec<Value> = (0..101)
        .map(|_| Signer::new("one", Algorithm::ES256).published())
        .collect();
    for (case, answer) in [
        ("none", ScriptedResponse::Json(200, document(&[]))),
        (
            "for encryption",
            ScriptedResponse::Json(200, document(&[enc])),
        ),
        ("101", ScriptedResponse::Json(200, document(&many))),
        ("not a key set", ScriptedResponse::Json(200, json!([]))),
        (
            "not JSON",
            ScriptedResponse::Raw(200, "application/json", b"<html>".to_vec()),
        ),
        ("nowhere", ScriptedResponse::Json(404, json!({}))),
    ] {
        let world = World::start().await;
        world.issuer.says("/keys", answer);
        let result = world.sign_in().await;
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{case}");
    }
}
