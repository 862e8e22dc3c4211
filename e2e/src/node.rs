//! Runs a real node: containerd, kubelet and kube-proxy in separate namespaces.

mod configuration;
mod faults;
mod kernel;
mod namespaces;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::Api;

use crate::control_plane::{ControlPlane, Options, StartError};
use crate::image::{Image, ImageError};
use crate::kubectl::{CommandError, CommandLine};
use crate::network::{NetworkError, NodeNetwork, search_path};
use crate::pki::PkiError;
use crate::program::{ProgramError, Running};
use crate::scratch::{Scratch, ScratchError};
use crate::tools::{BuildError, Tool};
use configuration::Settings;
pub use faults::{DroppedPackets, PausedProcesses};
use kernel::ControlGroups;
use namespaces::Namespaces;

/// Timeout of the start. The timeout is long enough for a busy machine.
const READY: Duration = Duration::from_mins(3);
/// Path of containerd's socket, below `/run` of the node.
const CONTAINERD: &str = "/run/containerd/containerd.sock";

/// The reason why a node cannot start.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The control plane listens on an address that the node cannot reach.
    #[error(
        "the node cannot reach {cluster} at {address}: start it with `address: network.host_address()`"
    )]
    Unreachable {
        /// Name of the cluster.
        cluster: String,
        /// The address of the API server.
        address: std::net::IpAddr,
    },
    /// A temporary folder cannot be created.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The network cannot be created.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The control plane did not start.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// A program cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A certificate cannot be created.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The image for the node and for test pods cannot be built.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// containerd cannot load an image.
    #[error("cannot load the image {archive}")]
    LoadImage {
        /// Path of the image archive.
        archive: PathBuf,
        /// Output of the command `ctr`.
        source: CommandError,
    },
    /// A file, folder or control group cannot be created.
    #[error("cannot prepare {path} for the node")]
    Prepare {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// The options of a node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// The node's name, which is also its host name.
    pub name: String,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            name: "node-1".to_owned(),
        }
    }
}

/// A running node.
///
/// Dropping the node ends all its pods and programs, and removes its files. If a test panics, the
/// drop also prints the last lines of each program's log.
#[derive(Debug)]
pub struct Node {
    // The fields are dropped in this order: the processes, then the resources that they use.
    kube_proxy: Running,
    kubelet: Running,
    containerd: Running,
    namespaces: Namespaces,
    _groups: ControlGroups,
    folder: Scratch,
    network: NodeNetwork,
    name: String,
}

/// Starts a control plane with a scheduler and a node.
///
/// The function sets `address` and `scheduler` of `options`.
pub async fn cluster_with_node(options: Options) -> Result<(ControlPlane, Node), JoinError> {
    let network = NodeNetwork::acquire().await?;
    let options = Options {
        address: network.host_address(),
        scheduler: true,
        ..options
    };
    let cluster = ControlPlane::start(options).await?;
    let node = Node::join(&cluster, network, NodeOptions::default()).await?;
    Ok((cluster, node))
}

impl Node {
    /// Starts a node, joins the node to `cluster`, and waits until the node is Ready. The image
    /// [`Image::TOOLS`] is loaded on the node.
    pub async fn join(
        cluster: &ControlPlane,
        network: NodeNetwork,
        options: NodeOptions,
    ) -> Result<Self, JoinError> {
        let address = cluster.api_address().ip();
        // Every node reaches the host addresses of the networks of all nodes.
        if address.is_loopback() {
            return Err(JoinError::Unreachable {
                cluster: cluster.name().to_owned(),
                address,
            });
        }
        let folder = Scratch::make("node")?;
        let groups = ControlGroups::create(&network.name())?;
        let settings = Settings::write(cluster, &network, &options.name, folder.path())?;
        kernel::copy_settings(folder.path())?;
        let namespaces = Namespaces::enter(&settings, &network).await?;
        let containerd = start_containerd(&namespaces, &settings).await?;
        let kubelet = start_kubelet(&namespaces, &settings, &network).await?;
        let kube_proxy = namespaces
            .program("kube-proxy", &Tool::KubeProxy.locate().await?)
            .arg("--config")
            .arg(&settings.kube_proxy)
            .start()?;
        let mut node = Self {
            kube_proxy,
            kubelet,
            containerd,
            namespaces,
            _groups: groups,
            folder,
            network,
            name: options.name,
        };
        node.wait_until_ready(cluster).await?;
        Ok(node)
    }

    /// Returns the node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the network between this host and the node.
    pub const fn network(&self) -> &NodeNetwork {
        &self.network
    }

    /// Returns the folder of the log files. Each program has one log file.
    pub fn logs(&self) -> PathBuf {
        self.folder.path().join("logs")
    }

    /// Loads an image from a docker or OCI archive into containerd. Pods use the image with
    /// `imagePullPolicy: Never`.
    pub async fn load_image(&self, archive: &Path) -> Result<(), JoinError> {
        load(&self.namespaces, archive).await
    }

    /// Pauses the node without closing its connections, to simulate a network failure.
    pub fn pause(&self) -> Result<(), JoinError> {
        Ok(self.namespaces.pause()?)
    }

    /// Resumes a node that [`Node::pause`] has paused.
    pub fn resume(&self) -> Result<(), JoinError> {
        Ok(self.namespaces.resume()?)
    }

    /// Returns an error if a program of the node has ended. The error contains the last lines of
    /// the program's log.
    pub fn check(&mut self) -> Result<(), ProgramError> {
        self.containerd.check()?;
        self.kubelet.check()?;
        self.kube_proxy.check()
    }

    async fn wait_until_ready(&mut self, cluster: &ControlPlane) -> Result<(), JoinError> {
        let nodes: Api<NodeObject> = Api::all(cluster.client());
        let name = self.name.clone();
        let kube_proxy = &mut self.kube_proxy;
        self.kubelet
            .wait_until("the node to be Ready", READY, async |_| {
                kube_proxy.check().map_err(|error| error.to_string())?;
                let node = nodes.get(&name).await.map_err(|error| error.to_string())?;
                readiness(&node)
            })
            .await?;
        Ok(())
    }
}

/// Returns the reason why a node is not ready or not schedulable. Returns `None` if the node is
/// usable.
fn readiness(node: &NodeObject) -> Result<(), String> {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    if let Some(taint) = taints.and_then(|taints| taints.first()) {
        return Err(format!("the node has the taint {}", taint.key));
    }
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let ready = conditions.and_then(|conditions| {
        conditions
            .iter()
            .find(|condition| condition.type_ == "Ready")
    });
    match ready {
        Some(ready) if ready.status == "True" => Ok(()),
        Some(ready) => Err(ready.message.clone().unwrap_or_default()),
        None => Err("the node has no Ready condition yet".to_owned()),
    }
}

/// Starts containerd with the sandbox image for pods.
async fn start_containerd(
    namespaces: &Namespaces,
    settings: &Settings,
) -> Result<Running, JoinError> {
    let mut containerd = namespaces
        .program("containerd", Path::new("containerd"))
        .arg("--config")
        .arg(&settings.containerd)
        .start()?;
    let tools = Image::tools().await?;
    let ctr = ctr(namespaces);
    containerd
        .wait_until("containerd to answer", READY, async |_| {
            ctr(&["plugins", "list"]).await
        })
        .await?;
    load(namespaces, tools.archive()).await?;
    Ok(containerd)
}

async fn start_kubelet(
    namespaces: &Namespaces,
    settings: &Settings,
    network: &NodeNetwork,
) -> Result<Running, JoinError> {
    let kubelet = namespaces
        .program("kubelet", &Tool::Kubelet.locate().await?)
        .arg("--config")
        .arg(&settings.kubelet)
        .arg("--kubeconfig")
        .arg(&settings.kubelet_kubeconfig)
        .arg(format!("--node-ip={}", network.node_address()))
        .arg("--root-dir")
        .arg(settings.folder.join("kubelet"))
        .start()?;
    Ok(kubelet)
}

async fn load(namespaces: &Namespaces, archive: &Path) -> Result<(), JoinError> {
    let shown = archive.display().to_string();
    ctr(namespaces)(&[
        "--namespace",
        "k8s.io",
        "images",
        "import",
        "--snapshotter",
        "native",
        &shown,
    ])
    .await
    .map_err(|source| JoinError::LoadImage {
        archive: archive.to_owned(),
        source,
    })
}

/// Returns a function that runs `ctr`, the client of containerd, on the node.
fn ctr(namespaces: &Namespaces) -> impl AsyncFn(&[&str]) -> Result<(), CommandError> {
    let enter = namespaces.enter_arguments();
    async move |arguments| {
        let command = CommandLine::new(Path::new("nsenter"), Path::new(""), Path::new("/"))
            .env("PATH", search_path());
        let mut words = enter.clone();
        words.extend(["ctr", "--address", CONTAINERD].map(str::to_owned));
        words.extend(arguments.iter().map(|&word| word.to_owned()));
        command.run(words).await.map(drop)
    }
}

fn prepare(path: &Path) -> impl FnOnce(io::Error) -> JoinError {
    let path = path.to_owned();
    move |source| JoinError::Prepare { path, source }
}

/// Creates a folder and its missing parent folders.
fn make_folder(path: &Path) -> Result<(), JoinError> {
    fs::create_dir_all(path).map_err(prepare(path))
}
