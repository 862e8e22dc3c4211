//! A server with a hub, and a cluster with the import manifest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_agent::wire::{Replica, assemble};
use drover_agent_link::binding::ServerBinding;
use drover_agent_link::registration::{Registrar, Store};
use drover_agent_link::server::Server as DialledServer;
use drover_api::kinds::{Cluster, ClusterStatus};
use drover_e2e::{ControlPlane, SharedControlPlane, eventually};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Event, Secret, ServiceAccount};
use kube::api::{Api, ListParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::place::TestHub;
use crate::server::Server;

pub(super) const SOON: Duration = Duration::from_mins(1);
pub(super) const NAMESPACE: &str = "drover-agent";

/// A hub, its server and the session of the administrator.
pub(super) struct Rig {
    pub(super) server: Server,
    pub(super) admin: String,
    /// The hub. Rust drops fields in order, so the hub is dropped after the server.
    _hub: TestHub,
}

/// A running replica of the agent. The replica stops when the value is dropped.
pub(super) struct Running {
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.cancel();
        self.task.abort();
    }
}

impl Running {
    /// Stops the replica gracefully, as after SIGTERM.
    pub(super) async fn terminate(mut self) {
        self.shutdown.cancel();
        (&mut self.task).await.unwrap();
    }
}

pub(super) async fn control_plane(name: &str) -> SharedControlPlane {
    SharedControlPlane::lease(name).await.unwrap()
}

impl Rig {
    pub(super) fn on(hub: TestHub, server: Server, admin: String) -> Self {
        Self {
            server,
            admin,
            _hub: hub,
        }
    }

    /// Starts a server on a new hub, and an empty cluster.
    pub(super) async fn with_cluster() -> (Self, SharedControlPlane) {
        Self::with_cluster_on(TestHub::chosen().await).await
    }

    /// Starts a server on this hub, and an empty cluster.
    pub(super) async fn with_cluster_on(hub: TestHub) -> (Self, SharedControlPlane) {
        drover_agent_link::program::install_crypto();
        let cluster = control_plane("shop").await;
        let server = Server::start(&hub).await;
        let admin = server.administrator().await;
        (Self::on(hub, server, admin), cluster)
    }

    /// Creates a Cluster and returns its UID.
    pub(super) async fn create(&self, name: &str) -> String {
        let body = json!({ "name": name });
        let created = self
            .server
            .post("/v1/clusters", &self.admin, body)
            .await
            .expect(201);
        created["uid"].as_str().unwrap().to_owned()
    }

    /// Creates a registration token, and returns the response with the import manifest.
    pub(super) async fn import(&self, name: &str) -> Value {
        let path = format!("/v1/clusters/{name}/import");
        self.server
            .post(&path, &self.admin, json!({}))
            .await
            .expect(200)
    }

    /// Creates a Cluster, and applies its import manifest to the cluster.
    pub(super) async fn join(&self, name: &str, cluster: &ControlPlane) -> String {
        let uid = self.create(name).await;
        apply(cluster, &self.import(name).await).await;
        uid
    }

    /// Reads the Cluster from the hub.
    pub(super) async fn cluster(&self, name: &str) -> Cluster {
        self.server.hub.clusters().get(name).await.unwrap()
    }

    pub(super) async fn status(&self, name: &str) -> ClusterStatus {
        self.cluster(name).await.status.unwrap_or_default()
    }

    /// Waits until a condition has this status and reason.
    pub(super) async fn wait_for(&self, name: &str, kind: &str, expected: (&str, &str)) {
        eventually(&format!("{kind}={expected:?}"), SOON, async || {
            let conditions = self.status(name).await.conditions;
            let found = conditions.iter().find(|c| c.type_ == kind);
            match found.map(|c| (c.status.as_str(), c.reason.as_str())) {
                Some(now) if now == expected => Ok(()),
                _ => Err(format!("{conditions:?}")),
            }
        })
        .await
        .unwrap();
    }

    /// Returns the reasons of the events on a Cluster.
    pub(super) async fn events(&self, name: &str) -> Vec<String> {
        let api: Api<Event> = Api::namespaced(self.server.hub.client(), "default");
        let params = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let events = api.list(&params).await.unwrap();
        events
            .into_iter()
            .filter_map(|event| event.reason)
            .collect()
    }
}

/// Applies an import manifest with kubectl, as users do.
pub(super) async fn apply(cluster: &ControlPlane, import: &Value) {
    let file = cluster.folder().join("import.yaml");
    std::fs::write(&file, import["manifest"].as_str().unwrap()).unwrap();
    cluster
        .kubectl(["apply", "-f", &file.to_string_lossy()])
        .await
        .unwrap();
}

/// Returns the client configuration of the agent's pod, with the token of its service account.
pub(super) async fn in_pod(cluster: &ControlPlane) -> kube::Config {
    as_account(cluster, "drover-agent").await
}

/// Returns a client configuration with the token of a service account in the manifest's namespace.
pub(super) async fn as_account(cluster: &ControlPlane, account: &str) -> kube::Config {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(3600),
            ..Default::default()
        }),
        ..Default::default()
    };
    let params = PostParams::default();
    let answer = accounts
        .create_token_request(account, &params, &request)
        .await
        .unwrap();
    let token = answer.status.unwrap().token.unwrap();
    let mut config = outside(cluster).await;
    config.auth_info = AuthInfo {
        token: Some(token.into()),
        ..AuthInfo::default()
    };
    config
}

/// Returns the client configuration of the cluster's administrator, for an agent that runs outside
/// the cluster.
pub(super) async fn outside(cluster: &ControlPlane) -> kube::Config {
    let file = Kubeconfig::read_from(cluster.kubeconfig_path()).unwrap();
    kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .unwrap()
}

/// Creates a replica without starting it.
pub(super) fn replica(config: &kube::Config, name: &str) -> Replica {
    let stop = CancellationToken::new();
    assemble(config, NAMESPACE, name.to_owned(), None, stop).unwrap()
}

/// Starts a replica with the permissions of the import manifest that also deploys bundles.
pub(super) async fn start_with_gitops(cluster: &ControlPlane, name: &str) -> Running {
    run(with_gitops(cluster, name).await)
}

/// Starts a replica that deploys bundles and opens no tunnel.
pub(super) async fn start_without_tunnel(cluster: &ControlPlane, name: &str) -> Running {
    let mut replica = with_gitops(cluster, name).await;
    replica.has_tunnel = false;
    run(replica)
}

/// Returns the program that renders charts.
pub(super) fn renderer() -> PathBuf {
    let renderer = Path::new(env!("CARGO_BIN_EXE_drover")).with_file_name("drover-render");
    assert!(renderer.exists(), "run: cargo run -p xtask -- renderer");
    renderer
}

async fn with_gitops(cluster: &ControlPlane, name: &str) -> Replica {
    let renderer = renderer();
    let (config, stop) = (in_pod(cluster).await, CancellationToken::new());
    let mut replica = assemble(&config, NAMESPACE, name.to_owned(), Some(renderer), stop).unwrap();
    replica.set_removal_delay(Duration::ZERO);
    replica
}

/// Starts a replica.
pub(super) fn run(replica: Replica) -> Running {
    let shutdown = replica.connection.shutdown.clone();
    Running {
        shutdown,
        task: tokio::spawn(async move { replica.run().await }),
    }
}

/// Starts a replica with the permissions of the import manifest.
pub(super) async fn start(cluster: &ControlPlane, name: &str) -> Running {
    run(replica(&in_pod(cluster).await, name))
}

/// The store, the server binding and the server client for an agent's registration.
pub(super) struct Steps {
    pub(super) store: Store,
    pub(super) binding: ServerBinding,
    pub(super) server: DialledServer,
}

impl Steps {
    pub(super) async fn of(cluster: &ControlPlane) -> Self {
        let config = in_pod(cluster).await;
        let client = kube::Client::try_from(config).unwrap();
        let store = Store::new(client, NAMESPACE);
        let binding = store.binding().await.unwrap();
        let server = DialledServer::new(&binding).unwrap();
        Self {
            store,
            binding,
            server,
        }
    }

    pub(super) fn registrar(&self) -> Registrar<'_> {
        Registrar {
            store: &self.store,
            binding: &self.binding,
            server: &self.server,
            trust_record: true,
        }
    }
}

/// Reads a Secret in the agent's namespace. Returns `None` if the Secret does not exist.
pub(super) async fn secret(cluster: &ControlPlane, name: &str) -> Option<Secret> {
    Api::<Secret>::namespaced(cluster.client(), NAMESPACE)
        .get_opt(name)
        .await
        .unwrap()
}
