//! Every request under way, with the permit it stands on; and the watch that ends those whose
//! permit is gone.

pub(crate) mod journey;
mod sweep;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use drover_access::permit::Permit;
use parking_lot::Mutex;

use self::journey::Journey;
pub use self::sweep::{end_in_order, run_revocation};
pub(super) use self::sweep::{is_in_memory, may_be_acted_as};

/// Parts of the registry that are locked one by one: requests begin and end all the time.
const SHARDS: usize = 16;

/// Why an open request was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutReason {
    /// Its user is disabled or deleted.
    UserGone,
    /// The user whom its user acts as is disabled or deleted.
    ActedAsGone,
    /// Its token is deleted.
    TokenGone,
    /// Its token's time is over.
    TokenExpired,
    /// What its token stands on at an identity provider does not count any more.
    ProviderFallen,
    /// Its user has no right on the cluster any more.
    RightGone,
    /// Its cluster is deleted, or another has its name now.
    ClusterGone,
    /// The hub has been out of reach for too long to know whether it may go on.
    Untrusted,
    /// The server ends.
    ServerEnds,
}

impl CutReason {
    /// `PascalCase`, for the audit log and the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserGone => "UserDisabled",
            Self::ActedAsGone => "ActedAsUserDisabled",
            Self::TokenGone => "TokenRevoked",
            Self::TokenExpired => "TokenExpired",
            Self::ProviderFallen => "ProviderFallen",
            Self::RightGone => "RightRemoved",
            Self::ClusterGone => "ClusterDeleted",
            Self::Untrusted => "HubOutOfReach",
            Self::ServerEnds => "ServerEnds",
        }
    }
}

impl fmt::Display for CutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserGone => "the user is disabled or deleted",
            Self::ActedAsGone => "the user whom it acts as is disabled or deleted",
            Self::TokenGone => "the token was revoked",
            Self::TokenExpired => "the token has expired",
            Self::ProviderFallen => "the identity provider vouches for the user no more",
            Self::RightGone => "the right to use this cluster was removed",
            Self::ClusterGone => "the cluster was deleted",
            Self::Untrusted => "the hub has been out of reach for too long",
            Self::ServerEnds => "the server ends; ask again, another takes over",
        })
    }
}

/// Every request under way; clones are the same registry.
#[derive(Clone)]
pub struct OpenStreams(Arc<Inner>);

struct Inner {
    shards: [Mutex<HashMap<u64, Weak<Journey>>>; SHARDS],
    next: AtomicU64,
    count: AtomicUsize,
}

/// Where a request is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Default for OpenStreams {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenStreams {
    /// No request yet.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            shards: std::array::from_fn(|_| Mutex::default()),
            next: AtomicU64::new(0),
            count: AtomicUsize::new(0),
        }))
    }

    /// How many requests are under way.
    pub fn len(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn next_key(&self) -> Key {
        Key(self.0.next.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn insert(&self, key: Key, journey: &Arc<Journey>) {
        self.shard(key)
            .lock()
            .insert(key.0, Arc::downgrade(journey));
        self.0.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, key: Key) {
        if self.shard(key).lock().remove(&key.0).is_some() {
            self.0.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Cuts every request whose permit does not hold any more.
    pub(super) fn cut_if(&self, verdict: impl Fn(&Permit, &Journey) -> Option<CutReason>) -> usize {
        let mut cut = 0;
        for shard in &self.0.shards {
            let journeys: Vec<_> = shard.lock().values().filter_map(Weak::upgrade).collect();
            for journey in journeys {
                if let Some(reason) = verdict(journey.permit(), &journey)
                    && journey.cut(reason)
                {
                    cut += 1;
                }
            }
        }
        cut
    }

    fn shard(&self, key: Key) -> &Mutex<HashMap<u64, Weak<Journey>>> {
        let index = usize::try_from(key.0 % SHARDS as u64).expect("less than SHARDS");
        &self.0.shards[index]
    }
}
