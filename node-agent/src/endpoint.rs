//! The authorized endpoint: a webhook on a control-plane node that answers the token reviews of the
//! node's API server from Secrets in the cluster.
//!
//! *Owns* the copy of the Secrets in memory, and the check whether the API server calls the webhook.
//! *Never* connects to the Drover server, and never writes a Secret.

mod check;
mod directory;
mod webhook;

use std::net::SocketAddr;
use std::sync::Arc;

use drover_api::kinds::WebhookState;
use tokio::sync::watch;

use self::check::Probe;
use self::directory::Snapshot;

/// The state of the webhook, which the report of the node agent contains.
pub(crate) type WebhookStates = watch::Sender<WebhookState>;

/// Serves the webhook on `listen` while the endpoint is enabled, until the future is dropped.
///
/// `own` reads the Secrets. `api_server` is the configuration for the API server on this node, or
/// `None` if no API server responds there.
pub(crate) async fn run(
    own: kube::Client,
    listen: SocketAddr,
    api_server: Option<kube::Config>,
    states: WebhookStates,
) {
    let probe = Arc::new(Probe::default());
    let (sender, snapshots) = watch::channel(Snapshot::default());
    tokio::join!(
        directory::follow(own, sender),
        webhook::serve(listen, snapshots, Arc::clone(&probe), states.clone()),
        check::run(api_server, probe, states),
    );
}
