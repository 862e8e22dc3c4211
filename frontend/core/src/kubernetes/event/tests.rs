//! Tests of parsing and grouping Kubernetes events.

use super::*;
use crate::feed::{Feed, NextRequest};

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
fn event_feed_keeps_the_newest_events_up_to_the_limit() {
    let mut feed: Feed<Arc<Event>, Newest> = Feed::default();
    let all: Vec<_> = (0..5_000_i32)
        .map(|number| event(&number.to_string(), "a", i64::from(number), "Normal"))
        .collect();
    let list = serde_json::json!({"metadata": {"resourceVersion": "9"}, "items": all});
    feed.replace(&serde_json::to_vec(&list).unwrap()).unwrap();
    assert_eq!(feed.ask(), NextRequest::Watch("9".to_owned()));
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

#[test]
fn row_of_the_row_service_is_an_event() {
    let columns: drover_rows::Columns = [
        "Last Seen",
        "Type",
        "Reason",
        "Object",
        "Source",
        "Message",
        "First Seen",
        "Count",
    ]
    .map(|name| drover_rows::Column::new(name.to_owned(), "string", String::new(), false))
    .into();
    let content = |object: &str| drover_rows::row::RowContent {
        namespace: "default".to_owned(),
        name: "a.1".to_owned(),
        cells: [
            "2026-01-01T00:00:09Z",
            "Warning",
            "BackOff",
            object,
            "kubelet",
            "no",
            "5s",
            "7",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Default::default()
    };
    let event = |object: &str| {
        let observed = "2026-01-01T00:00:10Z".parse().unwrap();
        let columns = Arc::clone(&columns);
        Event::of_row(&Row::new(
            "berlin".into(),
            columns,
            content(object),
            observed,
        ))
    };
    let pod = event("Pod/web");
    assert_eq!(
        (pod.warning, pod.count, pod.about.kind.as_str()),
        (true, 7, "Pod")
    );
    assert_eq!(pod.about.namespace.as_deref(), Some("default"));
    assert_eq!(pod.last.to_string(), "2026-01-01T00:00:09Z");
    assert_eq!(pod.first.to_string(), "2026-01-01T00:00:05Z");
    let node = event("Node/worker");
    assert_eq!(
        (node.about.namespace, node.about.name.as_str()),
        (None, "worker")
    );
}
