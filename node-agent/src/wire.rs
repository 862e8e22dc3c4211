//! Creates the node agent from its arguments and starts it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use drover_agent_link::connection::Connection;
use drover_agent_link::program::{self, StartError};
use drover_agent_link::registration::Store;
use drover_api::agent::NodeClass;
use drover_api::kinds::WebhookState;
use http::Uri;
use http::uri::Authority;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::args::{Args, NodeArgs};
use crate::endpoint;
use crate::enrollment::NodeEnrollment;
use crate::report::{API_SERVER_NAME, NodeIdentity, Reporter};

/// Timeout of the check whether an API server responds on the node.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout of reads from the API server. Watches of kube end after 290 s.
const WATCH_TIMEOUT: Duration = Duration::from_mins(5);
/// Port of the kubelet.
const KUBELET_PORT: u16 = 10250;
/// Maximum time to wait for the API server on a control-plane node, before the node agent connects to the
/// cluster's other API servers.
const LOCAL_START: Duration = Duration::from_secs(20);

/// Runs the program until SIGTERM or SIGINT.
pub fn main(args: &Args) -> Result<(), StartError> {
    program::start(&args.program, run(args))
}

async fn run(args: &Args) -> Result<(), StartError> {
    let cluster = program::cluster(&args.program).await?;
    let local = match args.services.endpoint_listen {
        // On a control-plane node, the API server can start later than the node agent.
        Some(_) => wait_for_local(&cluster, &args.local_api_server).await,
        None => local(&cluster, &args.local_api_server).await,
    };
    let config = local.clone().unwrap_or(cluster);
    info!(url = %config.cluster_url, "using this API server");
    let shutdown = CancellationToken::new();
    let (program, node) = (&args.program, args.node.clone());
    let name = program::replica_name(program);
    let services = services(args, &name, config.clone(), local)?;
    let mut connection = assemble(&config, &program.namespace, name, node, shutdown.clone())?;
    program::configure(&mut connection, program).await?;
    let running = async {
        tokio::select! {
            () = connection.run() => {}
            () = services.run() => {}
        }
    };
    Box::pin(program::until_signal(running, &shutdown)).await
}

/// Creates the services of the node agent from its arguments.
fn services(
    args: &Args,
    pod: &str,
    config: kube::Config,
    local: Option<kube::Config>,
) -> Result<Services, StartError> {
    let services = args.services.clone();
    let class = match services.endpoint_listen {
        Some(_) => NodeClass::ControlPlane,
        None => NodeClass::Worker,
    };
    // Without an API server on the node, the check has a configuration for the time when it starts.
    let local = match (local, class) {
        (None, NodeClass::ControlPlane) => at(&config, &args.local_api_server),
        (local, _) => local,
    };
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let kubelet = services.node_address.unwrap_or(loopback);
    let api_server = args.local_api_server.port_u16().unwrap_or(443);
    let has_api_server = class == NodeClass::ControlPlane;
    let identity = NodeIdentity {
        node: args.node.node.clone(),
        class,
        address: services.node_address,
        pod: services.pod_uid.map(|uid| (pod.to_owned(), uid)),
        kubelet: Some(SocketAddr::new(kubelet, KUBELET_PORT)),
        api_server: has_api_server.then(|| SocketAddr::new(loopback, api_server)),
    };
    Services::new(config, local, identity, services.endpoint_listen)
}

/// The report about the node, and the webhook of the authorized endpoint. The services do not depend on
/// the tunnel.
pub struct Services {
    own: kube::Client,
    config: kube::Config,
    local: Option<kube::Config>,
    identity: NodeIdentity,
    listen: Option<SocketAddr>,
}

impl Services {
    /// Creates the services of the node agent on a node. `local` is the configuration for the API server
    /// on the node. On control-plane nodes, the webhook listens on `listen`.
    pub fn new(
        config: kube::Config,
        local: Option<kube::Config>,
        identity: NodeIdentity,
        listen: Option<SocketAddr>,
    ) -> Result<Self, StartError> {
        // A watch without an event ends after 290 s. A longer silence means that the connection is lost.
        let mut watching = config.clone();
        watching.read_timeout = Some(WATCH_TIMEOUT);
        Ok(Self {
            own: program::client(&watching)?,
            config,
            local,
            identity,
            listen,
        })
    }

    /// Runs the services until the future is dropped.
    pub async fn run(self) {
        let (states, webhook) = watch::channel(WebhookState::Disabled);
        let reporter = Reporter::new(self.own.clone(), self.config, self.identity, webhook);
        let endpoint = async {
            if let Some(listen) = self.listen {
                // The reporter waits for changes of `states`, also without a webhook.
                endpoint::run(self.own, listen, self.local, states.clone()).await;
            }
        };
        tokio::join!(reporter.run(), endpoint);
    }
}

/// Returns the configuration for the API server on this node. Waits a limited time until an API server
/// responds there.
async fn wait_for_local(config: &kube::Config, address: &Authority) -> Option<kube::Config> {
    let end = Instant::now() + LOCAL_START;
    loop {
        let found = local(config, address).await;
        if found.is_some() || Instant::now() >= end {
            return found;
        }
        tokio::time::sleep(LOCAL_TIMEOUT).await;
    }
}

/// Returns the configuration for the API server on this node, if an API server with a certificate of the
/// cluster's CA responds there. On a control-plane node, the tunnel then does not depend on the
/// cluster's network.
async fn local(config: &kube::Config, address: &Authority) -> Option<kube::Config> {
    let local = at(config, address)?;
    let client = kube::Client::try_from(local.clone()).ok()?;
    let version = tokio::time::timeout(LOCAL_TIMEOUT, client.apiserver_version());
    matches!(version.await, Ok(Ok(_))).then_some(local)
}

/// Returns the configuration for the API server at an address on this node.
fn at(config: &kube::Config, address: &Authority) -> Option<kube::Config> {
    let mut local = config.clone();
    local.cluster_url = Uri::builder()
        .scheme("https")
        .authority(address.clone())
        .path_and_query("/")
        .build()
        .ok()?;
    local.tls_server_name = Some(API_SERVER_NAME.to_owned());
    Some(local)
}

/// Creates the connection of a node agent. The connection serves the cluster to which `config` connects.
pub fn assemble(
    config: &kube::Config,
    namespace: &str,
    name: String,
    node: NodeArgs,
    shutdown: CancellationToken,
) -> Result<Connection<NodeEnrollment>, StartError> {
    let (upstream, own) = program::clients(config)?;
    let enrollment = NodeEnrollment::new(Store::new(own.clone(), namespace), node);
    let lanes = drover_agent_report::lanes(upstream, own, namespace);
    Ok(Connection::new(name, enrollment, lanes, shutdown))
}
