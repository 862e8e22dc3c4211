//! The hub's client, built from explicit configuration: the one data_dir that knows of which kind
//! the hub is.

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
use super::embedded::{Door, Embedded, EmbeddedError, HubMemory};
use super::{HubError, Stores, call};

/// Where the hub is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubOptions {
    /// A Kubernetes API that a kubeconfig leads to.
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// The context to use instead of the file's current one.
        context: Option<String>,
    },
    /// The Kubernetes API in one of whose pods this process runs, by the pod's service account.
    Pod,
    /// The server's own, in this process.
    Embedded(DataDir),
}

/// What decides where the hub is when nothing was said: the process's surroundings.
#[derive(Clone, Debug, Default)]
pub struct ProcessEnvironment {
    /// Whether this runs in a pod with a service account.
    pub in_pod: bool,
    /// Whether this runs as root.
    pub root: bool,
    /// `$XDG_DATA_HOME`.
    pub xdg_data_home: Option<PathBuf>,
    /// `$HOME`.
    pub home: Option<PathBuf>,
}

impl ProcessEnvironment {
    /// Those of this process.
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

    /// The data folder if none is named.
    pub fn data_dir(&self) -> Result<DataDir, DataDirError> {
        DataDir::of_user(
            self.root,
            self.xdg_data_home.as_deref(),
            self.home.as_deref(),
        )
    }
}

impl HubOptions {
    /// What is named, else the hub of the pod, else the embedded one in the user's data folder.
    pub fn choose(
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
        data: Option<PathBuf>,
        around: &ProcessEnvironment,
    ) -> Result<Self, DataDirError> {
        match (kubeconfig, data) {
            (Some(file), _) => Ok(Self::Kubeconfig { file, context }),
            (None, Some(folder)) => Ok(Self::Embedded(DataDir::new(folder))),
            (None, None) if around.in_pod => Ok(Self::Pod),
            (None, None) => around.data_dir().map(Self::Embedded),
        }
    }
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
    /// The pod's service account cannot be used.
    #[error(
        "cannot use the pod's service account: give the pod one, or name a hub with --kubeconfig \
         FILE or a folder with --data-dir DIR"
    )]
    Pod(#[source] kube::config::InClusterError),
    /// The configuration makes no client.
    #[error("cannot make a client of the hub from its configuration")]
    Client(#[source] ClientError),
    /// The server's own hub cannot be opened.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
}

/// A hub that can be used, until it is closed.
#[derive(Debug)]
pub struct Connection {
    client: ClientOf,
    embedded: Option<Embedded>,
}

/// A client has nothing to show.
struct ClientOf(Client);

impl std::fmt::Debug for ClientOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

impl Connection {
    /// The one client.
    pub fn client(&self) -> Client {
        self.client.0.clone()
    }

    /// Whether the hub asks the rules about writes in process; one elsewhere has to be told where.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Has the hub judge what others than the server write by what these stores hold, where it asks
    /// in process; until then only the server writes there.
    pub fn enforce_rules(&self, stores: &Stores) {
        if let Some(embedded) = &self.embedded {
            embedded.enforce_rules(stores.clone());
        }
    }

    /// Puts the certificate that clients of this server trust into the embedded hub's token
    /// Secrets.
    pub fn trust(&self, pem: String) {
        if let Some(embedded) = &self.embedded {
            embedded.trust(pem);
        }
    }

    /// What the hub itself counts, where it is a part of this process.
    pub fn metrics(&self) -> HubMetrics {
        HubMetrics(self.embedded.as_ref().map(Embedded::metrics))
    }

    /// Ends what this process does for the hub; call it when nothing uses the client any more.
    pub async fn close(self) {
        if let Some(embedded) = self.embedded {
            embedded.close().await;
        }
    }
}

/// What the hub itself counts; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct HubMetrics(Option<Door>);

impl HubMetrics {
    /// The text form of OpenMetrics 1.0, with its end; `None` where the hub has metrics of its own
    /// elsewhere.
    pub async fn text(&self) -> Option<String> {
        self.0.as_ref()?.metrics().await
    }
}

/// Builds the client; a hub elsewhere is not talked to yet.
pub async fn connect(options: &HubOptions) -> Result<Connection, ConnectError> {
    connect_within(options, HubMemory::default()).await
}

/// The same with these limits for an embedded hub.
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
    // Every call has its own limit, and watches have theirs.
    config.read_timeout = None;
    // HTTPS_PROXY is for identity providers. The client has no support for proxies, and would refuse.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hub_is_the_one_that_is_named_else_the_pods_else_the_embedded_one() {
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
