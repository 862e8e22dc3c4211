//! The stored versions of all objects, within a memory limit.
//!
//! Above the limit, the store removes the least recently changed objects of the cluster that uses the
//! most memory. A cluster with endless changes therefore removes only its own history. Objects with a
//! single version are removed first.

mod cluster;
mod versions;

use std::collections::HashMap;
use std::sync::Arc;

use drover_access::permit::Target;
use drover_api::rest::HistoryKind;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use self::cluster::ClusterHistory;
pub(crate) use self::versions::{Content, StoredVersion};
use self::versions::{NewVersion, ObjectVersions};
use crate::compress::Compressed;
use crate::object::Observed;

/// Maximum size of the JSON of a stored object in bytes.
const MAX_OBJECT: usize = 512 << 10;
/// Size of the JSON of an object in bytes, above which the server parses one object after another.
const LARGE_OBJECT: usize = 64 << 10;
/// Age above which the store removes a version.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The identity of an object in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) kind: &'static HistoryKind,
    pub(crate) namespace: Box<str>,
    pub(crate) name: Box<str>,
}

impl ObjectKey {
    pub(crate) fn new(kind: &'static HistoryKind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// A write of a user through Drover that a cluster accepted.
#[derive(Clone, Debug)]
pub(crate) struct UserWrite {
    pub(crate) user: Arc<str>,
    /// The resource version after the write; `None` for a deletion.
    pub(crate) resource_version: Option<String>,
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
}

/// The stored versions of all objects. Clones share the versions.
#[derive(Clone)]
pub struct HistoryStore {
    state: Arc<Mutex<State>>,
    /// The lock of a thread that parses a large object. A parsed object uses much memory.
    parsing: Arc<Mutex<()>>,
}

impl std::fmt::Debug for HistoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HistoryStore").finish_non_exhaustive()
    }
}

struct State {
    limit: usize,
    used: usize,
    /// The number of the last version, and the time of the last use of an object.
    tick: u64,
    clusters: HashMap<Target, ClusterHistory>,
}

impl HistoryStore {
    /// Creates an empty store. `limit` is the maximum size of all versions in bytes.
    pub fn new(limit: usize) -> Self {
        let state = State {
            limit,
            used: 0,
            tick: 0,
            clusters: HashMap::new(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            parsing: Arc::default(),
        }
    }

    /// Reports whether an object is so large that [`Self::observe`] and [`Self::observe_deleted`] can
    /// block the thread.
    pub const fn blocks(json: &str) -> bool {
        json.len() > LARGE_OBJECT
    }

    /// Stores a state of an object, if it differs from the last stored version. `json` is the object.
    pub fn observe(
        &self,
        cluster: &Target,
        kind: &'static HistoryKind,
        json: &str,
        now: Timestamp,
    ) {
        let _parsing = Self::blocks(json).then(|| self.parsing.lock());
        let observed = match Observed::read(kind, json) {
            Ok(observed) => observed,
            Err(error) => {
                tracing::debug!(%error, "skipped an object without usable fields");
                return;
            }
        };
        let key = ObjectKey::new(kind, &observed.namespace, &observed.name);
        if !self.state.lock().needs(cluster, &key, &observed, now) {
            return;
        }
        // Without the lock, because compression takes time.
        let json = observed.content.to_string();
        let content = if json.len() > MAX_OBJECT {
            Content::TooLarge
        } else {
            match Compressed::new(json.as_bytes()) {
                Ok(compressed) => Content::Stored(compressed),
                Err(error) => {
                    tracing::warn!(%error, "cannot compress a version of an object");
                    return;
                }
            }
        };
        self.state.lock().add(
            cluster,
            key,
            NewVersion {
                observed,
                content,
                seen: now,
            },
        );
    }

    /// Stores the deletion of an object. `json` is the last state of the object.
    pub fn observe_deleted(
        &self,
        cluster: &Target,
        kind: &'static HistoryKind,
        json: &str,
        now: Timestamp,
    ) {
        let _parsing = Self::blocks(json).then(|| self.parsing.lock());
        let Ok(observed) = Observed::read(kind, json) else {
            return;
        };
        let key = ObjectKey::new(kind, &observed.namespace, &observed.name);
        let mut state = self.state.lock();
        // A deletion without earlier versions is no history.
        if state.find(cluster, &key).is_some() {
            state.add(
                cluster,
                key,
                NewVersion {
                    observed,
                    content: Content::Deleted,
                    seen: now,
                },
            );
        }
    }

    /// Stores that a user wrote an object.
    pub(crate) fn add_write(&self, cluster: &Target, key: ObjectKey, write: UserWrite) {
        let mut state = self.state.lock();
        state.change(cluster, key, |object, _| object.add_write(write));
    }

    /// Returns the versions of an object, oldest first, with the users of each version.
    pub(crate) fn versions(
        &self,
        cluster: &Target,
        key: &ObjectKey,
    ) -> Vec<(StoredVersion, Vec<Arc<str>>)> {
        let state = self.state.lock();
        let found = state.find(cluster, key);
        found.map(ObjectVersions::with_users).unwrap_or_default()
    }

    /// Removes old versions.
    pub(crate) fn remove_old(&self, now: Timestamp) {
        let Ok(oldest) = now.checked_sub(MAX_AGE) else {
            return;
        };
        let mut state = self.state.lock();
        let freed: usize = state
            .clusters
            .values_mut()
            .map(|cluster| cluster.remove_before(oldest))
            .sum();
        state.used -= freed;
        state.clusters.retain(|_, cluster| !cluster.is_empty());
    }

    /// Returns the size of all versions in bytes.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.state.lock().used
    }
}

impl State {
    fn find(&self, cluster: &Target, key: &ObjectKey) -> Option<&ObjectVersions> {
        self.clusters.get(cluster)?.find(key)
    }

    /// Reports whether a state is a new version. Otherwise updates the last version.
    fn needs(
        &mut self,
        cluster: &Target,
        key: &ObjectKey,
        observed: &Observed,
        now: Timestamp,
    ) -> bool {
        let stored = self.clusters.get_mut(cluster);
        let stored = stored.and_then(|cluster| cluster.find_mut(key));
        stored.is_none_or(|stored| stored.needs(observed, now))
    }

    fn add(&mut self, cluster: &Target, key: ObjectKey, version: NewVersion) {
        self.change(cluster, key, |object, number| object.add(version, number));
    }

    /// Changes an object, and removes other objects above the limit.
    fn change(
        &mut self,
        cluster: &Target,
        key: ObjectKey,
        change: impl FnOnce(&mut ObjectVersions, u64),
    ) {
        self.tick += 1;
        let history = self.clusters.entry(cluster.clone()).or_default();
        let before = history.used();
        history.change(key, self.tick, change);
        self.used = self.used + history.used() - before;
        while self.used > self.limit {
            let largest = self.clusters.iter_mut().max_by_key(|(_, it)| it.used());
            let Some((target, largest)) = largest else {
                break;
            };
            let Some(freed) = largest.remove_oldest() else {
                break;
            };
            self.used -= freed;
            if largest.is_empty() {
                let target = target.clone();
                self.clusters.remove(&target);
            }
        }
    }
}

#[cfg(test)]
mod tests;
