//! Tests of the history of objects: a scripted cluster with one Deployment.

use std::sync::Arc;

use bytes::Bytes;
use drover_api::kinds::{Cluster as ClusterObject, ClusterSpec};
use http::{Method, Response, Uri};
use http_body_util::Full;
use hyper::body::Frame;
use jiff::Timestamp;
use kube::ResourceExt as _;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{HERE, Page, signed_in};
use crate::proxy::client::{Read, by, empty, open, read};
use crate::proxy::cluster::{AnyBody, Cluster, answer, fed};
use crate::proxy::rig::{AuditCaller, Rig, eventually, user};

const WEB: &str = "/apis/apps/v1/namespaces/shop/deployments/web";

/// A Deployment `web` of a scripted cluster.
#[derive(Clone, Default)]
struct Deployment(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    replicas: u32,
    version: u32,
    /// The response to each request, if the cluster refuses requests.
    refusal: Option<(u16, Value)>,
}

impl Deployment {
    fn new() -> Self {
        let deployment = Self::default();
        deployment.set_replicas(1);
        deployment
    }

    fn set_replicas(&self, replicas: u32) {
        let mut state = self.0.lock();
        (state.replicas, state.version) = (replicas, state.version + 1);
    }

    fn refuse(&self, code: u16, status: Value) {
        self.0.lock().refusal = Some((code, status));
    }

    fn object(&self) -> Value {
        let state = self.0.lock();
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "shop", "uid": "u",
                "resourceVersion": state.version.to_string(),
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{hidden}"},
                "managedFields": [{"manager": "kubectl-edit", "operation": "Update",
                    "time": Timestamp::now().to_string()}],
            },
            "spec": {"replicas": state.replicas}})
    }

    fn table(&self) -> Value {
        json!({"kind": "Table", "metadata": {"resourceVersion": self.0.lock().version.to_string()},
            "columnDefinitions": [{"name": "Name", "type": "string"}],
            "rows": [{"cells": ["web"], "object": self.object()}]})
    }

    fn cluster(&self) -> Cluster {
        let deployment = self.clone();
        Cluster::new(move |request| {
            let (method, uri) = (request.method().clone(), request.uri().clone());
            let deployment = deployment.clone();
            async move { deployment.respond(&method, &uri).await }
        })
    }

    /// Responds to a request. A `PUT` sets five replicas. A watch sends one change to seven replicas.
    async fn respond(&self, method: &Method, uri: &Uri) -> Response<AnyBody> {
        let refusal = self.0.lock().refusal.clone();
        if let Some((code, status)) = refusal {
            return answer(code, status.to_string());
        }
        let query = uri.query().unwrap_or_default();
        if method == Method::PUT {
            self.set_replicas(5);
            return answer(200, self.object().to_string());
        }
        if query.contains("watch=true") {
            self.set_replicas(7);
            let (feed, body) = fed();
            let event = json!({"type": "MODIFIED", "object": self.table()});
            let line = Bytes::from(format!("{event}\n"));
            feed.send(Ok(Frame::data(line))).await.unwrap();
            tokio::spawn(async move { feed.closed().await });
            return Response::new(body);
        }
        if uri.path() == WEB {
            return answer(200, self.object().to_string());
        }
        assert!(query.contains("includeObject=Object"), "{query}");
        answer(200, self.table().to_string())
    }
}

fn path(plural: &str) -> String {
    let api_version = if plural == "secrets" { "v1" } else { "apps/v1" };
    let query = format!("apiVersion={api_version}&plural={plural}&namespace=shop&object=web");
    format!("/v1/clusters/a/history?{query}")
}

async fn history(rig: &Rig, person: &AuditCaller) -> Read {
    let request = by(person, "GET", &path("deployments"));
    read(open(rig.address, request.body(empty()).unwrap()).await).await
}

fn replicas(history: &Value) -> Vec<u64> {
    let versions = history["versions"].as_array().unwrap().iter();
    let replicas = versions.map(|it| it["object"]["spec"]["replicas"].as_u64());
    replicas.map(Option::unwrap_or_default).collect()
}

#[tokio::test]
async fn version_contains_the_user_the_field_manager_and_the_changed_field() {
    let rig = Rig::new().await;
    let _attached = Deployment::new().cluster().attach(&rig, "a", "r1").await;
    assert_eq!(replicas(&history(&rig, &rig.ann).await.json()), [1]);
    let put = by(&rig.ann, "PUT", &format!("/k8s/clusters/a{WEB}"));
    let put = put.body(Full::new(Bytes::from_static(b"{}"))).unwrap();
    assert_eq!(read(open(rig.address, put).await).await.code(), 200);
    let read = history(&rig, &rig.ann).await;
    let text = String::from_utf8_lossy(&read.body);
    assert!(!text.contains("hidden"), "{text}");
    let history = read.json();
    assert_eq!(replicas(&history), [5, 1]);
    let newest = &history["versions"][0];
    assert_eq!(newest["users"], json!(["ann"]));
    assert_eq!(newest["managers"][0]["name"], "kubectl-edit");
    let change = json!([{"path": "spec.replicas", "old": "1", "new": "5"}]);
    assert_eq!(newest["changes"], change);
}

#[tokio::test]
async fn changes_in_a_list_of_an_open_page_are_versions() {
    let rig = Rig::new().await;
    let _attached = Deployment::new().cluster().attach(&rig, "a", "r1").await;
    let ann = signed_in(&rig, 9, "ann");
    let mut page = Page::open(&rig, &ann, HERE).await.unwrap();
    page.subscribe_to("apps/v1", "deployments", &["a"]).await;
    page.rows(1).await;
    // The watch delivers the change later than the list.
    let versions = eventually("the second version", async || {
        let versions = replicas(&history(&rig, &rig.ann).await.json());
        (versions.len() > 1).then_some(versions)
    });
    assert_eq!(versions.await, [7, 1]);
}

#[tokio::test]
async fn user_without_permission_receives_no_versions() {
    let rig = Rig::new().await;
    let deployment = Deployment::new();
    let cluster = deployment.cluster();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    history(&rig, &rig.ann).await;
    let requests = cluster.seen.lock().len();
    assert_eq!(history(&rig, &rig.bob).await.code(), 403);
    assert_eq!(
        cluster.seen.lock().len(),
        requests,
        "the server sent a request"
    );
    let unknown = AuditCaller {
        bearer: "unknown".to_owned(),
        token: rig.bob.token.clone(),
    };
    assert_eq!(history(&rig, &unknown).await.code(), 401);
    let status = json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"});
    deployment.refuse(403, status);
    let refused = history(&rig, &rig.ann).await;
    assert_eq!(
        (refused.code(), &refused.json()["message"]),
        (403, &json!("no"))
    );
}

#[tokio::test]
async fn removed_role_ends_the_access_to_recorded_versions() {
    let rig = Rig::new().await;
    let _attached = Deployment::new().cluster().attach(&rig, "a", "r1").await;
    assert_eq!(history(&rig, &rig.ann).await.code(), 200);
    rig.stores.users.apply(user("ann", false));
    let refused = eventually("the refusal", async || {
        Some(history(&rig, &rig.ann).await.code()).filter(|code| *code != 200)
    });
    assert_eq!(refused.await, 403);
    rig.stores.tokens.remove(&rig.ann.token.name_any());
    let code = eventually("the rejection", async || {
        Some(history(&rig, &rig.ann).await.code()).filter(|code| *code != 403)
    });
    assert!(matches!(code.await, 401 | 503));
}

#[tokio::test]
async fn versions_of_a_deleted_object_need_the_response_that_the_object_is_missing() {
    let rig = Rig::new().await;
    let deployment = Deployment::new();
    let _attached = deployment.cluster().attach(&rig, "a", "r1").await;
    history(&rig, &rig.ann).await;
    let status = |name: &str| {
        json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "gone",
            "details": {"name": name, "kind": "deployments"}})
    };
    deployment.refuse(404, status("web"));
    let found = history(&rig, &rig.ann).await.json();
    assert_eq!(
        (&found["exists"], replicas(&found)),
        (&json!(false), vec![1])
    );
    deployment.refuse(404, status(""));
    assert_eq!(history(&rig, &rig.ann).await.code(), 404);
}

#[tokio::test]
async fn recreated_cluster_has_no_versions_of_the_earlier_cluster() {
    let rig = Rig::new().await;
    let deployment = Deployment::new();
    let _attached = deployment.cluster().attach(&rig, "a", "r1").await;
    history(&rig, &rig.ann).await;
    // The cluster with the name `a` is now the cluster with the UID of `b`.
    let mut other = ClusterObject::new("a", ClusterSpec::default());
    other.metadata.uid = Some("uid-b".to_owned());
    rig.stores.clusters.replace(vec![other]);
    let second = Deployment::new();
    second.set_replicas(9);
    let _second = second.cluster().attach(&rig, "b", "r1").await;
    let found = history(&rig, &rig.ann).await.json();
    assert_eq!(replicas(&found), [9]);
}

#[tokio::test]
async fn secrets_have_no_history() {
    let rig = Rig::new().await;
    let cluster = Deployment::new().cluster();
    let _attached = cluster.attach(&rig, "a", "r1").await;
    let request = by(&rig.ann, "GET", &path("secrets"));
    let answer = read(open(rig.address, request.body(empty()).unwrap()).await).await;
    assert_eq!(answer.code(), 400);
    assert!(cluster.seen.lock().is_empty(), "the server sent a request");
}
