//! Tests of the error responses and response times for unreachable clusters.

use std::time::{Duration, Instant};

use bytes::Bytes;
use drover_agent_gateway::tunnels::Health;
use http_body_util::BodyExt as _;
use hyper::body::Frame;

use super::client::{by, empty, get, open, send};
use super::cluster::{Cluster, fed};
use super::rig::{LIMIT, Rig, eventually, uid};

#[tokio::test]
async fn cluster_without_agent_returns_503_with_cause_and_advice() {
    let rig = Rig::new().await;
    let got = get(&rig, &rig.ann, "/k8s/clusters/a/api").await;
    assert_eq!(got.code(), 503);
    let status = got.json();
    assert_eq!(
        (&status["kind"], &status["reason"]),
        (&"Status".into(), &"ServiceUnavailable".into())
    );
    assert!(
        status["details"]["retryAfterSeconds"]
            .as_u64()
            .is_some_and(|s| s > 0),
        "{status}"
    );
    assert!(
        status["message"].as_str().unwrap().contains("drover-agent"),
        "{status}"
    );
    // With a `Retry-After` header, client-go would retry ten times before it reports the error.
    assert!(!got.head.headers.contains_key("retry-after"));
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        (&record["outcome"], &record["reason"]),
        (&"refused".into(), &"AgentNotConnected".into())
    );
}

#[tokio::test]
async fn slow_api_server_returns_504_after_the_timeout_of_the_request() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |_| std::future::pending().await);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let began = Instant::now();
    let got = get(
        &rig,
        &rig.ann,
        "/k8s/clusters/a/api/v1/pods?timeoutSeconds=1",
    )
    .await;
    assert_eq!(got.code(), 504);
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    let status = got.json();
    assert_eq!(status["reason"], "Timeout");
    assert!(
        status["message"].as_str().unwrap().contains("slow or down"),
        "{status}"
    );
    let end = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(end["reason"], "ClusterTimeout");
}

#[tokio::test]
async fn slow_api_server_receives_requests_and_is_named_in_504_errors_after_failed_probes() {
    let rig = Rig::new().await;
    let slow = |_| std::future::pending();
    let cluster = Cluster::new(slow).on_controller_lane(slow);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let path = "/k8s/clusters/a/api/v1/pods?timeoutSeconds=1";
    assert_eq!(get(&rig, &rig.ann, path).await.code(), 504);
    eventually("the probes' verdict", async || {
        let connected = rig.tunnels.connected(&uid("a"));
        (connected[0].health != Health::Healthy).then_some(())
    })
    .await;
    let got = get(&rig, &rig.ann, path).await;
    assert_eq!(got.code(), 504, "{:?}", got.body);
    let status = got.json();
    assert!(
        status["message"].as_str().unwrap().contains("slow or down"),
        "{status}"
    );
}

#[tokio::test]
async fn request_to_a_silent_agent_returns_503_that_names_the_agent() {
    let rig = Rig::new().await;
    let attached = Cluster::echo().attach(&rig, "a", "r1").await;
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/api").await.code(), 200);
    attached.pair.frozen.send_replace(true);
    eventually("the probes' verdict", async || {
        let connected = rig.tunnels.connected(&uid("a"));
        (connected[0].health == Health::Silent).then_some(())
    })
    .await;
    let got = get(&rig, &rig.ann, "/k8s/clusters/a/api").await;
    assert_eq!(got.code(), 503);
    let status = got.json();
    let message = status["message"].as_str().unwrap();
    assert!(
        message.contains("connected but does not respond"),
        "{message}"
    );
}

#[tokio::test]
async fn error_after_lost_tunnel_states_that_the_request_may_have_been_executed() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |_| std::future::pending().await);
    let attached = cluster.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "POST", "/k8s/clusters/a/api/v1/x")
        .body(empty())
        .unwrap();
    let (got, ()) = tokio::join!(send(&rig, request), async {
        eventually("the request", async || {
            (!cluster.seen.lock().is_empty()).then_some(())
        })
        .await;
        attached.pair.driver.abort();
    });
    assert_eq!(got.code(), 503);
    let status = got.json();
    assert!(
        status["message"].as_str().unwrap().contains("is unknown"),
        "{status}"
    );
    assert!(
        !got.head.headers.contains_key("retry-after"),
        "the request must not be retried"
    );
}

#[tokio::test]
async fn refusal_by_the_agent_is_relayed_to_the_client() {
    let rig = Rig::new().await;
    let cluster = Cluster::new(async |_| {
        http::Response::builder()
            .status(503)
            .header("drover-refused", "ApiServerUnreachable")
            .header("content-type", "application/json")
            .body(super::cluster::text("{\"kind\":\"Status\",\"code\":503}"))
            .unwrap()
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let got = get(&rig, &rig.ann, "/k8s/clusters/a/api").await;
    assert_eq!(
        (got.code(), &got.head.headers["drover-refused"]),
        (503, &"ApiServerUnreachable".parse().unwrap())
    );
}

#[tokio::test]
async fn response_aborted_by_the_cluster_is_aborted_for_the_client() {
    let rig = Rig::new().await;
    let (feed, body) = fed();
    let body = std::sync::Arc::new(parking_lot::Mutex::new(Some(body)));
    let cluster = Cluster::new(move |_| {
        let body = body.lock().take().expect("one request");
        async { http::Response::new(body) }
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "GET", "/k8s/clusters/a/api")
        .body(empty())
        .unwrap();
    feed.send(Ok(Frame::data(Bytes::from("half"))))
        .await
        .unwrap();
    let mut answer = open(rig.address, request).await;
    let half = answer.frame().await.unwrap().unwrap();
    assert_eq!(half.into_data().unwrap(), "half");
    feed.send(Err("the API server went away".into()))
        .await
        .unwrap();
    let next = tokio::time::timeout(LIMIT, answer.frame()).await.unwrap();
    assert!(
        next.expect("an error").is_err(),
        "an incomplete response must end with an error"
    );
    let end = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(end["outcome"], "upstreamGone");
}
