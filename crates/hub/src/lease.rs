//! The Lease by which one server serves and others wait.
//!
//! Clocks of different machines are never compared: a holder counts as gone when its Lease has
//! not changed for [`LEASE_DURATION`] by *our* monotonic clock, or when its process is seen to be gone (see
//! `presence`). A leader stops being sure by a timer, [`RENEW_DEADLINE`] after it began its last
//! renewal, whatever a call to the hub is waiting for: so leading never outlives the Lease.
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
pub use self::presence::Presence;

/// Name of the Lease.
pub const LEASE: &str = "drover-server";
/// A holder that has not renewed for so long has lost it.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// How long after the begin of its last renewal a leader is sure of itself; the rest of
/// [`LEASE_DURATION`] is for what it has under way.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(12);
/// How often the holder renews, and others look.
const RENEW_PERIOD: Duration = Duration::from_secs(5);

/// Where this server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    /// Another server holds the Lease, or nobody has yet.
    Waiting {
        /// Who holds it; empty if nobody does.
        holder: String,
    },
    /// This server holds it.
    Leading {
        /// Number of take-overs before and including this one, for people who look.
        term: i32,
    },
    /// It held it when the hub was last heard of; requests go on, controllers pause.
    Unconfirmed {
        /// The term it had.
        term: i32,
    },
    /// Another server has taken over; this one has to end.
    Lost {
        /// Who holds it.
        holder: String,
    },
}

impl LeaseState {
    /// Whether requests may be served.
    pub fn may_serve(&self) -> bool {
        matches!(self, Self::Leading { .. } | Self::Unconfirmed { .. })
    }

    /// Whether controllers may act.
    pub fn may_control(&self) -> bool {
        matches!(self, Self::Leading { .. })
    }
}

/// This server's part in the election; cheap to clone.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<LeaseState>);

impl Leadership {
    /// Always the only one; for tests and hubs with a single server.
    pub fn alone() -> Self {
        Self(watch::Sender::new(LeaseState::Leading { term: 0 }).subscribe())
    }

    /// Opens for controllers while this server leads.
    pub fn gate(&self) -> LeaderGate {
        LeaderGate::watching(self.0.clone(), LeaseState::may_control)
    }

    /// Where this server stands now.
    pub fn state(&self) -> LeaseState {
        self.0.borrow().clone()
    }

    /// Resolves when `wanted` holds of the state, with it; `None` if the election has ended.
    pub async fn wait_for(&mut self, wanted: impl Fn(&LeaseState) -> bool) -> Option<LeaseState> {
        self.0
            .wait_for(|state| wanted(state))
            .await
            .ok()
            .map(|state| state.clone())
    }

    /// Resolves when this server must end: another has taken over, or it was
    /// [`LeaseState::Unconfirmed`] for `most`.
    pub async fn wait_for_end(&mut self, most: Duration) -> LeadershipEnd {
        loop {
            let doubtful = |state: &LeaseState| {
                matches!(
                    state,
                    LeaseState::Unconfirmed { .. } | LeaseState::Lost { .. }
                )
            };
            match self.wait_for(doubtful).await {
                Some(LeaseState::Lost { holder }) => return LeadershipEnd::Replaced(holder),
                Some(_) => {}
                // Nobody is elected any more because the server is ending anyway.
                None => std::future::pending().await,
            }
            let sure = self.wait_for(|state| !matches!(state, LeaseState::Unconfirmed { .. }));
            if tokio::time::timeout(most, sure).await.is_err() {
                return LeadershipEnd::HubUnreachable;
            }
        }
    }
}

/// Why a server that served must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadershipEnd {
    /// This other server has taken the Lease over.
    Replaced(String),
    /// The hub could not be reached for so long that another may serve by now.
    HubUnreachable,
}

/// Takes part as `me` until `stop`, then gives the Lease up.
///
/// The future drives the election; it ends early only when the Lease is lost.
pub fn join(
    client: Client,
    me: &Presence,
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
