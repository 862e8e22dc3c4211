//! Tests of the registration of Fleet's own agents. The tests send the requests of the agent through the
//! server's proxy.

mod access;
mod removal;
mod takeover;

use std::collections::BTreeMap;
use std::time::Duration;

use drover_api::fleet::{ClusterRegistration, FleetCluster, FleetClusterRegistrationToken};
use drover_e2e::eventually;
use drover_gitops::ids::{cluster_name, credential_secret_name};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{Answer, Server};

const SOON: Duration = Duration::from_secs(30);
const HUB: &str = "/k8s/clusters/local";
const NAMESPACE: &str = "fleet-default";
const CREDENTIALS: &str = "cattle-fleet-clusters-system";

fn api<K>(server: &Server, namespace: &str) -> Api<K>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(server.hub.client(), namespace)
}

fn fleet(namespace: &str, path: &str) -> String {
    format!("{HUB}/apis/fleet.cattle.io/v1alpha1/namespaces/{namespace}/{path}")
}

fn secrets(namespace: &str, name: &str) -> String {
    format!("{HUB}/api/v1/namespaces/{namespace}/secrets/{name}")
}

/// Creates a ClusterRegistrationToken. Returns the values for the installation of the agent.
async fn registration_token(server: &Server, name: &str, ttl: &str) -> BTreeMap<String, String> {
    let token = json!({ "metadata": { "name": name }, "spec": { "ttl": ttl } });
    let token: FleetClusterRegistrationToken = serde_json::from_value(token).unwrap();
    let tokens = api(server, NAMESPACE);
    // The server creates the namespace.
    eventually("the token is created", SOON, async || {
        tokens.create(&PostParams::default(), &token).await
    })
    .await
    .unwrap();
    let values: Api<Secret> = api(server, NAMESPACE);
    let secret = eventually("the values exist", SOON, async || values.get(name).await);
    let secret = secret.await.unwrap();
    assert_eq!(
        secret.type_.as_deref(),
        Some("fleet.cattle.io/cluster-registration-values")
    );
    let yaml = String::from_utf8(secret.data.unwrap()["values"].0.clone()).unwrap();
    let line = |line: &str| {
        let (key, value) = line.split_once(": ").unwrap();
        (key.to_owned(), serde_json::from_str(value).unwrap())
    };
    yaml.lines().map(line).collect()
}

/// The agent of a cluster before its registration.
struct Agent<'a> {
    server: &'a Server,
    values: &'a BTreeMap<String, String>,
    client_id: String,
    random: String,
}

/// The credential of a registered agent.
struct Credential {
    token: String,
    namespace: String,
    cluster: String,
}

impl<'a> Agent<'a> {
    fn new(
        server: &'a Server,
        values: &'a BTreeMap<String, String>,
        client_id: &str,
        random: &str,
    ) -> Self {
        Self {
            server,
            values,
            client_id: client_id.to_owned(),
            random: random.to_owned(),
        }
    }

    /// Creates a request for a credential. Returns the name of the request.
    async fn request(&self) -> String {
        let body = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "ClusterRegistration",
            "metadata": {
                "generateName": "request-",
                "labels": { "fleet.cattle.io/registration-token": self.values["tokenName"] },
            },
            "spec": {
                "clientID": self.client_id, "clientRandom": self.random,
                "clusterLabels": {
                    "env": "test", "fleet.cattle.io/created-by-agent-pod": "pod",
                    "management.drover.dev/cluster-uid": "forged",
                },
            },
        });
        let (path, token) = (
            fleet(NAMESPACE, "clusterregistrations"),
            &self.values["token"],
        );
        // The hub can need a moment until a new role is in force.
        let created = eventually("the request is created", SOON, async || {
            let answer = self.server.post(&path, token, body.clone()).await;
            created(answer)
        });
        let created = created.await.unwrap();
        created["metadata"]["name"].as_str().unwrap().to_owned()
    }

    /// Reads the Secret with the credential once.
    async fn read(&self) -> Answer {
        let name = credential_secret_name(&self.client_id, &self.random);
        let path = secrets(CREDENTIALS, &name);
        self.server.get(&path, &self.values["token"]).await
    }

    /// Waits for the credential.
    async fn credential(&self) -> Credential {
        let secret = eventually("the credential can be read", SOON, async || {
            let answer = self.read().await;
            match answer.code.as_u16() {
                200 => Ok(answer.body),
                code => Err(format!("{code}: {}", answer.body)),
            }
        });
        let secret: Secret = serde_json::from_value(secret.await.unwrap()).unwrap();
        assert_eq!(
            secret.type_.as_deref(),
            Some("fleet.cattle.io/agent-credential")
        );
        let data = secret.data.unwrap();
        let text = |key: &str| String::from_utf8(data[key].0.clone()).unwrap();
        assert_eq!(text("clusterNamespace"), NAMESPACE);
        Credential {
            token: text("token"),
            namespace: text("deploymentNamespace"),
            cluster: text("clusterName"),
        }
    }

    async fn register(&self) -> Credential {
        self.request().await;
        self.credential().await
    }
}

impl Credential {
    /// Lists the bundle deployments of the agent's cluster. Returns the status code.
    async fn list(&self, server: &Server) -> u16 {
        let path = fleet(&self.namespace, "bundledeployments");
        server.get(&path, &self.token).await.code.as_u16()
    }

    /// Waits until the hub no longer accepts the credential.
    async fn is_revoked(&self, server: &Server) {
        eventually("the credential is revoked", SOON, async || {
            match self.list(server).await {
                401 => Ok(()),
                code => Err(format!("{code}")),
            }
        })
        .await
        .unwrap();
    }
}

fn created(answer: Answer) -> Result<Value, String> {
    match answer.code.as_u16() {
        201 => Ok(answer.body),
        code => Err(format!("{code}: {}", answer.body)),
    }
}

/// Waits for the event with the reason why a request is not granted. Returns its text.
async fn refusal(server: &Server, request: &str, reason: &str) -> String {
    let events: Api<Event> = api(server, NAMESPACE);
    let found = eventually("the refusal is reported", SOON, async || {
        let listed = events.list(&ListParams::default()).await.unwrap();
        let mut events = listed.items.into_iter();
        let of_request = events.find(|event| {
            let regarding = event.regarding.as_ref().and_then(|it| it.name.as_deref());
            regarding == Some(request) && event.reason.as_deref() == Some(reason)
        });
        of_request.ok_or("no event")
    });
    found.await.unwrap().note.unwrap()
}

/// Approves a request for a cluster with an agent.
async fn approve(server: &Server, cluster: &str, request: &str) {
    let annotations = json!({ "management.drover.dev/approve-registration": request });
    let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
    let clusters: Api<FleetCluster> = api(server, NAMESPACE);
    let params = PatchParams::default();
    clusters.patch(cluster, &params, &patch).await.unwrap();
}

/// Sends a patch of this type. Returns the status code.
async fn patch(server: &Server, path: &str, token: &str, kind: &str, body: Value) -> u16 {
    let bearer = format!("Bearer {token}");
    let kind = format!("application/{kind}+json");
    let headers = [("authorization", &*bearer), ("content-type", &*kind)];
    let sent = server.call_with(Method::PATCH, path, &headers, Some(body));
    sent.await.code.as_u16()
}

async fn request_of(server: &Server, name: &str) -> Option<ClusterRegistration> {
    let requests: Api<ClusterRegistration> = api(server, NAMESPACE);
    requests.get_opt(name).await.unwrap()
}

/// Returns the name of the cluster of a new client ID.
fn new_cluster(client_id: &str) -> String {
    cluster_name(client_id)
}
