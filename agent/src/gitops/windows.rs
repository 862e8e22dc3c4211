//! The windows in which the agent accesses the hub.
//!
//! Outside of the windows, the agent sends no request to the hub. It continues to observe the deployed
//! objects and to correct drift, and reports the state in the next window.

use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::hub::HubPlace;
use drover_gitops::check_in::{CheckInError, CheckIns};
use http::Request;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::watch;
use tower::service_fn;

/// Maximum time between two looks at the clock, which can change.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Minimum time between two looks at the clock.
const MIN_WAIT: Duration = Duration::from_millis(50);

/// A request outside of the windows.
#[derive(Debug, Error)]
#[error("cannot send a request to the hub: no check-in window is open")]
struct Closed;

/// The access to one place on the hub.
pub(super) struct Windows {
    /// `None` permits all times.
    check_ins: Option<CheckIns>,
    /// Start of the last window.
    last_start: Mutex<Option<Timestamp>>,
    open: watch::Sender<bool>,
}

impl Windows {
    /// Creates the access. Windows that are not valid permit all times, so that a wrong value does not
    /// lock the agent out. The hub shows the error in the status of the Fleet Cluster.
    pub(super) fn of(place: &HubPlace) -> Self {
        let parsed = place.check_in.as_ref().map(|spec| {
            let zone = |name: &str| TimeZone::get(name).ok();
            CheckIns::new(spec, place.cluster_uid.as_str(), zone)
        });
        let check_ins = match parsed.transpose() {
            Ok(check_ins) => check_ins,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the windows of the cluster are not valid; the agent is always connected"
                );
                None
            }
        };
        let access = Self {
            check_ins,
            last_start: Mutex::default(),
            open: watch::Sender::new(true),
        };
        let now = access.look(Timestamp::now());
        access
            .open
            .send_replace(now.is_none_or(|(is_open, _)| is_open));
        access
    }

    /// Reports whether the agent may access the hub.
    pub(super) fn is_open(&self) -> bool {
        *self.open.borrow()
    }

    /// Waits for a window.
    pub(super) async fn opened(&self) {
        self.wait_for(true).await;
    }

    /// Waits for the end of a window.
    pub(super) async fn closed(&self) {
        self.wait_for(false).await;
    }

    async fn wait_for(&self, is_open: bool) {
        // The sender lives as long as `self`, so the wait does not fail.
        let _ = self.open.subscribe().wait_for(|now| *now == is_open).await;
    }

    /// Returns a client whose requests fail outside of the windows, so that a reconciliation that runs at
    /// the end of a window does not obtain a new token.
    pub(super) fn limit(self: &Arc<Self>, client: Client) -> Client {
        let (windows, namespace) = (Arc::clone(self), client.default_namespace().to_owned());
        let service = service_fn(move |request: Request<Body>| {
            let (client, is_open) = (client.clone(), windows.is_open());
            async move {
                if !is_open {
                    return Err(kube::Error::Service(Closed.into()));
                }
                client.send(request).await
            }
        });
        Client::new(service, namespace)
    }

    /// Opens and closes the access at the right times, and calls `disconnect` outside of the windows. Does
    /// not return.
    pub(super) async fn run(&self, disconnect: impl Fn()) {
        while let Some((is_open, wait)) = self.look(Timestamp::now()) {
            let changed = self
                .open
                .send_if_modified(|open| std::mem::replace(open, is_open) != is_open);
            if changed {
                tracing::info!(is_open, "the window of the access to the hub changed");
            }
            if !is_open {
                disconnect();
            }
            tokio::time::sleep(wait).await;
        }
        self.open.send_replace(true);
        std::future::pending::<()>().await;
    }

    /// Returns whether a window is open, and the time until the next look at the clock. Returns `None` if
    /// all times are permitted.
    fn look(&self, now: Timestamp) -> Option<(bool, Duration)> {
        let check_ins = self.check_ins.as_ref()?;
        let mut last_start = self.last_start.lock();
        let window = check_ins.at(now, *last_start);
        let window = window.map_err(|error: CheckInError| {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot find the next window; the agent is always connected"
            );
        });
        let window = window.ok()?;
        *last_start = check_ins.start_of(&window).or(*last_start);
        let wait = Duration::try_from(window.next_change().duration_since(now));
        let wait = wait.unwrap_or_default();
        Some((
            window.active_until.is_some(),
            wait.clamp(MIN_WAIT, MAX_WAIT),
        ))
    }
}

#[cfg(test)]
mod tests {
    use drover_api::ids::ClusterUid;
    use drover_api::kinds::CheckInSpec;

    use super::*;

    fn windows(schedule: &str, duration: &str) -> Windows {
        Windows::of(&HubPlace {
            cluster_uid: ClusterUid::new("uid"),
            cluster_namespace: String::new(),
            cluster_name: String::new(),
            namespace: String::new(),
            check_in: Some(CheckInSpec {
                schedule: Some(schedule.to_owned()),
                duration: duration.to_owned(),
                ..CheckInSpec::default()
            }),
        })
    }

    #[test]
    fn access_is_open_only_in_windows_and_looks_at_the_clock_each_minute() {
        let nightly = windows("0 0 2 * * *", "30m");
        let at = |text: &str| nightly.look(text.parse().unwrap()).unwrap();
        assert_eq!(at("2026-11-29T02:10:00Z"), (true, MAX_WAIT));
        assert_eq!(at("2026-11-29T02:29:58Z"), (true, Duration::from_secs(2)));
        assert_eq!(at("2026-11-29T02:30:00Z"), (false, MAX_WAIT));
        assert_eq!(at("2026-11-30T01:59:59Z"), (false, Duration::from_secs(1)));
    }

    #[test]
    fn windows_that_are_not_valid_permit_all_times() {
        assert!(windows("nonsense", "30m").is_open());
        assert!(windows("0 0 2 * * *", "forever").is_open());
    }

    #[tokio::test]
    async fn access_opens_if_the_next_window_cannot_be_found() {
        // The windows overlap.
        let daily = windows("0 0 2 * * *", "25h");
        daily.open.send_replace(false);
        tokio::select! {
            () = daily.run(|| {}) => {}
            () = daily.opened() => {}
        }
        assert!(daily.is_open());
    }

    #[tokio::test]
    async fn request_outside_of_windows_is_not_sent() {
        let year = Arc::new(windows("0 0 2 1 1 *", "5s"));
        let sent = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&sent);
        let service = service_fn(move |_: Request<Body>| {
            *counter.lock() += 1;
            async { Ok::<_, kube::Error>(http::Response::new(Body::empty())) }
        });
        let client = year.limit(Client::new(service, "default"));
        let request = || Request::new(Body::empty());
        assert!(client.send(request()).await.is_err());
        assert_eq!(*sent.lock(), 0);
        year.open.send_replace(true);
        assert!(client.send(request()).await.is_ok());
        assert_eq!(*sent.lock(), 1);
    }

    #[tokio::test]
    async fn connections_close_outside_of_windows() {
        // The window of one second in a year is closed during the test.
        let (year, disconnected) = (windows("0 0 2 1 1 *", "5s"), watch::Sender::new(false));
        let running = year.run(|| {
            disconnected.send_replace(true);
        });
        let mut seen = disconnected.subscribe();
        tokio::select! {
            () = running => {}
            _ = seen.wait_for(|closed| *closed) => {}
        }
        assert!(!year.is_open());
    }
}
