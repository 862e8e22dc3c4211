//! The registry of requests in flight with their permits. A controller aborts requests whose permit
//! is withdrawn.

pub(crate) mod in_flight;
mod revocation;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use drover_access::permit::Permit;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use self::in_flight::InFlightRequest;
pub(super) use self::revocation::{is_in_memory, may_be_acted_as};
pub use self::revocation::{run_revocation, shut_down};

/// Number of separately locked shards of the registry. Sharding reduces contention, because
/// requests start and end frequently.
const SHARDS: usize = 16;

/// The reason why a request in flight was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortReason {
    /// The user is disabled or deleted.
    UserDisabled,
    /// The impersonated user is disabled or deleted.
    ActedAsUserDisabled,
    /// The token is deleted.
    TokenRevoked,
    /// The token has expired.
    TokenExpired,
    /// The provider identity that the token depends on is no longer valid.
    ProviderSessionEnded,
    /// The user no longer has access to the cluster.
    AccessRemoved,
    /// The cluster was deleted, or its name now belongs to a different cluster.
    ClusterDeleted,
    /// The hub has been unreachable for too long to confirm the permit.
    HubUnreachable,
    /// The server is shutting down.
    ServerShutdown,
}

impl AbortReason {
    /// Returns the reason in `PascalCase`, for the audit log and the metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UserDisabled => "UserDisabled",
            Self::ActedAsUserDisabled => "ActedAsUserDisabled",
            Self::TokenRevoked => "TokenRevoked",
            Self::TokenExpired => "TokenExpired",
            Self::ProviderSessionEnded => "ProviderFallen",
            Self::AccessRemoved => "RightRemoved",
            Self::ClusterDeleted => "ClusterDeleted",
            Self::HubUnreachable => "HubOutOfReach",
            Self::ServerShutdown => "ServerEnds",
        }
    }
}

impl fmt::Display for AbortReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserDisabled => "the user is disabled or deleted",
            Self::ActedAsUserDisabled => "the impersonated user is disabled or deleted",
            Self::TokenRevoked => "the token was revoked",
            Self::TokenExpired => "the token has expired",
            Self::ProviderSessionEnded => {
                "the identity provider no longer confirms the user's session"
            }
            Self::AccessRemoved => "access to this cluster was removed",
            Self::ClusterDeleted => "the cluster was deleted",
            Self::HubUnreachable => "the hub has been unreachable for too long",
            Self::ServerShutdown => "the server is shutting down; try again",
        })
    }
}

/// Receives the reason if the proxy aborts a request. A caller in this process adds the observer to
/// the extensions of its request. Clones share the reason.
#[derive(Clone, Debug, Default)]
pub struct AbortObserver(Arc<Observed>);

#[derive(Debug, Default)]
struct Observed {
    reason: OnceLock<AbortReason>,
    aborted: CancellationToken,
}

impl AbortObserver {
    /// Returns the reason, if the proxy aborted the request.
    pub fn reason(&self) -> Option<AbortReason> {
        self.0.reason.get().copied()
    }

    /// Waits until the proxy aborts the request.
    pub async fn aborted(&self) {
        self.0.aborted.cancelled().await;
    }

    fn report(&self, reason: AbortReason) {
        let _ = self.0.reason.set(reason);
        self.0.aborted.cancel();
    }
}

/// The registry of requests in flight. Clones share the registry.
#[derive(Clone)]
pub struct OpenStreams(Arc<Inner>);

type Shard = BTreeMap<u64, Weak<InFlightRequest>>;

struct Inner {
    shards: [Mutex<Shard>; SHARDS],
    next: AtomicU64,
    count: AtomicUsize,
}

/// The key of a request in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Default for OpenStreams {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenStreams {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            shards: std::array::from_fn(|_| Mutex::default()),
            next: AtomicU64::new(0),
            count: AtomicUsize::new(0),
        }))
    }

    /// Returns the number of requests in flight.
    pub fn len(&self) -> usize {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Returns true if no request is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn next_key(&self) -> Key {
        Key(self.0.next.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn insert(&self, key: Key, in_flight: &Arc<InFlightRequest>) {
        self.shard(key)
            .lock()
            .insert(key.0, Arc::downgrade(in_flight));
        self.0.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, key: Key) {
        if self.shard(key).lock().remove(&key.0).is_some() {
            self.0.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Aborts every request for which `reason_to_abort` returns a reason. Returns the number of aborted
    /// requests.
    pub(super) fn abort_if(
        &self,
        reason_to_abort: impl Fn(&Permit, &InFlightRequest) -> Option<AbortReason>,
    ) -> usize {
        let mut aborted = 0;
        for shard in &self.0.shards {
            let in_flight: Vec<_> = shard.lock().values().filter_map(Weak::upgrade).collect();
            for in_flight in in_flight {
                if let Some(reason) = reason_to_abort(in_flight.permit(), &in_flight)
                    && in_flight.abort(reason)
                {
                    aborted += 1;
                }
            }
        }
        aborted
    }

    fn shard(&self, key: Key) -> &Mutex<Shard> {
        let index = usize::try_from(key.0 % SHARDS as u64).expect("the index is less than SHARDS");
        &self.0.shards[index]
    }
}
