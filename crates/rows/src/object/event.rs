//! Events: exact times, the object and the number of occurrences.

use jiff::Timestamp;
use serde::Deserialize;

use super::{Metadata, valid};

/// The fields of an Event of `v1` that its cells show imprecisely.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireEvent {
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default)]
    involved_object: InvolvedObject,
    #[serde(default, deserialize_with = "valid")]
    count: Option<u64>,
    #[serde(default, deserialize_with = "valid")]
    first_timestamp: Option<Timestamp>,
    #[serde(default, deserialize_with = "valid")]
    last_timestamp: Option<Timestamp>,
    #[serde(default, deserialize_with = "valid")]
    event_time: Option<Timestamp>,
    series: Option<Series>,
}

#[derive(Default, Deserialize)]
struct InvolvedObject {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    #[serde(default, deserialize_with = "valid")]
    count: Option<u64>,
    #[serde(default, deserialize_with = "valid")]
    last_observed_time: Option<Timestamp>,
}

/// The exact values of an Event.
pub(crate) struct EventFields {
    /// The kind and the name of the object: `Pod/web-0`.
    object: String,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    count: u64,
}

impl WireEvent {
    pub(super) fn fields(&self) -> EventFields {
        let created = self.metadata.creation_timestamp.or(self.event_time);
        let series = self.series.as_ref();
        let first = self.first_timestamp.or(self.event_time).or(created);
        let last = series
            .and_then(|series| series.last_observed_time)
            .or(self.last_timestamp)
            .or(self.event_time)
            .or(created);
        let count = series.and_then(|series| series.count).or(self.count);
        let InvolvedObject { kind, name } = &self.involved_object;
        EventFields {
            object: format!("{kind}/{name}"),
            first: first.or(last),
            last: last.or(first),
            count: count.unwrap_or(1).max(1),
        }
    }
}

impl EventFields {
    /// Returns the exact value for the column with this key. Returns `None` for the columns whose
    /// cells are exact.
    pub(crate) fn cell(&self, key: &str) -> Option<String> {
        let time = |time: Option<Timestamp>| time.map(|time| time.to_string());
        match key {
            "last-seen" => time(self.last),
            "first-seen" => time(self.first),
            "object" => Some(self.object.clone()),
            "count" => Some(self.count.to_string()),
            _ => None,
        }
    }
}
