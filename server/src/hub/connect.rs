//! The one client of the hub, built from explicit configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_api::group::HUB_NAMESPACE;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use thiserror::Error;

use super::{HubError, call};

/// Where the hub is.
#[derive(Clone, Debug, Default)]
pub struct HubOptions {
    /// A kubeconfig; without one the server must run in a pod of the hub.
    pub kubeconfig: Option<PathBuf>,
    /// The context to use instead of the file's current one.
    pub context: Option<String>,
}

/// Why there is no client of the hub.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {}: check the file and --context", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<kube::config::KubeconfigError>,
    },
    /// Neither a kubeconfig nor a pod's service account.
    #[error(
        "no hub: name one with --kubeconfig FILE, or run the server in a pod of the hub with a \
         service account"
    )]
    NotInCluster(#[source] kube::config::InClusterError),
    /// The configuration makes no client.
    #[error("cannot make a client of the hub from its configuration")]
    Client(#[source] Box<kube::Error>),
}

/// Builds the client; does not talk to the hub yet.
pub async fn connect(options: &HubOptions) -> Result<Client, ConnectError> {
    let mut config = match &options.kubeconfig {
        Some(path) => from_kubeconfig(path, options.context.clone()).await?,
        None => Config::incluster().map_err(ConnectError::NotInCluster)?,
    };
    config.connect_timeout = Some(Duration::from_secs(5));
    // Every call has its own limit, and watches have theirs.
    config.read_timeout = None;
    Client::try_from(config).map_err(|source| ConnectError::Client(Box::new(source)))
}

async fn from_kubeconfig(path: &Path, context: Option<String>) -> Result<Config, ConnectError> {
    let failed = |source| ConnectError::Kubeconfig {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let file = Kubeconfig::read_from(path).map_err(failed)?;
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(file, &options)
        .await
        .map_err(failed)
}

/// Makes the server's namespace if it is not there.
pub async fn ensure_namespace(client: &Client) -> Result<(), HubError> {
    let api: Api<Namespace> = Api::all(client.clone());
    if call("read the server's namespace", api.get_opt(HUB_NAMESPACE))
        .await?
        .is_some()
    {
        return Ok(());
    }
    let metadata = ObjectMeta {
        name: Some(HUB_NAMESPACE.to_owned()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    match call(
        "create the server's namespace",
        api.create(&PostParams::default(), &namespace),
    )
    .await
    {
        Ok(_) => Ok(()),
        Err(error) if error.is_conflict() => Ok(()),
        Err(error) => Err(error),
    }
}
