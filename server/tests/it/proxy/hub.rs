//! Tests of the cluster `local`. The proxy sends requests to the hub with the user's name.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use serde_json::json;

use super::client::{by, empty, get, send};
use super::rig::Rig;

type Seen = Arc<Mutex<Vec<http::request::Parts>>>;

/// Creates a rig whose hub responds with a description of the request.
async fn with_echoing_hub() -> (Rig, Seen) {
    let seen = Seen::default();
    let notes = Arc::clone(&seen);
    let rig = Rig::with_hub(Arc::new(move |request: Request<KubeBody>| {
        let notes = Arc::clone(&notes);
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let said = json!({ "uri": head.uri.to_string(), "bytes": body.len() });
            notes.lock().push(head);
            let mut response = Response::new(KubeBody::from(said.to_string().into_bytes()));
            let headers = response.headers_mut();
            headers.insert("content-type", "application/json".parse().unwrap());
            response
        })
    }))
    .await;
    (rig, seen)
}

#[tokio::test]
async fn hub_receives_administrator_requests_with_the_impersonated_user_name() {
    let (rig, seen) = with_echoing_hub().await;
    let got = get(
        &rig,
        &rig.ann,
        "/k8s/clusters/local/api/v1/namespaces?limit=1",
    )
    .await;
    assert_eq!(
        (got.code(), &got.json()["uri"]),
        (200, &"/api/v1/namespaces?limit=1".into())
    );
    let head = seen.lock().remove(0);
    assert_eq!(head.headers["impersonate-user"], "drover:user:uid-ann");
    assert!(!head.headers.contains_key("authorization"));
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        (&record["cluster"], &record["clusterUid"]),
        (&"local".into(), &json!(null))
    );
    assert_eq!(
        get(&rig, &rig.bob, "/k8s/clusters/local/api").await.code(),
        403
    );
    assert_eq!(seen.lock().len(), 0);
}

#[tokio::test]
async fn large_body_is_streamed_to_the_hub() {
    let (rig, _) = with_echoing_hub().await;
    let body = Bytes::from(vec![b'x'; 5 << 20]);
    let request = by(&rig.ann, "POST", "/k8s/clusters/local/x")
        .body(Full::new(body))
        .unwrap();
    let got = send(&rig, request).await;
    assert_eq!(got.json()["bytes"], 5 << 20);
}

#[tokio::test]
async fn hub_errors_are_relayed_without_a_retry() {
    let calls = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let rig = Rig::with_hub(Arc::new(move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async {
            let mut response = Response::new(KubeBody::from(b"{\"code\":503}".to_vec()));
            *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
            response
        })
    }))
    .await;
    let request = by(&rig.ann, "GET", "/k8s/clusters/local/x")
        .body(empty())
        .unwrap();
    let got = send(&rig, request).await;
    assert_eq!((got.code(), &got.json()["code"]), (503, &503.into()));
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 1);
}
