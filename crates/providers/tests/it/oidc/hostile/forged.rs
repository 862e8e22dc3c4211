//! What is not the own issuer's answer to the own sign-in.

use drover_providers::oidc::keys::Algorithm;
use serde_json::{Value, json};

use super::super::issuer::{Answer, DISCOVERY};
use super::super::signer::Signer;
use super::super::{NOW, Verdict, after, now, shown, verdict};
use super::{Begun, World, client, sign_in_to_the_end};

#[tokio::test]
async fn only_the_own_answer_ends_a_sign_in() {
    let world = World::start().await;
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    let state = &begun.sent["state"];
    let other = Begun::at(&world.oidc).await;
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
        let result = world.oidc.redeem(&query, &begun.pending, now()).await;
        assert_eq!(verdict(&result), Verdict::InvalidResponse, "{query:.200}");
        let text = shown(result);
        assert!(!text.contains(state.as_str()), "{text}");
    }
    let good = format!("code=a-code&state={state}&iss={}", world.issuer.url);
    for late in [601, -61] {
        let result = world.oidc.redeem(&good, &begun.pending, after(late)).await;
        assert_eq!(verdict(&result), Verdict::InvalidResponse, "{late} s");
    }
    assert!(world.issuer.asked("/token").is_empty(), "no code was sent");
    let result = world.oidc.redeem(&good, &begun.pending, after(300)).await;
    assert_eq!(verdict(&result), Verdict::Good);
}

#[tokio::test]
async fn one_providers_answer_is_no_answer_of_another() {
    let (world, evil) = (World::start().await, World::start().await);
    let begun = Begun::at(&world.oidc).await;
    world.gives(&world.claims(begun.nonce()));
    evil.gives(&evil.claims(begun.nonce()));
    // The same state and the same nonce, at the other.
    let result = begun.ends(&evil.oidc).await;
    assert_eq!(verdict(&result), Verdict::InvalidResponse);
    assert!(evil.issuer.asked("/token").is_empty(), "it got the code");

    // One that says that it names itself must.
    let says = json!({"authorization_response_iss_parameter_supported": true});
    world.issuer.describes_itself_with(&says);
    let oidc = client(&world.issuer);
    let result = begun.ends(&oidc).await;
    assert_eq!(verdict(&result), Verdict::InvalidResponse);
    let named = format!(
        "code=c&state={}&iss={}",
        begun.sent["state"], world.issuer.url
    );
    let result = oidc.redeem(&named, &begun.pending, now()).await;
    assert_eq!(verdict(&result), Verdict::Good);
}

#[tokio::test]
async fn no_redirect_is_followed_anywhere() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        world
            .issuer
            .says("/elsewhere", Answer::Json(200, json!({})));
        let result = sign_in_to_the_end(&world, path, Answer::Redirect("/elsewhere")).await;
        assert_eq!(verdict(&result), Verdict::InvalidResponse, "{path}");
        assert!(world.issuer.asked("/elsewhere").is_empty(), "{path}");
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_not_read_to_its_end() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        let result = sign_in_to_the_end(&world, path, Answer::Endless).await;
        assert_eq!(verdict(&result), Verdict::InvalidResponse, "{path}");
    }
}

#[tokio::test]
async fn a_token_for_somebody_or_something_else_signs_nobody_in() {
    let world = World::start().await;
    let forger = Signer::new("one", Algorithm::ES256);
    let change = |nonce: &str, name: &str, value: Value| {
        let mut claims = world.claims(nonce);
        claims[name] = value;
        claims
    };
    for (what, result) in [
        (
            "of another key",
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
            "of another issuer",
            world
                .sign_in_with(|nonce| {
                    world
                        .signer
                        .sign(&change(nonce, "iss", "https://other.example.com".into()))
                })
                .await,
        ),
        (
            "of another sign-in",
            world
                .sign_in_with(|_| world.signer.sign(&world.claims("another-nonce")))
                .await,
        ),
        (
            "that is over",
            world
                .sign_in_with(|nonce| world.signer.sign(&change(nonce, "exp", (NOW - 100).into())))
                .await,
        ),
        ("that is none", world.sign_in_with(|_| String::new()).await),
    ] {
        assert_eq!(verdict(&result), Verdict::InvalidResponse, "{what}");
        let text = shown(result);
        assert!(!text.contains("eyJ"), "a token is in the error: {text}");
    }
    assert_eq!(verdict(&world.sign_in().await), Verdict::Good);
}
