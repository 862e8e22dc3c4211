//! Tests of the state machine of a list and its watch.

use serde_json::Value;

use super::*;

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Thing {
    color: String,
}

fn object(name: &str, version: u32, color: &str) -> Value {
    let meta = serde_json::json!({"name": name, "resourceVersion": version.to_string()});
    serde_json::json!({"metadata": meta, "color": color})
}

fn event(kind: &str, object: &Value) -> Vec<u8> {
    serde_json::to_vec(&serde_json::json!({"type": kind, "object": object})).unwrap()
}

fn listed() -> Feed<Thing> {
    let mut feed = Feed::default();
    assert_eq!(feed.ask(), NextRequest::List);
    let list = serde_json::json!({
        "metadata": {"resourceVersion": "5"},
        "items": [object("b", 3, "blue"), object("a", 5, "red")],
    });
    feed.replace(&serde_json::to_vec(&list).unwrap()).unwrap();
    feed
}

fn colors(feed: &Feed<Thing>) -> Vec<&str> {
    feed.items().map(|thing| thing.color.as_str()).collect()
}

#[test]
fn watch_events_update_the_list() {
    let mut feed = listed();
    assert_eq!(colors(&feed), ["red", "blue"]);
    assert_eq!(feed.ask(), NextRequest::Watch("5".to_owned()));
    assert_eq!(
        feed.take(&event("MODIFIED", &object("b", 6, "green"))),
        Ok(true)
    );
    assert_eq!(
        feed.take(&event("ADDED", &object("c", 7, "white"))),
        Ok(true)
    );
    assert_eq!(
        feed.take(&event("DELETED", &object("a", 8, "red"))),
        Ok(true)
    );
    assert_eq!(colors(&feed), ["green", "white"]);
    let progress = serde_json::json!({"metadata": {"resourceVersion": "40"}});
    assert_eq!(feed.take(&event("BOOKMARK", &progress)), Ok(false));
    assert_eq!(
        feed.ask(),
        NextRequest::Watch("40".to_owned()),
        "the watch resumes at the version of the bookmark"
    );
}

#[test]
fn expired_resource_version_causes_a_relist_and_items_remain_visible() {
    let mut feed = listed();
    let gone = serde_json::json!({"kind": "Status", "code": 410, "message": "too old"});
    let problem = feed.take(&event("ERROR", &gone)).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Expired);
    assert_eq!(feed.ask(), NextRequest::List);
    assert_eq!(colors(&feed), ["red", "blue"]);
}

#[test]
fn watch_continues_at_its_resource_version_after_errors_except_410() {
    let mut feed = listed();
    let away = serde_json::json!({"kind": "Status", "code": 503, "message": "later"});
    feed.take(&event("ERROR", &away)).unwrap_err();
    feed.take(b"{").unwrap_err();
    feed.take(br#"{"type":"NEW","object":{}}"#).unwrap_err();
    assert_eq!(feed.ask(), NextRequest::Watch("5".to_owned()));
    assert_eq!(colors(&feed), ["red", "blue"]);
}

fn page(names: &[&str], more: Option<(&str, u32)>) -> Vec<u8> {
    let items: Vec<Value> = names.iter().map(|name| object(name, 1, "red")).collect();
    let mut list = serde_json::json!({"metadata": {"resourceVersion": "5"}, "items": items});
    if let Some((token, rest)) = more {
        list["metadata"]["continue"] = token.into();
        list["metadata"]["remainingItemCount"] = rest.into();
    }
    serde_json::to_vec(&list).unwrap()
}

#[test]
fn first_pages_are_shown_before_the_list_is_complete() {
    let mut feed: Feed<Thing> = Feed::default();
    feed.replace(&page(&["a", "b"], Some(("next", 1)))).unwrap();
    assert_eq!(colors(&feed).len(), 2);
    assert_eq!(feed.ask(), NextRequest::More("next".to_owned()));
    feed.replace(&page(&["c"], None)).unwrap();
    assert_eq!(colors(&feed).len(), 3);
    assert_eq!(feed.ask(), NextRequest::Watch("5".to_owned()));
}

#[test]
fn relisted_items_are_shown_after_the_last_page() {
    let mut feed = listed();
    let gone = Problem::new(ProblemKind::Expired, "too old");
    feed.refused(&gone);
    feed.replace(&page(&["x"], Some(("next", 1)))).unwrap();
    assert_eq!(
        colors(&feed),
        ["red", "blue"],
        "the old items are shown until the list is complete"
    );
    // Continue tokens can expire, too.
    feed.refused(&gone);
    assert_eq!(feed.ask(), NextRequest::List);
    feed.replace(&page(&["y"], Some(("next", 1)))).unwrap();
    feed.replace(&page(&["z"], None)).unwrap();
    let keys: Vec<&str> = feed.items.keys().map(|(_, name)| name.as_str()).collect();
    assert_eq!(keys, ["y", "z"]);
}

#[test]
fn list_response_without_a_resource_version_returns_an_error() {
    let mut feed: Feed<Thing> = Feed::default();
    feed.replace(br#"{"metadata":{},"items":[]}"#).unwrap_err();
    assert_eq!(feed.ask(), NextRequest::List);
}

proptest::proptest! {
    #[test]
    fn arbitrary_watch_responses_do_not_panic(body in "\\PC{0,60}|\\{\"type\":\"ADDED\",\"object\":\\{[a-z:{}\\[\\]\",]{0,40}\\}\\}") {
        let mut things: Feed<Thing> = Feed::default();
        let _ = (things.replace(body.as_bytes()), things.take(body.as_bytes()));
    }
}
