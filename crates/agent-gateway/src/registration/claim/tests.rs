use std::collections::BTreeMap;
use std::sync::Arc;

use drover_api::kinds::{ClusterSpec, ClusterStatus, Registration};
use http::{Method, Request, Response};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use drover_hub::{Keys, Stores};

/// The objects of a hub by path.
#[derive(Clone, Default)]
struct Objects(Arc<Mutex<BTreeMap<String, Value>>>);

impl Objects {
    fn hub(&self) -> Hub {
        let objects = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let objects = objects.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await?;
                let body = serde_json::from_slice(&body).unwrap_or_default();
                // Let other tasks run between two requests.
                tokio::task::yield_now().await;
                let (code, said) = objects.answer(&parts.method, parts.uri.path(), body);
                let mut response = Response::new(Body::from(said.to_string().into_bytes()));
                *response.status_mut() = http::StatusCode::from_u16(code)?;
                Ok::<_, tower::BoxError>(response)
            }
        });
        let client = Client::new(service, "default");
        Hub::new(client, Stores::synced_empty(), Keys::generate().unwrap())
    }

    fn answer(&self, method: &Method, path: &str, mut body: Value) -> (u16, Value) {
        let mut there = self.0.lock();
        let no = |code: u16| {
            let reason = if code == 404 { "NotFound" } else { "Conflict" };
            let status = json!({ "kind": "Status", "status": "Failure", "code": code,
                "reason": reason, "message": "no" });
            (code, status)
        };
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        let created = format!("{path}/{name}");
        let next = there.len() + 1;
        match *method {
            Method::POST if there.contains_key(&created) => no(409),
            Method::POST => {
                body["metadata"]["resourceVersion"] = next.to_string().into();
                there.insert(created, body.clone());
                (201, body)
            }
            Method::PUT => {
                let version = there
                    .get(path)
                    .map(|old| &old["metadata"]["resourceVersion"]);
                if version != Some(&body["metadata"]["resourceVersion"]) {
                    return no(409);
                }
                body["metadata"]["resourceVersion"] = format!("{next}-again").into();
                there.insert(path.to_owned(), body.clone());
                (200, body)
            }
            _ if path.ends_with("/clusters") => {
                let all = there.iter().filter(|(at, _)| at.starts_with(path));
                let items: Vec<_> = all.map(|(_, cluster)| cluster.clone()).collect();
                let list = json!({ "kind": "ClusterList", "metadata": {}, "items": items,
                    "apiVersion": "management.drover.dev/v1alpha1" });
                (200, list)
            }
            _ => there
                .get(path)
                .map_or_else(|| no(404), |it| (200, it.clone())),
        }
    }

    fn path(name: &str) -> String {
        format!("/apis/management.drover.dev/v1alpha1/clusters/{name}")
    }

    /// Creates a Cluster whose UID is its name.
    fn cluster(&self, name: &str, bound: Option<&PublicKey>) -> Cluster {
        let mut cluster = Cluster::new(name, ClusterSpec::default());
        cluster.metadata.uid = Some(name.to_owned());
        cluster.status = bound.map(|key| ClusterStatus {
            registration: Some(Registration {
                public_key: key.encode(),
                previous_key: None,
                bound_at: Time(Timestamp::UNIX_EPOCH),
                token_id: "t".to_owned(),
            }),
            ..ClusterStatus::default()
        });
        let stored = serde_json::to_value(&cluster).unwrap();
        self.0.lock().insert(Self::path(name), stored);
        cluster
    }

    fn delete(&self, name: &str) {
        self.0.lock().remove(&Self::path(name));
    }
}

const KEY: PublicKey = PublicKey::from_bytes([1; 32]);
const OTHER: PublicKey = PublicKey::from_bytes([2; 32]);

#[tokio::test]
async fn concurrent_registrations_claim_the_key_once() {
    let objects = Objects::default();
    let hub = objects.hub();
    let clusters: Vec<_> = (0..8)
        .map(|number| objects.cluster(&format!("c{number}"), None))
        .collect();
    let takes = clusters.iter().map(|cluster| take(&hub, &KEY, cluster));
    let claims = futures::future::try_join_all(takes).await.unwrap();
    let ours = claims.iter().filter(|it| **it == Claim::Ours).count();
    assert_eq!(ours, 1, "{claims:?}");
    // The other key has a separate claim.
    let other = take(&hub, &OTHER, &clusters[7]).await.unwrap();
    assert_eq!(other, Claim::Ours);
}

#[tokio::test]
async fn claim_of_a_next_key_stays_while_its_cluster_has_the_replaced_key() {
    let objects = Objects::default();
    let hub = objects.hub();
    let (a, b) = (
        objects.cluster("a", Some(&OTHER)),
        objects.cluster("b", None),
    );
    assert_eq!(take(&hub, &KEY, &a).await.unwrap(), Claim::Ours);
    let of_a = Claim::OfOther("a".to_owned());
    assert_eq!(take(&hub, &KEY, &b).await.unwrap(), of_a);
    objects.cluster("a", Some(&PublicKey::from_bytes([3; 32])));
    assert_eq!(take(&hub, &KEY, &b).await.unwrap(), Claim::Ours);
}

#[tokio::test]
async fn key_claim_is_released_when_its_cluster_registers_a_different_key() {
    let objects = Objects::default();
    let hub = objects.hub();
    let (a, b) = (objects.cluster("a", None), objects.cluster("b", None));
    let of_a = Claim::OfOther("a".to_owned());
    for _ in 0..2 {
        assert_eq!(take(&hub, &KEY, &a).await.unwrap(), Claim::Ours);
    }
    objects.cluster("a", Some(&KEY));
    assert_eq!(take(&hub, &KEY, &b).await.unwrap(), of_a);
    objects.cluster("a", Some(&OTHER));
    assert_eq!(take(&hub, &KEY, &b).await.unwrap(), Claim::Ours);
    objects.delete("b");
    let c = objects.cluster("c", None);
    assert_eq!(take(&hub, &KEY, &c).await.unwrap(), Claim::Ours);
}
