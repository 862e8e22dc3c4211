use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;

use super::*;
use crate::access::{Keys, Objects, TokensOptions};
use crate::status::ApiError;

const DAY: i64 = 24 * 60 * 60;
const START: i64 = 1_800_000_000;

struct Nothing;

impl Objects for Nothing {
    fn find<'a>(
        &'a self,
        _group: &'a str,
        _resource: &'a str,
        _namespace: &'a str,
        _name: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, ApiError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// Returns a token issuer, and the clock that the test sets.
fn tokens(max_lifetime_seconds: Option<i64>) -> (Tokens, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(START));
    let clock = Arc::clone(&now);
    let options = TokensOptions {
        max_lifetime_seconds,
        clock: Arc::new(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap()),
        ..TokensOptions::default()
    };
    let tokens = Tokens::new(options, Keys::generate().unwrap(), Arc::new(Nothing));
    (tokens, now)
}

fn account(uid: &str) -> Value {
    json!({"metadata": {"name": "robot", "namespace": "team", "uid": uid}})
}

fn secret() -> Value {
    json!({"type": TYPE, "metadata": {"name": "lasting", "namespace": "team", "uid": "u-secret",
        "annotations": {ACCOUNT_NAME: "robot"}}})
}

fn populated(tokens: &Tokens, secret: Value) -> Value {
    let decision = decide(tokens, Some("PEM"), secret, Some(account("u-robot"))).unwrap();
    let Decision::Update(secret) = decision else {
        panic!("the Secret is not updated: {decision:?}");
    };
    secret
}

fn claims(secret: &Value) -> Value {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let token = decoded(&secret["data"]["token"]).unwrap();
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[test]
fn token_secret_receives_token_certificate_namespace_and_account_uid() {
    let (tokens, _) = tokens(None);
    let secret = populated(&tokens, secret());
    let data = |key: &str| decoded(&secret["data"][key]).unwrap();
    assert_eq!(
        (data("ca.crt"), data("namespace")),
        ("PEM".into(), "team".into())
    );
    assert_eq!(annotation(&secret, ACCOUNT_UID), "u-robot");
    let claims = claims(&secret);
    assert_eq!(claims["sub"], "system:serviceaccount:team:robot");
    assert_eq!(
        claims["kubernetes.io"],
        json!({"namespace": "team", "serviceaccount": {"name": "robot", "uid": "u-robot"},
            "secret": {"name": "lasting", "uid": "u-secret"}})
    );
}

#[test]
fn token_in_secret_has_at_most_the_maximum_lifetime() {
    for (allowed, expected) in [
        (None, 90 * DAY),
        (Some(400 * DAY), 90 * DAY),
        (Some(7 * DAY), 7 * DAY),
    ] {
        let (tokens, _) = tokens(allowed);
        let claims = claims(&populated(&tokens, secret()));
        let lifetime = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
        assert_eq!(lifetime, expected, "{allowed:?}");
    }
}

#[test]
fn token_in_secret_is_renewed_when_a_third_of_its_lifetime_remains() {
    let (tokens, now) = tokens(None);
    let first = populated(&tokens, secret());
    let look = |secret: &Value| {
        let account = Some(account("u-robot"));
        decide(&tokens, Some("PEM"), secret.clone(), account).unwrap()
    };
    let due = Timestamp::from_second(START + 60 * DAY).unwrap();
    now.fetch_add(60 * DAY - 1, Ordering::SeqCst);
    assert_eq!(look(&first), Decision::Wait(Some(due)));
    now.fetch_add(1, Ordering::SeqCst);
    let Decision::Update(second) = look(&first) else {
        panic!("the old token is not replaced");
    };
    assert_ne!(first["data"]["token"], second["data"]["token"]);
    assert_eq!(claims(&second)["exp"], START + 150 * DAY);
    assert!(matches!(look(&second), Decision::Wait(Some(_))));
}

#[test]
fn secret_of_a_deleted_or_recreated_account_is_deleted() {
    let (tokens, _) = tokens(None);
    let secret = populated(&tokens, secret());
    for account in [None, Some(account("u-other"))] {
        let decision = decide(&tokens, Some("PEM"), secret.clone(), account).unwrap();
        assert_eq!(decision, Decision::Delete);
    }
}

#[test]
fn invalid_token_in_secret_is_replaced() {
    let (tokens, _) = tokens(None);
    let good = populated(&tokens, secret());
    let mut of_another_secret = secret();
    of_another_secret["metadata"]["uid"] = "u-other".into();
    let foreign = populated(&tokens, of_another_secret);
    for token in [
        foreign["data"]["token"].clone(),
        STANDARD.encode("mine").into(),
        "%".into(),
    ] {
        let mut changed = good.clone();
        changed["data"]["token"] = token;
        let again = populated(&tokens, changed);
        assert_eq!(claims(&again)["kubernetes.io"]["secret"]["uid"], "u-secret");
    }
}

#[test]
fn immutable_secret_and_terminating_account_receive_no_token() {
    let (tokens, _) = tokens(None);
    let mut frozen = secret();
    frozen["immutable"] = true.into();
    let mut leaving = account("u-robot");
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    for (secret, account) in [(frozen, account("u-robot")), (secret(), leaving)] {
        let decision = decide(&tokens, Some("PEM"), secret, Some(account)).unwrap();
        assert_eq!(decision, Decision::Wait(None));
    }
}

#[test]
fn token_secret_index_contains_only_token_secrets() {
    let of = |secret: &Value| account_of(secret.to_string().as_bytes());
    assert_eq!(of(&secret()), Some("robot".to_owned()));
    for (pointer, value) in [("/type", "Opaque"), ("/metadata/annotations", "none")] {
        let mut other = secret();
        *other.pointer_mut(pointer).unwrap() = match value {
            "none" => json!({}),
            value => value.into(),
        };
        assert_eq!(of(&other), None, "{pointer}");
    }
}
