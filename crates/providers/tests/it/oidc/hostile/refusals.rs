//! Tests that the client distinguishes rejections from outages.

use std::time::Duration;

use drover_providers::error::Refusal;
use drover_providers::oidc::Oidc;
use secrecy::SecretString;
use serde_json::json;

use super::super::issuer::{Answer, DISCOVERY, Issuer, certified};
use super::super::{Verdict, after, as_sign_in, now, shown, spec, verdict};
use super::{StartedSignIn, World, back, secret, sign_in_with_response};

#[tokio::test]
async fn sign_in_is_refused_only_after_denied_consent() {
    let world = World::start().await;
    for (error, expected) in [
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
        let started = StartedSignIn::at(&world.oidc).await;
        let query = format!("error={error}&state={}", started.sent["state"]);
        let result = world.oidc.redeem(&query, &started.pending, now()).await;
        assert_eq!(verdict(&result), expected, "{error}");
    }
}

#[tokio::test]
async fn refresh_is_refused_only_if_the_issuer_rejects_the_grant() {
    let world = World::start().await;
    let error = |status: u16, error: &str| Answer::Json(status, json!({ "error": error }));
    let page = |status: u16| Answer::Raw(status, "text/html", b"<h1>no</h1>".to_vec());
    let withdrawn = Verdict::Refused(Refusal::Withdrawn);
    for (answer, expected) in [
        (error(400, "invalid_grant"), withdrawn),
        (error(401, "invalid_grant"), withdrawn),
        (error(403, "invalid_grant"), withdrawn),
        (error(400, "interaction_required"), withdrawn),
        (error(400, "login_required"), withdrawn),
        // A 5xx response is an outage with any body.
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
        // Configuration errors.
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
        // Other responses are invalid and do not reject the user.
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
        let response = match &answer {
            Answer::Json(status, body) => format!("{status} {body}"),
            Answer::Raw(status, ..) => format!("{status}"),
            _ => "a redirect".to_owned(),
        };
        world.issuer.says("/token", answer);
        let result = world.refresh().await;
        assert_eq!(verdict(&result), expected, "{response}");
        let text = shown(result);
        assert!(
            !text.contains("refresh-1") && !text.contains("s:e/c"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn unavailable_issuer_does_not_reject_users() {
    let world = World::start().await;
    let (url, authority) = (world.issuer.url.clone(), world.issuer.authority.clone());
    world.sign_in().await.unwrap();
    drop(world.issuer);
    let token = SecretString::from("refresh-1");
    // The metadata is cached first and expires later.
    for later in [0, 7200] {
        let result = as_sign_in(world.oidc.refresh(&token, "ann-1", after(later)).await);
        assert_eq!(verdict(&result), Verdict::Unavailable, "after {later} s");
    }
    let oidc = Oidc::new(&spec(&url, &authority), Some(secret())).unwrap();
    let result = oidc.authorize(&back(), now()).await;
    assert_eq!(verdict(&result), Verdict::Unavailable);
}

#[tokio::test]
async fn untrusted_issuer_certificate_returns_error_unavailable() {
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
async fn request_to_issuer_without_response_times_out() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        let world = World::start().await;
        let later = async {
            world.issuer.stalls().await;
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(10)).await;
        };
        let sign_in = sign_in_with_response(&world, path, Answer::Stalled);
        // With the paused clock, an hour passes as soon as all tasks are idle.
        let sign_in = tokio::time::timeout(Duration::from_hours(1), sign_in);
        let (result, ()) = futures::future::join(sign_in, later).await;
        let result = result.expect("the request times out");
        tokio::time::resume();
        assert_eq!(verdict(&result), Verdict::Unavailable, "{path}");
    }
}

#[tokio::test]
async fn issuer_failure_during_sign_in_returns_error_unavailable() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        for status in [500, 503, 429] {
            let world = World::start().await;
            let answer = Answer::Json(status, json!({"error": "access_denied"}));
            let result = sign_in_with_response(&world, path, answer).await;
            assert_eq!(verdict(&result), Verdict::Unavailable, "{path} {status}");
        }
    }
}
