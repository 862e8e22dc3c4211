//! Tests that the client distinguishes rejections from outages, and rejects invalid responses.

use std::time::Duration;

use drover_providers::ProviderError;
use drover_providers::error::Refusal;
use drover_providers::github::{Endpoints, Github, TemporaryFailure, Timeouts};
use jiff::Timestamp;
use secrecy::SecretString;
use tokio::net::TcpListener;

use super::{allowed, github, github_with, message, now, outcome, sign_in, spec};
use drover_testkit::github::world::SECRET;
use drover_testkit::github::{Fake, Fault};

/// Paths of all API resources that the client reads for a user.
pub(super) const READ: [&str; 4] = [
    "/api/v3/user",
    "/api/v3/user/memberships/orgs",
    "/api/v3/user/teams",
    "/api/v3/organizations/10/team/19",
];
pub(super) const TOKEN: &str = "/login/oauth/access_token";

/// Adds a user with an organization and a team.
pub(super) fn people(fake: &Fake) {
    let mut world = fake.world();
    world.account(1, "alice");
    world.organization(10, "acme", 1);
    world.team(19, "everybody", 10, None, &[]);
    world.team(20, "platform", 10, Some(19), &[1]);
}

/// Timeouts that stop a stalled response but allow a normal response.
pub(super) fn short_timeouts() -> Timeouts {
    Timeouts {
        request: Duration::from_millis(400),
        ..super::timeouts()
    }
}

pub(super) fn says(status: u16, headers: &[(&'static str, &str)], message: &str) -> Fault {
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    let body = serde_json::json!({ "message": message }).to_string();
    Fault::Response(status, headers.collect(), body)
}

pub(super) fn down() -> Vec<Fault> {
    vec![
        says(500, &[], "Server Error"),
        says(502, &[], "Bad credentials"),
        says(503, &[("retry-after", "30")], "Unicorn!"),
        says(429, &[], "Too many requests"),
        says(
            403,
            &[("retry-after", "60")],
            "You have exceeded a secondary rate limit.",
        ),
        says(
            403,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1795338600"),
            ],
            "API rate limit exceeded for user ID 1.",
        ),
        says(403, &[], "You have triggered an abuse detection mechanism."),
        says(403, &[], "Maximum number of login attempts exceeded."),
        Fault::Response(
            403,
            vec![],
            "<html>Blocked by the firewall</html>".to_owned(),
        ),
    ]
}

#[tokio::test]
async fn github_outages_and_rate_limits_return_error_unavailable() {
    let fake = Fake::start().await;
    people(&fake);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    for path in READ {
        for fault in down() {
            fake.inject_fault(path, fault);
            let error = github
                .refresh(&alice.access_token, "1", now())
                .await
                .unwrap_err();
            assert_eq!(
                outcome(&error),
                "unavailable",
                "{path}: {}",
                message(&error)
            );
            fake.clear_faults();
        }
    }
    for fault in down() {
        fake.inject_fault(TOKEN, fault);
        let error = sign_in(&fake, &github, 1).await.unwrap_err();
        assert_eq!(outcome(&error), "unavailable", "{}", message(&error));
        fake.clear_faults();
    }
    assert!(
        github
            .refresh(&alice.access_token, "1", now())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn slow_github_response_returns_error_unavailable() {
    let fake = Fake::start().await;
    people(&fake);
    let alice = sign_in(&fake, &github(&fake), 1).await.unwrap();
    let github_with = github_with(&fake, short_timeouts());
    for path in [READ[0], READ[2]] {
        for fault in [Fault::Silence, Fault::Stalls] {
            fake.inject_fault(path, fault);
            let error = github_with
                .refresh(&alice.access_token, "1", now())
                .await
                .unwrap_err();
            assert_eq!(
                outcome(&error),
                "unavailable",
                "{path}: {}",
                message(&error)
            );
            fake.clear_faults();
        }
    }
    fake.inject_fault(TOKEN, Fault::Stalls);
    let error = sign_in(&fake, &github_with, 1).await.unwrap_err();
    assert_eq!(outcome(&error), "unavailable", "{}", message(&error));
}

#[tokio::test]
async fn all_pages_of_a_github_list_share_one_timeout() {
    let fake = Fake::start().await;
    people(&fake);
    let alice = sign_in(&fake, &github(&fake), 1).await.unwrap();
    let timeouts = Timeouts {
        operation: Duration::from_millis(400),
        ..super::timeouts()
    };
    fake.inject_fault(READ[2], Fault::Silence);
    let github_with = github_with(&fake, timeouts);
    let error = github_with
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    let ProviderError::Unavailable { source, .. } = &error else {
        panic!("{}", message(&error));
    };
    assert!(
        source.is::<tokio::time::error::Elapsed>(),
        "{}",
        message(&error)
    );
}

#[tokio::test]
async fn unreachable_or_untrusted_github_server_returns_error_unavailable() {
    let fake = Fake::start().await;
    people(&fake);
    let secret = || SecretString::from(SECRET);
    let token = SecretString::from("gho_00000001");
    // The port is closed.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let web = format!("https://{}/", listener.local_addr().unwrap());
    drop(listener);
    let gone = Endpoints {
        api: format!("{web}api/v3/").parse().unwrap(),
        web: web.parse().unwrap(),
    };
    let gone = Github::at(gone, &spec(&fake), secret(), super::timeouts()).unwrap();
    // An attacker on the network with a certificate of another authority.
    let other = Fake::start().await;
    let between = Github::at(
        super::endpoints(&fake),
        &spec(&other),
        secret(),
        super::timeouts(),
    )
    .unwrap();
    for github in [gone, between] {
        let error = github.refresh(&token, "1", now()).await.unwrap_err();
        assert_eq!(outcome(&error), "unavailable", "{}", message(&error));
        let (query, pending) = allowed(&fake, &github, 1);
        let error = github.redeem(&query, &pending, now()).await.unwrap_err();
        assert_eq!(outcome(&error), "unavailable", "{}", message(&error));
        let error = github.revoke(&token, now()).await.unwrap_err();
        assert_eq!(outcome(&error), "unavailable", "{}", message(&error));
    }
    assert!(fake.asked().is_empty(), "the attacker received no request");
}

#[tokio::test]
async fn rate_limit_headers_set_the_retry_time() {
    let fake = Fake::start().await;
    people(&fake);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    let reset = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1795338600"),
    ];
    for (fault, until) in [
        (
            says(429, &[("retry-after", "90")], ""),
            "2026-11-22T09:01:30Z",
        ),
        (says(403, &reset, ""), "2026-11-22T09:10:00Z"),
    ] {
        fake.inject_fault(READ[1], fault);
        let error = github
            .refresh(&alice.access_token, "1", now())
            .await
            .unwrap_err();
        let ProviderError::Unavailable { source, .. } = &error else {
            panic!("{error}");
        };
        let until: Timestamp = until.parse().unwrap();
        assert_eq!(
            source.downcast_ref::<TemporaryFailure>().unwrap().until,
            Some(until)
        );
        assert!(
            message(&error).contains(&until.to_string()),
            "{}",
            message(&error)
        );
        fake.clear_faults();
    }
}

#[tokio::test]
async fn rejected_token_at_any_github_endpoint_rejects_the_user_immediately() {
    let fake = Fake::start().await;
    people(&fake);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    for (fault, expected) in [
        (says(401, &[], "Bad credentials"), Refusal::Withdrawn),
        (
            says(401, &[("retry-after", "60")], "Requires authentication"),
            Refusal::Withdrawn,
        ),
        (
            says(403, &[], "Sorry. Your account was suspended."),
            Refusal::Disabled,
        ),
        (
            says(
                403,
                &[("x-ratelimit-remaining", "0")],
                "Sorry. Your account was suspended",
            ),
            Refusal::Disabled,
        ),
    ] {
        for path in READ {
            fake.inject_fault(path, fault.clone());
            let result = github.refresh(&alice.access_token, "1", now()).await;
            assert!(
                matches!(result, Err(ProviderError::Refused(found)) if found == expected),
                "{path}: {result:?}"
            );
            fake.clear_faults();
        }
    }
    let body = r#"{"id":1,"login":"alice","suspended_at":"2026-11-22T08:59:00Z"}"#;
    fake.inject_fault(READ[0], Fault::Response(200, vec![], body.to_owned()));
    let result = github.refresh(&alice.access_token, "1", now()).await;
    assert!(matches!(
        result,
        Err(ProviderError::Refused(Refusal::Disabled))
    ));
}

#[tokio::test]
async fn invalid_github_responses_do_not_reject_the_user() {
    let fake = Fake::start().await;
    people(&fake);
    let github = github(&fake);
    let alice = sign_in(&fake, &github, 1).await.unwrap();
    let page = |body: &str| Fault::Response(200, vec![], body.to_owned());
    let strange = [
        page("<html>Sign in to the guests' network</html>"),
        page(""),
        page("null"),
        page(r#"{"id":"1","login":"alice"}"#),
        page(r#"[{"id":1,"login":"alice"}]"#),
        page(r#"[{"state":"active"}]"#),
        says(400, &[], ""),
        says(418, &[], ""),
        Fault::Endless,
    ];
    for path in READ {
        for fault in &strange {
            fake.inject_fault(path, fault.clone());
            let error = github
                .refresh(&alice.access_token, "1", now())
                .await
                .unwrap_err();
            assert_eq!(
                outcome(&error),
                "invalid_response",
                "{path}: {}",
                message(&error)
            );
            fake.clear_faults();
        }
    }
    // A missing list is not an empty list.
    for path in &READ[..3] {
        fake.inject_fault(path, says(404, &[], "Not Found"));
        let error = github
            .refresh(&alice.access_token, "1", now())
            .await
            .unwrap_err();
        assert_eq!(
            outcome(&error),
            "invalid_response",
            "{path}: {}",
            message(&error)
        );
        fake.clear_faults();
    }
    fake.inject_fault(READ[3], page(r#"{"id":18,"slug":"owners"}"#));
    let error = github
        .refresh(&alice.access_token, "1", now())
        .await
        .unwrap_err();
    assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
    fake.clear_faults();
    fake.inject_fault(TOKEN, Fault::Endless);
    let error = sign_in(&fake, &github, 1).await.unwrap_err();
    assert_eq!(outcome(&error), "invalid_response", "{}", message(&error));
}
