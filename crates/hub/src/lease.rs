//! The Lease by which one server serves and others wait.
//!
//! Clocks of different machines are never compared: a holder counts as gone when its Lease has
//! not changed for [`LIFE`] by *our* monotonic clock, or when its process is seen to be gone (see
//! `presence`). A leader stops being sure by a timer, [`SURE_FOR`] after it began its last
//! renewal, whatever a call to the hub is waiting for: so leading never outlives the Lease.
//!
//! ```text
//! Waiting ──free, silent or gone──▶ Leading ──no renewal for SURE_FOR──▶ Unsure ──too long──▶ end
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
pub const LIFE: Duration = Duration::from_secs(15);
/// How long after the begin of its last renewal a leader is sure of itself; the rest of
/// [`LIFE`] is for what it has under way.
pub const SURE_FOR: Duration = Duration::from_secs(12);
/// How often the holder renews, and others look.
const EVERY: Duration = Duration::from_secs(5);

/// Where this server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
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
    Unsure {
        /// The term it had.
        term: i32,
    },
    /// Another server has taken over; this one has to end.
    Lost {
        /// Who holds it.
        holder: String,
    },
}

impl Standing {
    /// Whether requests may be served.
    pub fn may_serve(&self) -> bool {
        matches!(self, Self::Leading { .. } | Self::Unsure { .. })
    }

    /// Whether controllers may act.
    pub fn may_control(&self) -> bool {
        matches!(self, Self::Leading { .. })
    }
}

/// This server's part in the election; cheap to clone.
#[derive(Clone, Debug)]
pub struct Leadership(watch::Receiver<Standing>);

impl Leadership {
    /// Always the only one; for tests and hubs with a single server.
    pub fn alone() -> Self {
        Self(watch::Sender::new(Standing::Leading { term: 0 }).subscribe())
    }

    /// Opens for controllers while this server leads.
    pub fn gate(&self) -> LeaderGate {
        LeaderGate::watching(self.0.clone(), Standing::may_control)
    }

    /// Where this server stands now.
    pub fn standing(&self) -> Standing {
        self.0.borrow().clone()
    }

    /// Resolves when `wanted` holds of the standing, with it; `None` if the election has ended.
    pub async fn wait_for(&mut self, wanted: impl Fn(&Standing) -> bool) -> Option<Standing> {
        self.0
            .wait_for(|standing| wanted(standing))
            .await
            .ok()
            .map(|standing| standing.clone())
    }

    /// Resolves when this server must end: another has taken over, or it was
    /// [`Standing::Unsure`] for `most`.
    pub async fn ended(&mut self, most: Duration) -> Ending {
        loop {
            let doubtful = |standing: &Standing| {
                matches!(standing, Standing::Unsure { .. } | Standing::Lost { .. })
            };
            match self.wait_for(doubtful).await {
                Some(Standing::Lost { holder }) => return Ending::Replaced(holder),
                Some(_) => {}
                // Nobody is elected any more because the server is ending anyway.
                None => std::future::pending().await,
            }
            let sure = self.wait_for(|standing| !matches!(standing, Standing::Unsure { .. }));
            if tokio::time::timeout(most, sure).await.is_err() {
                return Ending::CutOff;
            }
        }
    }
}

/// Why a server that served must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// This other server has taken the Lease over.
    Replaced(String),
    /// The hub could not be reached for so long that another may serve by now.
    CutOff,
}

/// Takes part as `me` until `stop`, then gives the Lease up.
///
/// The future drives the election; it ends early only when the Lease is lost.
pub fn join(
    client: Client,
    me: &Presence,
    stop: CancellationToken,
) -> (Leadership, impl Future<Output = ()> + Send + use<>) {
    let (standing, receiver) = watch::channel(Standing::Waiting {
        holder: String::new(),
    });
    let api = Api::namespaced(client, HUB_NAMESPACE);
    let election = Election::new(api, me.name().to_owned(), standing);
    (Leadership(receiver), election.run(stop))
}

#[cfg(test)]
mod tests;
