use std::sync::Arc;

use drover_api::kinds::Setting;
use http::{Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::stores::store::Changed;

fn object(name: &str, version: &str, value: &Value) -> Value {
    json!({
        "apiVersion": "management.drover.dev/v1alpha1",
        "kind": "Setting",
        "metadata": { "name": name, "uid": format!("uid-{name}"), "resourceVersion": version },
        "spec": { "value": value },
    })
}

fn listing(version: &str, items: &[Value]) -> Vec<Value> {
    vec![json!({
        "apiVersion": "management.drover.dev/v1alpha1",
        "kind": "SettingList",
        "metadata": { "resourceVersion": version },
        "items": items,
    })]
}

/// Creates a hub that returns prepared responses in order and then sends no further events. The
/// second value lists the requests.
fn hub(answers: Vec<Vec<Value>>) -> (Client, Arc<Mutex<Vec<String>>>) {
    let request_count = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&request_count);
    let mut answers = answers.into_iter();
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.contains("watch=true");
        let from = query
            .split('&')
            .find(|pair| pair.starts_with("resourceVersion="));
        noted.lock().push(match (is_watch, from) {
            (true, from) => format!("watch {}", from.unwrap_or("from nowhere")),
            (false, _) => query
                .split('&')
                .find_map(|pair| pair.strip_prefix("continue="))
                .map_or_else(|| "list".to_owned(), |after| format!("list {after}")),
        });
        let body = match answers.next() {
            Some(lines) => {
                let text = lines
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join("\n")
                    + "\n";
                axum::body::Body::from(text)
            }
            None => axum::body::Body::from_stream(futures::stream::pending::<
                Result<bytes::Bytes, std::io::Error>,
            >()),
        };
        std::future::ready(Ok::<_, tower::BoxError>(Response::new(body)))
    });
    (Client::new(service, "default"), request_count)
}

#[tokio::test(start_paused = true)]
async fn reflector_resumes_after_watch_end_and_relists_after_expired_version() {
    let (client, requested) = hub(vec![
        listing(
            "5",
            &[
                object("a", "3", &json!("1")),
                object("unreadable", "4", &json!({ "from": "the future" })),
            ],
        ),
        vec![
            json!({ "type": "ADDED", "object": object("b", "6", &json!("1")) }),
            json!({ "type": "MODIFIED", "object": object("a", "7", &json!({ "un": "readable" })) }),
            json!({ "type": "BOOKMARK", "object": {
                "apiVersion": "management.drover.dev/v1alpha1",
                "kind": "Setting",
                "metadata": { "resourceVersion": "8" },
            } }),
        ],
        // The first watch ended normally; the second one has an expired version.
        vec![json!({ "type": "ERROR", "object": {
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": 410, "reason": "Expired", "message": "too old resource version",
        } })],
        listing("20", &[object("c", "19", &json!("1"))]),
    ]);
    let store = Store::<Setting>::new(Changed::default());
    let stop = CancellationToken::new();
    let reflecting = tokio::spawn(reflect(client, store.clone(), stop.clone()));
    let names = || store.all().iter().map(|s| s.name_any()).collect::<Vec<_>>();

    let limit = Duration::from_mins(1);
    let expected: Setting = serde_json::from_value(object("b", "6", &json!("1"))).unwrap();
    assert!(store.wait_for_within(&expected, limit).await);
    let expected: Setting = serde_json::from_value(object("c", "19", &json!("1"))).unwrap();
    assert!(store.wait_for_within(&expected, limit).await);
    // Objects that were deleted between watches are gone, and so are objects that cannot be parsed.
    assert_eq!(names(), ["c"]);
    // A silent watch is reopened at the last version after its end is overdue.
    tokio::time::sleep(MAX_SILENCE + Duration::from_secs(30)).await;
    let requested = requested.lock().clone();
    assert_eq!(
        requested[..6],
        [
            "list",
            "watch resourceVersion=5",
            "watch resourceVersion=8",
            "list",
            "watch resourceVersion=20",
            "watch resourceVersion=20",
        ]
    );
    stop.cancel();
    reflecting.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn reflector_lists_all_pages() {
    let mut first = listing("5", &[object("a", "3", &json!("1"))]);
    first[0]["metadata"]["continue"] = json!("after-a");
    let last = listing("5", &[object("b", "4", &json!("1"))]);
    let (client, requested) = hub(vec![first, last]);
    let store = Store::<Setting>::new(Changed::default());
    let stop = CancellationToken::new();
    tokio::spawn(reflect(client, store.clone(), stop.clone()));
    let expected: Setting = serde_json::from_value(object("b", "4", &json!("1"))).unwrap();
    assert!(
        store
            .wait_for_within(&expected, Duration::from_mins(1))
            .await
    );
    assert_eq!(store.all().len(), 2);
    assert_eq!(requested.lock()[..2], ["list", "list after-a"]);
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn store_age_grows_while_the_hub_sends_no_responses() {
    let (client, _) = hub(vec![listing("5", &[])]);
    let store = Store::<Setting>::new(Changed::default());
    let stop = CancellationToken::new();
    tokio::spawn(reflect(client, store.clone(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(store.is_synced());
    assert!(store.age() >= Duration::from_secs(45), "{:?}", store.age());
    // The next watch gets a response, so the hub is reachable.
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert!(store.age() < Duration::from_secs(45), "{:?}", store.age());
    stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn store_omits_managed_fields() {
    let mut listed = object("a", "3", &json!("1"));
    listed["metadata"]["managedFields"] = json!([{
        "manager": "kubectl", "operation": "Apply", "apiVersion": "management.drover.dev/v1alpha1",
        "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": { "f:value": {} } },
    }]);
    let mut watched = listed.clone();
    watched["metadata"]["name"] = json!("b");
    watched["metadata"]["resourceVersion"] = json!("6");
    let (client, _) = hub(vec![
        listing("5", &[listed]),
        vec![json!({ "type": "ADDED", "object": watched })],
    ]);
    let store = Store::<Setting>::new(Changed::default());
    let stop = CancellationToken::new();
    tokio::spawn(reflect(client, store.clone(), stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let owned: Vec<_> = store
        .all()
        .iter()
        .map(|s| s.metadata.managed_fields.clone())
        .collect();
    assert_eq!(owned, [None, None]);
    stop.cancel();
}
