//! Events that watches deliver.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::stored::Stored;

/// The approximate length of the revision and the event type in a line, in bytes.
const FRAME_OVERHEAD: usize = 96;

/// A change of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An object was created or updated.
    Put {
        /// The new state of the object.
        stored: Stored,
        /// The previous state of the object. `None` for a new object.
        previous: Option<Stored>,
    },
    /// An object was deleted.
    Delete {
        /// The last state of the object, with the revision of its last update.
        stored: Stored,
        /// The revision of the deletion. Clients receive the deleted object with this revision.
        revision: u64,
    },
}

impl Event {
    /// Returns the revision of the change.
    pub fn revision(&self) -> u64 {
        match self {
            Self::Put { stored, .. } => stored.revision,
            Self::Delete { revision, .. } => *revision,
        }
    }

    /// Returns the key of the object.
    pub fn key(&self) -> &Arc<str> {
        match self {
            Self::Put { stored, .. } | Self::Delete { stored, .. } => &stored.key,
        }
    }

    /// Returns the approximate number of bytes in memory.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Put { stored, previous } => {
                stored.weight() + previous.as_ref().map_or(0, Stored::weight)
            }
            Self::Delete { stored, .. } => stored.weight(),
        }
    }

    /// Returns the event type of clients, and the object that clients receive.
    fn shown(&self) -> (&'static str, Stored) {
        match self {
            Self::Put {
                stored,
                previous: None,
            } => ("ADDED", stored.clone()),
            Self::Put { stored, .. } => ("MODIFIED", stored.clone()),
            Self::Delete { stored, revision } => ("DELETED", stored.at_revision(*revision)),
        }
    }

    /// Appends the line of a watch without selector and transformation.
    fn write_frame(&self, out: &mut Vec<u8>) {
        let (kind, shown) = self.shown();
        out.reserve(shown.weight() + FRAME_OVERHEAD);
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        shown.write_json(out);
        out.extend_from_slice(b"}\n");
    }
}

/// An event in memory. All watches that deliver the event share this memory.
#[derive(Debug)]
pub struct Notice {
    event: Event,
    frame: OnceLock<Bytes>,
    counted: Arc<AtomicUsize>,
}

impl Notice {
    /// Creates a shared event. `counted` includes the bytes of this event once, while the event is
    /// in memory.
    pub(super) fn new(event: Event, counted: &Arc<AtomicUsize>) -> Arc<Self> {
        counted.fetch_add(event.weight(), Ordering::Relaxed);
        Arc::new(Self {
            event,
            frame: OnceLock::new(),
            counted: Arc::clone(counted),
        })
    }

    /// Returns the line for watches that have no selector and no transformation:
    /// `{"type":"ADDED","object":{…}}` and a newline. All watches share the encoded line.
    pub fn frame(&self) -> Bytes {
        let write = || {
            let mut out = Vec::new();
            self.event.write_frame(&mut out);
            out.into()
        };
        self.frame.get_or_init(write).clone()
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        self.counted
            .fetch_sub(self.event.weight(), Ordering::Relaxed);
    }
}

impl Deref for Notice {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.event
    }
}

/// Events of one key prefix, ordered by revision. All watches of the prefix share a round.
#[derive(Debug, Default)]
pub struct Round {
    events: Vec<Arc<Notice>>,
    weight: usize,
    lines: OnceLock<Bytes>,
}

impl Round {
    pub(super) fn new(events: Vec<Arc<Notice>>) -> Self {
        Self {
            weight: events.iter().map(|event| event.weight()).sum(),
            events,
            lines: OnceLock::new(),
        }
    }

    /// Returns the approximate number of bytes of the events in memory.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Returns the lines of all events; see [`Notice::frame`]. The round is encoded once for all
    /// watches.
    pub fn lines(&self) -> Bytes {
        if let [only] = self.events.as_slice() {
            return only.frame();
        }
        let write = || {
            let lengths = self.events.iter().map(|event| {
                let (Event::Put { stored, .. } | Event::Delete { stored, .. }) = &***event;
                stored.weight() + FRAME_OVERHEAD
            });
            let mut out = Vec::with_capacity(lengths.sum());
            for event in &self.events {
                event.write_frame(&mut out);
            }
            out.into()
        };
        self.lines.get_or_init(write).clone()
    }
}

impl Deref for Round {
    type Target = [Arc<Notice>];

    fn deref(&self) -> &[Arc<Notice>] {
        &self.events
    }
}

/// The events since the previous batch of a watch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The events, ordered by revision. Empty if the batch reports progress only.
    pub events: Arc<Round>,
    /// The revision up to which all changes are delivered.
    pub revision: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn stored(revision: u64, text: &'static str) -> Stored {
        Stored::new("/core/x//a".into(), revision, text.into()).unwrap()
    }

    fn frame(event: Event) -> Value {
        let frame = Notice::new(event, &Arc::default()).frame();
        assert_eq!(frame.last(), Some(&b'\n'));
        serde_json::from_slice(&frame).unwrap()
    }

    #[test]
    fn watch_event_lines_contain_the_revision_of_the_change() {
        let before = stored(3, r#"{"metadata":{"name":"a"}}"#);
        let after = stored(5, r#"{"metadata":{"name":"a"},"spec":1}"#);
        let object =
            |revision: &str| json!({"metadata": {"name": "a", "resourceVersion": revision}});
        assert_eq!(
            frame(Event::Put {
                stored: before.clone(),
                previous: None
            }),
            json!({"type": "ADDED", "object": object("3")})
        );
        let changed = frame(Event::Put {
            stored: after,
            previous: Some(before.clone()),
        });
        assert_eq!(changed["type"], "MODIFIED");
        assert_eq!(changed["object"]["metadata"]["resourceVersion"], "5");
        assert_eq!(
            frame(Event::Delete {
                stored: before,
                revision: 9
            }),
            json!({"type": "DELETED", "object": object("9")})
        );
    }
}
