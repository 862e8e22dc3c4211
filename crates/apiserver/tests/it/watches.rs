//! Tests of watches: initial events, later events, and the end of a watch.

use std::time::Duration;

use axum::body::Body;
use drover_apiserver::access::Caller;
use drover_apiserver::server::ByteLimit;
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::hub::{Hub, MAPS, config_map};

/// A reader of watch events.
struct Lines {
    body: Body,
    rest: Vec<u8>,
}

impl Lines {
    async fn of(hub: &Hub, path: &str) -> Self {
        Self::shaped(hub, path, "application/json").await
    }

    async fn shaped(hub: &Hub, path: &str, accept: &str) -> Self {
        let response = hub
            .call(Method::GET, path)
            .header("accept", accept)
            .stream("")
            .await;
        assert_eq!(response.status(), 200);
        Self {
            body: response.into_body(),
            rest: Vec::new(),
        }
    }

    /// Returns the next event; `None` at the end of the watch.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = tokio::time::timeout(Duration::from_secs(90), self.body.frame());
            let frame = frame
                .await
                .expect("the watch sends an event within 90 seconds")?;
            self.rest
                .extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
    }

    /// Returns the type of the next event, and the object's name.
    async fn brief(&mut self) -> (String, String) {
        let event = self.next().await.unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&event["type"]),
            text(&event["object"]["metadata"]["name"]),
        )
    }
}

fn pair(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

fn labelled(name: &str, label: &str) -> Value {
    let mut map = config_map(name);
    map["metadata"]["labels"] = json!({"l": label});
    map
}

#[tokio::test]
async fn watch_without_resource_version_starts_with_existing_objects() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    let mut lines = Lines::of(&hub, &format!("{MAPS}?watch=1")).await;
    assert_eq!(lines.brief().await, pair("ADDED", "a"));
    hub.create(MAPS, config_map("b")).await;
    hub.patch(&format!("{MAPS}/b"), "merge", json!({"data": {"x": "1"}}))
        .await
        .expect(200);
    hub.delete(&format!("{MAPS}/b")).await.expect(200);
    assert_eq!(lines.brief().await, pair("ADDED", "b"));
    assert_eq!(lines.brief().await, pair("MODIFIED", "b"));
    assert_eq!(lines.brief().await, pair("DELETED", "b"));
}

#[tokio::test]
async fn watch_from_resource_version_returns_later_changes() {
    let hub = Hub::new().await;
    let created = hub.create(MAPS, config_map("a")).await;
    hub.create(MAPS, config_map("b")).await;
    let version = created["metadata"]["resourceVersion"].as_str().unwrap();
    let mut lines = Lines::of(&hub, &format!("{MAPS}?watch=1&resourceVersion={version}")).await;
    assert_eq!(lines.brief().await, pair("ADDED", "b"));
}

#[tokio::test]
async fn initial_watch_events_end_with_a_bookmark() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    let path = format!(
        "{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&\
         allowWatchBookmarks=true"
    );
    let mut lines = Lines::of(&hub, &path).await;
    assert_eq!(lines.brief().await, pair("ADDED", "a"));
    let mark = lines.next().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    let metadata = &mark["object"]["metadata"];
    assert_eq!(
        metadata["annotations"],
        json!({"k8s.io/initial-events-end": "true"})
    );
    assert!(
        metadata["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    hub.create(MAPS, config_map("b")).await;
    assert_eq!(lines.brief().await, pair("ADDED", "b"));
}

#[tokio::test]
async fn label_changes_cause_added_and_deleted_events_in_watch_with_selector() {
    let hub = Hub::new().await;
    let mut lines = Lines::of(&hub, &format!("{MAPS}?watch=1&labelSelector=l%3Dx")).await;
    hub.create(MAPS, labelled("a", "y")).await;
    let relabel = |label: &str| json!({"metadata": {"labels": {"l": label}}});
    let path = format!("{MAPS}/a");
    hub.patch(&path, "merge", relabel("x")).await.expect(200);
    hub.patch(&path, "merge", json!({"data": {"k": "2"}}))
        .await
        .expect(200);
    let last = hub.patch(&path, "merge", relabel("z")).await.expect(200);
    assert_eq!(lines.brief().await, pair("ADDED", "a"));
    assert_eq!(lines.brief().await, pair("MODIFIED", "a"));
    let gone = lines.next().await.unwrap();
    assert_eq!(gone["type"], "DELETED");
    // The event contains the last matching state, with the revision of the change.
    assert_eq!(gone["object"]["metadata"]["labels"]["l"], "x");
    assert_eq!(
        gone["object"]["metadata"]["resourceVersion"],
        last["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn watch_of_single_object_returns_only_its_changes() {
    let hub = Hub::new().await;
    let path = format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Da");
    let mut lines = Lines::of(&hub, &path).await;
    hub.create(MAPS, config_map("ab")).await;
    hub.create(MAPS, config_map("a")).await;
    assert_eq!(lines.brief().await, pair("ADDED", "a"));
}

#[tokio::test]
async fn watch_ends_after_timeout_seconds() {
    let hub = Hub::new().await;
    let path =
        format!("{MAPS}?watch=1&timeoutSeconds=3&allowWatchBookmarks=true&resourceVersion=1");
    let mut lines = Lines::of(&hub, &path).await;
    let last = lines.next().await.unwrap();
    assert_eq!(last["type"], "BOOKMARK");
    while lines.next().await.is_some() {}
}

#[tokio::test]
async fn watch_with_timeout_of_one_second_receives_no_bookmark() {
    let hub = Hub::new().await;
    let path =
        format!("{MAPS}?watch=1&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=1");
    let mut lines = Lines::of(&hub, &path).await;
    assert_eq!(lines.next().await, None);
}

#[tokio::test]
async fn watch_from_compacted_resource_version_returns_an_error() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    hub.create(MAPS, config_map("b")).await;
    let store = hub.server.store();
    store.compact(store.revision()).await.unwrap();
    let mut lines = Lines::of(&hub, &format!("{MAPS}?watch=1&resourceVersion=1")).await;
    let error = lines.next().await.unwrap();
    assert_eq!(error["type"], "ERROR");
    assert_eq!(error["object"]["code"], 410);
    assert_eq!(error["object"]["reason"], "Expired");
    assert!(lines.next().await.is_none());
}

#[tokio::test]
async fn watch_returns_tables_and_partial_metadata_on_request() {
    let hub = Hub::new().await;
    hub.create(MAPS, config_map("a")).await;
    hub.create(MAPS, config_map("b")).await;
    let path = format!("{MAPS}?watch=1");
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut lines = Lines::shaped(&hub, &path, table).await;
    let first = lines.next().await.unwrap();
    assert_eq!(first["object"]["kind"], "Table");
    assert_eq!(first["object"]["rows"][0]["cells"][0], "a");
    assert!(first["object"]["columnDefinitions"].is_array());
    let second = lines.next().await.unwrap();
    assert!(second["object"]["columnDefinitions"].is_null());
    let metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let mut lines = Lines::shaped(&hub, &path, metadata).await;
    let first = lines.next().await.unwrap();
    assert_eq!(first["object"]["kind"], "PartialObjectMetadata");
    assert!(first["object"].get("data").is_none());
}

#[tokio::test]
async fn malformed_resource_version_is_rejected_before_streaming() {
    let hub = Hub::new().await;
    let refused = hub.get(&format!("{MAPS}?watch=1&resourceVersion=x")).await;
    assert_eq!(
        refused.message(),
        "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"
    );
    refused.expect(500);
}

/// Creates a server with 320 KiB of memory for a caller's watches, and with objects of 64 KiB.
async fn hub_with_little_memory(objects: usize) -> Hub {
    let hub = Hub::with(|options| {
        options.memory.watches = ByteLimit {
            of_caller: 320 << 10,
            of_all: 1 << 20,
        };
    })
    .await;
    for number in 0..objects {
        let mut map = config_map(&format!("m{number}"));
        map["data"] = json!({"x": "x".repeat(64 << 10)});
        hub.create(MAPS, map).await;
    }
    hub
}

#[tokio::test]
async fn unread_initial_watch_events_count_toward_the_watch_memory_limit() {
    let hub = hub_with_little_memory(3).await;
    let by = |name: &str| Caller::user(name, ["system:masters"]);
    let begin = async |path: &str, name: &str| {
        let call = hub.call(Method::GET, path).by(by(name));
        call.stream("").await
    };
    for query in [
        "watch=1",
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    ] {
        let path = format!("{MAPS}?{query}");
        let mut unread = begin(&path, "greedy").await;
        assert_eq!(unread.status(), 200);
        let refused = begin(&path, "greedy").await;
        assert_eq!(refused.status(), 429, "{query}");
        assert_eq!(refused.headers()["retry-after"], "1");
        // Other callers have their own limit, and watches without initial objects need no memory.
        assert_eq!(begin(&path, "modest").await.status(), 200);
        let later = format!("{MAPS}?watch=1&resourceVersion=1&allowWatchBookmarks=true");
        assert_eq!(begin(&later, "greedy").await.status(), 200);
        // Events that the client has read do not count towards the limit.
        for _ in 0..3 {
            unread.body_mut().frame().await.unwrap().unwrap();
        }
        let mut again = begin(&path, "greedy").await;
        assert_eq!(again.status(), 200, "{query}");
        again.body_mut().frame().await.unwrap().unwrap();
    }
}
