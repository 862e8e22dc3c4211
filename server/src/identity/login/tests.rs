//! Log-in against a hub whose password changes, or does not, while it is checked.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drover_api::kinds::UserSpec;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::Value;

use super::*;
use crate::hub::{Keys, Stores};

const PASSWORD: &str = "correct horse battery";

/// A hub with one password and what was done to its tokens.
#[derive(Clone, Default)]
struct Scripted {
    phc: Arc<Mutex<String>>,
    /// Somebody sets a password after each time it is read.
    changing: Arc<AtomicBool>,
    version: Arc<AtomicU64>,
    tokens: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    async fn answer(self, request: Request<Body>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let last = path.rsplit('/').next().unwrap_or_default().to_owned();
        let found = if path.contains("/secrets/") {
            let changing = self.changing.load(Ordering::SeqCst);
            let version = self
                .version
                .fetch_add(u64::from(changing), Ordering::SeqCst);
            let phc = k8s_openapi::ByteString(self.phc.lock().clone().into_bytes());
            Some(json!({
                "apiVersion": "v1", "kind": "Secret", "data": {"hash": phc},
                "metadata": {"name": last, "uid": "s", "resourceVersion": version.to_string()},
            }))
        } else if head.method == Method::POST {
            let bytes = body.collect().await.unwrap().to_bytes();
            let mut token: Value = serde_json::from_slice(&bytes).unwrap();
            token["metadata"]["uid"] = "t".into();
            let name = token["metadata"]["name"].as_str().unwrap().to_owned();
            self.tokens.lock().push(name);
            Some(token)
        } else if head.method == Method::DELETE {
            self.tokens.lock().retain(|name| *name != last);
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

async fn logins(hub: &Scripted) -> Logins {
    let stores = Stores::new();
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: false,
        must_change_password: false,
    };
    let mut ann = User::new("ann", spec);
    ann.metadata.uid = Some("uid-ann".to_owned());
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
    Logins::new(
        Hub::new(client, stores, Keys::generate().unwrap()),
        settings,
        passwords,
    )
}

#[tokio::test]
async fn a_password_that_changes_during_a_login_leaves_no_session_behind() {
    let hub = Scripted::default();
    let logins = logins(&hub).await;
    let address = IpAddr::from([192, 0, 2, 1]);
    let login = || logins.login("ann", PASSWORD.into(), address);

    hub.changing.store(true, Ordering::SeqCst);
    let refused = login().await.unwrap_err();
    assert!(matches!(refused, LoginError::Superseded), "{refused}");
    assert!(hub.tokens.lock().is_empty(), "the token is gone again");

    hub.changing.store(false, Ordering::SeqCst);
    login().await.unwrap();
    assert_eq!(hub.tokens.lock().len(), 1);
}
