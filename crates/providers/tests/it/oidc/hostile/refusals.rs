//! The difference between a provider's no and its silence.

use std::time::Duration;

use drover_providers::error::Refusal;
use drover_providers::oidc::Oidc;
use secrecy::SecretString;
use serde_json::json;

use super::super::issuer::{Answer, DISCOVERY, Issuer, certified};
use super::super::{Verdict, after, as_sign_in, now, shown, spec, verdict};
use super::{Begun, World, back, secret, sign_in_to_the_end};

#[tokio::test]
async fn only_a_persons_own_no_is_a_refusal_of_the_sign_in() {
    let world = World::start().await;
    for (error, wanted) in [
        ("access_denied", Verdict::Refused(Refusal::Denied)),
        ("temporarily_unavailable", Verdict::Unavailable),
        ("server_error", Verdict::Unavailable),
        ("invalid_scope", Verdict::Misconfigured("oidc.scopes")),
        (
            "unauthorized_client",
            Verdict::Misconfigured("oidc.clientId"),
        ),
        (
            "unsupported_response_type",
            Verdict::Misconfigured("oidc.clientId"),
        ),
        ("invalid_request", Verdict::InvalidResponse),
        ("", Verdict::InvalidResponse),
        ("Access_Denied", Verdict::InvalidResponse),
    ] {
        let begun = Begun::at(&world.oidc).await;
        let query = format!("error={error}&state={}", begun.sent["state"]);
        let result = world.oidc.redeem(&query, &begun.pending, now()).await;
        assert_eq!(verdict(&result), wanted, "{error}");
    }
}

#[tokio::test]
async fn only_a_providers_own_no_is_a_refusal_of_a_renewal() {
    let world = World::start().await;
    let error = |status: u16, error: &str| Answer::Json(status, json!({ "error": error }));
    let page = |status: u16| Answer::Raw(status, "text/html", b"<h1>no</h1>".to_vec());
    let withdrawn = Verdict::Refused(Refusal::Withdrawn);
    for (answer, wanted) in [
        (error(400, "invalid_grant"), withdrawn),
        (error(401, "invalid_grant"), withdrawn),
        (error(403, "invalid_grant"), withdrawn),
        (error(400, "interaction_required"), withdrawn),
        (error(400, "login_required"), withdrawn),
        // Down, whatever the body says.
        (error(500, "invalid_grant"), Verdict::Unavailable),
        (error(502, "access_denied"), Verdict::Unavailable),
        (error(503, "invalid_grant"), Verdict::Unavailable),
        (error(429, "invalid_grant"), Verdict::Unavailable),
        (error(408, "invalid_grant"), Verdict::Unavailable),
        (error(400, "temporarily_unavailable"), Verdict::Unavailable),
        (error(400, "server_error"), Verdict::Unavailable),
        (page(500), Verdict::Unavailable),
        (page(504), Verdict::Unavailable),
        (page(429), Verdict::Unavailable),
        // Ours to put right.
        (
            error(401, "invalid_client"),
            Verdict::Misconfigured("oidc.clientSecret"),
        ),
        (
            error(400, "invalid_client"),
            Verdict::Misconfigured("oidc.clientSecret"),
        ),
        (page(401), Verdict::Misconfigured("oidc.clientSecret")),
        (
            error(400, "unauthorized_client"),
            Verdict::Misconfigured("oidc.clientId"),
        ),
        (
            error(400, "unsupported_grant_type"),
            Verdict::Misconfigured("oidc.clientId"),
        ),
        (
            error(400, "invalid_scope"),
            Verdict::Misconfigured("oidc.scopes"),
        ),
        // Anything else says nothing of the person.
        (error(400, "invalid_request"), Verdict::InvalidResponse),
        (error(400, "INVALID_GRANT"), Verdict::InvalidResponse),
        (page(400), Verdict::InvalidResponse),
        (page(403), Verdict::InvalidResponse),
        (page(404), Verdict::InvalidResponse),
        (page(200), Verdict::InvalidResponse),
        (
            Answer::Json(400, json!(["invalid_grant"])),
            Verdict::InvalidResponse,
        ),
        (error(200, "invalid_grant"), Verdict::InvalidResponse),
        (
            Answer::Raw(400, "text/plain", b"{\"error\":\"invalid_grant\"".to_vec()),
            Verdict::InvalidResponse,
        ),
        (Answer::Redirect("/keys"), Verdict::InvalidResponse),
    ] {
        let said = match &answer {
            Answer::Json(status, body) => format!("{status} {body}"),
            Answer::Raw(status, ..) => format!("{status}"),
            _ => "a redirect".to_owned(),
        };
        world.issuer.says("/token", answer);
        let result = world.refresh().await;
        assert_eq!(verdict(&result), wanted, "{said}");
        let text = shown(result);
        assert!(
            !text.contains("refresh-1") && !text.contains("s:e/c"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_refuses_nobody() {
    let world = World::start().await;
    let (url, authority) = (world.issuer.url.clone(), world.issuer.authority.clone());
    world.sign_in().await.unwrap();
    drop(world.issuer);
    let token = SecretString::from("refresh-1");
    // What was learnt of it is still known, and then no more.
    for later in [0, 7200] {
        let result = as_sign_in(world.oidc.refresh(&token, "ann-1", after(later)).await);
        assert_eq!(verdict(&result), Verdict::Unavailable, "after {later} s");
    }
    let oidc = Oidc::new(&spec(&url, &authority), Some(secret())).unwrap();
    let result = oidc.authorize(&back(), now()).await;
    assert_eq!(verdict(&result), Verdict::Unavailable);
}

#[tokio::test]
async fn an_impostor_with_another_certificate_refuses_nobody() {
    let issuer = Issuer::start().await;
    issuer.says(
        "/token",
        Answer::Json(400, json!({"error": "invalid_grant"})),
    );
    let oidc = Oidc::new(&spec(&issuer.url, &certified().authority), Some(secret())).unwrap();
    let token = SecretString::from("refresh-1");
    let result = as_sign_in(oidc.refresh(&token, "ann-1", now()).await);
    assert_eq!(verdict(&result), Verdict::Unavailable);
    let text = shown(result);
    assert!(text.contains("oidc.caBundle"), "{text}");
    assert!(issuer.asked(DISCOVERY).is_empty());
}

#[tokio::test]
async fn an_answer_that_never_comes_is_not_waited_for() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        let later = async {
            world.issuer.stalls().await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(10)).await;
        };
        let sign_in = sign_in_to_the_end(&world, path, Answer::Stalled);
        // With the clock that is stopped, an hour is over as soon as nothing else happens.
        let sign_in = tokio::time::timeout(Duration::from_hours(1), sign_in);
        let (result, ()) = futures::future::join(sign_in, later).await;
        let result = result.expect("an end to the waiting");
        tokio::time::resume();
        assert_eq!(verdict(&result), Verdict::Unavailable, "{path}");
    }
}

#[tokio::test]
async fn an_issuer_that_fails_half_way_refuses_nobody() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        for status in [500, 503, 429] {
            let world = World::start().await;
            let answer = Answer::Json(status, json!({"error": "access_denied"}));
            let result = sign_in_to_the_end(&world, path, answer).await;
            assert_eq!(verdict(&result), Verdict::Unavailable, "{path} {status}");
        }
    }
}
