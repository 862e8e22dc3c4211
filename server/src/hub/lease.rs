//! The Lease by which one server serves and others wait.
//!
//! Clocks of different machines are never compared: a holder counts as gone when its Lease has
//! not changed for [`LIFE`] by *our* monotonic clock. The number of transitions is the term; it
//! grows with every take-over, so that what a former holder still writes can be told apart.
//!
//! ```text
//! Waiting ──free or silent for LIFE──▶ Leading ──no renewal for LIFE──▶ Unsure
//!    ▲                                  │  ▲                              │
//!    └── start                          │  └────────renewed───────────────┤
//!                                       └──────another holder──▶ Lost ◀───┘
//! ```

use std::time::Duration;

use drover_api::group::HUB_NAMESPACE;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{HubError, call};
use crate::backoff::full_jitter;

/// Name of the Lease.
pub const LEASE: &str = "drover-server";
/// A holder that has not renewed for so long has lost it.
pub const LIFE: Duration = Duration::from_secs(15);
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
        /// Number of take-overs before and including this one: the fence.
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
}

/// Takes part under the name `me` until `stop`, then gives the Lease up.
///
/// The future drives the election; it ends early only when the Lease is lost.
pub fn join(
    client: Client,
    me: String,
    stop: CancellationToken,
) -> (Leadership, impl Future<Output = ()> + Send) {
    let (standing, receiver) = watch::channel(Standing::Waiting {
        holder: String::new(),
    });
    let api = Api::namespaced(client, HUB_NAMESPACE);
    let election = Election {
        api,
        me,
        standing,
        seen: None,
        renewed: Instant::now(),
    };
    (Leadership(receiver), election.run(stop))
}

struct Election {
    api: Api<Lease>,
    me: String,
    standing: watch::Sender<Standing>,
    /// The Lease's version when it last changed, and when that was noticed.
    seen: Option<(String, Instant)>,
    renewed: Instant,
}

impl Election {
    async fn run(mut self, stop: CancellationToken) {
        loop {
            match stop.run_until_cancelled(self.step()).await {
                None => return self.give_up().await,
                Some(Err(error)) => self.note_failure(&error),
                Some(Ok(())) => {}
            }
            if matches!(*self.standing.borrow(), Standing::Lost { .. }) {
                return;
            }
            // Waiting servers spread their looks; the holder renews in time in any case.
            let pause = EVERY / 2 + full_jitter(EVERY / 2);
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return self.give_up().await;
            }
        }
    }

    async fn step(&mut self) -> Result<(), HubError> {
        let begun = Instant::now();
        let stored = call("read the server's Lease", self.api.get_opt(LEASE)).await?;
        let silent = self.observe(stored.as_ref(), begun);
        match decide(stored.as_ref(), &self.me, silent) {
            Move::Wait { holder } => {
                self.step_back(holder);
                Ok(())
            }
            Move::Take { term } => self.write(stored, term, begun).await,
        }
    }

    /// How long the Lease has not changed, by our clock.
    fn observe(&mut self, stored: Option<&Lease>, now: Instant) -> Duration {
        let version = stored.and_then(|lease| lease.metadata.resource_version.clone());
        let version = version.unwrap_or_default();
        match &self.seen {
            Some((seen, since)) if *seen == version => now.duration_since(*since),
            _ => {
                self.seen = Some((version, now));
                Duration::ZERO
            }
        }
    }

    fn step_back(&mut self, holder: String) {
        let next = if self.standing.borrow().may_serve() {
            Standing::Lost { holder }
        } else {
            Standing::Waiting { holder }
        };
        self.standing
            .send_if_modified(|now| std::mem::replace(now, next.clone()) != next);
    }

    async fn write(
        &mut self,
        stored: Option<Lease>,
        term: i32,
        begun: Instant,
    ) -> Result<(), HubError> {
        let lease = lease(stored.as_ref(), &self.me, term);
        let params = PostParams::default();
        let written = if stored.is_some() {
            call(
                "write the server's Lease",
                self.api.replace(LEASE, &params, &lease),
            )
            .await
        } else {
            call(
                "create the server's Lease",
                self.api.create(&params, &lease),
            )
            .await
        };
        match written {
            Ok(_) => {
                self.renewed = begun;
                let next = Standing::Leading { term };
                self.standing
                    .send_if_modified(|now| std::mem::replace(now, next.clone()) != next);
                Ok(())
            }
            // Somebody was faster: the next look shows who.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn note_failure(&self, error: &HubError) {
        tracing::warn!(
            error = error as &dyn std::error::Error,
            "the server's Lease"
        );
        let overdue = self.renewed.elapsed() >= LIFE;
        self.standing.send_if_modified(|now| match *now {
            Standing::Leading { term } if overdue => {
                *now = Standing::Unsure { term };
                true
            }
            _ => false,
        });
    }

    /// Leaves the Lease to whoever comes next, so that nobody has to wait for it to die.
    async fn give_up(self) {
        let Standing::Leading { term } = *self.standing.borrow() else {
            return;
        };
        let Ok(Some(stored)) = call("read the server's Lease", self.api.get_opt(LEASE)).await
        else {
            return;
        };
        if holder(&stored) == self.me {
            let free = lease(Some(&stored), "", term);
            let params = PostParams::default();
            let replaced = self.api.replace(LEASE, &params, &free);
            if let Err(error) = call("give the server's Lease up", replaced).await {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "Lease not given up"
                );
            }
        }
    }
}

/// What to do about the Lease.
#[derive(Debug, PartialEq, Eq)]
enum Move {
    Wait { holder: String },
    Take { term: i32 },
}

fn decide(stored: Option<&Lease>, me: &str, silent: Duration) -> Move {
    let Some(stored) = stored else {
        return Move::Take { term: 1 };
    };
    let spec = stored.spec.as_ref();
    let term = spec.and_then(|spec| spec.lease_transitions).unwrap_or(0);
    match holder(stored) {
        held if held == me => Move::Take { term },
        "" => Move::Take {
            term: term.saturating_add(1),
        },
        _ if silent >= LIFE => Move::Take {
            term: term.saturating_add(1),
        },
        other => Move::Wait {
            holder: other.to_owned(),
        },
    }
}

fn holder(lease: &Lease) -> &str {
    lease
        .spec
        .as_ref()
        .and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default()
}

fn lease(stored: Option<&Lease>, holder: &str, term: i32) -> Lease {
    let now = MicroTime(Timestamp::now());
    let old = stored.and_then(|lease| lease.spec.as_ref());
    let same_term = old.is_some_and(|spec| spec.lease_transitions == Some(term));
    let acquired = old
        .and_then(|spec| spec.acquire_time.clone())
        .filter(|_| same_term);
    Lease {
        metadata: stored.map_or_else(
            || ObjectMeta {
                name: Some(LEASE.to_owned()),
                ..ObjectMeta::default()
            },
            |lease| lease.metadata.clone(),
        ),
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: i32::try_from(LIFE.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or_else(|| now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(term),
            ..LeaseSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lease_is_taken_only_when_free_or_silent_for_its_life() {
        let held = |holder: &str, term| lease(None, holder, term);
        let just_short = Duration::from_millis(14_999);
        for (stored, silent, wanted) in [
            (None, Duration::ZERO, Move::Take { term: 1 }),
            (Some(held("me", 4)), Duration::ZERO, Move::Take { term: 4 }),
            (Some(held("", 4)), Duration::ZERO, Move::Take { term: 5 }),
            (
                Some(held("other", 4)),
                just_short,
                Move::Wait {
                    holder: "other".into(),
                },
            ),
            (Some(held("other", 4)), LIFE, Move::Take { term: 5 }),
        ] {
            assert_eq!(
                decide(stored.as_ref(), "me", silent),
                wanted,
                "{stored:?} {silent:?}"
            );
        }
    }

    #[test]
    fn a_lease_of_a_foreign_clock_is_judged_by_our_own() {
        // Its renewTime lies years back; it still has to stay silent for LIFE before our eyes.
        let mut stored = lease(None, "other", 1);
        if let Some(spec) = &mut stored.spec {
            spec.renew_time = Some(MicroTime(Timestamp::UNIX_EPOCH));
        }
        assert_eq!(
            decide(Some(&stored), "me", Duration::ZERO),
            Move::Wait {
                holder: "other".into()
            }
        );
    }

    #[test]
    fn only_a_holder_serves_and_only_a_sure_one_controls() {
        let term = 1;
        for (standing, serves, controls) in [
            (
                Standing::Waiting {
                    holder: String::new(),
                },
                false,
                false,
            ),
            (Standing::Leading { term }, true, true),
            (Standing::Unsure { term }, true, false),
            (
                Standing::Lost {
                    holder: String::new(),
                },
                false,
                false,
            ),
        ] {
            assert_eq!(
                (standing.may_serve(), standing.may_control()),
                (serves, controls)
            );
        }
    }
}
