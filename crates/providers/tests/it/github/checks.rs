//! Tests of the connection test, and of configurations that are rejected without a request.

use drover_api::kinds::auth_provider::{AuthProviderSpec, GithubSpec};
use drover_providers::ProviderError;
use drover_providers::github::{Check, Github};
use secrecy::SecretString;

use super::{BACK, github, message, now, outcome, spec};
use drover_testkit::github::world::{CLIENT, SECRET};
use drover_testkit::github::{Fake, Fault};

fn outcomes(checks: &[Check]) -> Vec<&'static str> {
    let outcomes = checks.iter().map(|check| check.outcome.as_ref());
    outcomes
        .map(|it| it.map_or_else(outcome, |()| "right"))
        .collect()
}

#[tokio::test]
async fn valid_configuration_passes_the_connection_test_without_a_sign_in() {
    let fake = Fake::start().await;
    let checks = github(&fake).check(now()).await;
    assert_eq!(outcomes(&checks), ["right", "right"], "{checks:?}");
    let web = super::endpoints(&fake).web.to_string();
    let case: Vec<_> = checks.iter().map(|check| check.what.as_str()).collect();
    let web = web.trim_end_matches('/');
    assert_eq!(
        case,
        [
            format!("sign-in at {web}"),
            format!("REST API at {web}/api/v3")
        ]
    );
    assert!(fake.world().tokens.is_empty());
}

#[tokio::test]
async fn connection_test_reports_a_wrong_client_id_or_secret() {
    let fake = Fake::start().await;
    let try_with = async |client_id: &str, secret: &str| {
        let mut spec = spec(&fake);
        client_id.clone_into(&mut spec.client_id);
        let secret = SecretString::from(secret);
        let github = Github::at(super::endpoints(&fake), &spec, secret, super::timeouts()).unwrap();
        let checks = github.check(now()).await;
        assert_eq!(outcomes(&checks), ["misconfigured", "misconfigured"]);
        message(checks[0].outcome.as_ref().unwrap_err())
    };
    let error = try_with(CLIENT, "another-secret").await;
    assert!(
        error.starts_with("github.clientSecret: ") && !error.contains("another-secret"),
        "{error}"
    );
    let error = try_with("Ov23liAnotherClient1", SECRET).await;
    assert!(error.starts_with("github.clientId: "), "{error}");
}

#[tokio::test]
async fn connection_test_reports_github_login_and_api_errors_separately() {
    let fake = Fake::start().await;
    let github = github(&fake);
    let fault = |status| Fault::Response(status, vec![], "<html>".to_owned());
    for (path, status, expected) in [
        ("/login", 503, ["unavailable", "right"]),
        ("/api", 503, ["right", "unavailable"]),
        ("/login", 200, ["invalid_response", "right"]),
        ("/api", 301, ["right", "invalid_response"]),
        ("/login", 404, ["misconfigured", "right"]),
        ("/api", 403, ["right", "unavailable"]),
        ("/api", 404, ["right", "invalid_response"]),
    ] {
        fake.inject_fault(path, fault(status));
        assert_eq!(
            outcomes(&github.check(now()).await),
            expected,
            "{path} {status}"
        );
        fake.clear_faults();
    }
    // A server that issues a token for an invalid code is not GitHub.
    let token = r#"{"access_token":"A","token_type":"bearer","scope":"read:org"}"#;
    fake.inject_fault("/login", Fault::Response(200, vec![], token.to_owned()));
    let checks = github.check(now()).await;
    assert_eq!(outcomes(&checks), ["invalid_response", "right"]);
    fake.clear_faults();
    // A server that returns 200 for each request is not the REST API.
    fake.inject_fault("/api", fault(200));
    let checks = github.check(now()).await;
    assert_eq!(outcomes(&checks), ["right", "invalid_response"]);
}

#[tokio::test]
async fn unknown_certificate_authority_error_names_the_ca_bundle_field() {
    let fake = Fake::start().await;
    let other = Fake::start().await;
    let secret = SecretString::from(SECRET);
    let github = Github::at(
        super::endpoints(&fake),
        &spec(&other),
        secret,
        super::timeouts(),
    )
    .unwrap();
    let checks = github.check(now()).await;
    assert_eq!(outcomes(&checks), ["misconfigured", "misconfigured"]);
    for check in checks {
        let error = check.outcome.unwrap_err().to_string();
        assert!(
            error.starts_with("github.caBundle: the certificate of https://127.0.0.1"),
            "{error}"
        );
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn invalid_configuration_is_rejected_without_a_request() {
    let fake = Fake::start().await;
    let right = GithubSpec {
        url: Some(super::endpoints(&fake).web.to_string()),
        ..spec(&fake)
    };
    assert!(Github::new(&right, SecretString::from(SECRET)).is_ok());
    let of_url = |url: &str| GithubSpec {
        url: Some(url.to_owned()),
        ..right.clone()
    };
    let of_client = |client_id: &str| GithubSpec {
        client_id: client_id.to_owned(),
        ..right.clone()
    };
    let of_authorities = |bundle: &str| GithubSpec {
        ca_bundle: Some(bundle.to_owned()),
        ..right.clone()
    };
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let table = [
        (of_url("http://github.com"), SECRET, "github.url"),
        (of_url("github.com"), SECRET, "github.url"),
        (of_client(""), SECRET, "github.clientId"),
        (of_client(".."), SECRET, "github.clientId"),
        (of_client("a/../b"), SECRET, "github.clientId"),
        (of_client("a b"), SECRET, "github.clientId"),
        (right.clone(), "", "github.clientSecret"),
        (right.clone(), "the-secret\n", "github.clientSecret"),
        (of_authorities(""), SECRET, "github.caBundle"),
        (of_authorities("no PEM"), SECRET, "github.caBundle"),
        (of_authorities(garbage), SECRET, "github.caBundle"),
    ];
    for (spec, secret, field) in table {
        let error = Github::new(&spec, SecretString::from(secret)).unwrap_err();
        assert!(
            matches!(&error, ProviderError::Misconfigured { field: found, .. } if *found == field),
            "{error}"
        );
        assert!(!error.to_string().contains("the-secret"));
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn documented_github_provider_example_is_valid() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/identity-providers.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let (_, example) = page.split_once("```yaml\n").unwrap();
    let (_, provider) = example.split_once("\n---\n").unwrap();
    let provider = provider.split("```").next().unwrap();
    let written: serde_json::Value = serde_saphyr::from_str(provider).unwrap();
    let spec: AuthProviderSpec = serde_json::from_value(written["spec"].clone()).unwrap();
    assert_eq!(serde_json::to_value(&spec).unwrap(), written["spec"]);
    let fake = Fake::start().await;
    let github = GithubSpec {
        ca_bundle: Some(fake.certificate()),
        ..spec.github.unwrap()
    };
    let github = Github::new(&github, SecretString::from(SECRET)).unwrap();
    let (page, _) = github.authorize(&BACK.parse().unwrap(), now());
    assert_eq!(page.host_str(), Some("github.com"));
}
