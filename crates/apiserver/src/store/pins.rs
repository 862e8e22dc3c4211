//! Pins retain the history that watches of this process still need, even if the history exceeds its
//! maximum age.
//!
//! The limits on the number and the size of changes apply despite pins, so that a stalled watch
//! cannot fill the disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// All pins of a store. Clones share the pins.
#[derive(Debug, Clone, Default)]
pub(super) struct Pins(Arc<Mutex<PinnedRevisions>>);

#[derive(Debug, Default)]
struct PinnedRevisions {
    next: u64,
    /// Maps the ID of each pin to the revision after which the pin retains changes.
    after: BTreeMap<u64, u64>,
}

/// A pin. The store retains the changes after the revision of the pin until the pin is dropped.
#[derive(Debug)]
pub(super) struct Pin {
    pins: Pins,
    id: u64,
}

impl Pins {
    /// Creates a pin: the store retains the changes after this revision until the pin is dropped.
    pub(super) fn pin(&self, after: u64) -> Pin {
        let mut held = self.0.lock();
        held.next += 1;
        let id = held.next;
        held.after.insert(id, after);
        drop(held);
        Pin {
            pins: self.clone(),
            id,
        }
    }

    /// Returns the lowest revision of all pins.
    pub(super) fn lowest(&self) -> u64 {
        let pins = self.0.lock();
        pins.after.values().min().copied().unwrap_or(u64::MAX)
    }
}

impl Pin {
    /// Raises the revision of the pin. The store can then delete the changes up to this revision.
    pub(super) fn raise(&self, after: u64) {
        self.pins.0.lock().after.insert(self.id, after);
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.lock().after.remove(&self.id);
    }
}
