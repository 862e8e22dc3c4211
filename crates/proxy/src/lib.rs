//! The proxy for `/k8s/clusters/{name}/…`, with every verb and stream of the Kubernetes API.
//!
//! *Owns* the security checks and their order (`handler::Proxy::admit`), forwarding to a cluster or
//! the hub, and every request in flight. *Never* reads the body of a request, follows a redirect, or
//! forwards a request without a permit. The proxy copies the responses to accepted writes of some
//! kinds for the history of objects ([`WriteObserver`]).
//!
//! Drover forwards the response of the cluster or hub unchanged, with these exceptions. Hop-by-hop
//! headers are removed. Headers that affect this server's origin in a browser are removed, and
//! content gets a sandbox (`isolation`). A redirect to a path of the cluster gets the cluster's
//! prefix. A redirect to any other path of this server is refused. Drover's own errors are
//! `metav1.Status`.

mod access_key;
mod acting_as;
mod body;
mod deny_reason;
mod forward;
mod handler;
pub mod in_process;
mod isolation;
mod local;
mod observed_write;
mod open;
mod permits;
mod refusal;
mod timeout;
mod upgrade;

use std::sync::Arc;

pub use self::access_key::AccessKey;
use self::local::StreamingClient;
pub use self::observed_write::{AcceptedWrite, WriteObserver};
use self::open::in_flight::RequestRecorder;
pub use self::open::{AbortObserver, AbortReason, OpenStreams, run_revocation, shut_down};
use self::permits::RecentPermits;
pub use self::refusal::Refusal;
pub use self::upgrade::UpgradeRequest;
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::Audit;
use drover_hub::Hub;
use drover_identity::Authenticator;

use drover_telemetry::Metrics;

/// State of the proxy. All requests share this state.
pub struct Proxy {
    hub: Hub,
    authenticator: Authenticator,
    tunnels: Tunnels,
    permits: RecentPermits,
    recorder: Arc<RequestRecorder>,
    streaming_client: StreamingClient,
    write_observer: Option<Arc<dyn WriteObserver>>,
    /// The memory limit of the copies for the observer.
    copy_budget: Arc<tokio::sync::Semaphore>,
}

impl Proxy {
    /// Creates the proxy. Call this function inside a tokio runtime.
    pub fn new(
        hub: Hub,
        authenticator: Authenticator,
        tunnels: Tunnels,
        open: OpenStreams,
        audit: Audit,
        metrics: Metrics,
    ) -> Self {
        Self {
            hub,
            authenticator,
            tunnels,
            permits: RecentPermits::default(),
            recorder: Arc::new(RequestRecorder {
                audit,
                metrics,
                open,
            }),
            streaming_client: StreamingClient::new(),
            write_observer: None,
            copy_budget: observed_write::copy_budget(),
        }
    }

    /// Reports accepted writes to an observer.
    #[must_use]
    pub fn with_write_observer(mut self, observer: Arc<dyn WriteObserver>) -> Self {
        self.write_observer = Some(observer);
        self
    }
}

/// Returns true if [`Proxy::serve`] serves requests with this path.
pub fn is_proxied(path: &str) -> bool {
    let rest = path.strip_prefix(drover_access::path::CLUSTER_PATH_PREFIX);
    rest.is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests;
