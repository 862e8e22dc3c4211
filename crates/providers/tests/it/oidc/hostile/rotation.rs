//! Keys that change, and keys that are made up.

use drover_providers::oidc::keys::Algorithm;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::super::issuer::{Answer, DISCOVERY};
use super::super::signer::{Signer, document};
use super::super::{NOW, Verdict, after, as_sign_in, now, verdict};
use super::{Begun, World};

#[tokio::test]
async fn a_new_key_is_fetched_once_and_made_up_ones_cause_no_flood() {
    let mut world = World::start().await;
    world.sign_in().await.unwrap();
    world.sign_in().await.unwrap();
    assert_eq!(world.issuer.asked("/keys").len(), 1, "keys are kept");

    // The issuer signs with another key from now on; a minute has to be over for each fetch.
    world.signer = Signer::new("two", Algorithm::ES256);
    let published = document(&[world.signer.published()]);
    world.issuer.says("/keys", Answer::Json(200, published));
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let query = format!("code=a-code&state={}", begun.sent["state"]);
    let result = world.oidc.redeem(&query, &begun.pending, now()).await;
    assert_eq!(
        verdict(&result),
        Verdict::InvalidResponse,
        "within the minute"
    );
    for _ in 0..3 {
        let result = world.oidc.redeem(&query, &begun.pending, after(60)).await;
        assert_eq!(verdict(&result), Verdict::Good);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 2);

    let made_up = |number: u32| {
        let header = json!({"alg": "ES256", "kid": format!("made-up-{number}")});
        world
            .signer
            .sign_with(&header, &world.claims(begun.nonce()))
    };
    for number in 0..1000 {
        world.gives_token(&made_up(number));
        let result = world.oidc.redeem(&query, &begun.pending, after(121)).await;
        assert_eq!(verdict(&result), Verdict::InvalidResponse);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 3, "one in that minute");
}

#[tokio::test]
async fn who_comes_while_keys_are_fetched_waits_for_the_same_ones() {
    let world = World::start().await;
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let many = (0..20).map(|_| begun.ends(&world.oidc));
    for result in futures::future::join_all(many).await {
        assert_eq!(verdict(&result), Verdict::Good);
    }
    assert_eq!(world.issuer.asked("/keys").len(), 1);
    assert_eq!(world.issuer.asked(DISCOVERY).len(), 1);
}

#[tokio::test]
async fn keys_that_cannot_be_fetched_refuse_nobody_and_are_asked_for_again() {
    let mut world = World::start().await;
    world.sign_in().await.unwrap();
    world.signer = Signer::new("two", Algorithm::ES256);
    world.issuer.says("/keys", Answer::Json(503, json!({})));
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let query = format!("code=a-code&state={}", begun.sent["state"]);
    for _ in 0..2 {
        let result = world.oidc.redeem(&query, &begun.pending, after(90)).await;
        assert_eq!(verdict(&result), Verdict::Unavailable);
    }
    let published = document(&[world.signer.published()]);
    world.issuer.says("/keys", Answer::Json(200, published));
    let result = world.oidc.redeem(&query, &begun.pending, after(90)).await;
    assert_eq!(verdict(&result), Verdict::Good);
}

#[tokio::test]
async fn a_withdrawn_key_is_believed_no_longer_than_an_hour() {
    let world = World::start().await;
    world.sign_in().await.unwrap();
    let other = Signer::new("two", Algorithm::ES256);
    world
        .issuer
        .says("/keys", Answer::Json(200, document(&[other.published()])));
    let mut claims = world.claims("");
    claims["exp"] = (NOW + 86_400).into();
    world.gives(&claims);
    let token = SecretString::from("refresh-1");
    let result = as_sign_in(world.oidc.refresh(&token, "ann-1", after(3599)).await);
    assert_eq!(verdict(&result), Verdict::Good);
    let result = as_sign_in(world.oidc.refresh(&token, "ann-1", after(3600)).await);
    assert_eq!(verdict(&result), Verdict::InvalidResponse);
}

#[tokio::test]
async fn keys_that_nothing_can_be_checked_with_sign_nobody_in() {
    let enc = {
        let mut key = Signer::new("one", Algorithm::ES256).published();
        key["use"] = "enc".into();
        key
    };
    let many: Vec<Value> = (0..101)
        .map(|_| Signer::new("one", Algorithm::ES256).published())
        .collect();
    for (what, answer) in [
        ("none", Answer::Json(200, document(&[]))),
        ("for encryption", Answer::Json(200, document(&[enc]))),
        ("101", Answer::Json(200, document(&many))),
        ("no set", Answer::Json(200, json!([]))),
        (
            "no JSON",
            Answer::Raw(200, "application/json", b"<html>".to_vec()),
        ),
        ("nowhere", Answer::Json(404, json!({}))),
    ] {
        let world = World::start().await;
        world.issuer.says("/keys", answer);
        let result = world.sign_in().await;
        assert_eq!(verdict(&result), Verdict::InvalidResponse, "{what}");
    }
}
