//! The loop that reads and writes the Lease.

use std::convert::Infallible;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::decide::{Move, decide, holder, lease};
use super::{LEASE, LEASE_DURATION, LeaseState, RENEW_DEADLINE, RENEW_PERIOD, presence};
use crate::{HubError, call};
use drover_entropy::backoff::full_jitter;

pub(super) struct Election {
    api: Api<Lease>,
    me: String,
    state: watch::Sender<LeaseState>,
    /// The Lease's version when it last changed, and when that was noticed.
    seen: Option<(String, Instant)>,
    /// When the last renewal that succeeded was begun.
    renewed: watch::Sender<Instant>,
}

impl Election {
    pub(super) fn new(api: Api<Lease>, me: String, state: watch::Sender<LeaseState>) -> Self {
        Self {
            api,
            me,
            state,
            seen: None,
            renewed: watch::Sender::new(Instant::now()),
        }
    }

    /// Takes part until `stop`, or until another has taken over.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let doubt = doubt(self.state.clone(), self.renewed.subscribe());
        let stopped = tokio::select! {
            stopped = self.elect(&stop) => stopped,
            never = doubt => match never {},
        };
        if stopped {
            self.give_up().await;
        }
    }

    /// Whether it ended because of `stop`.
    async fn elect(&mut self, stop: &CancellationToken) -> bool {
        loop {
            match stop.run_until_cancelled(self.step()).await {
                None => return true,
                Some(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the server's Lease");
                }
                Some(Ok(())) => {}
            }
            if matches!(*self.state.borrow(), LeaseState::Lost { .. }) {
                return false;
            }
            if stop
                .run_until_cancelled(sleep(self.pause()))
                .await
                .is_none()
            {
                return true;
            }
        }
    }

    /// Waiting servers spread their looks, and look when the Lease may have died; the holder
    /// renews in time in any case.
    fn pause(&self) -> Duration {
        let pause = RENEW_PERIOD / 2 + full_jitter(RENEW_PERIOD / 2);
        let waits = matches!(*self.state.borrow(), LeaseState::Waiting { .. });
        match &self.seen {
            Some((_, since)) if waits => pause.min(LEASE_DURATION.saturating_sub(since.elapsed())),
            _ => pause,
        }
    }

    async fn step(&mut self) -> Result<(), HubError> {
        let begun = Instant::now();
        let stored = call("read the server's Lease", self.api.get_opt(LEASE)).await?;
        let silent = self.observe(stored.as_ref(), begun);
        let held = stored.as_ref().map(holder).unwrap_or_default().to_owned();
        let gone = !held.is_empty() && held != self.me && presence::is_gone(&held);
        match decide(stored.as_ref(), &self.me, silent, gone) {
            Move::Wait { holder } => {
                self.step_back(holder);
                Ok(())
            }
            Move::Take { term } => {
                self.write(stored, term, begun).await?;
                if gone {
                    presence::forget(&held);
                }
                Ok(())
            }
        }
    }

    /// How long the Lease had not changed, by our clock, when the question was asked: a change is
    /// as young as the answer that showed it.
    fn observe(&mut self, stored: Option<&Lease>, asked: Instant) -> Duration {
        let version = stored.and_then(|lease| lease.metadata.resource_version.clone());
        let version = version.unwrap_or_default();
        match &self.seen {
            Some((seen, since)) if *seen == version => asked.saturating_duration_since(*since),
            _ => {
                self.seen = Some((version, Instant::now()));
                Duration::ZERO
            }
        }
    }

    fn step_back(&self, holder: String) {
        let next = if self.state.borrow().may_serve() {
            LeaseState::Lost { holder }
        } else {
            LeaseState::Waiting { holder }
        };
        self.stand(next);
    }

    fn stand(&self, next: LeaseState) {
        self.state.send_if_modified(|now| {
            let changes = *now != next;
            *now = next;
            changes
        });
    }

    async fn write(
        &self,
        stored: Option<Lease>,
        term: i32,
        begun: Instant,
    ) -> Result<(), HubError> {
        let lease = lease(stored.as_ref(), &self.me, term);
        let params = PostParams::default();
        let written = if stored.is_some() {
            let replaced = self.api.replace(LEASE, &params, &lease);
            call("write the server's Lease", replaced).await
        } else {
            let created = self.api.create(&params, &lease);
            call("create the server's Lease", created).await
        };
        match written {
            // So late that others may think it dead already: only the next one counts.
            Ok(_) if begun.elapsed() >= RENEW_DEADLINE => Ok(()),
            Ok(_) => {
                self.renewed.send_replace(begun);
                self.stand(LeaseState::Leading { term });
                Ok(())
            }
            // Somebody was faster: the next look shows who.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Leaves the Lease to whoever comes next, so that nobody has to wait for it to die.
    async fn give_up(self) {
        let (LeaseState::Leading { term } | LeaseState::Unconfirmed { term }) =
            *self.state.borrow()
        else {
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
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "Lease not given up");
            }
        }
    }
}

/// Ends a leader's being sure on time, whatever its calls are waiting for.
async fn doubt(
    state: watch::Sender<LeaseState>,
    mut renewed: watch::Receiver<Instant>,
) -> Infallible {
    loop {
        let until = *renewed.borrow_and_update() + RENEW_DEADLINE;
        tokio::select! {
            // The sender lives beside this future, so this never fails.
            _ = renewed.changed() => continue,
            () = sleep_until(until) => {}
        }
        state.send_if_modified(|now| match *now {
            LeaseState::Leading { term } => {
                *now = LeaseState::Unconfirmed { term };
                tracing::warn!("the hub was not reached in time: controllers pause");
                true
            }
            _ => false,
        });
        let _ = renewed.changed().await;
    }
}
