//! Tests of clusters with several agent replicas, including failing and hostile replicas.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use drover_agent_gateway::tunnels::{ANSWER_BYTES, Health, NoTunnel};
use drover_api::agent::Lane;
use drover_api::client_error::{MAX_ERROR_BYTES, shorten_parse_error};
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use kube::Api;
use tokio::sync::mpsc;

use super::client::{by, empty, get, open, send};
use super::cluster::{Attached, Cluster, answer, fed};
use super::rig::{LIMIT, Rig, eventually, uid};

fn named(name: &'static str) -> Cluster {
    Cluster::new(move |_| async move { answer(200, name) })
}

#[tokio::test]
async fn tunnel_is_detached_when_its_guard_is_dropped() {
    let rig = Rig::new().await;
    let mut changes = rig.tunnels.watch();
    let mut here = rig.tunnels.watch_cluster(&uid("a"));
    let elsewhere = rig.tunnels.watch_cluster(&uid("b"));
    assert!(matches!(
        rig.tunnels.choose(&uid("a")),
        Err(NoTunnel::NotConnected)
    ));
    let first = named("1").attach(&rig, "a", "r1").await;
    let second = named("2").attach(&rig, "a", "r2").await;
    assert!(changes.has_changed().unwrap() && here.has_changed().unwrap());
    assert!(!elsewhere.has_changed().unwrap());
    changes.mark_unchanged();
    here.mark_unchanged();
    let replicas: Vec<_> = rig
        .tunnels
        .connected(&uid("a"))
        .into_iter()
        .map(|c| c.agent.replica)
        .collect();
    assert_eq!(replicas, ["r1", "r2"]);
    drop(first.guard);
    assert_eq!(rig.tunnels.connected(&uid("a")).len(), 1);
    // A tunnel that its agent closes is detached as well.
    second.pair.driver.abort();
    eventually("the end", async || {
        rig.tunnels.all().is_empty().then_some(())
    })
    .await;
    assert!(changes.has_changed().unwrap() && here.has_changed().unwrap());
    assert!(rig.metrics.encode().unwrap().contains("drover_tunnels 0"));
}

#[tokio::test]
async fn silent_tunnel_receives_no_new_requests_after_five_seconds_and_its_streams_stay_open() {
    let rig = Rig::new().await;
    let (feed, body) = fed();
    let body = parking_lot::Mutex::new(Some(body));
    let first = Cluster::new(move |request: http::Request<Incoming>| {
        let answer = match request.uri().query() {
            Some(_) => http::Response::new(body.lock().take().unwrap()),
            None => answer(200, "1"),
        };
        async { answer }
    });
    let first = first.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "GET", "/k8s/clusters/a/api/v1/pods?watch=1")
        .body(empty())
        .unwrap();
    let watching = open(rig.address, request);
    feed.send(Ok(Frame::data(Bytes::from("one"))))
        .await
        .unwrap();
    let mut watch = watching.await;
    watch.frame().await.unwrap().unwrap();
    let _second = named("2").attach(&rig, "a", "r2").await;
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body, "1");
    first.pair.frozen.send_replace(true);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asking = get(&rig, &rig.ann, "/k8s/clusters/a/x");
    let got = tokio::time::timeout(Duration::from_secs(2), asking)
        .await
        .expect("the request does not wait for the silent tunnel");
    assert_eq!(got.body, "2");
    let health: Vec<_> = rig
        .tunnels
        .connected(&uid("a"))
        .iter()
        .map(|c| c.health)
        .collect();
    assert_eq!(health, [Health::Silent, Health::Healthy]);
    first.pair.frozen.send_replace(false);
    feed.send(Ok(Frame::data(Bytes::from("two"))))
        .await
        .unwrap();
    let frame = tokio::time::timeout(LIMIT, watch.frame())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(
        frame.into_data().unwrap(),
        "two",
        "open streams must stay on the silent tunnel"
    );
}

/// A tunnel with an open watch.
struct Watched {
    tunnel: Attached,
    feed: mpsc::Sender<Result<Frame<Bytes>, drover_tunnel::BoxError>>,
    watch: http::Response<Incoming>,
}

/// Attaches a tunnel, and opens a watch through it.
async fn watched(rig: &Rig) -> Watched {
    let (feed, body) = fed();
    let body = parking_lot::Mutex::new(Some(body));
    let cluster = Cluster::new(move |_| {
        let answer = http::Response::new(body.lock().take().unwrap());
        async { answer }
    });
    let tunnel = cluster.attach(rig, "a", "r1").await;
    let request = by(&rig.ann, "GET", "/k8s/clusters/a/api/v1/pods?watch=1")
        .body(empty())
        .unwrap();
    let watch = open(rig.address, request).await;
    Watched {
        tunnel,
        feed,
        watch,
    }
}

#[tokio::test]
async fn tunnel_with_a_new_key_receives_new_requests_and_open_streams_stay_on_the_previous_tunnel()
{
    let rig = Rig::new().await;
    let mut first = watched(&rig).await;
    let _second = named("2").attach_with_next_key(&rig, "a", "r1").await;
    assert_eq!(rig.tunnels.connected(&uid("a")).len(), 1);
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body, "2");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let one = Ok(Frame::data(Bytes::from("one")));
    first.feed.send(one).await.unwrap();
    let frame = tokio::time::timeout(LIMIT, first.watch.frame()).await;
    let frame = frame.unwrap().unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "one");
    assert!(rig.metrics.encode().unwrap().contains("drover_tunnels 2"));
    // After the end of its last stream, the previous tunnel closes.
    drop(first.watch);
    let closed = tokio::time::timeout(LIMIT, first.tunnel.pair.tunnel.closed()).await;
    assert!(closed.unwrap().to_string().contains("a new key"));
    eventually("the tunnel is not counted", async || {
        let metrics = rig.metrics.encode().unwrap();
        metrics.contains("drover_tunnels 1").then_some(())
    })
    .await;
}

#[tokio::test]
async fn draining_tunnel_closes_when_its_agent_has_no_key() {
    let rig = Rig::new().await;
    let first = watched(&rig).await;
    let tunnel = &first.tunnel.pair.tunnel;
    let _second = named("2").attach_with_next_key(&rig, "a", "r1").await;
    rig.tunnels.retain(&uid("a"), |_| true, |_| true);
    let open = tokio::time::timeout(Duration::from_secs(3), tunnel.closed()).await;
    assert!(open.is_err());
    rig.tunnels.retain(&uid("a"), |_| true, |_| false);
    let closed = tokio::time::timeout(LIMIT, tunnel.closed()).await;
    assert!(closed.unwrap().to_string().contains("no longer valid"));
}

#[tokio::test]
async fn silent_tunnel_is_superseded_as_soon_as_a_healthy_tunnel_exists() {
    let rig = Rig::new().await;
    let first = named("1").attach(&rig, "a", "r1").await;
    let selected = rig.tunnels.choose(&uid("a")).unwrap();
    first.pair.frozen.send_replace(true);
    let a = uid("a");
    let mut superseded = std::pin::pin!(rig.tunnels.superseded(&a, &selected));
    let early = tokio::time::timeout(Duration::from_secs(5), &mut superseded).await;
    assert!(early.is_err(), "the cluster has no other tunnel");
    let silent = async {
        while rig.tunnels.connected(&a)[0].health != Health::Silent {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LIMIT, silent).await.unwrap();
    let _second = named("2").attach(&rig, "a", "r2").await;
    tokio::time::timeout(LIMIT, superseded)
        .await
        .expect("the second tunnel is healthy");
}

#[tokio::test]
async fn tunnel_is_superseded_when_it_becomes_silent_and_another_tunnel_is_healthy() {
    let rig = Rig::new().await;
    let first = named("1").attach(&rig, "a", "r1").await;
    let selected = rig.tunnels.choose(&uid("a")).unwrap();
    let _second = named("2").attach(&rig, "a", "r2").await;
    let a = uid("a");
    let mut superseded = std::pin::pin!(rig.tunnels.superseded(&a, &selected));
    let early = tokio::time::timeout(Duration::from_secs(1), &mut superseded).await;
    assert!(early.is_err(), "both tunnels are healthy");
    first.pair.frozen.send_replace(true);
    tokio::time::timeout(LIMIT, superseded)
        .await
        .expect("the second tunnel is healthier");
}

#[tokio::test]
async fn reconnected_replica_replaces_only_its_own_tunnel() {
    let rig = Rig::new().await;
    let old = named("old").attach(&rig, "a", "r1").await;
    let other = named("other").attach(&rig, "a", "r2").await;
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body, "old");
    old.pair.frozen.send_replace(true);
    let _new = named("new").attach(&rig, "a", "r1").await;
    let closed = tokio::time::timeout(LIMIT, old.pair.tunnel.closed()).await;
    assert!(closed.unwrap().to_string().contains("opened a new tunnel"));
    let asking = get(&rig, &rig.ann, "/k8s/clusters/a/x");
    let got = tokio::time::timeout(Duration::from_secs(1), asking).await;
    assert_eq!(
        got.expect("the request does not wait for probes").body,
        "other"
    );
    drop(other);
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body, "new");
    drop(old);
    assert_eq!(rig.tunnels.connected(&uid("a")).len(), 1);
}

#[tokio::test]
async fn replica_that_cannot_reach_its_api_server_has_lowest_priority() {
    let rig = Rig::new().await;
    let cut_off = named("cut off").on_controller_lane(async |_| answer(503, "no API server"));
    let _first = cut_off.attach(&rig, "a", "r1").await;
    assert_eq!(
        get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body,
        "cut off",
        "the only replica must be used"
    );
    let _second = named("fine").attach(&rig, "a", "r2").await;
    eventually("the switch", async || {
        let connected = rig.tunnels.connected(&uid("a"));
        (connected[0].health == Health::ApiServerDown).then_some(())
    })
    .await;
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body, "fine");
}

#[tokio::test]
async fn unsent_request_is_retried_on_a_second_tunnel() {
    let rig = Rig::new().await;
    let draining = named("draining").attach(&rig, "a", "r1").await;
    assert_eq!(
        get(&rig, &rig.ann, "/k8s/clusters/a/x").await.body,
        "draining"
    );
    let _second = named("fresh").attach(&rig, "a", "r2").await;
    draining.pair.shutdown.cancel();
    for _ in 0..20 {
        let request = by(&rig.ann, "POST", "/k8s/clusters/a/x")
            .body(http_body_util::Full::from("body"))
            .unwrap();
        let got = send(&rig, request).await;
        assert_eq!(got.code(), 200, "{:?}", got.body);
    }
}

// Attack group 18: the agent of one cluster cannot affect other clusters.
#[tokio::test]
async fn hostile_agent_does_not_affect_other_clusters() {
    let rig = Rig::new().await;
    let flood = Cluster::new(async |_| {
        let (feed, body) = fed();
        tokio::spawn(async move {
            let rubbish = Bytes::from(vec![0; 256 * 1024]);
            while feed.send(Ok(Frame::data(rubbish.clone()))).await.is_ok() {}
        });
        http::Response::new(body)
    });
    let flooding = flood.attach(&rig, "a", "r1").await;
    let _good = named("good").attach(&rig, "b", "r1").await;
    let mut unread = Vec::new();
    for _ in 0..50 {
        let request = by(&rig.ann, "GET", "/k8s/clusters/a/x")
            .body(empty())
            .unwrap();
        unread.push(open(rig.address, request).await);
    }
    // A cluster that exceeds its limit of tunnels loses its own oldest tunnels.
    let mut more = Vec::new();
    for number in 0..10 {
        let replica = format!("more-{number}");
        more.push(named("more").attach(&rig, "a", &replica).await);
    }
    assert_eq!(rig.tunnels.connected(&uid("a")).len(), 8);
    let closed = tokio::time::timeout(LIMIT, flooding.pair.tunnel.closed()).await;
    closed.expect("the oldest tunnel is closed");
    for _ in 0..20 {
        let asking = get(&rig, &rig.ann, "/k8s/clusters/b/x");
        let got = tokio::time::timeout(Duration::from_secs(5), asking)
            .await
            .expect("no delay");
        assert_eq!(got.body, "good");
    }
}

#[tokio::test]
async fn controllers_access_a_cluster_with_a_kubernetes_client_through_the_tunnel() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_controller_lane(async |request: http::Request<Incoming>| {
        assert!(!request.headers().contains_key("impersonate-user"));
        match request.uri().path() {
            "/api/v1/nodes/n" => answer(
                200,
                r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}"#,
            ),
            _ => answer(200, "ok"),
        }
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let client = rig.tunnels.client(&uid("a"), Lane::Controller);
    let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client);
    assert_eq!(
        nodes.get("n").await.unwrap().metadata.name.as_deref(),
        Some("n")
    );
}

// Attack group 18: responses to requests of the server's own controllers.
#[tokio::test]
async fn endless_response_on_the_controller_lane_is_aborted_at_its_limit() {
    let rig = Rig::new().await;
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let cluster = Cluster::echo().on_controller_lane(move |request: http::Request<Incoming>| {
        let counted = Arc::clone(&counted);
        async move {
            let code = match request.uri().path() {
                "/livez" => return answer(200, "ok"),
                "/error" => 500,
                _ => 200,
            };
            // The end is far above the limit, so that the test's memory is bounded if the limit is
            // missing.
            let chunks = 8 * ANSWER_BYTES / (16 * 1024);
            let endless = futures::stream::repeat_with(move || {
                counted.fetch_add(16 * 1024, Ordering::SeqCst);
                Ok(Frame::data(Bytes::from_static(&[b' '; 16 * 1024])))
            })
            .take(chunks);
            let mut response = http::Response::new(StreamBody::new(endless).boxed_unsync());
            *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
            response
        }
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let client = rig.tunnels.client(&uid("a"), Lane::Controller);
    for (path, limit) in [("/list", 2 * ANSWER_BYTES), ("/error", ANSWER_BYTES)] {
        sent.store(0, Ordering::SeqCst);
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let requested = tokio::time::timeout(LIMIT, client.request_text(request)).await;
        let error = requested.expect("an end").unwrap_err();
        assert!(shorten_parse_error(error).to_string().len() < 2 * MAX_ERROR_BYTES);
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < limit, "{path}: {sent} bytes were sent");
    }
}
