use std::sync::mpsc::channel;
use std::time::Duration;

use http::StatusCode;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;
use crate::access::Caller;
use crate::serve::limits::heavy::WorkCost;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn ask(router: Router, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let body = match body {
        Value::Null => Body::empty(),
        body => Body::from(body.to_string()),
    };
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(body)
        .unwrap();
    request.extensions_mut().insert(Caller::privileged("root"));
    let response = router.oneshot(request).await.unwrap();
    let code = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

/// Sends a request on a runtime with one worker thread. The response must arrive within 10 s.
async fn soon(router: &Router, path: &'static str) -> StatusCode {
    let requested = tokio::spawn(ask(router.clone(), "GET", path, Value::Null));
    let answered = tokio::time::timeout(Duration::from_secs(10), requested).await;
    answered
        .expect("the request does not wait for the long lists")
        .unwrap()
        .0
}

#[test]
fn long_lists_do_not_delay_small_requests_and_service_account_writes() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path().join("hub.db"));
        options.kinds = Kinds::Cluster;
        let server = ApiServer::open(options).await.unwrap();
        let router = server.router();
        for number in 0..40 {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": format!("m{number}"), "labels": {"a": "b"}},
                "data": {"key": "x".repeat(4096)}});
            let (code, built) = ask(router.clone(), "POST", MAPS, map).await;
            assert_eq!(code, StatusCode::CREATED, "{built}");
        }
        let mut ends = Vec::new();
        while !server.inner.shared.reads.is_full() {
            let (end, wait) = channel::<()>();
            let shared = Arc::clone(&server.inner.shared);
            let begun = Arc::new(tokio::sync::Notify::new());
            let begins = Arc::clone(&begun);
            let work = move || {
                begins.notify_one();
                wait.recv().is_err()
            };
            tokio::spawn(async move { shared.reads.run(WorkCost::HeavyWorkLimiter, work).await });
            begun.notified().await;
            ends.push(end);
        }
        // Lists with a selector. The reader threads of the store encode other lists.
        let lists = [
            "/api/v1/namespaces/default/configmaps?labelSelector=a",
            "/api/v1/namespaces/default/configmaps?labelSelector=a%3Db",
        ];
        let lists = lists.map(|path| tokio::spawn(ask(router.clone(), "GET", path, Value::Null)));
        for path in [
            "/livez",
            "/api/v1/namespaces/default/configmaps/m1",
            "/api/v1/namespaces/default/configmaps?limit=2",
        ] {
            assert_eq!(soon(&router, path).await, StatusCode::OK, "{path}");
        }
        // More than 64 KiB of Services: reading them is heavy work.
        let services = "/api/v1/namespaces/default/services";
        for number in 0..3 {
            let service = json!({"metadata": {"name": format!("s{number}"), "annotations": {
                "a": "x".repeat(60 * 1024)}}, "spec": {"ports": [{"port": 80}]}});
            let created = tokio::spawn(ask(router.clone(), "POST", services, service));
            let created = tokio::time::timeout(Duration::from_secs(10), created).await;
            let (code, body) = created
                .expect("the write does not wait for the long lists")
                .unwrap();
            assert_eq!(code, StatusCode::CREATED, "{body}");
        }
        assert!(lists.iter().all(|list| !list.is_finished()));
        drop(ends);
        for list in lists {
            let (code, list) = list.await.unwrap();
            assert_eq!(code, StatusCode::OK);
            assert_eq!(list["items"].as_array().unwrap().len(), 40);
        }
    });
}
