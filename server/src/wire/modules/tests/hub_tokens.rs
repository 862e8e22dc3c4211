//! Tests of the route that issues hub tokens to agents.

use drover_access::proof::{connect_message, hub_token_message};
use drover_agent_link::key::AgentKey;
use drover_api::kinds::{ClusterStatus, Registration};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use serde_json::json;

use super::*;

const ACCOUNT: &str = "/api/v1/namespaces/cluster-fleet-default-shop-079927a5ce7c/serviceaccounts/\
                       drover-agent/token";

/// A fake hub that records the paths of token requests, and issues the token `issued`.
fn hub_with_account(requested: &Arc<Mutex<Vec<String>>>) -> kube::Client {
    let requested = Arc::clone(requested);
    let service = tower::service_fn(move |request: Request<KubeBody>| {
        let path = request.uri().path().to_owned();
        let (code, answer) = if path.ends_with("/token") {
            requested.lock().push(path);
            let status = json!({
                "token": "issued", "expirationTimestamp": "2030-01-01T00:00:00Z",
            });
            let spec = json!({ "audiences": [] });
            (
                StatusCode::CREATED,
                json!({ "metadata": {}, "spec": spec, "status": status }),
            )
        } else {
            let missing = serde_json::to_value(Status::not_found("Thing", "x").to_meta());
            (StatusCode::NOT_FOUND, missing.unwrap())
        };
        let mut response = http::Response::new(KubeBody::from(answer.to_string().into_bytes()));
        *response.status_mut() = code;
        std::future::ready(Ok::<_, tower::BoxError>(response))
    });
    kube::Client::new(service, "default")
}

fn key() -> AgentKey {
    AgentKey::from_pkcs8(&AgentKey::generate().unwrap()).unwrap()
}

fn registered(key: &AgentKey) -> Cluster {
    let mut cluster = cluster();
    cluster.status = Some(ClusterStatus {
        registration: Some(Registration {
            public_key: key.public().encode(),
            previous_key: None,
            bound_at: Time(Timestamp::now()),
            token_id: "t".to_owned(),
        }),
        ..ClusterStatus::default()
    });
    cluster
}

/// Requests a hub token for the cluster. `message` returns the signed message.
async fn request(
    server: &TestServer,
    key: &AgentKey,
    message: impl Fn(&ClusterUid, &str) -> Vec<u8>,
) -> (StatusCode, Value) {
    let uid = ClusterUid::new("shop-uid");
    let post = async |path: &str, body: Value| {
        let none = std::iter::empty();
        server.ask(Method::POST, path, none, body.to_string()).await
    };
    let (code, body) = post("/v1/agent/challenge", json!({ "clusterUid": uid })).await;
    assert_eq!(code, StatusCode::OK, "{body}");
    let nonce = body["nonce"].as_str().unwrap();
    let signature = key.sign(&message(&uid, nonce));
    let body = json!({
        "clusterUid": uid, "nonce": nonce, "signature": signature, "agentVersion": "test",
    });
    let path = "/v1/agent/hub-token";
    let answer = post(path, body.clone()).await;
    if answer.0 == StatusCode::OK {
        let (code, again) = post(path, body).await;
        assert_eq!(
            code,
            StatusCode::UNAUTHORIZED,
            "the proof was used: {again}"
        );
    }
    answer
}

#[tokio::test]
async fn hub_issues_a_token_only_after_a_proof_of_the_clusters_key() {
    let requested = Arc::default();
    let server = TestServer::with_client(hub_with_account(&requested));
    let (bound, other) = (key(), key());
    server.stores.clusters.replace(vec![registered(&bound)]);
    let for_a_tunnel = |uid: &ClusterUid, nonce: &str| connect_message(uid, nonce, "");
    let for_another = |_: &ClusterUid, nonce: &str| {
        let other = ClusterUid::new("other");
        hub_token_message(&other, nonce)
    };
    for (code, body) in [
        request(&server, &other, hub_token_message).await,
        request(&server, &bound, for_a_tunnel).await,
        request(&server, &bound, for_another).await,
    ] {
        assert_eq!(code, StatusCode::UNAUTHORIZED, "{body}");
        assert_eq!(body["details"]["causes"][0]["reason"], "ForeignKey");
    }
    assert_eq!(*requested.lock(), Vec::<String>::new());

    let (code, body) = request(&server, &bound, hub_token_message).await;
    assert_eq!(code, StatusCode::OK, "{body}");
    assert_eq!(body["token"], "issued");
    assert_eq!(body["expiresAt"], "2030-01-01T00:00:00Z");
    assert_eq!(*requested.lock(), [ACCOUNT]);
}

#[tokio::test]
async fn no_hub_token_is_issued_for_a_cluster_that_is_being_deleted() {
    let requested = Arc::default();
    let server = TestServer::with_client(hub_with_account(&requested));
    let bound = key();
    let mut cluster = registered(&bound);
    cluster.metadata.deletion_timestamp = Some(Time(Timestamp::now()));
    let finalizer = drover_api::group::CLUSTER_FINALIZER.to_owned();
    cluster.metadata.finalizers = Some(vec![finalizer]);
    server.stores.clusters.replace(vec![cluster]);
    let (code, body) = request(&server, &bound, hub_token_message).await;
    assert_eq!(code, StatusCode::GONE, "{body}");
    assert_eq!(*requested.lock(), Vec::<String>::new());
}
