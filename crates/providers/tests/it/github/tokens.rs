//! Tests of the revocation of access tokens, and of suspended and deleted accounts.

use drover_providers::ProviderError;
use drover_providers::error::Refusal;
use drover_providers::github::Github;
use secrecy::SecretString;

use super::{github, now, outcome, sign_in, spec};
use drover_testkit::github::world::CLIENT;
use drover_testkit::github::{Fake, Fault};

async fn with_alice() -> (Fake, Github) {
    let fake = Fake::start().await;
    fake.world().account(1, "alice");
    let github = github(&fake);
    (fake, github)
}

#[tokio::test]
async fn refresh_with_revoked_token_returns_error_withdrawn() {
    let (fake, github) = with_alice().await;
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    fake.world().tokens.clear();
    let result = github.refresh(&alice.access_token, "1", now()).await;
    assert!(
        matches!(result, Err(ProviderError::Refused(Refusal::Withdrawn))),
        "{result:?}"
    );
}

#[tokio::test]
async fn refresh_of_deleted_account_returns_error_withdrawn() {
    let (fake, github) = with_alice().await;
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    fake.world().accounts.clear();
    let result = github.refresh(&alice.access_token, "1", now()).await;
    assert!(
        matches!(result, Err(ProviderError::Refused(Refusal::Withdrawn))),
        "{result:?}"
    );
}

#[tokio::test]
async fn suspended_account_is_rejected_until_it_is_reactivated() {
    let (fake, github) = with_alice().await;
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    fake.world().accounts.get_mut(&1).unwrap().suspended = true;
    let refreshed = github.refresh(&alice.access_token, "1", now()).await.err();
    let signed_in = sign_in(&fake, &github, 1).await.err();
    for error in [refreshed, signed_in] {
        assert!(
            matches!(error, Some(ProviderError::Refused(Refusal::Disabled))),
            "{error:?}"
        );
    }
    fake.world().accounts.get_mut(&1).unwrap().suspended = false;
    assert!(
        github
            .refresh(&alice.access_token, "1", now())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn token_revocation_invalidates_only_the_given_token() {
    let (fake, github) = with_alice().await;
    let desk = sign_in(&fake, &github, 1).await.unwrap().access_token;
    let phone = sign_in(&fake, &github, 1).await.unwrap().access_token;
    github.revoke(&desk, now()).await.unwrap();
    let ended = github.refresh(&desk, "1", now()).await;
    assert!(matches!(
        ended,
        Err(ProviderError::Refused(Refusal::Withdrawn))
    ));
    assert!(github.refresh(&phone, "1", now()).await.is_ok());
    // Revoking a revoked token is not an error.
    github.revoke(&desk, now()).await.unwrap();
    let requested = fake.asked();
    let (method, path) = ("DELETE", format!("/api/v3/applications/{CLIENT}/token"));
    let ends = requested
        .iter()
        .filter(|it| it.method == method && it.path == path);
    assert_eq!(ends.count(), 2);
    // The user's authorization of the app stays.
    assert!(!requested.iter().any(|it| it.path.ends_with("/grant")));
}

#[tokio::test]
async fn failed_revocation_returns_an_error() {
    let (fake, github) = with_alice().await;
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    for (status, expected) in [
        (500, "unavailable"),
        (429, "unavailable"),
        (403, "unavailable"),
        (301, "invalid_response"),
    ] {
        let fault = Fault::Response(status, vec![], String::new());
        fake.inject_fault("/api/v3/applications/", fault);
        let error = github.revoke(&alice.access_token, now()).await.unwrap_err();
        assert_eq!(outcome(&error), expected, "{status}");
        fake.clear_faults();
    }
    let secret = SecretString::from("another-secret");
    let wrong = Github::at(
        super::endpoints(&fake),
        &spec(&fake),
        secret,
        super::timeouts(),
    )
    .unwrap();
    let error = wrong.revoke(&alice.access_token, now()).await.unwrap_err();
    assert_eq!(outcome(&error), "misconfigured");
    assert!(
        github
            .refresh(&alice.access_token, "1", now())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn client_secret_and_access_token_are_sent_only_to_their_endpoints() {
    let (fake, github) = with_alice().await;
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    github.revoke(&alice.access_token, now()).await.unwrap();
    for requested in fake.asked() {
        let authorization = requested.authorization.as_deref().unwrap_or_default();
        let expected = match requested.path.as_str() {
            "/login/oauth/access_token" => "",
            path if path.starts_with("/api/v3/applications/") => "Basic ",
            _ => "Bearer ",
        };
        assert!(authorization.starts_with(expected), "{}", requested.path);
        assert_eq!(
            authorization.is_empty(),
            expected.is_empty(),
            "{}",
            requested.path
        );
    }
}
