//! The state of all port forwards, and the task that ends them.

use std::sync::Arc;
use std::time::Duration;

use drover_api::rest::PortForwardView;
use drover_identity::Authenticator;
use drover_proxy::Proxy;
use drover_proxy::in_process::{self, ConnectError};
use http::{HeaderMap, Uri};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::channel::PROTOCOL;
use crate::connection::{self, Connection};
use crate::forward::Forward;
use crate::host::{Destination, destination};
use crate::host_name::ForwardDomain;
use crate::pool::Slots;
use crate::registry::Registry;

/// Interval of the checks of all port forwards. With the grace for new tokens, the sum is below the
/// documented limit of five seconds.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time after the creation of a port forward during which the stores may lack its token. The server
/// reads a new token from the hub before the hub's watch delivers the token.
const NEW_TOKEN_GRACE: Duration = Duration::from_secs(2);
/// Maximum number of connections of all port forwards in use. A connection needs at most about
/// 300 KiB of memory.
const MAX_CONNECTIONS: usize = 512;
/// Time for which a request waits for a free connection.
const SLOT_TIMEOUT: Duration = Duration::from_secs(30);

/// The port forwards of the server. Clones share the port forwards.
#[derive(Clone)]
pub struct PortForwards {
    pub(crate) proxy: Arc<Proxy>,
    pub(crate) authenticator: Authenticator,
    pub(crate) domain: Option<Arc<ForwardDomain>>,
    pub(crate) registry: Registry,
    connections: Arc<Semaphore>,
}

impl PortForwards {
    /// Creates the state. Without a domain, users cannot create port forwards.
    pub fn new(
        proxy: Arc<Proxy>,
        authenticator: Authenticator,
        domain: Option<ForwardDomain>,
    ) -> Self {
        Self {
            proxy,
            authenticator,
            domain: domain.map(Arc::new),
            registry: Registry::default(),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        }
    }

    /// Returns the recipient of a request. See [`destination`].
    pub fn destination(&self, uri: &Uri, headers: &HeaderMap) -> Destination {
        destination(self.domain.as_deref(), uri, headers)
    }

    /// Ends port forwards whose permit or time has ended, until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        let checking = async {
            loop {
                tokio::time::sleep(INTERVAL).await;
                for forward in self.registry.all() {
                    forward.pool.prune();
                    if forward.has_ended() || !self.is_permitted(&forward) {
                        self.registry.remove(&forward);
                    }
                }
            }
        };
        stop.run_until_cancelled(checking).await;
    }

    /// Returns true if the token that created the port forward is valid, and its user may access the
    /// cluster. The check is no use of the token. The proxy also checks each new connection.
    pub(crate) fn is_permitted(&self, forward: &Forward) -> bool {
        if forward.created.0.elapsed() < NEW_TOKEN_GRACE {
            return true;
        }
        let owner = &forward.owner;
        let identity = self
            .authenticator
            .current_identity(&owner.token, &owner.user);
        let target = identity.and_then(|identity| {
            let cluster = &forward.target.cluster;
            self.proxy.permitted_target(identity, cluster)
        });
        target.is_some_and(|target| *forward.permitted.get_or_init(|| target.clone()) == target)
    }

    /// Opens a connection to the port with the credentials of the port forward's user.
    pub(crate) async fn connect(&self, forward: &Forward) -> Result<Connection, ConnectError> {
        let (path, credentials) = (forward.target.path(), forward.credentials.clone());
        let proxy = Arc::clone(&self.proxy);
        let opening = in_process::open_websocket(proxy, &path, PROTOCOL, credentials);
        // Boxed to keep the future of each request small.
        let upstream = Box::pin(opening).await?;
        let traffic = Arc::clone(&forward.traffic);
        Ok(connection::start(upstream, forward.target.port, traffic).await?)
    }

    /// Waits for a free connection of the port forward and of the server.
    pub(crate) async fn slots(&self, forward: &Forward) -> Option<Slots> {
        let taking = async {
            let own = Arc::clone(&forward.slots).acquire_owned().await.ok()?;
            let all = Arc::clone(&self.connections).acquire_owned().await.ok()?;
            Some((own, all))
        };
        timeout(SLOT_TIMEOUT, taking).await.ok().flatten()
    }
}

impl Forward {
    /// Returns the port forward for its user.
    pub(crate) fn view(&self) -> PortForwardView {
        let target = self.target.clone();
        let (bytes_to_pod, bytes_from_pod) = self.traffic.bytes();
        PortForwardView {
            id: self.id.clone(),
            cluster: target.cluster,
            namespace: target.namespace,
            pod: target.pod,
            service: target.service,
            port: target.port,
            url: format!("{}/", self.origin),
            created_at: self.created.1,
            last_used_at: self.traffic.last_use().1,
            expires_at: self.expires_at,
            bytes_to_pod,
            bytes_from_pod,
        }
    }
}
