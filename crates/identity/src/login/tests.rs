//! Tests of logins during concurrent password changes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drover_api::kinds::UserSpec;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;

use super::*;
use drover_hub::{Keys, Stores};

const PASSWORD: &str = "correct horse battery";
const ANN: &str = "uid-ann";

/// Returns the JSON of a Token object.
fn token(name: &str, user: &str, purpose: &str) -> Value {
    json!({
        "apiVersion": "management.drover.dev/v1alpha1", "kind": "Token",
        "metadata": { "name": name, "uid": format!("uid-of-{name}") },
        "spec": {
            "userName": "somebody", "userUid": user, "purpose": purpose, "hash": "x",
            "expiresAt": "2100-01-01T00:00:00Z",
        },
    })
}

/// A fake hub that stores a password and tokens.
#[derive(Clone, Default)]
struct Scripted {
    phc: Arc<Mutex<String>>,
    /// True if the password changes after each read.
    changing: Arc<AtomicBool>,
    version: Arc<AtomicU64>,
    tokens: Arc<Mutex<Vec<Value>>>,
    /// The number of tokens that the hub creates while the server deletes tokens.
    made_meanwhile: Arc<AtomicU64>,
}

impl Scripted {
    async fn answer(self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let last = path.rsplit('/').next().unwrap_or_default().to_owned();
        let found = if path.contains("/secrets") {
            let changing = self.changing.load(Ordering::SeqCst);
            let version = self
                .version
                .fetch_add(u64::from(changing), Ordering::SeqCst);
            let phc = k8s_openapi::ByteString(self.phc.lock().clone().into_bytes());
            Some(json!({
                "apiVersion": "v1", "kind": "Secret", "data": {"hash": phc},
                "metadata": {"name": last, "uid": "s", "resourceVersion": version.to_string()},
            }))
        } else if head.method == Method::POST && last == "tokens" {
            let bytes = body.collect().await.unwrap().to_bytes();
            let mut token: Value = serde_json::from_slice(&bytes).unwrap();
            token["metadata"]["uid"] = "t".into();
            self.tokens.lock().push(token.clone());
            Some(token)
        } else if head.method == Method::GET && last == "tokens" {
            let items = self.tokens.lock().clone();
            Some(json!({
                "apiVersion": "management.drover.dev/v1alpha1", "kind": "TokenList",
                "metadata": {}, "items": items,
            }))
        } else if head.method == Method::DELETE {
            let mut tokens = self.tokens.lock();
            tokens.retain(|token| token["metadata"]["name"] != *last);
            let remaining = &self.made_meanwhile;
            let less = |remaining: u64| remaining.checked_sub(1);
            if let Ok(remaining) = remaining.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            {
                tokens.push(token(&format!("late{remaining}"), ANN, "Api"));
            }
            drop(tokens);
            Some(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
        } else {
            None
        };
        let status = found
            .as_ref()
            .map_or(StatusCode::NOT_FOUND, |_| StatusCode::OK);
        let bytes = serde_json::to_vec(&found.unwrap_or_default()).unwrap();
        let mut response = Response::new(Body::from(bytes));
        *response.status_mut() = status;
        response
    }
}

async fn logins(hub: &Scripted) -> PasswordLogins {
    let stores = Stores::new();
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: false,
        must_change_password: false,
    };
    let mut ann = User::new("ann", spec);
    ann.metadata.uid = Some(ANN.to_owned());
    stores.users.replace(vec![ann]);
    stores.settings.replace(Vec::new());
    let service = tower::service_fn({
        let hub = hub.clone();
        move |request| {
            let answer = hub.clone().answer(request);
            async move { Ok::<_, std::convert::Infallible>(answer.await) }
        }
    });
    let client = kube::Client::new(service, "default");
    let settings = Settings::new(stores.clone(), "https://127.0.0.1:8443");
    let passwords = Passwords::new().unwrap();
    *hub.phc.lock() = passwords.hash(PASSWORD.into()).await.unwrap();
    PasswordLogins::new(
        Hub::new(client, stores, Keys::generate().unwrap()),
        settings,
        passwords,
    )
}

#[tokio::test]
async fn password_change_during_login_revokes_the_new_session() {
    let hub = Scripted::default();
    let logins = logins(&hub).await;
    let address = IpAddr::from([192, 0, 2, 1]);
    let login = || logins.login("ann", PASSWORD.into(), address, LoginClient::Program);

    hub.changing.store(true, Ordering::SeqCst);
    let refused = login().await.unwrap_err();
    assert!(matches!(refused, LoginError::Superseded), "{refused}");
    assert!(hub.tokens.lock().is_empty(), "the token is deleted");

    hub.changing.store(false, Ordering::SeqCst);
    login().await.unwrap();
    assert_eq!(hub.tokens.lock().len(), 1);
}

#[tokio::test]
async fn password_change_with_wrong_current_password_returns_a_specific_error() {
    let hub = Scripted::default();
    let logins = logins(&hub).await;
    let address = IpAddr::from([192, 0, 2, 1]);
    let caller = Identity {
        user_uid: UserUid::new(ANN),
        user_name: "ann".to_owned(),
        display_name: None,
        administrator: false,
        groups: Vec::new(),
        token: drover_access::identity::TokenLimits {
            id: "t".to_owned(),
            purpose: TokenPurpose::Session,
            cluster: None,
            provider: None,
            expires_at: Timestamp::MAX,
        },
    };
    let new = || "another good password".into();
    let changed = logins.change_password(&caller, "not this one".into(), new(), address);
    let refused = changed.await.unwrap_err();
    assert_eq!(refused.to_string(), "the current password is wrong");
    let login = logins.login("ann", "not this one".into(), address, LoginClient::Program);
    let refused = login.await.unwrap_err();
    assert_eq!(refused.to_string(), "wrong user name or password");
}

/// Returns the user `ann` with a required password change.
fn ann() -> User {
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: false,
        must_change_password: true,
    };
    let mut ann = User::new("ann", spec);
    ann.metadata.uid = Some(ANN.to_owned());
    ann
}

fn left(hub: &Scripted) -> Vec<String> {
    let tokens = hub.tokens.lock();
    let names = tokens.iter().map(|token| &token["metadata"]["name"]);
    names
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn tokens_of_all_purposes() -> Vec<Value> {
    let mut tokens = vec![token("of-bob", "uid-bob", "Api")];
    for purpose in [
        "Session",
        "PasswordChange",
        "Credential",
        "Api",
        "Kubeconfig",
    ] {
        tokens.push(token(&purpose.to_lowercase(), ANN, purpose));
    }
    tokens
}

#[tokio::test]
async fn password_reset_with_revocation_deletes_tokens_of_all_purposes() {
    let hub = Scripted::default();
    let logins = logins(&hub).await;
    // A password reset revokes sessions and keeps tokens of programs.
    *hub.tokens.lock() = tokens_of_all_purposes();
    logins
        .reset_password(&ann(), PASSWORD.into())
        .await
        .unwrap();
    assert_eq!(left(&hub), ["of-bob", "api", "kubeconfig"]);

    *hub.tokens.lock() = tokens_of_all_purposes();
    hub.made_meanwhile.store(2, Ordering::SeqCst);
    logins
        .reset_password_and_revoke_tokens(&ann(), PASSWORD.into())
        .await
        .unwrap();
    assert_eq!(
        left(&hub),
        ["of-bob"],
        "tokens that were created concurrently are deleted too"
    );
}

#[tokio::test]
async fn revocation_fails_while_new_tokens_are_created_continuously() {
    let hub = Scripted::default();
    let logins = logins(&hub).await;
    *hub.tokens.lock() = tokens_of_all_purposes();
    hub.made_meanwhile.store(u64::MAX, Ordering::SeqCst);
    let error = logins
        .reset_password_and_revoke_tokens(&ann(), PASSWORD.into())
        .await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, LoginError::Revoke(RevokeError::TokensRemain)),
        "{error}"
    );
}
