//! Tests of parsing, grouping and filtering Kubernetes events.

use super::*;
use crate::feed::{Feed, NextRequest};
use crate::search::Query;

fn event(name: &str, about: &str, second: i64, kind: &str) -> serde_json::Value {
    let at = Timestamp::from_second(second).unwrap().to_string();
    serde_json::json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": at},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": about},
        "reason": "BackOff", "message": "Back-off restarting", "type": kind, "count": 3,
        "firstTimestamp": at, "lastTimestamp": at, "source": {"component": "kubelet"},
    })
}

fn of(value: serde_json::Value) -> Arc<Event> {
    Arc::new(serde_json::from_value(value).unwrap())
}

#[test]
fn events_are_grouped_by_object_with_the_newest_first() {
    let events = vec![
        of(event("1", "a", 10, "Normal")),
        of(event("2", "b", 20, "Warning")),
        of(event("3", "a", 30, "Normal")),
    ];
    let groups = grouped(events);
    let reported: Vec<(&str, Vec<&str>)> = groups
        .iter()
        .map(|group| {
            let uids = group.events.iter().map(|event| event.uid.as_str());
            (group.about.name.as_str(), uids.collect())
        })
        .collect();
    assert_eq!(reported, [("a", vec!["3", "1"]), ("b", vec!["2"])]);
}

#[test]
fn time_and_count_of_an_event_are_read_from_its_series() {
    let event = of(serde_json::json!({
        "metadata": {"name": "x", "uid": "u", "creationTimestamp": "2026-11-21T08:00:00Z"},
        "involvedObject": {"kind": "Node", "name": "n1"},
        "reason": "Rebooted", "message": null, "type": "Warning", "count": null,
        "firstTimestamp": null, "lastTimestamp": null,
        "eventTime": "2026-11-21T08:00:00.123456Z",
        "series": {"count": 7, "lastObservedTime": "2026-11-21T09:00:00.000001Z"},
        "source": {}, "reportingComponent": "kubelet",
    }));
    assert_eq!((event.count, event.source.as_str()), (7, "kubelet"));
    assert_eq!(event.about.namespace, None);
    assert!(event.first < event.last && event.warning);
}

#[test]
fn event_filter_matches_text_and_properties() {
    let event = of(event("1", "web-0", 10, "Warning"));
    for (text, found) in [
        ("web back-off", true),
        ("type:warning", true),
        ("type:normal", false),
        ("-type:normal kind:pod", true),
        ("reason:backoff", true),
        ("kubelet", true),
        ("app=web", false),
        ("image:7", false),
    ] {
        assert_eq!(Query::read(text).passes(&*event), found, "{text}");
    }
}

#[test]
fn event_feed_keeps_the_newest_events_up_to_the_limit() {
    let mut feed: Feed<Arc<Event>, Newest> = Feed::default();
    let all: Vec<_> = (0..5_000_i32)
        .map(|number| event(&number.to_string(), "a", i64::from(number), "Normal"))
        .collect();
    let list = serde_json::json!({"metadata": {"resourceVersion": "9"}, "items": all});
    feed.replace(&serde_json::to_vec(&list).unwrap()).unwrap();
    assert_eq!(feed.ask(), NextRequest::Watch("9".to_owned()));
    assert!(feed.progress().cut);
    let kept: Vec<Arc<Event>> = feed.items().cloned().collect();
    assert!(
        (MAX_EVENTS..=MAX_EVENTS + MAX_EVENTS / 4).contains(&kept.len()),
        "{}",
        kept.len()
    );
    let groups = grouped(kept);
    assert_eq!(groups[0].events.len(), MAX_EVENTS);
    assert_eq!(groups[0].events[0].last.as_second(), 4_999);
    assert_eq!(groups[0].events[MAX_EVENTS - 1].last.as_second(), 3_000);
}
