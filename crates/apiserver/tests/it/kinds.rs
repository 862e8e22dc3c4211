//! Checks that `Kinds::Hub` serves no workload kinds.

use std::path::Path;
use std::time::Duration;

use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, Options, StartError};
use drover_apiserver::store::OpenError;
use http::Method;
use serde_json::{Value, json};

use super::hub::{Hub, MAPS, config_map};

const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

async fn hub() -> Hub {
    Hub::with(|options| options.kinds = Kinds::Hub).await
}

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "finalizers": ["example.com/never"]},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}})
}

#[tokio::test]
async fn server_with_hub_kinds_returns_404_for_workload_requests() {
    let hub = hub().await;
    // kube-apiserver returns this message for an unknown resource in a served group.
    let unknown = "the server could not find the requested resource";
    for (method, path) in [
        (Method::GET, PODS.to_owned()),
        (Method::POST, PODS.to_owned()),
        (Method::GET, format!("{PODS}?watch=true")),
        (Method::GET, format!("{PODS}/p/log")),
        (Method::POST, format!("{PODS}/p/eviction")),
        (Method::GET, "/api/v1/nodes".to_owned()),
        (Method::GET, "/api/v1/services".to_owned()),
        (Method::GET, "/api/v1/no-such-kind".to_owned()),
    ] {
        let call = hub.call(method.clone(), &path);
        let answer = match method {
            Method::POST => call.send(pod("p")).await,
            _ => call.none().await,
        };
        assert_eq!(answer.code, 404, "{path}: {}", answer.text);
        assert_eq!(answer.message(), unknown, "{path}");
    }
    // kube-apiserver returns this message for an unknown group.
    for path in [DEPLOYMENTS, "/apis/apps/v1", "/apis/apps", "/apis/batch/v1"] {
        let answer = hub.get(path).await;
        assert_eq!(answer.code, 404, "{path}: {}", answer.text);
        assert_eq!(answer.text.trim(), "404 page not found", "{path}");
    }
    hub.create(MAPS, config_map("m")).await;
}

#[tokio::test]
async fn discovery_and_openapi_of_hub_kinds_exclude_workload_kinds() {
    let hub = hub().await;
    let list = hub.get("/api/v1").await.expect(200);
    let names: Vec<&str> = list["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "configmaps",
            "events",
            "namespaces",
            "namespaces/finalize",
            "namespaces/status",
            "secrets",
            "serviceaccounts",
            "serviceaccounts/token",
        ]
    );
    let groups = hub.get("/apis").await.expect(200);
    let groups: Vec<&str> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        groups,
        [
            "events.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "rbac.authorization.k8s.io",
            "apiextensions.k8s.io",
            "coordination.k8s.io",
        ]
    );
    let index = hub.get("/openapi/v3").await.expect(200);
    assert!(index["paths"].get("apis/apps/v1").is_none());
    for path in ["/openapi/v3/api/v1", "/openapi/v2"] {
        let document = hub.get(path).await;
        assert_eq!(document.code, 200, "{path}");
        assert!(document.text.contains("io.k8s.api.core.v1.ConfigMap"));
        for kind in ["io.k8s.api.core.v1.Pod\"", "/nodes", "v1.Deployment\""] {
            assert!(
                !document.text.contains(kind),
                "the document {path} contains the kind {kind}"
            );
        }
    }
}

/// Opens a server; waits while a previous server on the same store holds the lock.
async fn open(path: &Path, kinds: Kinds) -> Hub {
    for _ in 0..500 {
        let mut options = Options::new(path);
        options.kinds = kinds;
        match ApiServer::open(options).await {
            Ok(server) => return Hub::of(server),
            Err(StartError::Store {
                source: OpenError::Locked { .. },
                ..
            }) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(error) => panic!("cannot open the server: {error:?}"),
        }
    }
    panic!("the lock of the store is not released");
}

#[tokio::test]
async fn server_with_hub_kinds_deletes_stored_workloads_on_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.db");
    {
        // Earlier versions served workload kinds on the hub.
        let old = open(&path, Kinds::Cluster).await;
        for number in 0..600 {
            old.create(PODS, pod(&format!("p{number}"))).await;
        }
        let labels = json!({"app": "web"});
        let deployment = json!({"metadata": {"name": "web"}, "spec": {
            "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [
                    {"name": "c", "image": "i"}]}}}});
        let owner = old.create(DEPLOYMENTS, deployment).await;
        let mut dependent = config_map("owned");
        dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1",
            "kind": "Deployment", "name": "web", "uid": owner["metadata"]["uid"]}]);
        old.create(MAPS, dependent).await;
    }
    {
        let hub = open(&path, Kinds::Hub).await;
        assert_eq!(hub.get(PODS).await.code, 404);
        hub.get(&format!("{MAPS}/owned")).await.expect(200);
        hub.create(MAPS, config_map("new")).await;
    }
    let again = open(&path, Kinds::Cluster).await;
    for path in [PODS, DEPLOYMENTS] {
        let list = again.get(path).await.expect(200);
        assert_eq!(list["items"], json!([]), "{path}");
    }
    again.get(&format!("{MAPS}/new")).await.expect(200);
}
