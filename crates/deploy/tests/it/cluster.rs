//! An embedded Kubernetes API in this process, and a deployer for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drover_api::fleet::{BundleDeploymentOptions, BundleDeploymentSpec, BundleResource};
use drover_apiserver::access::Caller;
use drover_apiserver::builtin::Kinds;
use drover_apiserver::server::{ApiServer, Options};
use drover_deploy::cluster::Cluster;
use drover_deploy::deployment::{DeployError, Deployer, Input, Outcome, Settings};
use drover_deploy::object::{Object, ObjectKey};
use drover_deploy::release::History;
use drover_deploy::renderer::{Renderer, Settings as RendererSettings};
use drover_deploy::signature::SigningKeys;
use kube::Client;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt as _;

pub(crate) const AGENT_NAMESPACE: &str = "cattle-fleet-system";

/// Returns the path of the renderer: the variable `DROVER_RENDER`, or the file in the folder of programs.
pub(crate) fn renderer_program() -> PathBuf {
    if let Some(path) = std::env::var_os("DROVER_RENDER") {
        return path.into();
    }
    let own = std::env::current_exe().unwrap();
    let path = own.ancestors().nth(2).unwrap().join("drover-render");
    assert!(
        path.is_file(),
        "build {} with `cargo run -p xtask -- renderer`",
        path.display()
    );
    path
}

pub(crate) fn renderer() -> Arc<Renderer> {
    Arc::new(Renderer::new(RendererSettings::new(renderer_program())))
}

pub(crate) struct TestCluster {
    pub(crate) client: Client,
    pub(crate) cluster: Cluster,
    pub(crate) deployer: Deployer,
    keys: SigningKeys,
    _folder: tempfile::TempDir,
    _end: DropGuard,
}

impl TestCluster {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::new(folder.path().join("hub.db"));
        options.kinds = Kinds::Cluster;
        let server = ApiServer::open(options).await.unwrap();
        let end = CancellationToken::new();
        let running = (server.clone(), end.clone());
        tokio::spawn(async move { running.0.run(running.1).await });
        let router = server.router();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            let router = router.clone();
            async move {
                request.extensions_mut().insert(Caller::privileged("agent"));
                router.oneshot(request.map(axum::body::Body::new)).await
            }
        });
        let client = Client::new(service, "default");
        let cluster = Cluster::new(client.clone());
        let settings = Settings {
            agent_namespace: AGENT_NAMESPACE.to_owned(),
            default_namespace: "default".to_owned(),
        };
        let keys = || SigningKeys::new(client.clone(), AGENT_NAMESPACE);
        let deployer = Deployer::new(cluster.clone(), renderer(), settings, keys());
        let keys = keys();
        let test = Self {
            client,
            cluster,
            deployer,
            keys,
            _folder: folder,
            _end: end.drop_guard(),
        };
        let namespace = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}});
        test.apply(namespace).await;
        test
    }

    /// Returns the records of the release `web`.
    pub(crate) async fn history(&self) -> History {
        let key = self.keys.get().await.unwrap();
        History::new(&self.cluster, key, "web", "web", "web")
    }

    pub(crate) async fn deploy(&self, bundle: &Bundle) -> Result<Outcome, DeployError> {
        self.deployer.deploy(&bundle.input()).await
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Object> {
        let key = ObjectKey {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: "web".to_owned(),
            name: name.to_owned(),
        };
        self.cluster.get(&key).await.unwrap()
    }

    /// Applies an object as another program.
    pub(crate) async fn apply(&self, object: serde_json::Value) {
        let object = Object(object);
        let key = object.key();
        let kind = self
            .cluster
            .kind(&key.api_version, &key.kind)
            .await
            .unwrap();
        let params = kube::api::PatchParams::apply("test").force();
        let api = self.cluster.api(&kind, &key.namespace);
        api.patch(&key.name, &params, &kube::api::Patch::Apply(&object))
            .await
            .unwrap();
    }
}

/// A bundle deployment `web` in the namespace `web`.
pub(crate) struct Bundle {
    pub(crate) spec: BundleDeploymentSpec,
    pub(crate) resources: Vec<BundleResource>,
    /// Objects of the hub.
    pub(crate) copies: Vec<Object>,
}

impl Bundle {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let options = BundleDeploymentOptions {
            default_namespace: "web".to_owned(),
            ..BundleDeploymentOptions::default()
        };
        let spec = BundleDeploymentSpec {
            options,
            deployment_id: format!("{}:2", id(files)),
            ..BundleDeploymentSpec::default()
        };
        let resources = files.iter().map(|(name, content)| BundleResource {
            name: (*name).to_owned(),
            content: (*content).to_owned(),
            ..BundleResource::default()
        });
        Self {
            spec,
            resources: resources.collect(),
            copies: Vec::new(),
        }
    }

    /// Creates a bundle of the chart in `tests/charts/web`.
    pub(crate) fn chart() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts/web");
        let mut files = Vec::new();
        read(&root, &root, &mut files);
        let files: Vec<_> = files
            .iter()
            .map(|(name, content)| (name.as_str(), content.as_str()))
            .collect();
        Self::new(&files)
    }

    pub(crate) fn input(&self) -> Input<'_> {
        Input {
            name: "web",
            spec: &self.spec,
            resources: &self.resources,
            cluster: "cluster-1",
            commit: "",
            values: None,
            copies: &self.copies,
        }
    }
}

/// Returns an ID that is different for different files.
fn id(files: &[(&str, &str)]) -> String {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    format!("s-{:x}", hasher.finish())
}

fn read(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            files.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}
