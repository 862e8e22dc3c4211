//! Tracks the activity of a connection. The listener closes an idle connection that has sent no
//! authenticated request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// The requests in flight on a connection, and the time of the last change. Clones share the state.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// True after an authenticated request. The connection then has no time limit, so later
    /// requests do not change the state.
    is_authenticated: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    in_flight: usize,
    /// Time at which the last request began or ended.
    changed: Instant,
}

/// Time limits of a connection that has sent no authenticated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTimeouts {
    /// Time limit while no request is in flight.
    pub idle: Duration,
    /// Time limit while requests are in flight, but no request begins or ends.
    pub stalled: Duration,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(Inner {
            is_authenticated: AtomicBool::new(false),
            state: Mutex::new(State {
                in_flight: 0,
                changed: Instant::now(),
            }),
        }))
    }
}

impl Activity {
    /// Records the start of a request. Dropping the guard records the end of the request.
    pub(super) fn begin(&self) -> InFlight {
        if self.is_authenticated() {
            return InFlight(None);
        }
        let mut state = self.0.state.lock();
        state.in_flight += 1;
        state.changed = Instant::now();
        InFlight(Some(self.clone()))
    }

    pub(super) fn authenticated(&self) {
        if !self.is_authenticated() {
            self.0.is_authenticated.store(true, Ordering::Relaxed);
        }
    }

    fn is_authenticated(&self) -> bool {
        self.0.is_authenticated.load(Ordering::Relaxed)
    }

    /// Waits until the connection must be closed.
    pub(super) async fn abandoned(&self, idle_timeouts: IdleTimeouts) {
        while let Some(due) = self.due(idle_timeouts) {
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
        std::future::pending::<()>().await;
    }

    /// Returns the time at which the connection must be closed if no request begins or ends.
    /// Returns `None` after an authenticated request.
    fn due(&self, idle_timeouts: IdleTimeouts) -> Option<Instant> {
        if self.is_authenticated() {
            return None;
        }
        let state = self.0.state.lock();
        let within = if state.in_flight == 0 {
            idle_timeouts.idle
        } else {
            idle_timeouts.stalled
        };
        Some(state.changed + within)
    }
}

/// A guard that marks a request as in flight until the guard is dropped. Contains no activity if
/// the connection had an authenticated request before.
#[derive(Debug)]
pub(super) struct InFlight(Option<Activity>);

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(activity) = self
            .0
            .as_ref()
            .filter(|activity| !activity.is_authenticated())
        else {
            return;
        };
        let mut state = activity.0.state.lock();
        state.in_flight = state.in_flight.saturating_sub(1);
        state.changed = Instant::now();
    }
}

/// A response body. Its request is in flight until the body is completely sent or dropped.
pub(super) struct Tracked {
    body: Body,
    _request: InFlight,
}

impl Tracked {
    pub(super) fn new(body: Body, request: InFlight) -> Self {
        Self {
            body,
            _request: request,
        }
    }
}

impl http_body::Body for Tracked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    const IDLE_TIMEOUTS: IdleTimeouts = IdleTimeouts {
        idle: Duration::from_mins(1),
        stalled: Duration::from_mins(10),
    };

    #[tokio::test(start_paused = true)]
    async fn connection_without_authenticated_request_is_closed_when_idle() {
        let activity = Activity::default();
        advance(Duration::from_secs(59)).await;
        assert!(activity.abandoned(IDLE_TIMEOUTS).now_or_never().is_none());
        drop(activity.begin());
        advance(Duration::from_secs(59)).await;
        assert!(activity.abandoned(IDLE_TIMEOUTS).now_or_never().is_none());
        advance(Duration::from_secs(1)).await;
        assert!(activity.abandoned(IDLE_TIMEOUTS).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn connection_with_request_in_flight_stays_open_for_a_limited_time() {
        let activity = Activity::default();
        let request = activity.begin();
        advance(Duration::from_secs(599)).await;
        assert!(activity.abandoned(IDLE_TIMEOUTS).now_or_never().is_none());
        advance(Duration::from_secs(1)).await;
        assert!(activity.abandoned(IDLE_TIMEOUTS).now_or_never().is_some());
        drop(request);
    }

    #[tokio::test(start_paused = true)]
    async fn authenticated_connection_stays_open_when_idle() {
        let activity = Activity::default();
        let mut abandoned = Box::pin(activity.abandoned(IDLE_TIMEOUTS));
        assert!((&mut abandoned).now_or_never().is_none());
        activity.authenticated();
        advance(Duration::from_hours(24)).await;
        assert!(abandoned.now_or_never().is_none());
    }
}
