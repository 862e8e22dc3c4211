//! Writes the tokens of the authorized endpoint into clusters, so that node agents authenticate direct
//! requests with the same names as the proxy.
//!
//! [`desired`] computes the tokens with the functions of the authenticator and of the proxy. [`act`]
//! writes the Secrets, and then confirms them with the current time.

mod act;
mod certificate;
mod desired;

use std::convert::Infallible;
use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use drover_api::kinds::AuthorizedEndpointSpec;
use drover_reconcile::{Action, Attempt, Options, Reconciler};
use jiff::Timestamp;
use kube::Client;
use thiserror::Error;
use tokio::time::Instant;

use self::desired::{desired, digest, outdated};
use crate::managed::{EndpointProgress, ManagedCluster, WrittenTokens};
use crate::{COOLDOWN, Controllers};
use drover_apply::ApplyError;

/// Interval at which the controller checks incomplete stores again.
const UNTRUSTED_RETRY: Duration = Duration::from_secs(1);
/// Longest and shortest interval between two confirmations.
const CONFIRM_EVERY: (Duration, Duration) = (Duration::from_secs(30), Duration::from_mins(5));
/// Number of confirmations that can fail before the tokens expire.
const CONFIRMATIONS: u32 = 10;
/// Timeout of writing the tokens into one cluster.
const APPLY_TIMEOUT: Duration = Duration::from_mins(1);

/// The reason why the server cannot write the tokens into a cluster.
#[derive(Debug, Error)]
pub(super) enum EndpointError {
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error("cannot create the certificate of the webhooks")]
    Certificate(#[from] rcgen::Error),
    #[error(
        "ConfigMap {config_map} in the cluster has no valid certificates in PEM, or has more than 64 KiB",
        config_map = .0
    )]
    NoCertificates(&'static str),
}

/// The reconciler that writes the tokens into each cluster.
pub(super) struct Endpoints(pub(super) Controllers);

impl Reconciler for Endpoints {
    type Key = ClusterUid;
    type Error = EndpointError;

    async fn reconcile(&self, uid: &ClusterUid, _: &Attempt) -> Result<Action, EndpointError> {
        let Some(cluster) = self.0.cluster(uid) else {
            return Ok(Action::await_change());
        };
        let reconciling = cluster.unless_deleted(reconcile(&cluster));
        reconciling.await.unwrap_or(Ok(Action::await_change()))
    }
}

/// The reconciler that triggers the clusters whose tokens have changed on the hub.
struct ChangedTokens(Controllers);

impl Reconciler for ChangedTokens {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        let controllers = self.0.clone();
        // The comparison reads all tokens.
        let comparing = tokio::task::spawn_blocking(move || outdated(&controllers));
        for uid in comparing.await.unwrap_or_default() {
            self.0.triggers.endpoint.enqueue(uid);
        }
        Ok(Action::await_change())
    }
}

/// Runs the controller that compares the tokens in clusters with the hub. Each change of a token, of a
/// user, and of the user's groups or roles can change the tokens.
pub(super) async fn run_changes(controllers: &Controllers) {
    let stores = controllers.hub.stores();
    let options = Options {
        debounce: COOLDOWN,
        ..Options::new("endpoint-tokens")
    };
    let changes = [
        stores.tokens.changed(),
        stores.users.changed(),
        stores.auth_providers.changed(),
        stores.settings.changed(),
        stores.grants.changed(),
    ];
    let reconciler = ChangedTokens(controllers.clone());
    let runtime = &controllers.runtime;
    runtime.run_single(options, reconciler, changes).await;
}

async fn reconcile(managed: &ManagedCluster) -> Result<Action, EndpointError> {
    let Some(cluster) = managed.object() else {
        return Ok(Action::await_change());
    };
    let mut written = managed.state.tokens.lock().await;
    if !managed.is_connected() {
        // Another server or an administrator may change the Secrets in the meantime.
        *written = None;
        return Ok(Action::await_change());
    }
    let spec = &cluster.spec.authorized_endpoint;
    let tunnels = &managed.controllers.tunnels;
    let client = tunnels.client(&managed.uid, Lane::Controller);
    if !spec.enabled {
        *written = None;
        if !managed.is_endpoint_removed() {
            remove(managed, &client).await?;
        }
        return Ok(Action::await_change());
    }
    let stores = managed.controllers.hub.stores();
    if !stores.health().is_trusted() {
        return Ok(Action::requeue(UNTRUSTED_RETRY));
    }
    let tokens = desired(&managed.uid, stores, Timestamp::now());
    let digest = digest(&tokens);
    if let Some(wait) = written.as_ref().and_then(|last| wait(last, digest, spec)) {
        return Ok(Action::requeue(wait));
    }
    let applying = act::apply(&client, &tokens, spec.offline_seconds);
    let applied = tokio::time::timeout(APPLY_TIMEOUT, applying).await;
    let applied = applied.unwrap_or(Err(ApplyError::Timeout(APPLY_TIMEOUT).into()));
    managed.set_endpoint(match &applied {
        Ok(certificates) => EndpointProgress::Applied(certificates.clone()),
        Err(error) => EndpointProgress::Failed(error.to_string()),
    });
    *written = None;
    applied?;
    *written = Some(WrittenTokens {
        digest,
        offline_seconds: spec.offline_seconds,
        at: Instant::now(),
    });
    Ok(Action::requeue(confirm_interval(spec.offline_seconds)))
}

/// Removes the tokens of a disabled endpoint once. The status of the Cluster may not show that a previous
/// server has written tokens.
async fn remove(managed: &ManagedCluster, client: &Client) -> Result<(), EndpointError> {
    let removed = tokio::time::timeout(APPLY_TIMEOUT, act::remove(client)).await;
    let removed = match removed {
        // The roles of older manifests do not permit the list, and these clusters have no tokens.
        Ok(Err(ApplyError::Forbidden { .. })) => Ok(()),
        removed => removed.unwrap_or(Err(ApplyError::Timeout(APPLY_TIMEOUT))),
    };
    managed.set_endpoint(match &removed {
        Ok(()) => EndpointProgress::Removed,
        Err(error) => EndpointProgress::Failed(error.to_string()),
    });
    Ok(removed?)
}

/// Returns the time until the next confirmation, or `None` if the tokens must be written now.
fn wait(last: &WrittenTokens, digest: u64, spec: &AuthorizedEndpointSpec) -> Option<Duration> {
    if last.digest != digest || last.offline_seconds != spec.offline_seconds {
        return None;
    }
    let interval = confirm_interval(spec.offline_seconds);
    interval.checked_sub(last.at.elapsed())
}

fn confirm_interval(offline_seconds: u32) -> Duration {
    let (shortest, longest) = CONFIRM_EVERY;
    let offline = Duration::from_secs(offline_seconds.into());
    (offline / CONFIRMATIONS).clamp(shortest, longest)
}

/// Returns the digest of the tokens that the server wrote into a cluster most recently. Returns `None`
/// while the server has not written the tokens.
pub(super) fn written_digest(managed: &ManagedCluster) -> Option<u64> {
    // A reconciliation in progress holds the lock, and computes the digest of the current tokens.
    let written = managed.state.tokens.try_lock().ok()?;
    written.as_ref().map(|written| written.digest)
}
