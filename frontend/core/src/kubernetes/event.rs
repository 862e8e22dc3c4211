//! Kubernetes events of a cluster, grouped by object.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::feed::{Form, Head, Limit, Page, objects};
use crate::kind::Kind;
use crate::problem::Problem;
use drover_rows::{Row, span};

/// The maximum number of events that the page keeps. The newest events stay.
pub const MAX_EVENTS: usize = 2_000;

/// A Kubernetes event.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "WireEvent")]
pub struct Event {
    /// The UID of the event.
    pub uid: String,
    /// The object that the event is about.
    pub about: About,
    /// True if the event has the type `Warning`.
    pub warning: bool,
    /// The reason of the event, such as `BackOff`.
    pub reason: String,
    /// The message of the event.
    pub message: String,
    /// The number of occurrences; at least 1.
    pub count: u64,
    /// The time of the first occurrence.
    pub first: Timestamp,
    /// The time of the last occurrence.
    pub last: Timestamp,
    /// The component that reported the event, such as `kubelet`.
    pub source: String,
}

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// The kind of the object, such as `Pod`.
    pub kind: String,
    /// The namespace of the object; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEvent {
    metadata: WireMeta,
    #[serde(default)]
    involved_object: WireAbout,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    message: Option<String>,
    r#type: Option<String>,
    count: Option<u64>,
    first_timestamp: Option<Timestamp>,
    last_timestamp: Option<Timestamp>,
    event_time: Option<Timestamp>,
    series: Option<WireSeries>,
    #[serde(default)]
    source: WireSource,
    reporting_component: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    #[serde(default)]
    uid: String,
    creation_timestamp: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
struct WireAbout {
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSeries {
    count: Option<u64>,
    last_observed_time: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
struct WireSource {
    component: Option<String>,
}

impl From<WireEvent> for Event {
    fn from(wire: WireEvent) -> Self {
        let full = |text: &String| !text.is_empty();
        let created_at = wire.metadata.creation_timestamp.or(wire.event_time);
        let first = wire.first_timestamp.or(wire.event_time).or(created_at);
        let series = wire.series.as_ref();
        let last = series.and_then(|series| series.last_observed_time);
        let last = last
            .or(wire.last_timestamp)
            .or(wire.event_time)
            .or(created_at);
        let counted = series.and_then(|series| series.count).or(wire.count);
        let source = wire.source.component.filter(full);
        Self {
            uid: wire.metadata.uid,
            about: About {
                kind: wire.involved_object.kind.unwrap_or_default(),
                namespace: wire.involved_object.namespace.filter(full),
                name: wire.involved_object.name.unwrap_or_default(),
            },
            warning: wire.r#type.as_deref() == Some("Warning"),
            reason: wire.reason.unwrap_or_default(),
            message: wire.message.unwrap_or_default(),
            count: counted.unwrap_or(1).max(1),
            first: first.or(last).unwrap_or(Timestamp::UNIX_EPOCH),
            last: last.or(first).unwrap_or(Timestamp::UNIX_EPOCH),
            source: source.or(wire.reporting_component).unwrap_or_default(),
        }
    }
}

impl Event {
    /// Converts a row of the row service.
    pub fn of_row(row: &Row) -> Self {
        let cell = |key: &str| row.cell_of(key).unwrap_or_default();
        let time = |key: &str| span::before(cell(key), row.observed).or(row.created);
        let (kind, name) = cell("object").split_once('/').unwrap_or_default();
        let is_namespaced = Kind::of_name(kind).is_none_or(|kind| kind.namespaced);
        let namespace = row.namespace().filter(|_| is_namespaced);
        let (first, last) = (time("first-seen"), time("last-seen"));
        Self {
            uid: format!("{}/{}", row.namespace().unwrap_or_default(), row.name()),
            about: About {
                kind: kind.to_owned(),
                namespace: namespace.map(str::to_owned),
                name: name.to_owned(),
            },
            warning: cell("type") == "Warning",
            reason: cell("reason").to_owned(),
            message: cell("message").to_owned(),
            count: cell("count").parse().unwrap_or(1),
            first: first.or(last).unwrap_or(Timestamp::UNIX_EPOCH),
            last: last.or(first).unwrap_or(Timestamp::UNIX_EPOCH),
            source: cell("source").to_owned(),
        }
    }
}

/// Parses lists of events and keeps the newest events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Newest;

impl Form<Arc<Event>> for Newest {
    const LIMIT: Limit<Arc<Event>> = Limit::Newest(MAX_EVENTS, |event| event.last);

    fn page(&mut self, body: &[u8], _: Timestamp) -> Result<Page<Arc<Event>>, Problem> {
        Ok(objects::page::<Event>(body)?.map(Arc::new))
    }

    fn item(&mut self, object: &RawValue, _: Timestamp) -> Result<(Head, Arc<Event>), Problem> {
        let (head, event) = objects::item(object)?;
        Ok((head, Arc::new(event)))
    }

    fn head(&self, object: &RawValue) -> Result<Head, Problem> {
        objects::head(object)
    }
}

/// The events of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The object that the events are about.
    pub about: About,
    /// The events of the object, newest first.
    pub events: Vec<Arc<Event>>,
}

impl Group {
    /// Returns a key that changes with any change in the group.
    pub fn key(&self) -> String {
        let About {
            kind,
            namespace,
            name,
        } = &self.about;
        let newest = self.events.first().map(|event| event.last);
        let counts: u64 = self.events.iter().map(|event| event.count).sum();
        let events = self.events.len();
        format!("{kind}/{namespace:?}/{name}/{newest:?}/{counts}/{events}")
    }
}

/// Groups the newest events by object; groups and events are newest first.
pub fn grouped(mut events: Vec<Arc<Event>>) -> Vec<Group> {
    events.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.uid.cmp(&b.uid)));
    events.truncate(MAX_EVENTS);
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<About, usize> = HashMap::new();
    for event in events {
        let place = *places.entry(event.about.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.events.push(event),
            None => groups.push(Group {
                about: event.about.clone(),
                events: vec![event],
            }),
        }
    }
    groups
}

#[cfg(test)]
mod tests;
