//! Tests against the certified npm package `oidc-provider` on Node, an independent implementation.

use drover_providers::error::Refusal;
use drover_providers::oidc::{Oidc, Pending, SignedIn};
use drover_providers::{Group, ProviderError};
use drover_testkit::openid::{Provider, Settings};
use jiff::{SignedDuration, Timestamp};
use reqwest::Url;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{ResultKind, SECRET, as_sign_in, result_kind, shown, spec};

/// Creates Drover's OpenID client for the test provider `provider`.
fn drover(provider: &Provider, settings: &Settings) -> Oidc {
    let mut spec = spec(&provider.issuer, &provider.authority);
    spec.scopes = ["profile", "email", "groups", "offline_access"]
        .map(str::to_owned)
        .to_vec();
    if settings.authentication == "none" {
        spec.client_secret = None;
    }
    let secret = spec.client_secret.is_some().then(|| SECRET.into());
    Oidc::new(&spec, secret).unwrap()
}

/// Starts a test provider with the default settings, and creates Drover's OpenID client for this
/// provider.
async fn started() -> (Provider, Oidc) {
    let settings = Settings::default();
    let provider = Provider::start(&settings).await;
    let oidc = drover(&provider, &settings);
    (provider, oidc)
}

fn back() -> Url {
    Settings::default().back.parse().unwrap()
}

/// Signs in a user in a new browser.
async fn sign_in(oidc: &Oidc, provider: &Provider, login: &str) -> SignedIn {
    let mut browser = provider.browser();
    let (url, pending) = oidc.authorize(&back(), Timestamp::now()).await.unwrap();
    let came_back = browser.sign_in(url, login).await;
    let query = came_back.query().unwrap();
    oidc.redeem(query, &pending, Timestamp::now())
        .await
        .unwrap()
}

async fn refresh(oidc: &Oidc, token: &SecretString, id: &str) -> Result<SignedIn, ProviderError> {
    as_sign_in(oidc.refresh(token, id, Timestamp::now()).await)
}

fn groups(signed_in: &SignedIn) -> Vec<&str> {
    let groups = signed_in.person.groups.iter();
    groups.map(|group| group.id.as_str()).collect()
}

#[tokio::test]
async fn refresh_with_rotating_tokens_updates_the_groups() {
    let (mut provider, oidc) = started().await;
    let ann = sign_in(&oidc, &provider, "ann").await;
    assert_eq!(ann.person.id, "ann");
    assert_eq!(ann.person.login, "ann");
    assert_eq!(ann.person.display_name.as_deref(), Some("Ann"));
    assert_eq!(ann.person.email.as_deref(), Some("ann@example.com"));
    let expected = [("Team%20B", "Team B"), ("team-a", "team-a")].map(|(id, name)| Group {
        id: id.to_owned(),
        name: name.to_owned(),
    });
    assert_eq!(ann.person.groups, expected);

    provider.change("ann", &json!({"groups": ["team-c"]})).await;
    let first = ann.refresh_token.unwrap();
    let renewed = refresh(&oidc, &first, "ann").await.unwrap();
    assert_eq!(groups(&renewed), ["team-c"]);
    let second = renewed.refresh_token.unwrap();
    assert_ne!(first.expose_secret(), second.expose_secret());
    let again = refresh(&oidc, &second, "ann").await.unwrap();
    let third = again.refresh_token.unwrap();

    // The token belongs to another user.
    let result = refresh(&oidc, &third, "bob").await;
    assert_eq!(result_kind(&result), ResultKind::InvalidResponse);

    // The provider revokes all tokens when a refresh token is used twice.
    let withdrawn = ResultKind::Refused(Refusal::Withdrawn);
    assert_eq!(result_kind(&refresh(&oidc, &first, "ann").await), withdrawn);
    assert_eq!(result_kind(&refresh(&oidc, &third, "ann").await), withdrawn);
}

#[tokio::test]
async fn revoked_token_is_rejected_and_outage_returns_error_unavailable() {
    let (mut provider, oidc) = started().await;
    let withdrawn = ResultKind::Refused(Refusal::Withdrawn);

    let bob = sign_in(&oidc, &provider, "bob").await;
    let token = bob.refresh_token.unwrap();
    provider
        .browser()
        .revoke(&provider.issuer, token.expose_secret())
        .await;
    assert_eq!(result_kind(&refresh(&oidc, &token, "bob").await), withdrawn);

    let ann = sign_in(&oidc, &provider, "ann").await;
    let ann = refresh(&oidc, &ann.refresh_token.unwrap(), "ann").await;
    let token = ann.unwrap().refresh_token.unwrap();
    provider.change("ann", &json!({"disabled": true})).await;
    assert_eq!(result_kind(&refresh(&oidc, &token, "ann").await), withdrawn);

    provider.stop().await;
    let result = refresh(&oidc, &token, "ann").await;
    assert_eq!(result_kind(&result), ResultKind::Unavailable);
    let text = shown(result);
    assert!(!text.contains(token.expose_secret()), "{text}");
}

#[tokio::test]
async fn denied_consent_returns_error_refused() {
    let (provider, oidc) = started().await;
    let (url, pending) = oidc.authorize(&back(), Timestamp::now()).await.unwrap();
    let came_back = provider.browser().cancel_sign_in(url).await;
    let query = came_back.query().unwrap();
    let result = oidc.redeem(query, &pending, Timestamp::now()).await;
    assert_eq!(result_kind(&result), ResultKind::Refused(Refusal::Denied));
}

#[tokio::test]
async fn authorization_code_is_valid_only_for_its_own_sign_in() {
    let (provider, oidc) = started().await;
    let mut browser = provider.browser();
    let (url, pending) = oidc.authorize(&back(), Timestamp::now()).await.unwrap();
    let came_back = browser.sign_in(url, "ann").await;
    let query = came_back.query().unwrap();

    // An attacker with a stolen code does not have its verifier.
    let mut stolen: Value = serde_json::to_value(&pending).unwrap();
    stolen["verifier"] = "a".repeat(43).into();
    let stolen: Pending = serde_json::from_value(stolen).unwrap();
    let result = oidc.redeem(query, &stolen, Timestamp::now()).await;
    assert_eq!(
        result_kind(&result),
        ResultKind::Refused(Refusal::Withdrawn)
    );

    // A sign-in of another browser rejects the code.
    let (_, other) = oidc.authorize(&back(), Timestamp::now()).await.unwrap();
    let result = oidc.redeem(query, &other, Timestamp::now()).await;
    assert_eq!(result_kind(&result), ResultKind::InvalidResponse);
}

#[tokio::test]
async fn rotated_keys_of_a_provider_are_fetched() {
    let (mut provider, oidc) = started().await;
    let ann = sign_in(&oidc, &provider, "ann").await;
    provider.rotate().await;
    let in_a_minute = Timestamp::now() + SignedDuration::from_secs(61);
    let token = ann.refresh_token.unwrap();
    let renewed = oidc.refresh(&token, "ann", in_a_minute).await;
    assert_eq!(renewed.outcome.unwrap().id, "ann");
}

#[tokio::test]
async fn logout_url_ends_the_provider_session_and_redirects_to_drover() {
    let (provider, oidc) = started().await;
    let mut browser = provider.browser();
    let (url, pending) = oidc.authorize(&back(), Timestamp::now()).await.unwrap();
    let came_back = browser.sign_in(url, "ann").await;
    let query = came_back.query().unwrap();
    let ann = oidc
        .redeem(query, &pending, Timestamp::now())
        .await
        .unwrap();
    assert!(browser.is_signed_in(&provider.issuer).await);

    let hint = ann.id_token.unwrap();
    let home: Url = Settings::default().home.parse().unwrap();
    let url = oidc.end_session(Timestamp::now()).await.unwrap().unwrap();
    let fields = oidc.end_session_fields(&hint, &home);
    let fields = fields.each_ref();
    let fields = fields.map(|(name, value)| (*name, value.expose_secret()));
    let redirected_to = browser.sign_out(url, &fields).await;
    assert_eq!(redirected_to, home);
    assert!(!browser.is_signed_in(&provider.issuer).await);
}

#[tokio::test]
async fn sign_in_succeeds_with_each_client_authentication_method() {
    for settings in [
        Settings {
            authentication: "client_secret_post",
            algorithm: "RS256",
            claims_in_token: true,
            ..Settings::default()
        },
        Settings {
            authentication: "none",
            algorithm: "Ed25519",
            claims_in_token: true,
            ..Settings::default()
        },
        Settings {
            authentication: "client_secret_basic",
            algorithm: "PS256",
            ..Settings::default()
        },
    ] {
        let provider = Provider::start(&settings).await;
        let oidc = drover(&provider, &settings);
        let ann = sign_in(&oidc, &provider, "ann").await;
        assert_eq!(groups(&ann), ["Team%20B", "team-a"], "{settings:?}");
        let renewed = refresh(&oidc, &ann.refresh_token.unwrap(), "ann").await;
        assert_eq!(renewed.unwrap().person, ann.person, "{settings:?}");
    }
}

#[tokio::test]
async fn connection_test_reports_a_wrong_secret() {
    let (provider, oidc) = started().await;
    for check in oidc.check(&back(), Timestamp::now()).await {
        assert!(check.found.is_ok(), "{}: {:?}", check.what, check.found);
    }
    let spec = spec(&provider.issuer, &provider.authority);
    let wrong = Oidc::new(&spec, Some("another secret".into())).unwrap();
    let checks = wrong.check(&back(), Timestamp::now()).await;
    let client = checks.iter().find(|check| check.what == "Client").unwrap();
    let expected = ResultKind::Misconfigured("oidc.clientSecret");
    assert_eq!(result_kind(&client.found), expected);
}
