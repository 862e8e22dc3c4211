//! Encoding of watch events.

use std::sync::Arc;

use bytes::Bytes;
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};

use crate::serve::input::negotiate::Representation;
use crate::serve::metrics::Metrics;
use crate::serve::read::selection::Selection;
use crate::serve::shared::Target;
use crate::serve::transform::table::{self, TableOptions};
use crate::serve::transform::{is_stored_form, metadata_only, own_head};
use crate::status::ApiError;
use crate::store::{Batch, Event, Notice, Stored};

/// Encodes events for one watch.
pub(super) struct Encoder {
    target: Target,
    selection: Selection,
    shape: Representation,
    table: TableOptions,
    /// True if the watch has no selector and no transformation. Such watches share their encoded
    /// lines.
    plain: bool,
    head: Vec<u8>,
    first: bool,
}

impl Encoder {
    pub(super) fn new(
        target: Target,
        selection: Selection,
        shape: Representation,
        table: TableOptions,
    ) -> Self {
        let plain = shape == Representation::Plain && selection.is_everything();
        Self {
            head: own_head(&target.resource),
            target,
            selection,
            shape,
            table,
            plain,
            first: true,
        }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the key prefix of the watched objects.
    pub(super) fn prefix(&self) -> &str {
        let selection = &self.selection;
        selection.only.as_deref().unwrap_or(&selection.prefix)
    }

    /// Returns the counter of events that watches of the resource send.
    pub(super) fn event_counter(&self, metrics: &Metrics) -> Counter {
        let resource = &self.target.resource;
        let version = &resource.group_version;
        metrics.watch_events(&version.group, &version.version, &resource.plural)
    }

    /// Returns the lines that all watches without selector and transformation share. Returns `None`
    /// if the watch must encode the events itself, or skips events up to the revision `seen`.
    pub(super) fn shared(&self, batch: &Batch, seen: u64) -> Option<Bytes> {
        let is_new = |notice: &Arc<Notice>| notice.revision() > seen;
        let is_shared = |notice: &Arc<Notice>| {
            let (Event::Put { stored, .. } | Event::Delete { stored, .. }) = &***notice;
            is_stored_form(&self.target.resource, &self.head, stored)
        };
        // The events are ordered by revision.
        let shares = self.plain
            && batch.events.first().is_some_and(is_new)
            && batch.events.iter().all(is_shared);
        shares.then(|| batch.events.lines())
    }

    /// Appends the event of an initial object.
    pub(super) fn added(&mut self, out: &mut Vec<u8>, stored: &Stored) {
        self.line(out, "ADDED", stored);
    }

    /// Appends the event of a change if the change is selected. Returns true if an event was
    /// appended.
    pub(super) fn change(&mut self, out: &mut Vec<u8>, notice: &Notice) -> bool {
        let (Event::Put { stored, .. } | Event::Delete { stored, .. }) = &**notice;
        if self.plain && is_stored_form(&self.target.resource, &self.head, stored) {
            out.extend_from_slice(&notice.frame());
            return true;
        }
        let matches = |stored: &Stored| self.selection.matches(stored).unwrap_or(false);
        let (kind, shown) = match &**notice {
            Event::Put { stored, previous } => {
                let before = previous.as_ref().filter(|previous| matches(previous));
                match (matches(stored), before) {
                    (true, Some(_)) => ("MODIFIED", stored.clone()),
                    (true, None) => ("ADDED", stored.clone()),
                    // The object no longer matches the selector: send its old state with the
                    // revision of the change.
                    (false, Some(before)) => ("DELETED", before.at_revision(stored.revision)),
                    (false, None) => return false,
                }
            }
            Event::Delete { stored, revision } if matches(stored) => {
                ("DELETED", stored.at_revision(*revision))
            }
            Event::Delete { .. } => return false,
        };
        self.line(out, kind, &shown);
        true
    }

    /// Appends a bookmark. If `initial_end` is true, the bookmark has the annotation that marks the
    /// end of the initial objects.
    pub(super) fn bookmark(&mut self, out: &mut Vec<u8>, revision: u64, initial_end: bool) {
        let resource = &self.target.resource;
        let mut object = json!({
            "kind": resource.kind, "apiVersion": resource.group_version.to_string(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if initial_end {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = self.shaped(object);
        write(out, "BOOKMARK", &object);
    }

    fn line(&mut self, out: &mut Vec<u8>, kind: &str, stored: &Stored) {
        let resource = &self.target.resource;
        if self.shape == Representation::Plain && is_stored_form(resource, &self.head, stored) {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(kind.as_bytes());
            out.extend_from_slice(b"\",\"object\":");
            stored.write_json(out);
            out.extend_from_slice(b"}\n");
            return;
        }
        match self.target.show(stored) {
            Ok(object) => {
                let object = self.shaped(object);
                write(out, kind, &object);
            }
            Err(error) => out.extend_from_slice(&self::error(&error)),
        }
    }

    fn shaped(&mut self, object: Value) -> Value {
        match self.shape {
            Representation::Plain => object,
            Representation::Metadata(version) | Representation::MetadataList(version) => {
                metadata_only(&object, version)
            }
            Representation::Table(version) => {
                let first = std::mem::take(&mut self.first);
                table::of_event(&self.target, version, self.table, &object, first)
            }
        }
    }
}

fn write(out: &mut Vec<u8>, kind: &str, object: &Value) {
    let line = json!({"type": kind, "object": object}).to_string();
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

/// Returns the final line of a failed watch.
pub(super) fn error(error: &ApiError) -> Bytes {
    let mut out = Vec::new();
    write(&mut out, "ERROR", &error.to_value());
    out.into()
}
