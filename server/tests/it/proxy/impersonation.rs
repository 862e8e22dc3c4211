//! Tests of impersonation with `kubectl --as` (attack groups 3 and 4).

use std::sync::Arc;

use http::header::HeaderName;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::{Read, by, empty, send};
use super::cluster::{Cluster, answer};
use super::rig::{AuditCaller, Rig};

/// Creates a cluster that allows or denies impersonation. Returns the cluster and the access
/// reviews that it receives.
fn deciding(allowed: bool) -> (Cluster, Arc<Mutex<Vec<Value>>>) {
    let request_count = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&request_count);
    let cluster = Cluster::echo().on_controller_lane(move |request: http::Request<Incoming>| {
        let notes = Arc::clone(&notes);
        async move {
            if request.uri().path() == "/livez" {
                return answer(200, "ok");
            }
            assert_eq!(
                request.uri().path(),
                "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            );
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let mut review: Value = serde_json::from_slice(&body).unwrap();
            notes.lock().push(review["spec"].clone());
            review["status"] = json!({ "allowed": allowed });
            answer(201, review.to_string())
        }
    });
    (cluster, request_count)
}

async fn acting(rig: &Rig, person: &AuditCaller, cluster: &str, pairs: &[(&str, &str)]) -> Read {
    let path = format!("/k8s/clusters/{cluster}/api/v1/pods");
    let mut request = by(person, "GET", &path).body(empty()).unwrap();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    send(rig, request).await
}

const USER: &str = "Impersonate-User";
const GROUP: &str = "Impersonate-Group";

#[tokio::test]
async fn administrator_impersonates_a_user_if_the_cluster_permits_impersonation() {
    let rig = Rig::new().await;
    let (cluster, requested) = deciding(true);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let got = acting(
        &rig,
        &rig.ann,
        "a",
        &[(USER, "bob"), (GROUP, "drover:github:7")],
    )
    .await;
    assert_eq!(got.code(), 200, "{:?}", got.body);
    let headers = cluster.only_head().headers;
    let all: Vec<_> = headers.get_all("impersonate-user").iter().collect();
    assert_eq!(all, ["drover:user:uid-bob"]);
    assert_eq!(headers["impersonate-group"], "drover:github:7");
    let requested = requested.lock().clone();
    let case: Vec<_> = requested
        .iter()
        .map(|spec| {
            assert_eq!(spec["user"], "drover:user:uid-ann");
            assert_eq!(spec["groups"], json!(["system:authenticated"]));
            let attributes = &spec["resourceAttributes"];
            assert_eq!(attributes["verb"], "impersonate");
            (attributes["resource"].clone(), attributes["name"].clone())
        })
        .collect();
    assert_eq!(
        case,
        [
            (json!("users"), json!("drover:user:uid-bob")),
            (json!("groups"), json!("drover:github:7")),
        ]
    );
    let record = rig.audited(|r| r["stage"] == "end").await;
    assert_eq!(
        (&record["user"], &record["actingAs"]),
        (&"ann".into(), &"drover:user:uid-bob".into())
    );
}

// Attack group 3: impersonation of system users.
#[tokio::test]
async fn system_users_and_unknown_groups_cannot_be_impersonated() {
    let rig = Rig::new().await;
    let (cluster, requested) = deciding(true);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    for pairs in [
        &[(USER, "system:admin")][..],
        &[(USER, "system:masters")],
        &[(USER, "system:kube-controller-manager")],
        &[(USER, "system:node:n1")],
        &[(USER, "system:serviceaccount:kube-system:default")],
        &[(USER, "root")],
        &[(USER, "drover:github:1")],
        &[(USER, "bob"), (GROUP, "system:masters")],
        &[(USER, "bob"), (GROUP, "system:nodes")],
        &[(USER, "bob"), (GROUP, "system:serviceaccounts")],
        &[
            (USER, "bob"),
            (GROUP, "drover:github:1"),
            (GROUP, "system:masters"),
        ],
        &[(USER, "bob"), (GROUP, "cluster-admins")],
    ] {
        for to in ["a", "local"] {
            let got = acting(&rig, &rig.ann, to, pairs).await;
            assert_eq!(got.code(), 403, "{to} {pairs:?}");
            assert_eq!(got.json()["kind"], "Status");
        }
    }
    assert!(cluster.seen.lock().is_empty() && requested.lock().is_empty());
}

#[tokio::test]
async fn user_without_role_in_a_cluster_cannot_impersonate_in_that_cluster() {
    let rig = Rig::new().await;
    let (cluster, requested) = deciding(true);
    let _attached = cluster.attach(&rig, "a", "r1").await;
    assert_eq!(
        acting(&rig, &rig.bob, "a", &[(USER, "ann")]).await.code(),
        403
    );
    assert!(cluster.seen.lock().is_empty() && requested.lock().is_empty());
}

// Attack group 4: a permission to impersonate is valid in one cluster only.
#[tokio::test]
async fn impersonation_denied_by_the_cluster_returns_403() {
    let rig = Rig::new().await;
    let ((yes, _), (no, _)) = (deciding(true), deciding(false));
    let _attached = (
        yes.attach(&rig, "a", "r1").await,
        no.attach(&rig, "b", "r1").await,
    );
    assert_eq!(
        acting(&rig, &rig.ann, "a", &[(USER, "bob")]).await.code(),
        200
    );
    let got = acting(&rig, &rig.ann, "b", &[(USER, "bob")]).await;
    assert_eq!(got.code(), 403);
    let message = got.json()["message"].to_string();
    assert!(message.contains("drover:user:uid-bob"), "{message}");
    assert!(no.seen.lock().is_empty());
    // The hub does not grant such a permission either.
    let got = acting(&rig, &rig.ann, "local", &[(USER, "bob")]).await;
    assert!(got.code() >= 400, "{}", got.code());
}

#[tokio::test]
async fn impersonation_fails_when_the_cluster_is_unreachable() {
    let rig = Rig::new().await;
    let cluster = Cluster::echo().on_controller_lane(async |request: http::Request<Incoming>| {
        let code = if request.uri().path() == "/livez" {
            200
        } else {
            500
        };
        answer(code, "{}")
    });
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let got = acting(&rig, &rig.ann, "a", &[(USER, "bob")]).await;
    assert_eq!(got.code(), 503, "{:?}", got.body);
    assert!(cluster.seen.lock().is_empty());
}

// Attack group 26: user names are visible to authorized callers only.
#[tokio::test]
async fn impersonation_without_permission_does_not_reveal_user_names() {
    let rig = super::members::rig().await;
    let cluster = Cluster::echo();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let by_bob = async |pairs: &[(&str, &str)]| acting(&rig, &rig.bob, "a", pairs).await;
    let there = by_bob(&[(USER, "ann")]).await;
    assert_eq!(there.code(), 403);
    for pairs in [
        &[(USER, "nobody-of-this-name")][..],
        &[(USER, "drover:user:uid-ann")],
        &[(USER, "drover:user:none")],
        &[(USER, "system:admin")],
        &[(USER, "")],
        &[(USER, "ann"), (USER, "ann")],
        &[(USER, "ann"), ("impersonate-uid", "uid-ann")],
        &[(GROUP, "system:masters")],
    ] {
        let other = by_bob(pairs).await;
        assert_eq!(other.code(), 403, "{pairs:?}");
        assert_eq!(other.body, there.body, "{pairs:?}");
    }
    assert!(cluster.seen.lock().is_empty());
}
