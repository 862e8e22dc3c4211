use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, Request, Response};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::diff::diff;
use crate::set::{Changes, apply};

/// A simulated cluster with one kind. Stores objects by name and records writes.
#[derive(Clone, Default)]
struct Cluster(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    writes: Vec<String>,
    /// Maximum number of objects in a page that the client can read.
    largest_page: Option<usize>,
}

impl Cluster {
    fn client(&self) -> Client {
        let cluster = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let query = parts.uri.query().unwrap_or_default().to_owned();
                let (code, answer) = cluster.answer(&parts.method, parts.uri.path(), &query, &body);
                let mut response = Response::new(Body::from(answer.into_bytes()));
                *response.status_mut() = http::StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, method: &Method, path: &str, query: &str, body: &Value) -> (u16, String) {
        let mut state = self.0.lock();
        let failure = |code: u16| {
            let status = json!({ "kind": "Status", "code": code, "reason": "R", "message": "m" });
            (code, status.to_string())
        };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if *method == Method::GET {
            return state.list(query);
        }
        state.writes.push(match query {
            "" => format!("{method} {name}"),
            query => format!("{method} {name}?{query}"),
        });
        match *method {
            Method::POST => {
                let name = body["metadata"]["name"].as_str().unwrap().to_owned();
                if state.objects.contains_key(&name) {
                    return failure(409);
                }
                state.objects.insert(name, body.clone());
                (201, body.to_string())
            }
            Method::PUT | Method::PATCH => {
                state.objects.insert(name, body.clone());
                (200, body.to_string())
            }
            Method::DELETE => match state.objects.remove(&name) {
                Some(object) => (200, object.to_string()),
                None => failure(404),
            },
            _ => failure(405),
        }
    }
}

impl State {
    fn list(&self, query: &str) -> (u16, String) {
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let limit: usize = parameter("limit").unwrap().parse().unwrap();
        if self.largest_page.is_some_and(|largest| limit > largest) {
            return (200, "{".to_owned());
        }
        let start: usize = parameter("continue").map_or(0, |token| token.parse().unwrap());
        let items: Vec<_> = self.objects.values().skip(start).take(limit).collect();
        let end = start + items.len();
        let more = (end < self.objects.len()).then(|| end.to_string());
        let list = json!({ "metadata": { "continue": more }, "items": items });
        (200, list.to_string())
    }
}

fn role(name: &str, verb: &str) -> ClusterRole {
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("owner".to_owned(), String::new())])),
            ..ObjectMeta::default()
        },
        rules: Some(vec![PolicyRule {
            verbs: vec![verb.to_owned()],
            ..PolicyRule::default()
        }]),
        aggregation_rule: None,
    }
}

async fn reconcile(objects: &Objects<ClusterRole>, expected: &[ClusterRole]) -> Vec<Failure> {
    let inventory = objects.inventory().await.unwrap();
    let diff = diff(&inventory.objects, expected);
    let changes = Changes {
        objects,
        diff: &diff,
    };
    apply(&[&changes]).await
}

fn owned(cluster: &Cluster) -> Objects<ClusterRole> {
    Objects::cluster_scoped(&cluster.client(), Owner::label("owner"))
}

#[tokio::test]
async fn first_reconciliation_writes_differences_and_second_writes_no_object() {
    let cluster = Cluster::default();
    for (name, verb) in [("b", "get"), ("c", "get")] {
        let object = serde_json::to_value(role(name, verb)).unwrap();
        cluster.0.lock().objects.insert(name.to_owned(), object);
    }
    let expected = [role("a", "get"), role("b", "list")];
    let failures = reconcile(&owned(&cluster), &expected).await;
    assert!(failures.is_empty(), "{failures:?}");
    let writes = std::mem::take(&mut cluster.0.lock().writes);
    assert_eq!(writes, ["PUT b", "POST clusterroles", "DELETE c"]);
    assert!(reconcile(&owned(&cluster), &expected).await.is_empty());
    assert!(cluster.0.lock().writes.is_empty());
}

#[tokio::test]
async fn unowned_object_is_overwritten_only_if_its_name_is_reserved() {
    let cluster = Cluster::default();
    let missing = crate::diff::Diff {
        create: vec![role("a", "get")],
        ..crate::diff::Diff::default()
    };
    let foreign = json!({ "metadata": { "name": "a" } });
    cluster
        .0
        .lock()
        .objects
        .insert("a".to_owned(), foreign.clone());
    let failures = owned(&cluster).write(&missing).await;
    assert!(
        matches!(failures[0].error, ApplyError::NameTaken { .. }),
        "{failures:?}"
    );
    assert_eq!(cluster.0.lock().objects["a"], foreign);
    let objects = owned(&cluster).with_reserved_names();
    assert!(objects.write(&missing).await.is_empty());
    assert_ne!(cluster.0.lock().objects["a"], foreign);
}

#[tokio::test]
async fn server_side_apply_sends_content_type_and_field_manager() {
    let cluster = Cluster::default();
    let mode = WriteMode::ServerSideApply {
        field_manager: "drover-bundle".to_owned(),
    };
    let objects = owned(&cluster).with_mode(mode);
    assert!(reconcile(&objects, &[role("a", "get")]).await.is_empty());
    let state = cluster.0.lock();
    assert_eq!(
        state.writes,
        ["PATCH a?&force=true&fieldManager=drover-bundle"]
    );
    assert_eq!(state.objects["a"]["kind"], "ClusterRole");
    assert_eq!(
        state.objects["a"]["apiVersion"],
        "rbac.authorization.k8s.io/v1"
    );
}

#[tokio::test]
async fn finalizers_are_removed_before_an_object_is_deleted() {
    let cluster = Cluster::default();
    let mut finalized = role("a", "get");
    finalized.metadata.finalizers = Some(vec!["example.org/hold".to_owned()]);
    let object = serde_json::to_value(&finalized).unwrap();
    cluster.0.lock().objects.insert("a".to_owned(), object);
    assert!(reconcile(&owned(&cluster), &[]).await.is_empty());
    assert_eq!(cluster.0.lock().writes, ["PUT a", "DELETE a"]);
}

#[tokio::test]
async fn large_objects_are_listed_in_smaller_pages() {
    let cluster = Cluster::default();
    for number in 0..40 {
        let name = format!("role-{number:02}");
        let object = serde_json::to_value(role(&name, "get")).unwrap();
        cluster.0.lock().objects.insert(name, object);
    }
    cluster.0.lock().largest_page = Some(8);
    let inventory = owned(&cluster).inventory().await.unwrap();
    assert!(inventory.complete && inventory.objects.len() == 40);
    cluster.0.lock().largest_page = Some(3);
    let error = owned(&cluster).inventory().await.unwrap_err();
    assert!(matches!(error, ApplyError::Call { .. }), "{error}");
}
