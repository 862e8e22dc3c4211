//! Tests of sign-ins and refreshes, and of the requests that the client sends.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use drover_api::kinds::auth_provider::OidcSpec;
use drover_providers::error::Refusal;
use drover_providers::oidc::{Oidc, Pending};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::super::issuer::{Issuer, ScriptedResponse};
use super::super::{CLIENT, ResultKind, as_sign_in, now, result_kind, spec};
use super::{BACK, StartedSignIn, World, back, client, secret};

#[tokio::test]
async fn sign_in_requests_contain_pkce_challenge_and_encoded_client_secret() {
    let world = World::start().await;
    let started = StartedSignIn::at(&world.oidc).await;
    let sent = &started.sent;
    assert_eq!(sent["response_type"], "code");
    assert_eq!(sent["client_id"], CLIENT);
    assert_eq!(sent["redirect_uri"], BACK);
    assert_eq!(sent["scope"], "openid profile email");
    assert_eq!(sent["code_challenge_method"], "S256");
    for name in ["state", "nonce", "code_challenge"] {
        assert_eq!(sent[name].len(), 43, "256 bits: {name}");
    }
    world.sends_claims(&world.claims(started.nonce()));
    let signed_in = started.complete(&world.oidc).await.unwrap();
    assert_eq!(signed_in.person.id, "ann-1");
    assert_eq!(signed_in.person.login, "ann");
    let refresh = signed_in.refresh_token.unwrap();
    assert_eq!(refresh.expose_secret(), "refresh-2");

    let requested = &world.issuer.asked("/token")[0];
    let header = requested.authorization.as_deref().unwrap();
    let encoded = "drover:s%3Ae%2Fc%2Br+e%25t%26%3D%7E";
    assert_eq!(basic_header(encoded), header);
    let form: HashMap<String, String> = url::form_urlencoded::parse(requested.body.as_bytes())
        .into_owned()
        .collect();
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(form["code"], "a-code");
    assert_eq!(form["redirect_uri"], BACK);
    assert!(!form.contains_key("client_secret"));
    let hash =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, form["code_verifier"].as_bytes());
    assert_eq!(base64url(hash.as_ref()), sent["code_challenge"]);
    assert!(world.issuer.asked("/me").is_empty(), "no claim was missing");
}

fn basic_header(text: &str) -> String {
    let encoded = STANDARD.encode(text);
    format!("Basic {encoded}")
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[tokio::test]
async fn client_authentication_method_is_selected_from_provider_metadata() {
    let world = World::start().await;
    let methods = |list: Value| {
        let change = json!({ "token_endpoint_auth_methods_supported": list });
        world.issuer.changes_document(&change);
    };
    methods(json!(["private_key_jwt", "client_secret_post"]));
    let started = StartedSignIn::at(&world.oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    started.complete(&world.oidc).await.unwrap();
    let requested = &world.issuer.asked("/token")[0];
    assert_eq!(requested.authorization, None);
    let secret = "client_id=drover&client_secret=s%3Ae%2Fc%2Br+e%25t%26%3D%7E";
    assert!(requested.body.ends_with(secret), "{}", requested.body);

    methods(json!(["private_key_jwt"]));
    let oidc = client(&world.issuer);
    let result = StartedSignIn::at(&oidc).await.complete(&oidc).await;
    assert_eq!(
        result_kind(&result),
        ResultKind::Misconfigured("oidc.clientSecret")
    );

    let public = OidcSpec {
        client_secret: None,
        ..spec(&world.issuer.url, &world.issuer.authority)
    };
    let oidc = Oidc::new(&public, None).unwrap();
    let started = StartedSignIn::at(&oidc).await;
    world.sends_claims(&world.claims(started.nonce()));
    started.complete(&oidc).await.unwrap();
    let requested = world.issuer.asked("/token").pop().unwrap();
    assert_eq!(requested.authorization, None);
    assert!(
        requested.body.ends_with("&client_id=drover"),
        "{}",
        requested.body
    );
}

#[tokio::test]
async fn authorization_url_keeps_endpoint_query_and_requests_consent_for_offline_access() {
    let issuer = Issuer::start().await;
    let at = format!("{}/authorize?tenant=a%26b", issuer.url);
    issuer.changes_document(&json!({ "authorization_endpoint": at }));
    let mut spec = spec(&issuer.url, &issuer.authority);
    spec.scopes = ["openid", "offline_access", "groups"]
        .map(str::to_owned)
        .to_vec();
    let oidc = Oidc::new(&spec, Some(secret())).unwrap();
    let sent = StartedSignIn::at(&oidc).await.sent;
    assert_eq!(sent["tenant"], "a&b");
    assert_eq!(sent["scope"], "openid offline_access groups");
    assert_eq!(sent["prompt"], "consent");
}

#[tokio::test]
async fn sign_ins_have_distinct_secrets() {
    let issuer = Issuer::start().await;
    let oidc = client(&issuer);
    let (one, two) = (
        StartedSignIn::at(&oidc).await,
        StartedSignIn::at(&oidc).await,
    );
    for name in ["state", "nonce", "code_challenge"] {
        assert_ne!(one.sent[name], two.sent[name], "{name}");
    }
    let shown = format!("{:?}", one.pending);
    assert!(!shown.contains(&one.sent["state"]) && !shown.contains(one.nonce()));
    // A deserialized sign-in can be completed too.
    let sealed = serde_json::to_string(&one.pending).unwrap();
    let opened: Pending = serde_json::from_str(&sealed).unwrap();
    let query = format!("error=access_denied&state={}", one.sent["state"]);
    let result = oidc.redeem(&query, &opened, now()).await;
    assert_eq!(result_kind(&result), ResultKind::Refused(Refusal::Denied));
}

#[tokio::test]
async fn missing_groups_are_read_from_userinfo_of_the_same_user() {
    let world = World::start().await;
    let without_groups = |nonce: &str| {
        let mut claims = world.claims(nonce);
        claims.as_object_mut().unwrap().remove("groups");
        world.signer.sign(&claims)
    };
    let me = |sub: &str| json!({"sub": sub, "groups": ["team-b"], "preferred_username": "eve"});
    world
        .issuer
        .says("/me", ScriptedResponse::Json(200, me("ann-1")));
    let person = world.sign_in_with(without_groups).await.unwrap().person;
    assert_eq!(person.groups[0].id, "team-b");
    assert_eq!(person.login, "ann", "the token takes precedence");
    let requested = &world.issuer.asked("/me")[0];
    assert_eq!(
        requested.authorization.as_deref(),
        Some("Bearer an-access-token")
    );

    let raw = |media| ScriptedResponse::Raw(200, media, me("ann-1").to_string().into_bytes());
    for (case, answer) in [
        ("another user", ScriptedResponse::Json(200, me("eve-1"))),
        ("another case", ScriptedResponse::Json(200, me("ANN-1"))),
        (
            "no subject",
            ScriptedResponse::Json(200, json!({"groups": ["team-b"]})),
        ),
        (
            "not an object",
            ScriptedResponse::Json(200, json!(["team-b"])),
        ),
        ("another media type", raw("application/jwt")),
        (
            "unauthorized",
            ScriptedResponse::Json(401, json!({"error": "invalid_token"})),
        ),
        (
            "forbidden",
            ScriptedResponse::Json(403, json!({"error": "insufficient_scope"})),
        ),
    ] {
        world.issuer.says("/me", answer);
        let result = world.sign_in_with(without_groups).await;
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{case}");
    }
}

#[tokio::test]
async fn refresh_response_for_a_different_user_or_issuer_is_rejected() {
    let world = World::start().await;
    let mut ann = world.claims("");
    ann.as_object_mut().unwrap().remove("nonce");
    ann["groups"] = json!(["team-c"]);
    world.sends_claims(&ann);
    let renewed = world.refresh().await.unwrap();
    assert_eq!(renewed.person.groups[0].id, "team-c");
    let requested = &world.issuer.asked("/token")[0];
    assert_eq!(
        requested.body,
        "grant_type=refresh_token&refresh_token=refresh-1"
    );

    for (name, value) in [
        ("sub", "eve-1"),
        ("iss", "https://evil.example.com"),
        ("aud", "other"),
    ] {
        let mut other = ann.clone();
        other[name] = value.into();
        world.sends_claims(&other);
        let result = world.refresh().await;
        assert_eq!(result_kind(&result), ResultKind::InvalidResponse, "{name}");
    }
}

#[tokio::test]
async fn new_refresh_token_is_returned_if_the_userinfo_request_fails() {
    let world = World::start().await;
    let tokens = json!({
        "access_token": "an-access-token", "token_type": "Bearer", "refresh_token": "refresh-2",
    });
    world
        .issuer
        .says("/token", ScriptedResponse::Json(200, tokens));
    for (answer, expected) in [
        (
            ScriptedResponse::Json(503, json!({})),
            ResultKind::Unavailable,
        ),
        (
            ScriptedResponse::Json(200, json!({"sub": "eve-1"})),
            ResultKind::InvalidResponse,
        ),
    ] {
        world.issuer.says("/me", answer);
        let token = SecretString::from("refresh-1");
        let renewed = world.oidc.refresh(&token, "ann-1", now()).await;
        let returned_token = renewed
            .refresh_token
            .as_ref()
            .map(SecretString::expose_secret);
        assert_eq!(returned_token, Some("refresh-2"));
        assert_eq!(result_kind(&as_sign_in(renewed)), expected);
    }
}

#[tokio::test]
async fn refresh_without_id_token_is_confirmed_by_userinfo() {
    let world = World::start().await;
    let tokens = json!({"access_token": "an-access-token", "token_type": "Bearer"});
    world
        .issuer
        .says("/token", ScriptedResponse::Json(200, tokens));
    let me = |sub: &str| ScriptedResponse::Json(200, json!({"sub": sub, "groups": ["team-d"]}));
    world.issuer.says("/me", me("ann-1"));
    let renewed = world.refresh().await.unwrap();
    assert_eq!(renewed.person.groups[0].id, "team-d");
    assert!(renewed.refresh_token.is_none() && renewed.id_token.is_none());
    world.issuer.says("/me", me("eve-1"));
    assert_eq!(
        result_kind(&world.refresh().await),
        ResultKind::InvalidResponse
    );

    let silent = json!({"userinfo_endpoint": null});
    world.issuer.changes_document(&silent);
    let oidc = client(&world.issuer);
    let token = SecretString::from("refresh-1");
    let result = as_sign_in(oidc.refresh(&token, "ann-1", now()).await);
    assert_eq!(result_kind(&result), ResultKind::InvalidResponse);
}

#[tokio::test]
async fn logout_url_is_returned_if_the_provider_has_a_logout_endpoint() {
    let issuer = Issuer::start().await;
    let oidc = client(&issuer);
    let hint = SecretString::from("an-id-token");
    let home: Url = "https://drover.example.com/".parse().unwrap();
    let url = oidc.end_session(now()).await.unwrap().unwrap();
    assert_eq!(url.as_str(), format!("{}/bye", issuer.url));
    let fields = oidc.end_session_fields(&hint, &home);
    let fields = fields.each_ref();
    let sent = fields.map(|(name, value)| (*name, value.expose_secret()));
    let expected = [
        ("id_token_hint", "an-id-token"),
        ("client_id", CLIENT),
        ("post_logout_redirect_uri", home.as_str()),
    ];
    assert_eq!(sent, expected);
    issuer.changes_document(&json!({"end_session_endpoint": null}));
    let url = client(&issuer).end_session(now()).await;
    assert_eq!(url.unwrap(), None);
}

#[tokio::test]
async fn connection_test_reports_the_result_of_each_openid_connect_step() {
    let world = World::start().await;
    let error = |error: &str| ScriptedResponse::Json(400, json!({ "error": error }));
    let results = async |oidc: &Oidc| -> Vec<(&str, ResultKind)> {
        let checks = oidc.check(&back(), now()).await;
        checks
            .iter()
            .map(|check| (check.what, result_kind(&check.found)))
            .collect()
    };
    world.issuer.says("/token", error("invalid_grant"));
    let checks = results(&world.oidc).await;
    let all = [
        "Discovery",
        "Sign-in",
        "Keys",
        "Client",
        "Refresh",
        "Sign-out",
    ];
    assert_eq!(checks, all.map(|case| (case, ResultKind::Accepted)));
    assert_eq!(world.issuer.asked("/keys").len(), 1);

    world.issuer.says("/token", error("invalid_client"));
    world
        .issuer
        .says("/keys", ScriptedResponse::Json(500, json!({})));
    let checks = results(&world.oidc).await;
    assert_eq!(checks[2], ("Keys", ResultKind::Unavailable));
    assert_eq!(
        checks[3],
        ("Client", ResultKind::Misconfigured("oidc.clientSecret"))
    );

    world.issuer.says("/token", error("invalid_request"));
    assert_eq!(
        results(&world.oidc).await[3],
        ("Client", ResultKind::Accepted)
    );

    world
        .issuer
        .changes_document(&json!({"issuer": "https://other.example.com"}));
    let checks = results(&world.oidc).await;
    assert_eq!(
        checks,
        [("Discovery", ResultKind::Misconfigured("oidc.issuer"))]
    );
}
