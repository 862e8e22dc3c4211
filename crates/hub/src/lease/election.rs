//! The election loop that reads and writes the Lease.

use std::convert::Infallible;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::decide::{Step, decide, holder, lease};
use super::{LEASE, LEASE_DURATION, LeaseState, RENEW_DEADLINE, RENEW_PERIOD, presence};
use crate::{HubError, call};
use drover_entropy::backoff::full_jitter;

pub(super) struct Election {
    api: Api<Lease>,
    me: String,
    state: watch::Sender<LeaseState>,
    /// The Lease's resource version, and the local time of its last change.
    last_change: Option<(String, Instant)>,
    /// The start of the last successful renewal.
    renewed: watch::Sender<Instant>,
}

impl Election {
    pub(super) fn new(api: Api<Lease>, me: String, state: watch::Sender<LeaseState>) -> Self {
        Self {
            api,
            me,
            state,
            last_change: None,
            renewed: watch::Sender::new(Instant::now()),
        }
    }

    /// Runs the election until `stop`, or until a different server leads.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let expiry = expire_confirmation(self.state.clone(), self.renewed.subscribe());
        let stopped = tokio::select! {
            stopped = self.elect(&stop) => stopped,
            never = expiry => match never {},
        };
        if stopped {
            self.release().await;
        }
    }

    /// Runs the election loop. Returns true if `stop` ended the loop.
    async fn elect(&mut self, stop: &CancellationToken) -> bool {
        loop {
            match stop.run_until_cancelled(self.step()).await {
                None => return true,
                Some(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "failed to renew the server's Lease");
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

    /// Returns the jittered delay until the next step. A waiting server also wakes when the Lease
    /// may have expired. The delay of the holder is short enough to renew the Lease before it
    /// expires.
    fn pause(&self) -> Duration {
        let pause = RENEW_PERIOD / 2 + full_jitter(RENEW_PERIOD / 2);
        let waits = matches!(*self.state.borrow(), LeaseState::Waiting { .. });
        match &self.last_change {
            Some((_, since)) if waits => pause.min(LEASE_DURATION.saturating_sub(since.elapsed())),
            _ => pause,
        }
    }

    async fn step(&mut self) -> Result<(), HubError> {
        let started = Instant::now();
        let stored = call("read the server's Lease", self.api.get_opt(LEASE)).await?;
        let silent = self.observe(stored.as_ref(), started);
        let holder_name = stored.as_ref().map(holder).unwrap_or_default().to_owned();
        let gone =
            !holder_name.is_empty() && holder_name != self.me && presence::is_gone(&holder_name);
        match decide(stored.as_ref(), &self.me, silent, gone) {
            Step::Wait { holder } => {
                self.lose_to(holder);
                Ok(())
            }
            Step::Take { term } => {
                self.write(stored, term, started).await?;
                if gone {
                    presence::remove_file(&holder_name);
                }
                Ok(())
            }
        }
    }

    /// Returns the time from the last observed change of the Lease to the start of the request, by
    /// the local clock. A change is observed when the response with the change arrives.
    fn observe(&mut self, stored: Option<&Lease>, requested_at: Instant) -> Duration {
        let version = stored.and_then(|lease| lease.metadata.resource_version.clone());
        let version = version.unwrap_or_default();
        match &self.last_change {
            Some((last, since)) if *last == version => {
                requested_at.saturating_duration_since(*since)
            }
            _ => {
                self.last_change = Some((version, Instant::now()));
                Duration::ZERO
            }
        }
    }

    fn lose_to(&self, holder: String) {
        let next = if self.state.borrow().may_serve() {
            LeaseState::Lost { holder }
        } else {
            LeaseState::Waiting { holder }
        };
        self.set_state(next);
    }

    fn set_state(&self, next: LeaseState) {
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
        started: Instant,
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
            // The renewal took so long that others may consider the Lease expired. Only the next
            // renewal counts.
            Ok(_) if started.elapsed() >= RENEW_DEADLINE => Ok(()),
            Ok(_) => {
                self.renewed.send_replace(started);
                self.set_state(LeaseState::Leading { term });
                Ok(())
            }
            // Another server wrote the Lease first; the next step reads it.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Releases the Lease, so that a waiting server can become the leader before the Lease expires.
    async fn release(self) {
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
            if let Err(error) = call("release the server's Lease", replaced).await {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "failed to release the Lease");
            }
        }
    }
}

/// Sets the state of a leader to unconfirmed at [`RENEW_DEADLINE`], even while its calls to the hub
/// hang.
async fn expire_confirmation(
    state: watch::Sender<LeaseState>,
    mut renewed: watch::Receiver<Instant>,
) -> Infallible {
    loop {
        let until = *renewed.borrow_and_update() + RENEW_DEADLINE;
        tokio::select! {
            // The sender outlives this future, so `changed()` never fails.
            _ = renewed.changed() => continue,
            () = sleep_until(until) => {}
        }
        state.send_if_modified(|now| match *now {
            LeaseState::Leading { term } => {
                *now = LeaseState::Unconfirmed { term };
                tracing::warn!("cannot renew the Lease; pausing the controllers");
                true
            }
            _ => false,
        });
        let _ = renewed.changed().await;
    }
}
