//! Tests that the client distinguishes rejections from outages.

use std::time::Duration;

use drover_providers::error::Refusal;
use drover_providers::oidc::Oidc;
use secrecy::SecretString;
use serde_json::json;

use super::super::issuer::{DISCOVERY, Issuer, ScriptedResponse, certified};
use super::super::{ResultKind, after, as_sign_in, now, result_kind, shown, spec};
use super::{StartedSignIn, World, back, secret, sign_in_with_response};

#[tokio::test]
async fn sign_in_is_refused_only_after_denied_consent() {
    let world = World::start().await;
    for (error, expected) in [
        ("access_denied", ResultKind::Refused(Refusal::Denied)),
        ("temporarily_unavailable", ResultKind::Unavailable),
        ("server_error", ResultKind::Unavailable),
        ("invalid_scope", ResultKind::Misconfigured("oidc.scopes")),
        (
            "unauthorized_client",
            ResultKind::Misconfigured("oidc.clientId"),
        ),
        (
            "unsupported_response_type",
            ResultKind::Misconfigured("oidc.clientId"),
        ),
        ("invalid_request", ResultKind::InvalidResponse),
        ("", ResultKind::InvalidResponse),
        ("Access_Denied", ResultKind::InvalidResponse),
    ] {
        let started = StartedSignIn::at(&world.oidc).await;
        let query = format!("error={error}&state={}", started.sent["state"]);
        let result = world.oidc.redeem(&query, &started.pending, now()).await;
        assert_eq!(result_kind(&result), expected, "{error}");
    }
}

#[tokio::test]
async fn refresh_is_refused_only_if_the_issuer_rejects_the_grant() {
    let world = World::start().await;
    let error =
        |status: u16, error: &str| ScriptedResponse::Json(status, json!({ "error": error }));
    let page = |status: u16| ScriptedResponse::Raw(status, "text/html", b"<h1>no</h1>".to_vec());
    let withdrawn = ResultKind::Refused(Refusal::Withdrawn);
    for (answer, expected) in [
        (error(400, "invalid_grant"), withdrawn),
        (error(401, "invalid_grant"), withdrawn),
        (error(403, "invalid_grant"), withdrawn),
        (error(400, "interaction_required"), withdrawn),
        (error(400, "login_required"), withdrawn),
        // A 5xx response is an outage with any body.
        (error(500, "invalid_grant"), ResultKind::Unavailable),
        (error(502, "access_denied"), ResultKind::Unavailable),
        (error(503, "invalid_grant"), ResultKind::Unavailable),
        (error(429, "invalid_grant"), ResultKind::Unavailable),
        (error(408, "invalid_grant"), ResultKind::Unavailable),
        (
            error(400, "temporarily_unavailable"),
            ResultKind::Unavailable,
        ),
        (error(400, "server_error"), ResultKind::Unavailable),
        (page(500), ResultKind::Unavailable),
        (page(504), ResultKind::Unavailable),
        (page(429), ResultKind::Unavailable),
        // Configuration errors.
        (
            error(401, "invalid_client"),
            ResultKind::Misconfigured("oidc.clientSecret"),
        ),
        (
            error(400, "invalid_client"),
            ResultKind::Misconfigured("oidc.clientSecret"),
        ),
        (page(401), ResultKind::Misconfigured("oidc.clientSecret")),
        (
            error(400, "unauthorized_client"),
            ResultKind::Misconfigured("oidc.clientId"),
        ),
        (
            error(400, "unsupported_grant_type"),
            ResultKind::Misconfigured("oidc.clientId"),
        ),
        (
            error(400, "invalid_scope"),
            ResultKind::Misconfigured("oidc.scopes"),
        ),
        // Other responses are invalid and do not reject the user.
        (error(400, "invalid_request"), ResultKind::InvalidResponse),
        (error(400, "INVALID_GRANT"), ResultKind::InvalidResponse),
        (page(400), ResultKind::InvalidResponse),
        (page(403), ResultKind::InvalidResponse),
        (page(404), ResultKind::InvalidResponse),
        (page(200), ResultKind::InvalidResponse),
        (
            ScriptedResponse::Json(400, json!(["invalid_grant"])),
            ResultKind::InvalidResponse,
        ),
        (error(200, "invalid_grant"), ResultKind::InvalidResponse),
        (
            ScriptedResponse::Raw(400, "text/plain", b"{\"error\":\"invalid_grant\"".to_vec()),
            ResultKind::InvalidResponse,
        ),
        (
            ScriptedResponse::Redirect("/keys"),
            ResultKind::InvalidResponse,
        ),
    ] {
        let response = match &answer {
            ScriptedResponse::Json(status, body) => format!("{status} {body}"),
            ScriptedResponse::Raw(status, ..) => format!("{status}"),
            _ => "a redirect".to_owned(),
        };
        world.issuer.says("/token", answer);
        let result = world.refresh().await;
        assert_eq!(result_kind(&result), expected, "{response}");
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
        assert_eq!(
            result_kind(&result),
            ResultKind::Unavailable,
            "after {later} s"
        );
    }
    let oidc = Oidc::new(&spec(&url, &authority), Some(secret())).unwrap();
    let result = oidc.authorize(&back(), now()).await;
    assert_eq!(result_kind(&result), ResultKind::Unavailable);
}

#[tokio::test]
async fn untrusted_issuer_certificate_returns_error_unavailable() {
    let issuer = Issuer::start().await;
    issuer.says(
        "/token",
        ScriptedResponse::Json(400, json!({"error": "invalid_grant"})),
    );
    let oidc = Oidc::new(&spec(&issuer.url, &certified().authority), Some(secret())).unwrap();
    let token = SecretString::from("refresh-1");
    let result = as_sign_in(oidc.refresh(&token, "ann-1", now()).await);
    assert_eq!(result_kind(&result), ResultKind::Unavailable);
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
        let sign_in = sign_in_with_response(&world, path, ScriptedResponse::Stalled);
        // With the paused clock, an hour passes as soon as all tasks are idle.
        let sign_in = tokio::time::timeout(Duration::from_hours(1), sign_in);
        let (result, ()) = futures::future::join(sign_in, later).await;
        let result = result.expect("the request times out");
        tokio::time::resume();
        assert_eq!(result_kind(&result), ResultKind::Unavailable, "{path}");
    }
}

#[tokio::test]
async fn issuer_failure_during_sign_in_returns_error_unavailable() {
    for path in [DISCOVERY, "/keys", "/token", "/me"] {
        for status in [500, 503, 429] {
            let world = World::start().await;
            let answer = ScriptedResponse::Json(status, json!({"error": "access_denied"}));
            let result = sign_in_with_response(&world, path, answer).await;
            assert_eq!(
                result_kind(&result),
                ResultKind::Unavailable,
                "{path} {status}"
            );
        }
    }
}
