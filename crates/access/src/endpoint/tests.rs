use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::token_review::TokenReview;
use super::*;
use crate::token::{ForUsers, issue};

const OFFLINE: i64 = 1000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Returns a token and its entry, valid until second 500.
fn issued(seed: u8, user: &str, groups: &[&str]) -> (String, EndpointToken) {
    let issued = issue::<ForUsers>(&[seed; 32]);
    let entry = EndpointToken {
        id: issued.id,
        hash: issued.hash.as_str().to_owned(),
        until: at(500),
        user: user.to_owned(),
        groups: groups.iter().map(|&name| name.to_owned()).collect(),
        display_name: Some("Ann".to_owned()),
    };
    (issued.token.expose_secret().to_owned(), entry)
}

fn tokens(entries: &[EndpointToken]) -> Result<Tokens, ContentError> {
    Tokens::parse(&serde_json::to_vec(entries).unwrap())
}

fn directory(entries: &[EndpointToken], confirmed_at: i64) -> Directory {
    Directory {
        state: Some(EndpointState {
            confirmed_at: at(confirmed_at),
            offline_seconds: OFFLINE.try_into().unwrap(),
        }),
        tokens: [("a".to_owned(), tokens(entries).unwrap())].into(),
    }
}

#[test]
fn token_is_accepted_only_until_its_end_and_within_the_offline_limit() {
    let (text, mut entry) = issued(1, "drover:user:1", &[]);
    entry.until = at(5000);
    let (other, _) = issued(2, "drover:user:2", &[]);
    let enabled = directory(std::slice::from_ref(&entry), 0);
    let disabled = Directory {
        state: None,
        ..enabled.clone()
    };
    let wrong_secret = format!("{}x", &text[..text.len() - 1]);
    for (directory, text, now, expected) in [
        (&enabled, &text, 0, Ok(())),
        (&enabled, &text, OFFLINE, Ok(())),
        (&enabled, &text, OFFLINE + 1, Err(Refused::Outdated)),
        (&enabled, &text, 5000, Err(Refused::Expired)),
        (&enabled, &other, 0, Err(Refused::Unknown)),
        (&enabled, &wrong_secret, 5000, Err(Refused::Unknown)),
        (&enabled, &String::new(), 0, Err(Refused::Unknown)),
        (&disabled, &text, 0, Err(Refused::Unknown)),
    ] {
        let reviewed = directory.review(text, at(now)).map(drop);
        assert_eq!(reviewed, expected, "{text} at {now}");
    }
}

#[test]
fn content_with_a_name_that_drover_does_not_assign_is_rejected() {
    for (user, group, accepted) in [
        ("drover:user:1", "drover:oidc:admins", true),
        ("drover:user:1", "drover:oidc:system:masters", true),
        ("drover:user:1", "system:masters", false),
        ("drover:user:1", "system:nodes", false),
        ("drover:user:1", "admins", false),
        ("system:admin", "drover:oidc:admins", false),
        (
            "system:serviceaccount:kube-system:default",
            "drover:oidc:a",
            false,
        ),
        ("ann", "drover:oidc:admins", false),
        ("drover:oidc:ann", "drover:oidc:admins", false),
    ] {
        let (_, entry) = issued(1, user, &[group]);
        let parsed = tokens(&[entry]).map(drop);
        let expected = if accepted {
            Ok(())
        } else {
            Err(ContentError::ForeignName)
        };
        assert_eq!(parsed, expected, "{user} {group}");
    }
    assert_eq!(Tokens::parse(b"{}").err(), Some(ContentError::Malformed));
}

fn answer(directory: Option<&Directory>, token: &str, version: &str) -> (u16, Value) {
    let body = json!({
        "apiVersion": version, "kind": "TokenReview",
        "metadata": { "creationTimestamp": null },
        "spec": { "token": token, "audiences": ["https://kubernetes.default.svc"] },
        "status": { "user": {} },
    });
    let review = TokenReview::parse(body.to_string().as_bytes()).unwrap();
    let (code, answer) = review.answer(directory, at(0));
    (code.as_u16(), answer)
}

#[test]
fn token_review_is_answered_in_its_version_with_200_and_without_tokens_with_503() {
    let (text, entry) = issued(1, "drover:user:1", &["drover:oidc:admins"]);
    let expired = EndpointToken {
        until: at(0),
        ..issued(2, "drover:user:2", &[]).1
    };
    let known = directory(&[entry.clone(), expired], 0);
    for version in ["authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"] {
        let (code, accepted) = answer(Some(&known), &text, version);
        assert_eq!(code, 200);
        assert_eq!(accepted["apiVersion"], version);
        assert_eq!(
            accepted["status"],
            json!({ "authenticated": true, "user": {
                "username": "drover:user:1",
                "groups": ["drover:oidc:admins"],
                "extra": {
                    "management.drover.dev/display-name": ["Ann"],
                    "management.drover.dev/token-id": [entry.id],
                },
            }})
        );
    }
    let v1 = "authentication.k8s.io/v1";
    let (code, refused) = answer(Some(&known), "eyJhbGciOi", v1);
    assert_eq!(
        (code, &refused["status"]),
        (200, &json!({ "authenticated": false }))
    );
    let (expired, _) = issued(2, "", &[]);
    let (code, refused) = answer(Some(&known), &expired, v1);
    assert_eq!(
        (code, &refused["status"]["authenticated"]),
        (200, &json!(false))
    );
    assert!(
        refused["status"]["error"]
            .as_str()
            .unwrap()
            .contains("expired")
    );
    let (code, failed) = answer(None, &text, v1);
    assert_eq!(
        (code, &failed["status"]["authenticated"]),
        (503, &json!(false))
    );
}

#[test]
fn body_that_is_not_a_token_review_is_rejected() {
    for body in [
        "",
        "{}",
        "[]",
        r#"{"apiVersion":"authentication.k8s.io/v2","kind":"TokenReview","spec":{"token":"t"}}"#,
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"Pod","spec":{"token":"t"}}"#,
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview"}"#,
        r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":1}}"#,
    ] {
        assert!(TokenReview::parse(body.as_bytes()).is_none(), "{body}");
    }
}
