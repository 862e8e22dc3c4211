//! Leader election among servers by a Lease on the hub.
//!
//! The election never compares clocks of different machines. A waiting server takes the Lease when
//! the Lease has not changed for [`LEASE_DURATION`]. The waiting server measures this duration with
//! its own monotonic clock. If the holder runs on the same machine, the waiting server also takes
//! the Lease when the holder's process has ended (see `presence`). A leader must renew the Lease
//! within [`RENEW_DEADLINE`] of its previous renewal. A timer enforces this deadline, even while a
//! call to the hub hangs. A server is therefore never the leader after its Lease expired.
//!
//! ```text
//! Waiting ──free, silent or gone──▶ Leading ──no renewal for RENEW_DEADLINE──▶ Unsure ──too long──▶ end
//!    ▲                               │  ▲                                │
//!    └── start                       │  └────────renewed─────────────────┤
//!                                    └──────another holder──▶ Lost ◀─────┘
//! ```

mod decide;
mod election;
mod presence;

use std::time::Duration;

use drover_api::group::HUB_NAMESPACE;
use drover_reconcile::LeaderGate;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::election::Election;
pub use self::presence::LeaseIdentity;

/// The name of the Lease for the leader election.
pub const LEASE: &str = "drover-server";
/// The time after which an unrenewed Lease expires.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// The time after the start of the last renewal during which the leader may write. The remaining
/// time of [`LEASE_DURATION`] allows calls in progress to end.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(12);
/// The interval at which the holder renews the Lease and other servers read the Lease.
const RENEW_PERIOD: Duration = Duration::from_secs(5);

/// The election state of this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// A different server holds the Lease, or the Lease is free.
    Waiting {
        /// The name of the Lease's holder. Empty if the Lease is free.
        holder: String,
    },
    /// This server holds the Lease.
    Leading {
        /// The number of leader transitions, including the transition to this server. The number is
        /// for information only.
        term: i32,
    },
    /// This server held the Lease at its last renewal, and the next renewal is overdue. The server
    /// serves requests and pauses controllers.
    Unconfirmed {
        /// The number of leader transitions at the last renewal.
        term: i32,
    },
    /// A different server holds the Lease, and this server must shut down.
    Lost {
        /// The holder's name.
        holder: String,
    },
}

impl LeaseState {
    /// Reports whether the server may serve requests.
    pub fn may_serve(&self) -> bool {
        matches!(self, Self::Leading { .. } | Self::Unconfirmed { .. })
    }

    /// Reports whether controllers may write.
    pub fn may_control(&self) -> bool {
        matches!(self, Self::Leading { .. })
    }
}

/// The election state of this server as a receiver. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<LeaseState>);

impl Leadership {
    /// Returns the state of a permanent leader, for tests and hubs with a single server.
    pub fn alone() -> Self {
        Self(watch::Sender::new(LeaseState::Leading { term: 0 }).subscribe())
    }

    /// Returns a gate for controllers. The gate is open while this server leads.
    pub fn gate(&self) -> LeaderGate {
        LeaderGate::watching(self.0.clone(), LeaseState::may_control)
    }

    /// Returns the current election state of this server.
    pub fn state(&self) -> LeaseState {
        self.0.borrow().clone()
    }

    /// Waits until `matches` returns true for the state, and returns the state. Returns `None` if
    /// the election has ended.
    pub async fn wait_for(&mut self, matches: impl Fn(&LeaseState) -> bool) -> Option<LeaseState> {
        self.0
            .wait_for(|state| matches(state))
            .await
            .ok()
            .map(|state| state.clone())
    }

    /// Waits until this server must shut down: a different server leads, or this server was
    /// [`LeaseState::Unconfirmed`] for the duration `most`.
    pub async fn wait_for_end(&mut self, most: Duration) -> LeadershipEnd {
        loop {
            let unconfirmed = |state: &LeaseState| {
                matches!(
                    state,
                    LeaseState::Unconfirmed { .. } | LeaseState::Lost { .. }
                )
            };
            match self.wait_for(unconfirmed).await {
                Some(LeaseState::Lost { holder }) => return LeadershipEnd::Replaced(holder),
                Some(_) => {}
                // The election ended because the server is shutting down.
                None => std::future::pending().await,
            }
            let confirmed = self.wait_for(|state| !matches!(state, LeaseState::Unconfirmed { .. }));
            if tokio::time::timeout(most, confirmed).await.is_err() {
                return LeadershipEnd::HubUnreachable;
            }
        }
    }
}

/// The reason why a server must shut down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadershipEnd {
    /// The server with this name holds the Lease.
    Replaced(String),
    /// The hub was unreachable for so long that a different server may lead.
    HubUnreachable,
}

/// Runs the election as `me` until `stop`, and then releases the Lease.
///
/// The returned future drives the election. The future completes before `stop` only when this
/// server loses the Lease.
pub fn join(
    client: Client,
    me: &LeaseIdentity,
    stop: CancellationToken,
) -> (Leadership, impl Future<Output = ()> + Send + use<>) {
    let (state, receiver) = watch::channel(LeaseState::Waiting {
        holder: String::new(),
    });
    let api = Api::namespaced(client, HUB_NAMESPACE);
    let election = Election::new(api, me.name().to_owned(), state);
    (Leadership(receiver), election.run(stop))
}

#[cfg(test)]
mod tests;
