//! Tests of the sign-in with GitHub.

use std::collections::HashMap;

use drover_providers::ProviderError;
use drover_providers::error::Refusal;
use drover_providers::github::Github;
use jiff::SignedDuration;
use secrecy::{ExposeSecret as _, SecretString};

use super::{BACK, allowed, github, groups, message, now, outcome, sign_in, spec};
use drover_testkit::github::Fake;
use drover_testkit::github::world::{CLIENT, SECRET, World};

async fn with_octocat() -> (Fake, Github) {
    let fake = Fake::start().await;
    fake.world().account(583_231, "octocat");
    let github = github(&fake);
    (fake, github)
}

#[tokio::test]
async fn sign_in_returns_all_organizations_and_teams() {
    let (fake, github) = with_octocat().await;
    {
        let mut world = fake.world();
        for id in 1..=230 {
            world.organization(id, &format!("org{id}"), 583_231);
        }
        for id in 1..=120 {
            let slug = format!("team{id}");
            world.team(id, &slug, 230 - id, None, &[583_231]);
        }
        world.team(121, "others", 1, None, &[]);
    }
    let signed_in = sign_in(&fake, &github, 583_231).await.unwrap();
    let person = &signed_in.person;
    assert_eq!(
        (&*person.id, &*person.login, person.display_name.as_deref()),
        ("583231", "octocat", Some("OCTOCAT"))
    );
    assert_eq!(person.email, None);
    assert!(signed_in.withheld.is_empty());
    let mut expected: Vec<(String, String)> = (1..=230)
        .map(|id| (format!("org:{id}"), format!("org{id}")))
        .chain((1..=120).map(|id| (format!("team:{id}"), format!("org{}/team{id}", 230 - id))))
        .collect();
    expected.sort();
    let found: Vec<_> = groups(person);
    let expected: Vec<_> = expected.iter().map(|(id, name)| (&**id, &**name)).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn authorization_url_requests_the_minimal_scope_with_pkce() {
    let (fake, github) = with_octocat().await;
    let (page, pending) = github.authorize(&BACK.parse().unwrap(), now());
    assert_eq!(page.origin(), super::endpoints(&fake).web.origin());
    assert_eq!(page.path(), "/login/oauth/authorize");
    let requested: HashMap<_, _> = page.query_pairs().into_owned().collect();
    let challenge = pending.challenge();
    let expected = [
        ("client_id", CLIENT),
        ("redirect_uri", BACK),
        ("scope", "read:org"),
        ("state", pending.state().expose_secret()),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("allow_signup", "false"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(requested, HashMap::from(expected));
    let (other, _) = github.authorize(&BACK.parse().unwrap(), now());
    assert_ne!(page, other);
}

#[tokio::test]
async fn reused_authorization_code_is_rejected() {
    let (fake, github) = with_octocat().await;
    let (query, pending) = allowed(&fake, &github, 583_231);
    github.redeem(&query, &pending, now()).await.unwrap();
    let again = github.redeem(&query, &pending, now()).await;
    assert!(
        matches!(again, Err(ProviderError::Refused(Refusal::Withdrawn))),
        "{again:?}"
    );
}

#[tokio::test]
async fn authorization_code_of_a_different_sign_in_is_rejected() {
    let (fake, github) = with_octocat().await;
    let (stolen, _) = allowed(&fake, &github, 583_231);
    let (own, pending) = allowed(&fake, &github, 583_231);
    let of = |query: &str, name: &str| {
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let found = pairs.into_owned().find(|(found, _)| found == name);
        found.unwrap().1
    };
    // The attacker combines the stolen code with the state of another sign-in.
    let mixed = format!("code={}&state={}", of(&stolen, "code"), of(&own, "state"));
    let result = github.redeem(&mixed, &pending, now()).await;
    assert!(
        matches!(result, Err(ProviderError::Refused(Refusal::Withdrawn))),
        "{result:?}"
    );
}

#[tokio::test]
async fn forged_callback_causes_no_request_to_github() {
    let (fake, github) = with_octocat().await;
    let (query, pending) = allowed(&fake, &github, 583_231);
    let (others, _) = allowed(&fake, &github, 583_231);
    let elsewhere = "iss=https%3A%2F%2Fevil.example%2Flogin%2Foauth";
    for forged in [
        others,
        format!("{query}A"),
        format!("{query}&{query}"),
        format!("{query}&{elsewhere}"),
        "code=code_00000001".to_owned(),
        String::new(),
    ] {
        let error = github.redeem(&forged, &pending, now()).await.unwrap_err();
        assert_eq!(outcome(&error), "invalid_response", "{forged}: {error}");
    }
    let late = now() + SignedDuration::from_secs(601);
    let error = github.redeem(&query, &pending, late).await.unwrap_err();
    assert!(matches!(error, ProviderError::Refused(Refusal::Withdrawn)));
    assert!(fake.asked().is_empty());

    let iss = super::endpoints(&fake).web.join("login/oauth").unwrap();
    let iss = url::form_urlencoded::byte_serialize(iss.as_str().as_bytes());
    let query = format!("{query}&iss={}", iss.collect::<String>());
    let signed_in = github.redeem(&query, &pending, now()).await.unwrap();
    assert_eq!(signed_in.person.id, "583231");
}

#[tokio::test]
async fn callback_of_denied_consent_returns_error_denied() {
    let (fake, github) = with_octocat().await;
    let (page, pending) = github.authorize(&BACK.parse().unwrap(), now());
    let result = github.redeem(&World::deny(&page), &pending, now()).await;
    assert!(
        matches!(result, Err(ProviderError::Refused(Refusal::Denied))),
        "{result:?}"
    );
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn error_codes_of_github_callbacks_are_classified_and_messages_contain_the_cause() {
    let (_fake, github) = with_octocat().await;
    let (_, pending) = github.authorize(&BACK.parse().unwrap(), now());
    let state = pending.state().expose_secret();
    for (word, expected, says) in [
        ("redirect_uri_mismatch", "misconfigured", BACK),
        ("application_suspended", "misconfigured", "github.clientId"),
        ("temporarily_unavailable", "unavailable", "is unavailable"),
        ("invalid_scope", "invalid_response", "invalid_scope"),
    ] {
        let query = format!("error={word}&state={state}");
        let error = github.redeem(&query, &pending, now()).await.unwrap_err();
        assert_eq!(outcome(&error), expected);
        assert!(message(&error).contains(says), "{}", message(&error));
    }
}

#[tokio::test]
async fn wrong_callback_url_error_contains_the_expected_url() {
    let (fake, github) = with_octocat().await;
    fake.world().callback = "https://old.example/".to_owned();
    let error = sign_in(&fake, &github, 583_231).await.unwrap_err();
    assert_eq!(outcome(&error), "misconfigured");
    assert!(error.to_string().contains(BACK), "{error}");
}

#[tokio::test]
async fn missing_scope_returns_an_error_and_not_an_empty_group_list() {
    let (fake, github) = with_octocat().await;
    for (scope, named) in [
        ("", "grants no scope"),
        ("repo,user:email", "repo,user:email"),
    ] {
        fake.world().scope = scope.to_owned();
        fake.asked();
        let error = sign_in(&fake, &github, 583_231).await.unwrap_err();
        assert_eq!(outcome(&error), "misconfigured");
        let text = error.to_string();
        assert!(text.contains("read:org") && text.contains(named), "{text}");
        assert_eq!(fake.asked().len(), 1, "only the token request is sent");
    }
    fake.world().scope = "admin:org,repo".to_owned();
    assert!(sign_in(&fake, &github, 583_231).await.is_ok());
}

#[tokio::test]
async fn wrong_client_id_or_secret_is_reported_with_its_field() {
    let fake = Fake::start().await;
    fake.world().account(1, "octocat");
    let right = github(&fake);
    let other = |client_id: &str, secret: &str| {
        let mut spec = spec(&fake);
        client_id.clone_into(&mut spec.client_id);
        let secret = SecretString::from(secret);
        Github::at(super::endpoints(&fake), &spec, secret, super::timeouts()).unwrap()
    };
    for (github, field) in [
        (other(CLIENT, "another-secret"), "github.clientSecret"),
        (other("Ov23liAnotherClient1", SECRET), "github.clientId"),
    ] {
        let (query, pending) = allowed(&fake, &right, 1);
        let error = github.redeem(&query, &pending, now()).await.unwrap_err();
        assert!(
            matches!(&error, ProviderError::Misconfigured { field: found, .. } if *found == field),
            "{error}"
        );
        assert!(
            !error.to_string().contains("secret-of")
                && !error.to_string().contains("another-secret")
        );
    }
}
