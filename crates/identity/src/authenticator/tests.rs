use drover_access::token::{ForUsers, issue};
use drover_api::kinds::{TokenPurpose, TokenStatus, UserSpec};
use http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Uri};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use drover_testkit::kinds::token;

use super::*;
use drover_hub::{Keys, Stores};

fn user(uid: &str) -> User {
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: true,
        must_change_password: false,
    };
    let mut user = User::new("ann", spec);
    user.metadata.uid = Some(uid.to_owned());
    user
}

#[test]
fn expired_token_and_token_of_disabled_or_deleted_user_are_rejected() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let mut living = token("bcdfghjkmnpq", "u1");
    living.spec.expires_at = Time(at(100));
    let mut dying = living.clone();
    dying.metadata.deletion_timestamp = Some(Time(at(1)));
    let mut disabled = user("u1");
    disabled.spec.enabled = false;
    let mut leaving = user("u1");
    leaving.metadata.deletion_timestamp = Some(Time(at(1)));

    for (case, token, user, now, expected) in [
        ("valid token", &living, Some(user("u1")), 99, "ok"),
        ("expired token", &living, Some(user("u1")), 100, "expired"),
        ("token in deletion", &dying, Some(user("u1")), 99, "unknown"),
        ("deleted user", &living, None, 99, "gone"),
        ("recreated user", &living, Some(user("u2")), 99, "gone"),
        ("disabled user", &living, Some(disabled), 99, "gone"),
        ("user in deletion", &living, Some(leaving), 99, "gone"),
    ] {
        let got = match decide(token, user.as_ref(), &Stores::new(), at(now)) {
            Ok(_) => "ok",
            Err(IdentifyError::Expired) => "expired",
            Err(IdentifyError::Unknown) => "unknown",
            Err(IdentifyError::UserGone) => "gone",
            Err(other) => panic!("{case}: {other}"),
        };
        assert_eq!(got, expected, "{case}");
    }
}

/// Creates a fake hub without objects. The counter contains the number of reads.
fn empty_hub(stores: Stores) -> (Hub, Arc<std::sync::atomic::AtomicUsize>) {
    let reads = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            let body = serde_json::to_vec(&Status::not_found("Token", "x").to_meta()).unwrap();
            let mut response = http::Response::new(kube::client::Body::from(body));
            *response.status_mut() = http::StatusCode::NOT_FOUND;
            Ok::<_, tower::BoxError>(response)
        }
    });
    let client = kube::Client::new(service, "default");
    (Hub::new(client, stores, Keys::generate().unwrap()), reads)
}

fn synced() -> Stores {
    let stores = Stores::synced_empty();
    stores.users.replace(vec![user("u1")]);
    stores
}

fn bearer(text: &str) -> HeaderMap {
    let value = HeaderValue::from_str(&format!("Bearer {text}")).unwrap();
    HeaderMap::from_iter([(AUTHORIZATION, value)])
}

/// Creates a `GET` request with these headers.
fn head(headers: &HeaderMap) -> Head<'_> {
    static TARGET: std::sync::LazyLock<Uri> = std::sync::LazyLock::new(Uri::default);
    Head {
        method: &Method::GET,
        uri: &TARGET,
        headers,
    }
}

/// Returns the headers of a request with the session cookie from the same origin.
fn cookie(text: &str) -> HeaderMap {
    let cookie = HeaderValue::from_str(&format!("__Host-drover={text}")).unwrap();
    HeaderMap::from_iter([
        (HOST, HeaderValue::from_static("d.example")),
        (COOKIE, cookie),
    ])
}

#[tokio::test]
async fn session_cookie_is_valid_only_if_the_cookie_contains_a_browser_or_password_change_token() {
    use TokenPurpose::{Api, Browser, Credential, Kubeconfig, PasswordChange, Session};
    for (purpose, by_bearer, by_cookie) in [
        (Browser, false, true),
        (PasswordChange, true, true),
        (Session, true, false),
        (Api, true, false),
        (Kubeconfig, true, false),
        (Credential, true, false),
    ] {
        let stores = synced();
        let issued = issue::<ForUsers>(&[5; 32]);
        let mut object = token(&issued.id, "u1");
        issued.hash.as_str().clone_into(&mut object.spec.hash);
        object.spec.purpose = purpose;
        stores.tokens.replace(vec![object]);
        let authenticator = Authenticator::new(empty_hub(stores).0, LastUse::default());
        let text = issued.token.expose_secret();
        let bearer = authenticator.identify(head(&bearer(text))).await;
        assert_eq!(bearer.is_ok(), by_bearer, "{purpose:?}");
        let mut headers = cookie(text);
        let session = authenticator.identify(head(&headers)).await;
        assert_eq!(session.is_ok(), by_cookie, "{purpose:?}");
        // A page of another origin is rejected, whether the session is valid or not.
        headers.insert(ORIGIN, HeaderValue::from_static("https://evil.example"));
        let foreign = authenticator.identify(head(&headers)).await;
        assert!(
            matches!(foreign, Err(IdentifyError::CrossOrigin(_))),
            "{purpose:?}"
        );
    }
}

#[test]
fn idle_session_expires_and_recently_used_session_is_valid() {
    let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
    let mut session = token("bcdfghjkmnpq", "u1");
    session.spec.idle_seconds = Some(3600);
    session.metadata.creation_timestamp = Some(Time(at(0)));
    let lag = MAX_LAG.as_mins();
    assert!(!is_idle(&session, at(60 + lag)), "the last minute");
    assert!(is_idle(&session, at(61 + lag)));
    session.status = Some(TokenStatus {
        last_used_at: Some(Time(at(30))),
        ..TokenStatus::default()
    });
    assert!(!is_idle(&session, at(61 + lag)), "used half an hour ago");
    assert!(is_idle(&session, at(91 + lag)));
    session.spec.idle_seconds = None;
    assert!(
        !is_idle(&session, at(9000)),
        "other tokens have no such limit"
    );
}

#[tokio::test]
async fn idle_session_is_valid_after_a_use_that_is_not_yet_stored() {
    let stores = synced();
    let issued = issue::<ForUsers>(&[5; 32]);
    let mut object = token(&issued.id, "u1");
    issued.hash.as_str().clone_into(&mut object.spec.hash);
    object.spec.purpose = TokenPurpose::Browser;
    object.spec.idle_seconds = Some(3600);
    object.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    stores.tokens.replace(vec![object.clone()]);
    let last_use = LastUse::default();
    let authenticator = Authenticator::new(empty_hub(stores).0, last_use.clone());
    let headers = cookie(issued.token.expose_secret());
    let refused = authenticator.identify(head(&headers)).await;
    assert!(matches!(refused, Err(IdentifyError::NoSession)));
    last_use.record(&object, Timestamp::now());
    assert!(authenticator.identify(head(&headers)).await.is_ok());
}

#[tokio::test]
async fn expired_token_can_be_revoked_with_its_secret() {
    let stores = synced();
    let issued = issue::<ForUsers>(&[5; 32]);
    let other = issue::<ForUsers>(&[6; 32]);
    let mut object = token(&issued.id, "a user who is gone");
    issued.hash.as_str().clone_into(&mut object.spec.hash);
    object.spec.purpose = TokenPurpose::Browser;
    object.spec.expires_at = Time(Timestamp::UNIX_EPOCH);
    stores.tokens.replace(vec![object]);
    let authenticator = Authenticator::new(empty_hub(stores).0, LastUse::default());
    let text = issued.token.expose_secret();
    let mut headers = cookie(text);
    assert!(authenticator.identify(head(&headers)).await.is_err());
    let user_token = authenticator.presented_token(head(&headers)).await.unwrap();
    assert_eq!(user_token.name_any(), issued.id);
    let refused = authenticator.presented_token(head(&bearer(text))).await;
    assert!(refused.is_err(), "a session is not valid as a bearer token");
    let (_, secret) = other.token.expose_secret().rsplit_once('_').unwrap();
    let guessed = format!("drover_{}_{secret}", issued.id);
    let refused = authenticator.presented_token(head(&cookie(&guessed))).await;
    assert!(refused.is_err(), "a wrong secret is rejected");
    headers.insert(ORIGIN, HeaderValue::from_static("https://evil.example"));
    let foreign = authenticator.presented_token(head(&headers)).await;
    assert!(matches!(foreign, Err(IdentifyError::CrossOrigin(_))));
}

#[tokio::test]
async fn request_is_authenticated_only_by_a_matching_token_in_a_single_header() {
    let stores = synced();
    let issued = issue::<ForUsers>(&[5; 32]);
    let other = issue::<ForUsers>(&[6; 32]);
    let mut object = token(&issued.id, "u1");
    issued.hash.as_str().clone_into(&mut object.spec.hash);
    stores.tokens.replace(vec![object]);
    let (hub, reads) = empty_hub(stores);
    let authenticator = Authenticator::new(hub, LastUse::default());

    let good = issued.token.expose_secret();
    let identity = authenticator.identify(head(&bearer(good))).await.unwrap();
    assert_eq!(
        (identity.user_name.as_str(), identity.token.id.as_str()),
        ("ann", issued.id.as_str())
    );
    assert_eq!(
        reads.load(std::sync::atomic::Ordering::SeqCst),
        0,
        "all answers come from the stores"
    );

    // The correct ID with a different secret, the stored hash as the secret, and a token prefix.
    let secret_of_other = other
        .token
        .expose_secret()
        .rsplit('_')
        .next()
        .unwrap()
        .to_owned();
    for forged in [
        format!("drover_{}_{secret_of_other}", issued.id),
        format!("drover_{}_{}", issued.id, issued.hash.as_str()),
        good[..good.len() - 1].to_owned(),
    ] {
        let error = authenticator
            .identify(head(&bearer(&forged)))
            .await
            .unwrap_err();
        assert!(matches!(error, IdentifyError::Unknown), "{error}");
    }

    let mut twice = bearer(good);
    twice.append(AUTHORIZATION, twice[AUTHORIZATION].clone());
    let error = authenticator.identify(head(&twice)).await.unwrap_err();
    assert_eq!(Status::from(error).code(), 400);
    assert_eq!(
        Status::from(
            authenticator
                .identify(head(&HeaderMap::new()))
                .await
                .unwrap_err()
        )
        .code(),
        401
    );
}

#[tokio::test]
async fn unknown_token_is_read_from_the_hub_once() {
    let (hub, reads) = empty_hub(synced());
    let authenticator = Authenticator::new(hub, LastUse::default());
    let unknown = issue::<ForUsers>(&[5; 32]);
    let headers = bearer(unknown.token.expose_secret());
    let all = (0..100).map(|_| authenticator.identify(head(&headers)));
    for result in futures::future::join_all(all).await {
        assert!(matches!(result, Err(IdentifyError::Unknown)));
    }
    assert!(matches!(
        authenticator.identify(head(&headers)).await,
        Err(IdentifyError::Unknown)
    ));
    assert_eq!(reads.load(std::sync::atomic::Ordering::SeqCst), 1);
}

#[tokio::test]
async fn lookups_of_unknown_tokens_are_rate_limited() {
    let (hub, reads) = empty_hub(synced());
    let authenticator = Authenticator::new(hub, LastUse::default());
    let mut limited = 0;
    for guess in 0..200_u8 {
        let unknown = issue::<ForUsers>(&[guess; 32]);
        let result = authenticator
            .identify(head(&bearer(unknown.token.expose_secret())))
            .await;
        if let Err(error @ IdentifyError::Lookup(LookupError::TooMany)) = result {
            assert_eq!(Status::from(error).code(), 429);
            limited += 1;
        }
    }
    let reads = reads.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(reads + limited, 200);
    assert!(limited > 50, "{reads} reads reached the hub");
}

#[tokio::test(start_paused = true)]
async fn stale_stores_reject_every_token() {
    let stores = synced();
    let issued = issue::<ForUsers>(&[5; 32]);
    let mut object = token(&issued.id, "u1");
    issued.hash.as_str().clone_into(&mut object.spec.hash);
    stores.tokens.replace(vec![object]);
    let (hub, _) = empty_hub(stores);
    let authenticator = Authenticator::new(hub, LastUse::default());
    let headers = bearer(issued.token.expose_secret());
    assert!(authenticator.identify(head(&headers)).await.is_ok());
    tokio::time::advance(drover_hub::stores::MAX_STORE_AGE).await;
    let error = authenticator.identify(head(&headers)).await.unwrap_err();
    assert_eq!(Status::from(error).code(), 503);
}
