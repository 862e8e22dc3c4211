//! The stored versions of the objects of one cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::ObjectKey;
use super::versions::ObjectVersions;

/// Approximate memory of an object's entries in the maps in bytes.
const OBJECT_OVERHEAD: usize = 256;

/// The stored versions of the objects of one cluster.
#[derive(Default)]
pub(super) struct ClusterHistory {
    used: usize,
    objects: HashMap<Arc<ObjectKey>, Entry>,
    /// The objects in the order of their removal.
    order: BTreeMap<Rank, Arc<ObjectKey>>,
}

/// The order of the removal: objects without changes first, then the least recently changed objects.
type Rank = (bool, u64);

struct Entry {
    versions: ObjectVersions,
    rank: Rank,
    size: usize,
}

impl ClusterHistory {
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn find(&self, key: &ObjectKey) -> Option<&ObjectVersions> {
        self.objects.get(key).map(|entry| &entry.versions)
    }

    /// Returns an object. The caller must not change the size of the object.
    pub(super) fn find_mut(&mut self, key: &ObjectKey) -> Option<&mut ObjectVersions> {
        self.objects.get_mut(key).map(|entry| &mut entry.versions)
    }

    /// Changes an object. `tick` is greater than in all previous calls.
    pub(super) fn change(
        &mut self,
        key: ObjectKey,
        tick: u64,
        change: impl FnOnce(&mut ObjectVersions, u64),
    ) {
        let key = Arc::new(key);
        let mut versions = ObjectVersions::default();
        if let Some(old) = self.objects.remove(&key) {
            self.order.remove(&old.rank);
            self.used -= old.size;
            versions = old.versions;
        }
        change(&mut versions, tick);
        let size = OBJECT_OVERHEAD + key.namespace.len() + key.name.len() + versions.size();
        let rank = (versions.has_changes(), tick);
        self.used += size;
        self.order.insert(rank, Arc::clone(&key));
        self.objects.insert(
            key,
            Entry {
                versions,
                rank,
                size,
            },
        );
    }

    /// Removes the first object in the order of removal. Returns its size.
    pub(super) fn remove_oldest(&mut self) -> Option<usize> {
        let (_, key) = self.order.pop_first()?;
        let entry = self.objects.remove(&key)?;
        self.used -= entry.size;
        Some(entry.size)
    }

    /// Removes the versions before a time. Returns the freed size.
    pub(super) fn remove_before(&mut self, oldest: Timestamp) -> usize {
        let before = self.used;
        let Self {
            used,
            objects,
            order,
        } = self;
        objects.retain(|_, entry| {
            let old_size = entry.versions.size();
            let is_kept = entry.versions.remove_before(oldest);
            let freed = if is_kept {
                old_size - entry.versions.size()
            } else {
                order.remove(&entry.rank);
                entry.size
            };
            entry.size -= freed;
            *used -= freed;
            is_kept
        });
        before - self.used
    }
}
