//! Tests that open streams end when their permission is revoked (attack group 15).

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::client::{by, empty, get, open, open_http2};
use super::cluster::{Attached, Cluster, answer, fed};
use super::rig::{LIMIT, Rig, cluster, token, user};

/// Maximum time from a revocation until open streams end. The documented limit is five seconds.
const PROMISE: Duration = Duration::from_secs(5);

/// Creates a cluster whose watches send one event and stay open.
fn quiet() -> Cluster {
    Cluster::new(async |_| {
        let (feed, body) = fed();
        feed.send(Ok(Frame::data(Bytes::from("event\n"))))
            .await
            .unwrap();
        tokio::spawn(async move { feed.closed().await });
        http::Response::new(body)
    })
}

struct Watching {
    rig: Rig,
    _attached: [Attached; 2],
    watch: http::Response<Incoming>,
}

async fn watching(cluster: &str) -> Watching {
    let rig = Rig::new().await;
    let attached = [
        quiet().attach(&rig, "a", "r1").await,
        quiet().attach(&rig, "b", "r1").await,
    ];
    let path = format!("/k8s/clusters/{cluster}/api/v1/pods?watch=true");
    let mut watch = open(
        rig.address,
        by(&rig.ann, "GET", &path).body(empty()).unwrap(),
    )
    .await;
    watch.frame().await.unwrap().unwrap();
    Watching {
        rig,
        _attached: attached,
        watch,
    }
}

impl Watching {
    /// Asserts that the watch ends in time with an error.
    async fn ends(mut self, reason: &str) -> Rig {
        let next = tokio::time::timeout(PROMISE, self.watch.frame()).await;
        let error = next
            .expect("the watch ends before the timeout")
            .expect("the watch ends with an error");
        assert!(error.is_err(), "{reason}: {error:?}");
        drop(self.watch);
        let record = self
            .rig
            .audited(|r| r["stage"] == "end" && r["verb"] == "watch")
            .await;
        assert_eq!(
            (&record["outcome"], &record["reason"]),
            (&"revoked".into(), &reason.into())
        );
        self.rig
    }

    async fn goes_on(mut self) {
        let next = tokio::time::timeout(Duration::from_secs(2), self.watch.frame()).await;
        assert!(next.is_err(), "the watch ended: {next:?}");
    }
}

#[tokio::test]
async fn revoked_token_closes_open_watch() {
    let watching = watching("a").await;
    let id = watching.rig.ann.token.name_any();
    watching.rig.stores.tokens.remove(&id);
    watching.ends("TokenRevoked").await;
}

#[tokio::test]
async fn open_watch_of_a_disabled_user_is_closed_and_new_requests_are_rejected() {
    let watching = watching("a").await;
    let mut ann = user("ann", true);
    ann.spec.enabled = false;
    watching.rig.stores.users.apply(ann);
    let rig = watching.ends("UserDisabled").await;
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/api").await.code(), 401);
}

#[tokio::test]
async fn streams_that_impersonate_a_disabled_user_are_closed() {
    let rig = Rig::new().await;
    let agreeing = quiet().on_controller_lane(async |request: http::Request<Incoming>| {
        if request.uri().path() == "/livez" {
            return answer(200, "ok");
        }
        let review = request.into_body().collect().await.unwrap().to_bytes();
        let mut review: serde_json::Value = serde_json::from_slice(&review).unwrap();
        review["status"] = serde_json::json!({ "allowed": true });
        answer(201, review.to_string())
    });
    let _attached = agreeing.attach(&rig, "a", "r1").await;
    let path = "/k8s/clusters/a/api/v1/pods?watch=true";
    let as_bob = |name: &str| {
        let request = by(&rig.ann, "GET", path).header("impersonate-user", name);
        open(rig.address, request.body(empty()).unwrap())
    };
    let mut watch = as_bob("bob").await;
    watch.frame().await.unwrap().unwrap();
    let mut bob = user("bob", false);
    bob.spec.enabled = false;
    rig.stores.users.apply(bob);
    let next = tokio::time::timeout(PROMISE, watch.frame()).await;
    assert!(
        next.expect("the watch ends before the timeout")
            .unwrap()
            .is_err()
    );
    drop(watch);
    let record = rig.audited(|r| r["outcome"] == "revoked").await;
    assert_eq!(record["reason"], "ActedAsUserDisabled");
    for name in ["bob", "drover:user:uid-bob", "drover:user:nobody"] {
        assert_eq!(as_bob(name).await.status(), 403, "{name}");
    }
}

#[tokio::test]
async fn removal_of_administrator_permission_closes_open_watch() {
    let watching = watching("a").await;
    watching.rig.stores.users.apply(user("ann", false));
    let rig = watching.ends("RightRemoved").await;
    assert_eq!(get(&rig, &rig.ann, "/k8s/clusters/a/api").await.code(), 403);
}

#[tokio::test]
async fn deletion_of_a_cluster_closes_its_open_watches() {
    let watching = watching("a").await;
    watching.rig.stores.clusters.remove("a");
    watching.ends("ClusterDeleted").await;
}

#[tokio::test]
async fn open_watch_is_closed_when_its_cluster_is_recreated() {
    let watching = watching("a").await;
    let mut again = cluster("a");
    again.metadata.uid = Some("another".to_owned());
    watching.rig.stores.clusters.apply(again);
    watching.ends("ClusterDeleted").await;
}

#[tokio::test]
async fn token_revocation_does_not_close_watches_of_other_users() {
    let watching = watching("a").await;
    watching
        .rig
        .stores
        .tokens
        .remove(&watching.rig.bob.token.name_any());
    watching.rig.stores.users.apply(user("bob", false));
    watching.rig.stores.clusters.remove("b");
    watching.goes_on().await;
}

#[tokio::test]
async fn expired_token_closes_open_watch() {
    let rig = Rig::new().await;
    let _attached = quiet().attach(&rig, "a", "r1").await;
    let mut brief = token(9, "ann", None);
    brief.token.spec.expires_at = Time(Timestamp::now() + SignedDuration::from_secs(2));
    rig.stores.tokens.apply(brief.token.clone());
    let path = "/k8s/clusters/a/api/v1/pods?watch=true";
    let mut watch = open(rig.address, by(&brief, "GET", path).body(empty()).unwrap()).await;
    watch.frame().await.unwrap().unwrap();
    let next = tokio::time::timeout(PROMISE + Duration::from_secs(2), watch.frame()).await;
    assert!(
        next.expect("the watch ends before the timeout")
            .expect("an error")
            .is_err()
    );
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(record["reason"], "TokenExpired");
}

#[tokio::test]
async fn revoked_watch_over_http2_is_reset() {
    let rig = Rig::new().await;
    let _attached = quiet().attach(&rig, "a", "r1").await;
    let path = "http://drover.example/k8s/clusters/a/api/v1/pods?watch=true";
    let request = by(&rig.ann, "GET", path).body(empty()).unwrap();
    let (_sender, mut watch) = open_http2(rig.address, request).await;
    watch.frame().await.unwrap().unwrap();
    rig.stores.tokens.remove(&rig.ann.token.name_any());
    let next = tokio::time::timeout(PROMISE, watch.frame()).await;
    assert!(
        next.expect("the watch ends before the timeout")
            .expect("a reset")
            .is_err()
    );
}

#[tokio::test]
async fn pending_request_is_rejected_when_its_token_is_revoked() {
    let rig = Rig::new().await;
    let slow = Cluster::new(async |_| std::future::pending().await);
    let _attached = slow.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "GET", "/k8s/clusters/a/api")
        .body(empty())
        .unwrap();
    let address = rig.address;
    let asking = tokio::spawn(async move { open(address, request).await });
    super::rig::eventually("the request", async || {
        (!slow.seen.lock().is_empty()).then_some(())
    })
    .await;
    rig.stores.tokens.remove(&rig.ann.token.name_any());
    let got = tokio::time::timeout(PROMISE, asking)
        .await
        .expect("the response arrives before the timeout")
        .unwrap();
    assert_eq!(got.status(), 403);
}

#[tokio::test]
async fn open_exec_of_a_disabled_user_is_closed() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_switch(super::upgrades::echo_after_switch);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    super::upgrades::ask(
        &mut stream,
        &rig,
        "/k8s/clusters/a/api/v1/namespaces/n/pods/p/exec",
    )
    .await;
    stream.write_all(b"ls\n").await.unwrap();
    let mut echo = [0; 3];
    tokio::time::timeout(LIMIT, stream.read_exact(&mut echo))
        .await
        .unwrap()
        .unwrap();
    let mut ann = user("ann", true);
    ann.spec.enabled = false;
    rig.stores.users.apply(ann);
    let ended = tokio::time::timeout(PROMISE, stream.read(&mut echo)).await;
    assert!(matches!(
        ended.expect("the exec ends before the timeout"),
        Ok(0) | Err(_)
    ));
    let record = rig
        .audited(|r| r["stage"] == "end" && r["verb"] == "exec")
        .await;
    assert_eq!(
        (&record["outcome"], &record["reason"]),
        (&"revoked".into(), &"UserDisabled".into())
    );
    assert_eq!(
        (&record["bytesIn"], &record["bytesOut"]),
        (&3.into(), &3.into())
    );
}

#[tokio::test]
async fn watch_with_uncached_token_stays_open_until_the_cache_is_synced() {
    let new = token(9, "ann", None);
    let known = (new.token.clone(), user("ann", true));
    let rig = Rig::with_hub(std::sync::Arc::new(move |request| {
        let object = if request.uri().path().contains("/tokens/") {
            serde_json::to_vec(&known.0)
        } else {
            serde_json::to_vec(&known.1)
        };
        let answer = http::Response::new(object.unwrap().into());
        Box::pin(async { answer })
    }))
    .await;
    let _attached = quiet().attach(&rig, "a", "r1").await;
    let path = "/k8s/clusters/a/api/v1/pods?watch=true";
    let mut watch = open(rig.address, by(&new, "GET", path).body(empty()).unwrap()).await;
    watch.frame().await.unwrap().unwrap();
    // Other changes arrive first. They must not close this watch.
    rig.stores.users.apply(user("bob", false));
    let early = tokio::time::timeout(Duration::from_millis(1500), watch.frame()).await;
    assert!(early.is_err(), "the watch ended: {early:?}");
    rig.stores.tokens.apply(new.token.clone());
    tokio::time::sleep(Duration::from_millis(500)).await;
    rig.stores.tokens.remove(&new.token.name_any());
    let next = tokio::time::timeout(PROMISE, watch.frame()).await;
    let next = next.expect("the watch ends before the timeout");
    assert!(next.expect("the watch ends with an error").is_err());
}
