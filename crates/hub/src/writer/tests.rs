use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::Setting;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::stores::store::Changed;

/// The method, the path and the JSON body of each request.
type Requests = Arc<Mutex<Vec<(Method, String, Value)>>>;

fn json_of(version: &str) -> Value {
    json!({
        "apiVersion": "management.drover.dev/v1alpha1",
        "kind": "Setting",
        "metadata": {
            "name": "a", "uid": "uid-a", "resourceVersion": version, "finalizers": ["other"],
        },
        "spec": { "value": "" },
    })
}

fn object(version: &str) -> Setting {
    serde_json::from_value(json_of(version)).unwrap()
}

/// Creates a hub that returns version 2 of the object for every request.
fn hub() -> (Api<Setting>, Requests) {
    let requests = Requests::default();
    let recorded = Arc::clone(&requests);
    let service = tower::service_fn(move |request: Request<Body>| {
        let recorded = Arc::clone(&recorded);
        async move {
            let (parts, body) = request.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or_default();
            let path = parts.uri.to_string();
            recorded.lock().push((parts.method, path, body));
            let answer = serde_json::to_vec(&json_of("2")).unwrap();
            Ok::<_, tower::BoxError>(Response::new(Body::from(answer)))
        }
    });
    (Api::all(Client::new(service, "default")), requests)
}

#[tokio::test(start_paused = true)]
async fn write_waits_until_store_contains_written_version() {
    let (api, _) = hub();
    let store = Store::new(Changed::default());
    store.replace(vec![object("1")]);
    let writer = Writer::new(api, &store);
    let begun = Instant::now();
    let delay = Duration::from_millis(700);
    let patch = json!({ "spec": { "value": "" } });
    let (written, ()) = tokio::join!(writer.patch("change a setting", "a", &patch), async {
        tokio::time::sleep(delay).await;
        store.apply(object("2"));
    });
    assert_eq!(written.unwrap().resource_version().unwrap(), "2");
    assert_eq!(begun.elapsed(), delay);
}

#[tokio::test(start_paused = true)]
async fn writer_without_store_wait_returns_after_the_response_of_the_hub() {
    let (api, _) = hub();
    let store = Store::new(Changed::default());
    store.replace(vec![object("1")]);
    let begun = Instant::now();
    for writer in [
        Writer::new(api.clone(), &store).without_wait(),
        Writer::without_store(api),
    ] {
        writer
            .replace("change a setting", &object("1"))
            .await
            .unwrap();
        writer
            .delete("delete a setting", &object("1"))
            .await
            .unwrap();
    }
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn each_delete_method_sends_its_own_preconditions() {
    let (api, requests) = hub();
    let (writer, object) = (Writer::without_store(api), object("1"));
    writer.delete("delete", &object).await.unwrap();
    writer.delete_version("delete", &object).await.unwrap();
    writer.delete_by_name("delete", "a").await.unwrap();
    let requests = requests.lock();
    let preconditions: Vec<_> = requests
        .iter()
        .map(|(method, path, body)| {
            assert_eq!(*method, Method::DELETE);
            assert!(path.contains("/settings/a"), "{path}");
            body["preconditions"].clone()
        })
        .collect();
    let version = json!({ "uid": "uid-a", "resourceVersion": "1" });
    assert_eq!(
        preconditions,
        [json!({ "uid": "uid-a" }), version, Value::Null]
    );
}

#[tokio::test]
async fn finalizer_patch_preserves_other_finalizers_and_contains_the_read_resource_version() {
    let (api, requests) = hub();
    let (writer, mut object) = (Writer::without_store(api).with_manager(), object("1"));
    writer.add_finalizer("add", &object, "own").await.unwrap();
    object.finalizers_mut().push("own".to_owned());
    writer
        .remove_finalizer("remove", &object, "own")
        .await
        .unwrap();
    let requests = requests.lock();
    let finalizers: Vec<_> = requests
        .iter()
        .map(|(method, path, body)| {
            assert_eq!(*method, Method::PATCH);
            let manager = format!("fieldManager={SERVER_FIELD_MANAGER}");
            assert!(path.contains(&manager), "{path}");
            assert_eq!(body["metadata"]["resourceVersion"], "1");
            assert_eq!(body["metadata"]["uid"], "uid-a");
            body["metadata"]["finalizers"].clone()
        })
        .collect();
    assert_eq!(finalizers, [json!(["other", "own"]), json!(["other"])]);
}
