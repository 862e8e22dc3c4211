use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use drover_apiserver::access::{
    Authenticate, Authenticated, Keys, TokenRequest, Tokens, TokensOptions, issue_requested,
};
use drover_apiserver::status::ApiError;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Live, object, with_account};

/// A token issuer and object store, with a clock that tests control.
struct World {
    tokens: Tokens,
    live: Arc<Live>,
    now: Arc<AtomicI64>,
}

fn world() -> World {
    world_with(|_| {})
}

fn world_with(set: impl FnOnce(&mut TokensOptions)) -> World {
    let now = Arc::new(AtomicI64::new(1_800_000_000));
    let ticking = Arc::clone(&now);
    let mut options = TokensOptions {
        clock: Arc::new(move || Timestamp::from_second(ticking.load(Ordering::SeqCst)).unwrap()),
        ..TokensOptions::default()
    };
    set(&mut options);
    let live = with_account();
    let tokens = Tokens::new(options, Keys::generate().unwrap(), live.clone());
    World { tokens, live, now }
}

impl World {
    async fn request(&self, request: Value) -> Result<TokenRequest, ApiError> {
        issue_requested(&self.tokens, "d", "sa", &request).await
    }

    async fn token(&self, request: Value) -> String {
        let answer = self.request(request).await.unwrap();
        answer.object["status"]["token"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    async fn prove(&self, token: &str) -> Result<Authenticated, String> {
        match self.tokens.authenticate(token, &[]).await {
            Ok(known) => Ok(known.expect("the authenticator supports the token type")),
            Err(error) => Err(error.to_string()),
        }
    }

    fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }
}

async fn refusal(request: Value) -> String {
    world().request(request).await.unwrap_err().message
}

fn bound(kind: &str, name: &str) -> Value {
    json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}})
}

#[tokio::test]
async fn token_is_accepted_for_one_hour_and_the_clock_skew_allowance() {
    let world = world();
    let answer = world.request(json!({})).await.unwrap();
    let object = &answer.object;
    assert_eq!(object["spec"]["expirationSeconds"], 3600);
    assert_eq!(
        object["spec"]["audiences"],
        json!(["https://kubernetes.default.svc"])
    );
    assert_eq!(object["metadata"]["uid"], "u-sa");
    assert_eq!(
        object["status"]["expirationTimestamp"],
        "2027-01-15T09:00:00Z"
    );
    let token = object["status"]["token"].as_str().unwrap();

    let known = world.prove(token).await.unwrap();
    assert_eq!(known.caller.name, "system:serviceaccount:d:sa");
    assert_eq!(known.caller.uid, "u-sa");
    assert_eq!(
        known.caller.groups,
        ["system:serviceaccounts", "system:serviceaccounts:d"]
    );
    assert_eq!(
        known.caller.extra["authentication.kubernetes.io/credential-id"],
        [answer.credential_id]
    );
    world.pass(3660);
    world.prove(token).await.unwrap();
    world.pass(1);
    let error = world.prove(token).await.unwrap_err();
    assert_eq!(error, "service account token has expired");
}

#[tokio::test]
async fn token_issued_in_the_future_is_rejected() {
    let world = world();
    let token = world.token(json!({})).await;
    world.pass(-61);
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(error, "service account token is not valid yet");
}

#[tokio::test]
async fn token_is_invalid_after_deletion_or_recreation_of_its_service_account() {
    let world = world();
    let token = world.token(json!({})).await;
    world.prove(&token).await.unwrap();
    world
        .live
        .put("serviceaccounts", object("d", "sa", "u-new"));
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(
        error,
        "service account UID (u-new) does not match claim (u-sa)"
    );
    world.live.remove("serviceaccounts", "d", "sa");
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(error, r#"serviceaccounts "sa" not found"#);
}

#[tokio::test]
async fn token_is_invalid_a_minute_after_deletion_of_its_service_account_starts() {
    let world = world();
    let token = world.token(json!({})).await;
    let mut dying = object("d", "sa", "u-sa");
    dying["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z".into();
    world.live.put("serviceaccounts", dying);
    world.pass(60);
    world.prove(&token).await.unwrap();
    world.pass(1);
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(error, "service account d/sa has been deleted");
}

#[tokio::test]
async fn pod_bound_token_contains_pod_and_node_and_is_invalid_after_pod_deletion() {
    let world = world();
    let mut pod = object("d", "p", "u-p");
    pod["spec"] = json!({"serviceAccountName": "sa", "nodeName": "n"});
    world.live.put("pods", pod.clone());
    world.live.put("nodes", object("", "n", "u-n"));
    let token = world.token(bound("Pod", "p")).await;
    let extra = world.prove(&token).await.unwrap().caller.extra;
    let value = |key: &str| &extra[&format!("authentication.kubernetes.io/{key}")][0];
    assert_eq!(
        (value("pod-name").as_str(), value("pod-uid").as_str()),
        ("p", "u-p")
    );
    assert_eq!(
        (value("node-name").as_str(), value("node-uid").as_str()),
        ("n", "u-n")
    );

    world.live.remove("nodes", "", "n");
    world.prove(&token).await.unwrap();
    pod["metadata"]["uid"] = "u-other".into();
    world.live.put("pods", pod);
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(
        error,
        "pod UID (u-other) does not match service account pod ref claim (u-p)"
    );
    world.live.remove("pods", "d", "p");
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(error, "service account token has been invalidated");
}

#[tokio::test]
async fn tokens_bound_to_a_secret_or_node_are_invalid_after_deletion_of_the_object() {
    for (kind, resource, namespace) in [("Secret", "secrets", "d"), ("Node", "nodes", "")] {
        let world = world();
        world.live.put(resource, object(namespace, "x", "u-x"));
        let token = world.token(bound(kind, "x")).await;
        world.prove(&token).await.unwrap();
        world.live.remove(resource, namespace, "x");
        let error = world.prove(&token).await.unwrap_err();
        assert_eq!(
            error, "service account token has been invalidated",
            "{kind}"
        );
    }
}

// kube-apiserver v1.36.3 returns these messages for the same requests.

#[tokio::test]
async fn rejections_of_malformed_token_requests_match_kube_apiserver() {
    let seconds = |seconds: i64| json!({"spec": {"expirationSeconds": seconds}});
    let prefix = "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: \
                  Invalid value: ";
    assert_eq!(
        refusal(seconds(599)).await,
        format!("{prefix}599: may not specify a duration less than 10 minutes")
    );
    assert_eq!(
        refusal(seconds((1 << 32) + 1)).await,
        format!("{prefix}4294967297: may not specify a duration larger than 2^32 seconds")
    );
    assert_eq!(
        refusal(json!({"metadata": {"name": "other"}})).await,
        "TokenRequest.authentication.k8s.io \"sa\" is invalid: metadata.name: Invalid value: \
         \"other\": must match the service account name if specified"
    );
    assert_eq!(
        refusal(json!({"metadata": {"uid": "other"}})).await,
        "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"sa\": the UID in \
         the token request (other) does not match the UID of the service account (u-sa)"
    );
    assert_eq!(
        refusal(bound("Pod", "nope")).await,
        r#"pods "nope" not found"#
    );
    assert_eq!(
        refusal(bound("ConfigMap", "x")).await,
        "cannot bind token to object of type /v1, Kind=ConfigMap"
    );
    let mut deployment = bound("Deployment", "x");
    deployment["spec"]["boundObjectRef"]["apiVersion"] = "apps/v1".into();
    assert_eq!(
        refusal(deployment).await,
        "cannot bind token to object of type apps/v1, Kind=Deployment"
    );
}

#[tokio::test]
async fn token_request_checks_uid_of_bound_object() {
    let world = world();
    let mut pod = object("d", "p", "u-p");
    pod["spec"] = json!({"serviceAccountName": "other"});
    world.live.put("pods", pod);
    world.live.put("secrets", object("d", "s", "u-s"));
    let error = world.request(bound("Pod", "p")).await.unwrap_err();
    assert_eq!(
        error.message,
        "cannot bind token for serviceaccount \"sa\" to pod running with different \
         serviceaccount name."
    );
    let mut other = bound("Secret", "s");
    other["spec"]["boundObjectRef"]["uid"] = "x".into();
    let error = world.request(other).await.unwrap_err();
    assert_eq!(error.code, 409);
    assert_eq!(
        error.message,
        "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) \
         does not match the UID in record. The object might have been deleted and then recreated"
    );
}

#[tokio::test]
async fn too_long_token_lifetime_is_shortened_with_a_warning() {
    let world = world_with(|options| options.max_lifetime_seconds = Some(7200));
    let request = json!({"spec": {"expirationSeconds": 7201}});
    let answer = world.request(request).await.unwrap();
    assert_eq!(
        answer.warnings,
        ["requested expiration of 7201 seconds shortened to 7200 seconds"]
    );
    assert_eq!(answer.object["spec"]["expirationSeconds"], 7200);
}

#[tokio::test]
async fn token_is_valid_for_its_audiences_only() {
    let world = world();
    let token = world
        .token(json!({"spec": {"audiences": ["a", "b"]}}))
        .await;
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(
        error,
        "token audiences [\"a\" \"b\"] is invalid for the target audiences \
         [\"https://kubernetes.default.svc\"]"
    );
    let expected = ["b".to_owned(), "c".to_owned()];
    let known = world
        .tokens
        .authenticate(&token, &expected)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(known.audiences, ["b"]);
}

#[tokio::test]
async fn token_is_valid_after_key_rotation_until_its_key_is_removed() {
    let world = world();
    let token = world.token(json!({})).await;
    let now = Timestamp::from_second(world.now.load(Ordering::SeqCst)).unwrap();
    let rotated = world.tokens.keys().rotate(now).unwrap();
    let stored = rotated.to_stored();
    world.tokens.replace_keys(rotated);
    world.prove(&token).await.unwrap();
    let newer = world.token(json!({})).await;
    let kept = Keys::from_stored(&stored).unwrap();
    let later = Timestamp::from_second(now.as_second() + 1).unwrap();
    world.tokens.replace_keys(kept.remove_retired_before(later));
    world.prove(&newer).await.unwrap();
    let error = world.prove(&token).await.unwrap_err();
    assert_eq!(error, "invalid signature, no keys found");
}

#[tokio::test]
async fn token_with_changed_byte_is_rejected() {
    let world = world();
    let token = world.token(json!({})).await;
    world.prove(&token).await.unwrap();
    for position in (0..token.len()).step_by(7) {
        let mut bytes = token.clone().into_bytes();
        bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        let answer = world.tokens.authenticate(&changed, &[]).await;
        assert!(!matches!(answer, Ok(Some(_))), "byte {position}");
    }
}

#[tokio::test]
async fn token_of_unknown_issuer_is_passed_to_the_next_authenticator() {
    let world = world();
    let other = world_with(|options| options.issuers = vec!["https://other".to_owned()]);
    let foreign = other.token(json!({})).await;
    for token in [foreign.as_str(), "", "a.b.c", "a.b", "{}", "a.e30.c"] {
        assert_eq!(
            world.tokens.authenticate(token, &[]).await,
            Ok(None),
            "{token:?}"
        );
    }
}

#[tokio::test]
async fn token_of_own_issuer_with_unknown_key_is_rejected() {
    let world = world();
    let stranger = super::tokens::world();
    let forged = stranger.token(json!({})).await;
    let error = world.prove(&forged).await.unwrap_err();
    assert_eq!(error, "invalid signature, no keys found");
}
