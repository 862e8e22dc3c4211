//! Tests of `drover get` with responses that real clusters rarely send.

use http::StatusCode;
use serde_json::{Value, json};

use super::program::Drover;
use super::stub::{Seen, Stub};

async fn with_responses(responses: &[(u16, Value)]) -> (Stub, Drover) {
    let (stub, drover) = (Stub::start().await, Drover::new());
    drover.log_in(&stub).await.ok();
    let responses = responses.iter().map(|(code, body)| {
        let body = match body {
            // The events of a watch.
            Value::Array(events) => {
                let lines = events.iter().map(|event| event.to_string() + "\n");
                lines.collect()
            }
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        (StatusCode::from_u16(*code).unwrap(), body)
    });
    stub.world.lock().config_maps = responses.collect();
    (stub, drover)
}

/// Returns a query parameter of each request for ConfigMaps.
fn parameters(seen: &[Seen], name: &str) -> Vec<Option<String>> {
    let requests = seen
        .iter()
        .filter(|seen| seen.target.contains("/configmaps"));
    let parameter = |seen: &Seen| {
        let pairs = seen.target.split(['?', '&']);
        let values = pairs.filter_map(|pair| pair.split_once('='));
        let mut values = values.filter(|(key, _)| *key == name);
        values.next().map(|(_, value)| value.to_owned())
    };
    requests.map(parameter).collect()
}

fn object(name: &str, version: u32) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string()}})
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

fn list(version: u32, items: &[Value]) -> Value {
    json!({"kind": "ConfigMapList", "metadata": {"resourceVersion": version.to_string()}, "items": items})
}

fn failed(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason})
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_continues_after_expired_versions_and_errors_without_repeated_objects() {
    let (a, b, c) = (object("a", 1), object("b", 2), object("c", 5));
    let bookmark = event("BOOKMARK", &json!({"metadata": {"resourceVersion": "7"}}));
    let (stub, drover) = with_responses(&[
        (200, list(1, std::slice::from_ref(&a))),
        (
            200,
            json!([event("ADDED", &b), event("ERROR", &failed(410, "Expired"))]),
        ),
        (200, list(5, &[a, b, c])),
        (200, json!([event("MODIFIED", &object("c", 6)), bookmark])),
        (
            200,
            json!("{\"type\": \"ADDED\", \"object\": {\"metadata\": {\"na"),
        ),
        (503, failed(503, "ServiceUnavailable")),
        (503, failed(503, "ServiceUnavailable")),
        (410, failed(410, "Gone")),
        (200, list(9, &[object("c", 6), object("d", 9)])),
        (200, json!([event("DELETED", &object("d", 10))])),
        (403, failed(403, "Forbidden")),
    ])
    .await;
    let args = ["get", "cm", "--watch", "-o", "name", "--cluster", "berlin"];
    let ended = drover.run(&args).await.failed(4, "Forbidden");
    let names: Vec<_> = ended.out.lines().collect();
    let expected = ["a", "b", "c", "c", "d", "d"].map(|name| format!("configmap/{name}"));
    assert_eq!(names, expected, "{ended:?}");
    let reported = ended.err.matches("tries again").count();
    assert_eq!(
        (reported, stub.world.lock().config_maps.len()),
        (1, 0),
        "{ended:?}"
    );
    let versions = parameters(&stub.seen(), "resourceVersion");
    let versions: Vec<_> = versions.iter().map(Option::as_deref).collect();
    let expected = [
        None,
        Some("1"),
        None,
        Some("5"),
        Some("7"),
        Some("7"),
        Some("7"),
        Some("7"),
        None,
        Some("9"),
        Some("10"),
    ];
    assert_eq!(versions, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_a_table_are_joined_and_hostile_cells_cannot_control_the_terminal() {
    let page = |next: &str, name: &str, data: &Value| {
        json!({"kind": "Table", "metadata": {"continue": next},
            "columnDefinitions": [{"name": "Name", "priority": 0}, {"name": "Data", "priority": 0},
                {"name": "Wide", "priority": 1}],
            "rows": [{"cells": [name, data, "w"], "object": {"metadata": {"name": name}}}]})
    };
    let (stub, drover) = with_responses(&[
        (200, page("token=/1", "short", &json!(1))),
        (
            200,
            page(
                "",
                "\u{1b}]0;owned\u{7}\r\n\u{9b}2J",
                &json!({"deep": true}),
            ),
        ),
    ])
    .await;
    let args = [
        "get",
        "configmaps",
        "--cluster",
        "berlin",
        "--chunk-size",
        "1",
    ];
    let ended = drover.run(&args).await.ok();
    let lines: Vec<_> = ended.out.lines().collect();
    assert!(!ended.out.contains("WIDE"), "{ended:?}");
    assert_eq!(lines[0].find("DATA"), lines[1].find('1'), "{ended:?}");
    assert_eq!(lines.len(), 3, "{ended:?}");
    let controls = ended
        .out
        .chars()
        .filter(|c| c.is_control() && *c != '\n')
        .count();
    assert_eq!(controls, 0, "{ended:?}");
    let tokens = parameters(&stub.seen(), "continue");
    assert_eq!(tokens, [None, Some("token%3D%2F1".to_owned())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_continue_token_is_an_error() {
    let page = json!({"kind": "List", "metadata": {"continue": "same"}, "items": [object("a", 1)]});
    let (_stub, drover) = with_responses(&[(200, page.clone()), (200, page)]).await;
    let args = ["get", "cm", "--cluster", "berlin", "-o", "name"];
    let ended = drover.run(&args).await.failed(1, "repeats a page");
    assert_eq!(ended.out, "configmap/a\n");
}
