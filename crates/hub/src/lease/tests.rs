use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::decide::holder;
use super::*;

/// A fake hub that stores one Lease and can stop responding.
#[derive(Clone, Default)]
struct Hub {
    lease: Arc<Mutex<Option<Lease>>>,
    silent: Arc<AtomicBool>,
}

impl Hub {
    fn client(&self) -> Client {
        let hub = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let hub = hub.clone();
            async move { Ok::<_, std::io::Error>(hub.answer(request).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        if self.silent.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        let method = request.method().clone();
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let mut stored = self.lease.lock();
        if method != Method::GET {
            let mut lease: Lease = serde_json::from_slice(&body).unwrap();
            let version = |lease: &Lease| lease.metadata.resource_version.clone();
            if stored.as_ref().and_then(version) != version(&lease) {
                return status(409, "Conflict");
            }
            let next = version(&lease).map_or(1, |old| old.parse::<u64>().unwrap() + 1);
            lease.metadata.resource_version = Some(next.to_string());
            *stored = Some(lease);
        }
        match &*stored {
            Some(lease) => Response::new(Body::from(serde_json::to_vec(lease).unwrap())),
            None => status(404, "NotFound"),
        }
    }

    fn holder(&self) -> Option<String> {
        self.lease
            .lock()
            .as_ref()
            .map(|lease| holder(lease).to_owned())
    }

    /// Runs the election in the background.
    fn join(
        &self,
        me: &LeaseIdentity,
    ) -> (Leadership, CancellationToken, tokio::task::JoinHandle<()>) {
        let stop = CancellationToken::new();
        let (leadership, election) = join(self.client(), me, stop.clone());
        (leadership, stop, tokio::spawn(election))
    }
}

fn status(code: u16, reason: &str) -> Response<Body> {
    let body = serde_json::json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": reason, "reason": reason, "code": code});
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
    response
}

async fn leads(leadership: &Leadership) -> Instant {
    let mut leadership = leadership.clone();
    let leading = leadership.wait_for(LeaseState::may_control);
    timeout(LEASE_DURATION * 4, leading).await.unwrap().unwrap();
    Instant::now()
}

#[test]
fn only_lease_holder_serves_requests_and_only_confirmed_holder_runs_controllers() {
    let term = 1;
    let holder = String::new;
    for (state, serves, controls) in [
        (LeaseState::Waiting { holder: holder() }, false, false),
        (LeaseState::Leading { term }, true, true),
        (LeaseState::Unconfirmed { term }, true, false),
        (LeaseState::Lost { holder: holder() }, false, false),
    ] {
        let may = (state.may_serve(), state.may_control());
        assert_eq!(may, (serves, controls));
    }
}

#[tokio::test(start_paused = true)]
async fn leader_with_hanging_calls_becomes_unconfirmed_before_lease_expires() {
    let hub = Hub::default();
    let me = LeaseIdentity::new("a");
    let (leadership, _stop, _task) = hub.join(&me);
    leads(&leadership).await;
    // The wait is long enough for several renewals.
    sleep(LEASE_DURATION * 3).await;
    let mut last = Instant::now();
    let version = |hub: &Hub| {
        let lease = hub.lease.lock();
        lease
            .as_ref()
            .and_then(|lease| lease.metadata.resource_version.clone())
    };
    let before = version(&hub);
    while version(&hub) == before {
        last = Instant::now();
        sleep(Duration::from_millis(10)).await;
    }
    hub.silent.store(true, Ordering::Relaxed);
    let mut unconfirmed = leadership.clone();
    unconfirmed
        .wait_for(|state| !state.may_control())
        .await
        .unwrap();
    assert!(last.elapsed() < LEASE_DURATION, "{:?}", last.elapsed());
    assert!(
        leadership.state().may_serve(),
        "the server still serves requests"
    );
    hub.silent.store(false, Ordering::Relaxed);
    leads(&leadership).await;
}

#[tokio::test(start_paused = true)]
async fn server_exits_if_its_lease_is_unconfirmed_for_too_long() {
    let hub = Hub::default();
    let me = LeaseIdentity::new("a");
    let (leadership, _stop, _task) = hub.join(&me);
    leads(&leadership).await;
    let most = Duration::from_mins(10);
    let mut ending = leadership.clone();
    let ended = tokio::spawn(async move { ending.wait_for_end(most).await });
    hub.silent.store(true, Ordering::Relaxed);
    sleep(most / 2).await;
    hub.silent.store(false, Ordering::Relaxed);
    sleep(most * 2).await;
    assert!(
        !ended.is_finished(),
        "the hub was unreachable for half of the limit only"
    );
    hub.silent.store(true, Ordering::Relaxed);
    let ending = timeout(most + LEASE_DURATION, ended)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ending, LeadershipEnd::HubUnreachable);
}

#[tokio::test(start_paused = true)]
async fn stopped_server_releases_the_lease() {
    let hub = Hub::default();
    let me = LeaseIdentity::new("a");
    let (leadership, stop, task) = hub.join(&me);
    leads(&leadership).await;
    assert_eq!(hub.holder().as_deref(), Some(me.name()));
    stop.cancel();
    task.await.unwrap();
    assert_eq!(hub.holder().as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn expired_lease_is_taken_immediately() {
    let hub = Hub::default();
    // The holder runs on another machine, so its lock file is unknown here.
    *hub.lease.lock() = Some({
        let mut lease = decide::lease(None, "elsewhere", 1);
        lease.metadata.resource_version = Some("7".to_owned());
        lease
    });
    let me = LeaseIdentity::new("a");
    let started = Instant::now();
    let (leadership, _stop, _task) = hub.join(&me);
    let waited = leads(&leadership).await - started;
    let late = Duration::from_millis(100);
    assert!(
        waited >= LEASE_DURATION && waited < LEASE_DURATION + late,
        "{waited:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn lease_of_ended_local_process_is_taken_before_expiry() {
    let hub = Hub::default();
    let (killed, second) = (LeaseIdentity::new("a"), LeaseIdentity::new("a"));
    let (leadership, _stop, task) = hub.join(&killed);
    leads(&leadership).await;
    task.abort();
    let (waiting, _stop, _task) = hub.join(&second);
    sleep(RENEW_PERIOD).await;
    assert!(
        !waiting.state().may_serve(),
        "the holder's process still runs"
    );
    let started = Instant::now();
    killed.release_lock();
    let waited = leads(&waiting).await - started;
    assert!(waited <= RENEW_PERIOD, "{waited:?}");
}
