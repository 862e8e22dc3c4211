//! History that a watch of this process still needs, however old it is.
//!
//! Only the age of history is waived: what is past the number or the bytes of changes that are
//! kept goes all the same, so that a watch that never goes on cannot fill the disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// All pins of a store. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Pins(Arc<Mutex<Held>>);

#[derive(Debug, Default)]
struct Held {
    next: u64,
    /// What each pin still needs: changes after this revision.
    after: BTreeMap<u64, u64>,
}

/// Keeps the changes after a revision until it is dropped.
#[derive(Debug)]
pub(super) struct Pin {
    pins: Pins,
    id: u64,
}

impl Pins {
    /// Keeps the changes after this revision.
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

    /// Changes after this revision are needed, whatever their age.
    pub(super) fn lowest(&self) -> u64 {
        let held = self.0.lock();
        held.after.values().min().copied().unwrap_or(u64::MAX)
    }
}

impl Pin {
    /// Changes up to this revision are needed no more.
    pub(super) fn raise(&self, after: u64) {
        self.pins.0.lock().after.insert(self.id, after);
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.lock().after.remove(&self.id);
    }
}
