//! Builds the hub's client from explicit configuration. All other modules are independent of the
//! hub's type.

use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_api::client_error::ClientError;
use drover_api::group::HUB_NAMESPACE;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use thiserror::Error;

use super::embedded::data_dir::{DataDir, DataDirError};
use super::embedded::{Embedded, EmbeddedError, HubMemory, HubService};
use super::{HubError, Stores, call};

/// The location of the hub: an external API, the pod's cluster, or this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubOptions {
    /// An external Kubernetes API, selected by a kubeconfig.
    Kubeconfig {
        /// The path of the kubeconfig.
        file: PathBuf,
        /// The name of the context. `None` selects the current context of the kubeconfig.
        context: Option<String>,
    },
    /// The Kubernetes API of the cluster in which this process runs. The client uses the pod's
    /// service account.
    Pod,
    /// The embedded hub in this process. The value is its data folder.
    Embedded(DataDir),
}

/// The environment of the process. The environment determines the default hub.
#[derive(Clone, Debug, Default)]
pub struct ProcessEnvironment {
    /// True if the process runs in a pod with a service account.
    pub in_pod: bool,
    /// True if the process runs as root.
    pub root: bool,
    /// The value of `$XDG_DATA_HOME`.
    pub xdg_data_home: Option<PathBuf>,
    /// The value of `$HOME`.
    pub home: Option<PathBuf>,
}

impl ProcessEnvironment {
    /// Reads the environment of this process.
    pub fn read() -> Self {
        let path = |name| {
            let value = std::env::var_os(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let token = Path::new("/var/run/secrets/kubernetes.io/serviceaccount/token");
        Self {
            in_pod: path("KUBERNETES_SERVICE_HOST").is_some() && token.exists(),
            root: rustix::process::geteuid().is_root(),
            xdg_data_home: path("XDG_DATA_HOME"),
            home: path("HOME"),
        }
    }

    /// Returns the default data folder.
    pub fn data_dir(&self) -> Result<DataDir, DataDirError> {
        DataDir::of_user(
            self.root,
            self.xdg_data_home.as_deref(),
            self.home.as_deref(),
        )
    }
}

impl HubOptions {
    /// Selects the hub in this order: the configured hub, the cluster of the pod, and the embedded
    /// hub in the user's data folder.
    pub fn choose(
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
        data: Option<PathBuf>,
        environment: &ProcessEnvironment,
    ) -> Result<Self, DataDirError> {
        match (kubeconfig, data) {
            (Some(file), _) => Ok(Self::Kubeconfig { file, context }),
            (None, Some(folder)) => Ok(Self::Embedded(DataDir::new(folder))),
            (None, None) if environment.in_pod => Ok(Self::Pod),
            (None, None) => environment.data_dir().map(Self::Embedded),
        }
    }
}

/// The error of connecting to the hub.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {path}: check the file and --context")]
    Kubeconfig {
        /// The path of the kubeconfig.
        path: PathBuf,
        /// The problem with the kubeconfig.
        source: Box<kube::config::KubeconfigError>,
    },
    /// The pod's service account cannot be used.
    #[error(
        "cannot use the pod's service account: add a service account to the pod, or set a hub \
         with --kubeconfig FILE or a folder with --data-dir DIR"
    )]
    Pod(#[source] kube::config::InClusterError),
    /// The client cannot be built from the configuration.
    #[error(
        "cannot create the client of the hub: check the kubeconfig or the pod's service account"
    )]
    Client(#[source] ClientError),
    /// The embedded hub cannot be opened.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
}

/// An open connection to the hub.
#[derive(Debug)]
pub struct Connection {
    client: ClientOf,
    embedded: Option<Embedded>,
}

/// A client that implements `Debug`.
struct ClientOf(Client);

impl std::fmt::Debug for ClientOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Connection {
    /// Returns the client for requests to the hub with the server's account.
    pub fn client(&self) -> Client {
        self.client.0.clone()
    }

    /// Reports whether the hub is embedded. An embedded hub calls admission in process, and an
    /// external hub needs a webhook.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Sets the stores that an embedded hub uses to check writes of accounts other than the
    /// server's. The embedded hub rejects these writes until the stores are set.
    pub fn enforce_rules(&self, stores: &Stores) {
        if let Some(embedded) = &self.embedded {
            embedded.enforce_rules(stores.clone());
        }
    }

    /// Sets the CA certificate that an embedded hub writes into token Secrets.
    pub fn trust(&self, pem: String) {
        if let Some(embedded) = &self.embedded {
            embedded.trust(pem);
        }
    }

    /// Returns the metrics of an embedded hub.
    pub fn metrics(&self) -> HubMetrics {
        HubMetrics(self.embedded.as_ref().map(Embedded::metrics))
    }

    /// Closes an embedded hub. Call this function after the last request of the client.
    pub async fn close(self) {
        if let Some(embedded) = self.embedded {
            embedded.close().await;
        }
    }
}

/// The metrics of an embedded hub. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct HubMetrics(Option<HubService>);

impl HubMetrics {
    /// Returns the metrics as OpenMetrics 1.0 text with its end marker. Returns `None` for an
    /// external hub.
    pub async fn text(&self) -> Option<String> {
        self.0.as_ref()?.metrics().await
    }
}

/// Builds the client. Sends no request to an external hub.
pub async fn connect(options: &HubOptions) -> Result<Connection, ConnectError> {
    connect_within(options, HubMemory::default()).await
}

/// Builds the client. `memory` limits the memory of an embedded hub.
pub async fn connect_within(
    options: &HubOptions,
    memory: HubMemory,
) -> Result<Connection, ConnectError> {
    let config = match options {
        HubOptions::Kubeconfig { file, context } => from_kubeconfig(file, context.clone()).await?,
        HubOptions::Pod => Config::incluster().map_err(ConnectError::Pod)?,
        HubOptions::Embedded(data_dir) => {
            let embedded = Embedded::open(data_dir, memory).await?;
            return Ok(Connection {
                client: ClientOf(embedded.client()),
                embedded: Some(embedded),
            });
        }
    };
    remote(config)
}

fn remote(mut config: Config) -> Result<Connection, ConnectError> {
    config.connect_timeout = Some(Duration::from_secs(5));
    // Every call and every watch has its own timeout.
    config.read_timeout = None;
    // HTTPS_PROXY applies to identity providers. This client is built without proxy support and
    // would fail.
    config.proxy_url = None;
    let client = Client::try_from(config).map_err(|source| ConnectError::Client(source.into()))?;
    Ok(Connection {
        client: ClientOf(client),
        embedded: None,
    })
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

/// Creates the server's namespace if it does not exist.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_hub_is_the_cluster_of_the_pod_or_the_embedded_hub() {
        let outside = ProcessEnvironment {
            home: Some("/home/ann".into()),
            ..ProcessEnvironment::default()
        };
        let pod = ProcessEnvironment {
            in_pod: true,
            ..outside.clone()
        };
        let choose = |file: Option<&str>, data: Option<&str>, around| {
            HubOptions::choose(file.map(Into::into), None, data.map(Into::into), around).unwrap()
        };
        let file = || HubOptions::Kubeconfig {
            file: "hub.yaml".into(),
            context: None,
        };
        let in_folder = |folder: &str| HubOptions::Embedded(DataDir::new(folder));
        assert_eq!(choose(Some("hub.yaml"), None, &outside), file());
        assert_eq!(choose(Some("hub.yaml"), None, &pod), file());
        assert_eq!(choose(None, Some("/data"), &pod), in_folder("/data"));
        assert_eq!(choose(None, None, &pod), HubOptions::Pod);
        let of_user = in_folder("/home/ann/.local/share/drover");
        assert_eq!(choose(None, None, &outside), of_user);
    }
}
