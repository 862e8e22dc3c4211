//! Watches the deployed objects: at most one metadata watch for each kind, for all deployments.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt as _, watcher};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::cluster::{Cluster, ClusterError, Kind};
use crate::object::DEPLOYMENT_LABEL;

/// Maximum number of unread changes. A full queue delays the watches.
const MAX_CHANGES: usize = 1024;

/// API version and kind.
pub type KindName = (String, String);

/// The watches of a cluster. Dropping the value ends the watches.
pub struct Kinds {
    cluster: Cluster,
    watches: Mutex<BTreeMap<KindName, AbortHandle>>,
    changes: mpsc::Sender<ObjectChange>,
}

/// A change of a deployed object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectChange {
    /// The [`label_value`](crate::names::label_value) of the name of the object's deployment.
    pub label: String,
    /// UID and version of the object. `None` for a deleted object.
    pub version: Option<(String, u64)>,
    /// Time at which the change was received.
    pub at: Instant,
}

impl std::fmt::Debug for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kinds")
            .field("kinds", &self.watches.lock().keys())
            .finish_non_exhaustive()
    }
}

impl Kinds {
    /// Creates the watches. The receiver yields the changes of deployed objects, also of the caller's own
    /// writes.
    pub fn new(cluster: Cluster) -> (Self, mpsc::Receiver<ObjectChange>) {
        let (changes, receiver) = mpsc::channel(MAX_CHANGES);
        (
            Self {
                cluster,
                watches: Mutex::default(),
                changes,
            },
            receiver,
        )
    }

    /// Starts the missing watches for the kinds, and ends the watches of other kinds.
    pub async fn set(&self, kinds: &BTreeSet<KindName>) -> Result<(), ClusterError> {
        self.watches.lock().retain(|name, watch| {
            let is_needed = kinds.contains(name) && !watch.is_finished();
            if !is_needed {
                watch.abort();
            }
            is_needed
        });
        for name in kinds {
            let is_watched = self.watches.lock().contains_key(name);
            if !is_watched {
                let kind = self.cluster.kind(&name.0, &name.1).await?;
                let watch = self.start(&kind);
                if let Some(duplicate) = self.watches.lock().insert(name.clone(), watch) {
                    duplicate.abort();
                }
            }
        }
        Ok(())
    }

    fn start(&self, kind: &Kind) -> AbortHandle {
        let client = self.cluster.client().clone();
        let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &kind.resource);
        let config = Config::default().labels(DEPLOYMENT_LABEL);
        let (changes, name) = (self.changes.clone(), kind.resource.kind.clone());
        let watch = async move {
            let mut events = watcher(api, config).default_backoff().boxed();
            loop {
                match events.try_next().await {
                    Ok(Some(event)) => {
                        if let Some(change) = change(&event)
                            && changes.send(change).await.is_err()
                        {
                            return;
                        }
                    }
                    Ok(None) => return,
                    // The watcher continues after an error, with a backoff.
                    Err(error) => {
                        tracing::warn!(kind = name, %error, "failed to watch deployed objects");
                    }
                }
            }
        };
        tokio::spawn(watch).abort_handle()
    }
}

impl Drop for Kinds {
    fn drop(&mut self) {
        for watch in self.watches.lock().values() {
            watch.abort();
        }
    }
}

fn change(event: &Event<PartialObjectMeta<DynamicObject>>) -> Option<ObjectChange> {
    let (object, is_deleted) = match event {
        Event::Apply(object) | Event::InitApply(object) => (object, false),
        Event::Delete(object) => (object, true),
        Event::Init | Event::InitDone => return None,
    };
    let version = || Some((object.uid()?, object.resource_version()?.parse().ok()?));
    Some(ObjectChange {
        label: object.labels().get(DEPLOYMENT_LABEL)?.clone(),
        version: version().filter(|_| !is_deleted),
        at: Instant::now(),
    })
}
