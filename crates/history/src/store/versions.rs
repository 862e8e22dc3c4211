//! The stored versions of one object, and the writes of users.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use drover_api::rest::VersionManager;
use jiff::{SignedDuration, Timestamp};

use super::UserWrite;
use crate::compress::Compressed;
use crate::object::{MAX_ID, ManagerEntry, Observed, changed_managers, managed_at};

/// Maximum number of stored versions of an object.
pub(super) const MAX_VERSIONS: usize = 20;
/// Maximum size of the JSON of all versions of an object in bytes.
pub(super) const MAX_PLAIN: usize = 4 << 20;
/// Maximum number of stored writes of an object.
const MAX_WRITES: usize = 20;
/// Approximate memory of a version in addition to its content, in bytes.
const VERSION_OVERHEAD: usize = 256;
/// Approximate memory of a write in addition to its fields, in bytes.
const WRITE_OVERHEAD: usize = 32;
/// Maximum difference between the clocks of the server and of a cluster.
const CLOCK_DIFFERENCE: SignedDuration = SignedDuration::from_secs(30);

/// The content of a stored version.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// The object.
    Stored(Compressed),
    /// The object exceeds the size limit.
    TooLarge,
    /// The object was deleted.
    Deleted,
}

/// A stored version of an object.
#[derive(Clone, Debug)]
pub(crate) struct StoredVersion {
    pub(crate) number: u64,
    pub(crate) seen: Timestamp,
    pub(crate) uid: Box<str>,
    pub(crate) resource_version: Box<str>,
    /// The last resource version with the same content.
    last_resource_version: Box<str>,
    pub(crate) generation: Option<i64>,
    pub(crate) managers: Vec<VersionManager>,
    /// The time of the newest entry of `managedFields`.
    managed_at: Option<Timestamp>,
    pub(crate) content: Content,
}

impl StoredVersion {
    fn size(&self) -> usize {
        let content = match &self.content {
            Content::Stored(content) => content.size(),
            Content::TooLarge | Content::Deleted => 0,
        };
        // A later state can change the last resource version. Its maximum length keeps the size equal.
        let ids = self.uid.len() + self.resource_version.len() + MAX_ID;
        let managers: usize = self.managers.iter().map(manager_size).sum();
        VERSION_OVERHEAD + ids + content + managers
    }

    fn plain(&self) -> usize {
        match &self.content {
            Content::Stored(content) => content.plain,
            Content::TooLarge | Content::Deleted => 0,
        }
    }

    const fn is_deletion(&self) -> bool {
        matches!(self.content, Content::Deleted)
    }

    /// Returns the order of a state and the last state of this version. Returns `None` if a resource
    /// version is not a number.
    fn order_of(&self, observed: &Observed) -> Option<Ordering> {
        let known = number(&self.last_resource_version)?;
        Some(number(&observed.resource_version)?.cmp(&known))
    }
}

/// A version to store.
pub(super) struct NewVersion {
    pub(super) observed: Observed,
    pub(super) content: Content,
    pub(super) seen: Timestamp,
}

/// The stored versions of one object, oldest first.
#[derive(Default)]
pub(super) struct ObjectVersions {
    versions: VecDeque<StoredVersion>,
    /// The hash of the last version's content.
    hash: u64,
    /// The managers of the last state.
    managers: Vec<ManagerEntry>,
    writes: VecDeque<UserWrite>,
    /// The last time at which the server read the content of the last version.
    confirmed: Timestamp,
}

impl ObjectVersions {
    /// Reports whether a state is a new version. A state with the content of the last version updates
    /// this version. A state that is older than the last version is no new version: lists and watches
    /// of several users can deliver states in another order.
    pub(super) fn needs(&mut self, observed: &Observed, now: Timestamp) -> bool {
        let Some(last) = self.versions.back_mut() else {
            return true;
        };
        let is_same = *last.uid == *observed.uid;
        if is_same && *last.last_resource_version == *observed.resource_version {
            self.confirmed = now;
            return false;
        }
        // Also for a deleted object with the same name, whose events a second watch repeats.
        if last.order_of(observed).is_some_and(Ordering::is_le) {
            return false;
        }
        if is_same && !last.is_deletion() && self.hash == observed.hash {
            last.last_resource_version = observed.resource_version.as_str().into();
            self.confirmed = now;
            return false;
        }
        true
    }

    /// Adds a version with this number, and removes old versions above the limits.
    pub(super) fn add(&mut self, new: NewVersion, number: u64) {
        let NewVersion {
            observed,
            content,
            seen,
        } = new;
        let is_deletion = matches!(content, Content::Deleted);
        let is_known_deletion = |last: &StoredVersion| {
            let is_repeated = last.is_deletion() && *last.uid == *observed.uid;
            is_repeated || last.order_of(&observed).is_some_and(Ordering::is_lt)
        };
        let is_known = if is_deletion {
            self.versions.back().is_some_and(is_known_deletion)
        } else {
            // Another task can have added the same state.
            !self.needs(&observed, seen)
        };
        if is_known {
            return;
        }
        let has_previous = self.versions.back().is_some_and(|last| !last.is_deletion());
        let old = has_previous.then_some(&*self.managers);
        let managers = if is_deletion {
            Vec::new()
        } else {
            changed_managers(old, &observed.managers)
        };
        self.versions.push_back(StoredVersion {
            number,
            seen,
            uid: observed.uid.into(),
            last_resource_version: observed.resource_version.as_str().into(),
            resource_version: observed.resource_version.into(),
            generation: observed.generation,
            managers,
            managed_at: managed_at(&observed.managers),
            content,
        });
        (self.hash, self.managers) = (observed.hash, observed.managers);
        self.confirmed = seen;
        let mut plain: usize = self.versions.iter().map(StoredVersion::plain).sum();
        while self.versions.len() > MAX_VERSIONS || plain > MAX_PLAIN {
            let Some(removed) = self.versions.pop_front() else {
                break;
            };
            plain -= removed.plain();
        }
    }

    pub(super) fn add_write(&mut self, write: UserWrite) {
        self.writes.push_back(write);
        if self.writes.len() > MAX_WRITES {
            self.writes.pop_front();
        }
    }

    /// Reports whether the object has several versions.
    pub(super) fn has_changes(&self) -> bool {
        self.versions.len() > 1
    }

    /// Returns the approximate memory in bytes.
    pub(super) fn size(&self) -> usize {
        let versions: usize = self.versions.iter().map(StoredVersion::size).sum();
        let manager = |it: &ManagerEntry| size_of::<u64>() + manager_size(&it.manager);
        let managers: usize = self.managers.iter().map(manager).sum();
        let write = |it: &UserWrite| {
            let version = it.resource_version.as_ref().map_or(0, String::len);
            size_of_val(it) + WRITE_OVERHEAD + it.user.len() + version
        };
        versions + managers + self.writes.iter().map(write).sum::<usize>()
    }

    /// Removes versions and writes before a time. Keeps the version that the object still has. Returns
    /// false if nothing is left.
    pub(super) fn remove_before(&mut self, oldest: Timestamp) -> bool {
        let last = self.versions.back().filter(|last| !last.is_deletion());
        let current = last
            .filter(|_| self.confirmed >= oldest)
            .map(|it| it.number);
        self.versions
            .retain(|version| version.seen >= oldest || current == Some(version.number));
        self.writes.retain(|write| write.ended >= oldest);
        !self.versions.is_empty() || !self.writes.is_empty()
    }

    /// Returns the versions with the users of each version.
    pub(super) fn with_users(&self) -> Vec<(StoredVersion, Vec<Arc<str>>)> {
        let previous = std::iter::once(None).chain(self.versions.iter().map(Some));
        let versions = self.versions.iter().zip(previous);
        versions
            .map(|(version, previous)| {
                let mut users = Vec::new();
                for write in self
                    .writes
                    .iter()
                    .filter(|it| leads_to(it, version, previous))
                {
                    if !users.contains(&write.user) {
                        users.push(Arc::clone(&write.user));
                    }
                }
                (version.clone(), users)
            })
            .collect()
    }
}

/// Returns the approximate memory of a field manager in bytes.
fn manager_size(manager: &VersionManager) -> usize {
    let subresource = manager.subresource.as_ref().map_or(0, String::len);
    size_of_val(manager) + manager.name.len() + manager.operation.len() + subresource
}

/// Reports whether a write led to a version. The resource version of the write is greater than the
/// last resource version of the previous version, because a write without a change returns the
/// current resource version. The last change of a field manager is near the time of the write: the
/// first version can be much newer than the write, or older than a write without a change.
fn leads_to(write: &UserWrite, version: &StoredVersion, previous: Option<&StoredVersion>) -> bool {
    let earliest = write.began - CLOCK_DIFFERENCE;
    let latest = write.ended + CLOCK_DIFFERENCE;
    let is_near = |at: Timestamp| at >= earliest && at <= latest;
    let Some(written) = &write.resource_version else {
        return version.is_deletion() && is_near(version.seen);
    };
    if version.is_deletion() {
        return false;
    }
    let is_between = match (number(written), number(&version.resource_version)) {
        (Some(written), Some(version)) => {
            let previous = previous.and_then(|it| number(&it.last_resource_version));
            written <= version && previous.is_none_or(|previous| previous < written)
        }
        _ => **written == *version.resource_version,
    };
    is_between && version.managed_at.is_none_or(is_near)
}

/// Returns the number of a resource version. Resource versions of one resource are ordered numbers
/// (KEP-5504).
fn number(resource_version: &str) -> Option<u128> {
    resource_version.parse().ok()
}
