use std::net::Ipv4Addr;

use drover_access::identity::TokenLimits;

use super::*;
use drover_hub::{Keys, Stores};
use drover_testkit::kinds::person;
use drover_testkit::kinds::token;

fn from(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn confirm(pending: &mut HashMap<String, PendingLogin>, code: &str) {
    pending.get_mut(code).unwrap().confirmed = Some(Confirmed {
        user: UserUid::new("u1"),
        token_id: "t".to_owned(),
        provider: None,
    });
}

#[test]
fn confirmed_device_login_is_fetched_only_once_with_its_device_code() {
    let (mut pending, now) = (HashMap::new(), Timestamp::now());
    let codes = begin(&mut pending, from(1), now).unwrap();
    assert!(take(&mut pending, &codes.device, now).unwrap().is_none());
    confirm(&mut pending, &codes.user);
    let guessed = SecretString::from(format!("{}.{}", codes.user, "A".repeat(43)));
    for foreign in [guessed, codes.user.clone().into(), "".into()] {
        assert!(take(&mut pending, &foreign, now).is_err());
    }
    assert!(take(&mut pending, &codes.device, now).unwrap().is_some());
    assert!(take(&mut pending, &codes.device, now).is_err());
}

#[test]
fn expired_or_idle_token_cannot_confirm_a_device_login() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let time = |second| k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(second));
    let mut token = token("bcdfghjkmnpq", "u1");
    token.spec.expires_at = time(100);
    assert_eq!(expiry_of(&token, at(99)), Some(at(100)));
    assert_eq!(expiry_of(&token, at(100)), None);
    token.spec.expires_at = time(1_000_000);
    token.spec.idle_seconds = Some(60);
    token.metadata.creation_timestamp = Some(time(0));
    assert_eq!(expiry_of(&token, at(30)), Some(at(1_000_000)));
    assert_eq!(expiry_of(&token, at(900_000)), None, "the token is idle");
    token.spec.idle_seconds = None;
    token.metadata.deletion_timestamp = Some(time(20));
    assert_eq!(expiry_of(&token, at(30)), None);
}

#[test]
fn unconfirmed_device_login_expires() {
    let (mut pending, now) = (HashMap::new(), Timestamp::now());
    let codes = begin(&mut pending, from(1), now).unwrap();
    confirm(&mut pending, &codes.user);
    let late = now + LOGIN_TTL + SignedDuration::from_secs(1);
    assert!(take(&mut pending, &codes.device, late).is_err());
    begin(&mut pending, from(1), late).unwrap();
    assert_eq!(pending.len(), 1);
}

#[test]
fn pending_device_logins_are_limited_per_network() {
    let (mut pending, now) = (HashMap::new(), Timestamp::now());
    for _ in 0..MAX_PENDING.1 {
        begin(&mut pending, from(1), now).unwrap();
    }
    assert!(begin(&mut pending, from(1), now).is_err());
    assert!(begin(&mut pending, from(2), now).is_ok());
}

#[test]
fn comparison_of_device_user_codes_ignores_case_and_separators() {
    let value = code([0; 16]);
    assert_eq!(value, "BBBB-BBBB");
    for typed in ["BBBB-BBBB", "bbbbbbbb", " bbbb bbbb ", "b-b-b-b-bbbb"] {
        assert_eq!(normalize_code(typed), value);
    }
    assert_ne!(normalize_code("BBBB-BBBBB"), value);
}

/// The state of the fake hub.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FakeHubBehavior {
    /// The hub returns an error.
    Fails,
    /// The hub accepts writes and has no token.
    HasNothing,
    /// The hub accepts writes and has the confirming token.
    HasTheLogIn,
}

/// Returns a login token of `u1` that expires at second 100.
fn log_in() -> Token {
    let mut login = token("bcdfghjkmnpq", "u1");
    login.spec.purpose = TokenPurpose::Session;
    let ends = Timestamp::from_second(100).unwrap();
    login.spec.expires_at = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(ends);
    login
}

/// Returns device logins with a fake hub on which `u1` has a session. The second value records the
/// requests to the hub.
fn devices(mood: FakeHubBehavior) -> (DeviceLogins, Arc<Mutex<Vec<String>>>) {
    let requested: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&requested);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let noted = Arc::clone(&noted);
        async move {
            let method = request.method().to_string();
            let sent = request.into_body().collect_bytes().await.unwrap();
            let sent: serde_json::Value = serde_json::from_slice(&sent).unwrap_or_default();
            let ends = sent["spec"]["expiresAt"].as_str().unwrap_or_default();
            noted
                .lock()
                .push(format!("{method} {ends}").trim().to_owned());
            let (code, body) = match &*method {
                _ if mood == FakeHubBehavior::Fails => (500, Status::internal("down").to_meta()),
                "GET" if mood == FakeHubBehavior::HasTheLogIn => {
                    let body = kube::client::Body::from(serde_json::to_vec(&log_in())?);
                    return Ok::<_, tower::BoxError>(http::Response::new(body));
                }
                "POST" => {
                    let body = http::Response::builder().status(201);
                    return Ok(body.body(sent.to_string().into_bytes().into())?);
                }
                _ => (404, Status::not_found("Token", "x").to_meta()),
            };
            let body = kube::client::Body::from(serde_json::to_vec(&body)?);
            Ok(http::Response::builder().status(code).body(body)?)
        }
    });
    let stores = Stores::synced_empty();
    stores.users.apply(person());
    stores.tokens.apply(log_in());
    let settings = Settings::new(stores.clone(), "https://127.0.0.1:8443");
    let client = kube::Client::new(service, "default");
    let hub = Hub::new(client, stores, Keys::generate().unwrap());
    (
        DeviceLogins::new(hub, settings, LoginLimits::default()),
        requested,
    )
}

fn identity() -> Identity {
    Identity {
        user_uid: UserUid::new("u1"),
        user_name: "ann".to_owned(),
        display_name: None,
        administrator: false,
        groups: Vec::new(),
        token: TokenLimits {
            id: "bcdfghjkmnpq".to_owned(),
            purpose: TokenPurpose::Session,
            cluster: None,
            provider: None,
            expires_at: Timestamp::MAX,
        },
    }
}

#[tokio::test(start_paused = true)]
async fn device_login_is_confirmed_only_once_and_only_by_a_login_token() {
    let (devices, _) = devices(FakeHubBehavior::HasTheLogIn);
    let now = Timestamp::UNIX_EPOCH;
    let codes = devices.begin(from(1), now).unwrap();
    for purpose in [
        TokenPurpose::Api,
        TokenPurpose::Kubeconfig,
        TokenPurpose::Credential,
        TokenPurpose::PasswordChange,
    ] {
        let mut program = identity();
        program.token.purpose = purpose;
        let confirmed = devices.confirm(&codes.user, &program, now);
        assert!(
            matches!(confirmed, Err(DeviceError::NoLogin)),
            "{purpose:?}"
        );
    }
    devices.confirm(&codes.user, &identity(), now).unwrap();
    let again = devices.confirm(&codes.user, &identity(), now);
    assert!(matches!(again, Err(DeviceError::Confirmed)), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn confirmed_device_login_creates_one_token() {
    let (devices, requested) = devices(FakeHubBehavior::HasTheLogIn);
    let now = Timestamp::UNIX_EPOCH;
    let codes = devices.begin(from(1), now).unwrap();
    devices.confirm(&codes.user, &identity(), now).unwrap();
    assert!(devices.fetch(&codes.device, now).await.unwrap().is_some());
    let again = devices.fetch(&codes.device, now).await;
    assert!(matches!(again, Err(DeviceError::NotFound)), "{again:?}");
    assert_eq!(
        requested.lock().len(),
        2,
        "one token is created and checked"
    );
}

#[tokio::test(start_paused = true)]
async fn token_of_device_login_is_deleted_if_the_confirming_session_is_revoked() {
    let (devices, requested) = devices(FakeHubBehavior::HasNothing);
    let now = Timestamp::UNIX_EPOCH;
    let codes = devices.begin(from(1), now).unwrap();
    devices.confirm(&codes.user, &identity(), now).unwrap();
    let fetched = devices.fetch(&codes.device, now).await;
    assert!(
        matches!(fetched, Err(DeviceError::ConfirmerInvalid)),
        "{fetched:?}"
    );
    let requested = requested.lock().clone();
    assert_eq!(requested, ["POST 1970-01-01T00:01:40Z", "GET", "DELETE"]);
}

#[tokio::test(start_paused = true)]
async fn confirmed_device_login_can_be_fetched_again_after_hub_failure() {
    let (devices, _) = devices(FakeHubBehavior::Fails);
    let now = Timestamp::UNIX_EPOCH;
    let codes = devices.begin(from(1), now).unwrap();
    devices.confirm(&codes.user, &identity(), now).unwrap();
    for _ in 0..2 {
        let fetched = devices.fetch(&codes.device, now).await;
        assert!(matches!(fetched, Err(DeviceError::Token(_))), "{fetched:?}");
    }
}
