//! Tests of Kubernetes service accounts of the hub. An account can access only the hub, with its
//! own name, until the hub rejects its token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use drover_access::permit::Denied;
use http::{Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::{empty, open, read};
use super::rig::Rig;

const PULLER: &str = "system:serviceaccount:apps:puller";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
/// Maximum time from the revocation of a token until its open watches end.
const PROMISE: Duration = Duration::from_secs(5);

/// A fake hub that records requests. The hub accepts one token of [`PULLER`] while `takes_it` is
/// true.
#[derive(Clone)]
struct Hub {
    token: String,
    takes_it: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<http::request::Parts>>>,
}

impl Hub {
    fn new() -> Self {
        let claims = json!({ "sub": PULLER }).to_string();
        Self {
            token: format!("e30.{}.signed", URL_SAFE_NO_PAD.encode(claims)),
            takes_it: Arc::new(AtomicBool::new(true)),
            seen: Arc::default(),
        }
    }

    async fn rig(&self) -> Rig {
        let hub = self.clone();
        Rig::with_hub(Arc::new(move |request| {
            let hub = hub.clone();
            Box::pin(async move { hub.answer(request).await })
        }))
        .await
    }

    async fn answer(&self, request: Request<KubeBody>) -> Response<KubeBody> {
        let (head, body) = request.into_parts();
        if head.uri.path() == REVIEWS {
            let requested = body.collect().await.unwrap().to_bytes();
            let requested: Value = serde_json::from_slice(&requested).unwrap();
            return Response::new(self.judged(requested));
        }
        if head.uri.path() == "/api/v1/namespaces/apps/serviceaccounts/puller" {
            let account = json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "puller", "uid": "u1"},
            });
            return Response::new(KubeBody::from(account.to_string().into_bytes()));
        }
        let watch = head.uri.query().is_some_and(|q| q.contains("watch=true"));
        self.seen.lock().push(head);
        if !watch {
            return Response::new(KubeBody::from(b"{}".to_vec()));
        }
        endless().await
    }

    fn judged(&self, mut review: Value) -> KubeBody {
        let good = review["spec"]["token"] == *self.token && self.takes_it.load(Ordering::SeqCst);
        review["status"] = if good {
            json!({"authenticated": true, "user": {"username": PULLER, "uid": "u1"}})
        } else {
            json!({"authenticated": false, "error": "no"})
        };
        KubeBody::from(review.to_string().into_bytes())
    }
}

/// Returns a response with one chunk and no end. A kube client converts the stream to the body type
/// of the hub.
async fn endless() -> Response<KubeBody> {
    let service = tower::service_fn(async |_: Request<KubeBody>| {
        let event = Ok::<_, std::io::Error>(Frame::data(Bytes::from("event\n")));
        let events = futures::stream::once(async { event });
        let quiet = futures::StreamExt::chain(events, futures::stream::pending());
        Ok::<_, std::convert::Infallible>(Response::new(StreamBody::new(Box::pin(quiet))))
    });
    let client = kube::Client::new(service, "default");
    client.send(Request::new(KubeBody::empty())).await.unwrap()
}

fn with(token: &str, path: &str) -> http::request::Builder {
    Request::get(path)
        .header("host", "drover.example")
        .header("authorization", format!("Bearer {token}"))
}

async fn get(rig: &Rig, token: &str, path: &str) -> super::client::Read {
    let request = with(token, path).body(empty()).unwrap();
    read(open(rig.address, request).await).await
}

#[tokio::test]
async fn hub_receives_service_account_requests_with_name_and_uid_of_the_account() {
    let hub = Hub::new();
    let rig = hub.rig().await;
    let got = get(&rig, &hub.token, "/k8s/clusters/local/api/v1/configmaps").await;
    assert_eq!(got.code(), 200);
    let head = hub.seen.lock().remove(0);
    assert_eq!(head.headers["impersonate-user"], PULLER);
    assert_eq!(head.headers["impersonate-uid"], "u1");
    assert!(!head.headers.contains_key("impersonate-group"));
    assert!(!head.headers.contains_key("authorization"));
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        (&record["user"], &record["userUid"], &record["cluster"]),
        (&PULLER.into(), &"u1".into(), &"local".into())
    );
}

#[tokio::test]
async fn hub_service_account_receives_403_from_other_clusters() {
    let hub = Hub::new();
    let rig = hub.rig().await;
    // An existing cluster and a missing cluster get the same response.
    for name in ["b", "nowhere"] {
        let got = get(&rig, &hub.token, &format!("/k8s/clusters/{name}/api")).await;
        assert_eq!(got.code(), 403, "{name}");
        assert_eq!(got.json()["message"], Denied::OnlyTheHub.to_string());
    }
    assert_eq!(hub.seen.lock().len(), 0);
}

#[tokio::test]
async fn hub_service_account_cannot_impersonate_users() {
    let hub = Hub::new();
    let rig = hub.rig().await;
    let request = with(&hub.token, "/k8s/clusters/local/api")
        .header("impersonate-user", "ann")
        .body(empty())
        .unwrap();
    let got = read(open(rig.address, request).await).await;
    assert_eq!(got.code(), 403);
    assert_eq!(hub.seen.lock().len(), 0);
}

#[tokio::test]
async fn request_with_token_rejected_by_the_hub_returns_401() {
    let hub = Hub::new();
    let rig = hub.rig().await;
    let forged = format!("{}x", hub.token);
    let got = get(&rig, &forged, "/k8s/clusters/local/api").await;
    assert_eq!(got.code(), 401);
    assert_eq!(hub.seen.lock().len(), 0);
}

#[tokio::test]
async fn revoked_hub_service_account_token_closes_open_watch() {
    let hub = Hub::new();
    let rig = hub.rig().await;
    let path = "/k8s/clusters/local/api/v1/configmaps?watch=true";
    let request = with(&hub.token, path).body(empty()).unwrap();
    let mut watch = open(rig.address, request).await;
    watch.frame().await.unwrap().unwrap();
    let next = tokio::time::timeout(Duration::from_secs(6), watch.frame()).await;
    assert!(
        next.is_err(),
        "the watch ended before the token was revoked"
    );
    hub.takes_it.store(false, Ordering::SeqCst);
    let next = tokio::time::timeout(PROMISE, watch.frame()).await;
    let end = next
        .expect("the watch ends before the timeout")
        .expect("the watch ends with an error");
    assert!(end.is_err(), "{end:?}");
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        (&record["outcome"], &record["reason"]),
        (&"revoked".into(), &"TokenRevoked".into())
    );
}
