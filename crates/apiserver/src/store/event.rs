//! Events that watches deliver.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::stored::Stored;

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

    fn write_frame(&self) -> Bytes {
        let (kind, shown) = match self {
            Self::Put {
                stored,
                previous: None,
            } => ("ADDED", stored.clone()),
            Self::Put { stored, .. } => ("MODIFIED", stored.clone()),
            Self::Delete { stored, revision } => ("DELETED", stored.at_revision(*revision)),
        };
        let mut out = Vec::with_capacity(shown.weight() + 64);
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        shown.write_json(&mut out);
        out.extend_from_slice(b"}\n");
        out.into()
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
        self.frame.get_or_init(|| self.event.write_frame()).clone()
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

/// The events since the previous batch of a watch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The events, ordered by revision. Empty if the batch reports progress only.
    pub events: Vec<Arc<Notice>>,
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
