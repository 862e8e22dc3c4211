//! The current token with its connections, and the decision when to obtain a new one.
//!
//! At most one attempt to obtain a token runs at a time. After a failed attempt, requests fail without a
//! new attempt until the backoff has elapsed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_tunnel::reconnect::Policy;
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::client::{HttpClient, http_client};
use super::token::{Issued, TokenSource};
use super::{HubAccessError, HubPlace, HubTokenError};
use crate::binding::ServerBinding;
use crate::connection::{KEY_REPLACED, NOT_REGISTERED, random_fraction};
use crate::enrollment::Enrollment;
use crate::error_chain::error_chain;
use crate::server::Proxy;

/// Backoff between failed attempts to obtain a token.
const BACKOFF: Policy = Policy {
    min: Duration::from_secs(1),
    max: Duration::from_mins(2),
    stable_after: Duration::ZERO,
};
/// The part of a token's lifetime after which the agent renews the token, and the size of the random
/// interval around it.
const RENEW_AFTER: (f64, f64) = (0.8, 0.1);
/// Interval at which requests cause the agent to read the binding.
const BINDING_INTERVAL: Duration = Duration::from_mins(1);
/// Minimum age of a token that the agent replaces because the hub rejected it. A new token that the hub
/// rejects is not replaced, because the next token would not be accepted either.
const MIN_REJECTED_AGE: Duration = Duration::from_secs(10);

/// A token, and the connections to the server that issued it.
pub(super) struct Session {
    pub(super) http: HttpClient,
    pub(super) binding: Arc<ServerBinding>,
    pub(super) authorization: HeaderValue,
    pub(super) place: HubPlace,
    issued_at: Instant,
    renew_at: Instant,
    expires_at: Instant,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a session. Keeps the connections of the previous session if the server is the same.
    fn new(issued: Issued, requested_at: Instant, previous: Option<&Self>) -> Self {
        let previous = previous.filter(|previous| previous.binding == issued.binding);
        let (fraction, jitter) = RENEW_AFTER;
        let fraction = jitter.mul_add(random_fraction() - 0.5, fraction);
        Self {
            http: previous.map_or_else(
                || http_client(issued.server),
                |previous| previous.http.clone(),
            ),
            binding: issued.binding,
            authorization: issued.authorization,
            place: issued.place,
            issued_at: requested_at,
            renew_at: requested_at + issued.lifetime.mul_f64(fraction),
            expires_at: requested_at + issued.lifetime,
        }
    }
}

/// The state that requests read without waiting.
#[derive(Debug, Default)]
struct State {
    session: Option<Arc<Session>>,
    /// The session whose token the hub rejected. The next session uses its connections.
    rejected: Option<Arc<Session>>,
    /// Time of the next read of the binding.
    check_at: Option<Instant>,
    failures: u32,
    /// The error of the last attempt, and the time of the next attempt.
    failed: Option<(Arc<HubTokenError>, Instant)>,
    /// True if the server has lost the registration in the agent's record.
    distrusts_record: bool,
}

/// The source of sessions.
#[derive(Debug)]
pub(super) struct Sessions<E> {
    source: TokenSource<E>,
    state: Mutex<State>,
    /// Serializes the attempts to obtain a token.
    obtaining: tokio::sync::Mutex<()>,
    places: watch::Sender<Option<HubPlace>>,
}

impl<E: Enrollment + 'static> Sessions<E> {
    pub(super) fn new(enrollment: E, source: Option<IpAddr>, proxy: Option<Proxy>) -> Self {
        Self {
            source: TokenSource {
                enrollment,
                source,
                proxy,
            },
            state: Mutex::default(),
            obtaining: tokio::sync::Mutex::default(),
            places: watch::Sender::new(None),
        }
    }

    pub(super) fn places(&self) -> watch::Receiver<Option<HubPlace>> {
        self.places.subscribe()
    }

    /// Forgets the session. Its connections close after the requests in flight.
    pub(super) fn disconnect(&self) {
        *self.state.lock() = State::default();
    }

    /// Returns a session with a valid token. Returns an error without an attempt if the last attempt
    /// failed recently.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<Session>, HubAccessError> {
        let Some(session) = self.valid() else {
            return self.obtain().await;
        };
        let now = Instant::now();
        let is_due = session.renew_at <= now;
        if is_due || self.state.lock().check_at.is_some_and(|at| at <= now) {
            let sessions = Arc::clone(self);
            tokio::spawn(async move { sessions.refresh().await });
        }
        Ok(session)
    }

    /// Returns a session with a valid token. Waits until the next attempt is due.
    pub(super) async fn wait_for_session(self: &Arc<Self>) -> Result<Arc<Session>, HubAccessError> {
        let next = self.state.lock().failed.as_ref().map(|(_, at)| *at);
        if let Some(next) = next {
            tokio::time::sleep_until(next).await;
        }
        self.session().await
    }

    /// Replaces the token of a session after the hub has rejected it. Returns `None` if the token is new.
    pub(super) async fn replace_rejected(
        self: &Arc<Self>,
        rejected: &Arc<Session>,
    ) -> Result<Option<Arc<Session>>, HubAccessError> {
        {
            let mut state = self.state.lock();
            let is_current = state
                .session
                .as_ref()
                .is_some_and(|current| Arc::ptr_eq(current, rejected));
            if is_current {
                if rejected.issued_at.elapsed() < MIN_REJECTED_AGE {
                    return Ok(None);
                }
                state.rejected = state.session.take();
            }
        }
        self.session().await.map(Some)
    }

    /// Reads the binding at the next request, because a request on this session failed.
    pub(super) fn check_binding_soon(&self, failed: &Arc<Session>) {
        let mut state = self.state.lock();
        let is_current = |current: &Arc<Session>| Arc::ptr_eq(current, failed);
        if state.session.as_ref().is_some_and(is_current) {
            state.check_at = Some(Instant::now());
        }
    }

    fn valid(&self) -> Option<Arc<Session>> {
        let state = self.state.lock();
        let session = state.session.as_ref();
        session
            .filter(|session| Instant::now() < session.expires_at)
            .cloned()
    }

    fn backoff_left(&self) -> Duration {
        let state = self.state.lock();
        let next = state.failed.as_ref().map(|(_, at)| *at);
        next.map_or(Duration::ZERO, |at| {
            at.saturating_duration_since(Instant::now())
        })
    }

    /// Obtains a session, unless a concurrent caller has obtained one.
    async fn obtain(&self) -> Result<Arc<Session>, HubAccessError> {
        let _obtaining = self.obtaining.lock().await;
        match self.valid() {
            Some(session) => Ok(session),
            None => self.attempt().await,
        }
    }

    /// Renews the token if this is due or if the server has changed. The open requests continue.
    async fn refresh(&self) {
        let Ok(_obtaining) = self.obtaining.try_lock() else {
            return;
        };
        let Some(session) = self.valid() else { return };
        if self.backoff_left() > Duration::ZERO {
            return;
        }
        self.state.lock().check_at = Some(Instant::now() + BINDING_INTERVAL);
        if Instant::now() < session.renew_at {
            match self.source.enrollment.binding().await {
                Ok(binding) if binding == *session.binding => return,
                Ok(_) => info!("the address of the server changed; obtaining a new hub token"),
                Err(error) => {
                    let error = error_chain(&error);
                    debug!(
                        error,
                        "cannot read the server binding; keeping the hub token"
                    );
                    return;
                }
            }
        }
        // The current token stays valid after a failed attempt.
        let _ = self.attempt().await;
    }

    /// Obtains a session unless the last attempt failed recently. The caller holds `obtaining`.
    async fn attempt(&self) -> Result<Arc<Session>, HubAccessError> {
        let now = Instant::now();
        let trust_record = {
            let state = self.state.lock();
            if let Some((last, at)) = &state.failed
                && *at > now
            {
                return Err(HubAccessError {
                    cause: Arc::clone(last),
                    wait: *at - now,
                });
            }
            !state.distrusts_record
        };
        match Box::pin(self.source.obtain(trust_record)).await {
            Ok(issued) => Ok(self.install(issued, now)),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn install(&self, issued: Issued, requested_at: Instant) -> Arc<Session> {
        let mut state = self.state.lock();
        let previous = state.session.take().or_else(|| state.rejected.take());
        let session = Arc::new(Session::new(issued, requested_at, previous.as_deref()));
        *state = State {
            session: Some(Arc::clone(&session)),
            check_at: Some(Instant::now() + BINDING_INTERVAL),
            ..State::default()
        };
        drop(state);
        self.places.send_if_modified(|place| {
            let is_new = place.as_ref() != Some(&session.place);
            if is_new {
                *place = Some(session.place.clone());
            }
            is_new
        });
        session
    }

    fn failed(&self, error: HubTokenError) -> HubAccessError {
        let mut state = self.state.lock();
        let wait = BACKOFF.wait(state.failures, random_fraction());
        state.failures = state.failures.saturating_add(1);
        let reason = error.reason();
        state.distrusts_record = reason == NOT_REGISTERED || reason == KEY_REPLACED;
        warn!(
            error = error_chain(&error),
            reason,
            wait_seconds = wait.as_secs(),
            "failed to obtain a hub token"
        );
        let cause = Arc::new(error);
        state.failed = Some((Arc::clone(&cause), Instant::now() + wait));
        HubAccessError { cause, wait }
    }
}
