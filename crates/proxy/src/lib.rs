//! The road: `/k8s/clusters/{name}/…`, every verb and stream of the Kubernetes API.
//!
//! *Owns* the security order (one function: `road::Road::admit`), the way through a tunnel or to
//! the hub, and every request under way. *Never* reads a body, follows a redirect, or sends
//! anything that has no permit.
//!
//! What the target answers is passed on unchanged, with these exceptions: headers of one
//! connection only; headers that would speak for this server's origin in a browser, and a sandbox
//! around content that is not plainly the API's (`isolation`); a redirect to a path of the
//! target's own, which gets the cluster's prefix, and one to anything else of this server, which
//! is refused. Drover's own answers are `metav1.Status`.

mod acting_as;
mod body;
mod forward;
mod isolation;
mod local;
mod open;
mod patience;
mod refusal;
mod road;
mod upgrade;
mod why;

use std::sync::Arc;

use axum::Router;
use axum::routing::any;

use self::local::Streamed;
use self::open::journey::Ledger;
pub use self::open::{CutReason, OpenStreams, end_in_order, run_revocation};
pub use self::refusal::Refusal;
use drover_agent_gateway::tunnels::Tunnels;
use drover_audit::Audit;
use drover_hub::Hub;
use drover_identity::Authenticator;

use drover_telemetry::Metrics;

/// Everything that a request on the road needs.
pub struct Road {
    hub: Hub,
    authenticator: Authenticator,
    tunnels: Tunnels,
    ledger: Arc<Ledger>,
    streamed: Streamed,
}

impl Road {
    /// A road; call inside a tokio runtime.
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
            ledger: Arc::new(Ledger {
                audit,
                metrics,
                open,
            }),
            streamed: Streamed::new(),
        }
    }
}

/// The routes of the road. No layer may stand around them that reads, buffers, compresses or
/// times bodies.
pub fn router(road: Road) -> Router {
    Router::new()
        .route("/k8s/clusters/{*rest}", any(road::handle))
        .with_state(Arc::new(road))
}

#[cfg(test)]
mod tests;
