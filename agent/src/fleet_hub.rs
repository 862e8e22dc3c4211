//! Access to a hub with Fleet's registration: Fleet's own hub, or the hub of a Drover server that imported
//! the cluster with a kubeconfig.
//!
//! ```text
//! Secret fleet-agent ── the hub accepts the credential ──► deploy bundles ── 401 ──┐
//!   ▲        └── absent, or rejected ──► Secret fleet-agent-bootstrap ◄─────────────┘
//!   └── credential ◄── ClusterRegistration ◄──┘
//! ```
//!
//! The agent has no tunnel in this mode. It needs no permissions on the hub other than Fleet's agent has.

mod error;
mod objects;
mod register;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use drover_agent_link::hub::{DirectHub, HubPlace};
use drover_agent_link::server::{Proxy, Server};
use drover_agent_link::status::{ConnectionStatus, StatusPublisher};
use drover_api::fleet::{BundleDeployment, FleetCluster};
use drover_api::ids::ClusterUid;
use drover_entropy::backoff::Backoff;
use drover_reconcile::error_chain;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt as _};
use parking_lot::Mutex;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::error::FleetHubError;
use self::objects::{Bootstrap, Credential, HubLogin, Objects};

/// Timeout of a request to the hub.
const TIMEOUT: Duration = Duration::from_secs(30);
/// First and longest pause after a failed attempt.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(2));
/// Pause between two attempts if the first one succeeded. The hub can reject single requests.
const SUCCESS_PAUSE: Duration = Duration::from_secs(5);
/// Time in which a hub must accept a new credential.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of the checks for a new registration token.
const BOOTSTRAP_CHECK: Duration = Duration::from_secs(20);
/// Pause between two tests of a new credential.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// The clients and names of one replica.
pub(crate) struct FleetHubOptions {
    /// Client of the cluster with the agent's own account.
    pub(crate) own: Client,
    /// Client of the cluster with the account that deploys bundles.
    pub(crate) deployer: Client,
    /// Namespace of the agent.
    pub(crate) namespace: String,
    /// Local address of connections to the hub.
    pub(crate) source: Option<IpAddr>,
    /// HTTP proxy between the cluster and the hub.
    pub(crate) proxy: Option<Proxy>,
    /// Publisher of the state of the access.
    pub(crate) status: StatusPublisher,
}

/// The times of attempts.
struct Attempts {
    backoff: Backoff,
    next: Option<Instant>,
}

/// The access to the hub.
pub(crate) struct FleetHub {
    objects: Arc<Objects>,
    /// The task that looks for a new registration token while the credential is in use.
    bootstrap_check: Mutex<Option<AbortOnDropHandle<()>>>,
    options: FleetHubOptions,
    places: Arc<watch::Sender<Option<HubPlace>>>,
    attempts: Mutex<Attempts>,
}

impl std::fmt::Debug for FleetHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FleetHub")
            .field("place", &*self.places.borrow())
            .finish_non_exhaustive()
    }
}

impl FleetHub {
    pub(crate) fn new(options: FleetHubOptions) -> Self {
        let (own, deployer) = (options.own.clone(), options.deployer.clone());
        Self {
            objects: Arc::new(Objects::new(own, deployer, &options.namespace)),
            bootstrap_check: Mutex::new(None),
            options,
            places: Arc::new(watch::Sender::new(None)),
            attempts: Mutex::new(Attempts {
                backoff: Backoff::new(PAUSES.0, PAUSES.1),
                next: None,
            }),
        }
    }

    /// Returns a client of the hub, and the places of the cluster's objects. Registers the agent if it has no
    /// credential that the hub accepts. After a failed attempt, waits until the next attempt is due.
    pub(crate) async fn client(&self) -> Result<(Client, HubPlace), FleetHubError> {
        let next = self.attempts.lock().next;
        if let Some(next) = next {
            tokio::time::sleep_until(next).await;
        }
        match Box::pin(self.attempt()).await {
            Ok((client, place, url)) => {
                {
                    let mut attempts = self.attempts.lock();
                    attempts.backoff.reset();
                    attempts.next = Some(Instant::now() + SUCCESS_PAUSE);
                }
                self.places.send_replace(Some(place.clone()));
                self.check_bootstrap();
                let HubPlace {
                    cluster_namespace,
                    cluster_name,
                    ..
                } = &place;
                let message = format!(
                    "the agent deploys the bundles of the cluster {cluster_namespace}/{cluster_name} of the \
                     hub {url}"
                );
                self.options.status.publish(true, "Registered", message);
                Ok((client, place))
            }
            Err(error) => {
                let pause = {
                    let mut attempts = self.attempts.lock();
                    let pause = attempts.backoff.next_delay().max(ACCEPT_PAUSE);
                    attempts.next = Some(Instant::now() + pause);
                    pause
                };
                let text = error_chain(&error);
                tracing::debug!(seconds = pause.as_secs(), "waiting for the next attempt");
                self.options.status.publish(false, error.reason(), text);
                Err(error)
            }
        }
    }

    /// Returns the places. The value becomes `None` when the hub rejects the credential.
    pub(crate) fn places(&self) -> watch::Receiver<Option<HubPlace>> {
        self.places.subscribe()
    }

    /// Reports that another replica of the agent deploys the bundles.
    pub(crate) fn stand_by(&self) {
        self.bootstrap_check.lock().take();
        let message =
            "the agent waits for the Lease of the replica that deploys bundles".to_owned();
        self.options.status.publish(true, "Standby", message);
    }

    /// Ends the access when a new registration token is in the cluster. The next attempt reads the token.
    fn check_bootstrap(&self) {
        let (objects, places) = (Arc::clone(&self.objects), Arc::clone(&self.places));
        let checking = async move {
            loop {
                tokio::time::sleep(BOOTSTRAP_CHECK).await;
                // An invalid Secret must not end the access.
                if let Ok(Some(_)) = objects.bootstrap().await {
                    tracing::info!("found a new registration token");
                    places.send_replace(None);
                    return;
                }
            }
        };
        let task = AbortOnDropHandle::new(tokio::spawn(checking));
        *self.bootstrap_check.lock() = Some(task);
    }

    /// Returns the changes of the state.
    pub(crate) fn status(&self) -> watch::Receiver<ConnectionStatus> {
        self.options.status.subscribe()
    }

    async fn attempt(&self) -> Result<(Client, HubPlace, String), FleetHubError> {
        let bootstrap = self.objects.bootstrap().await?;
        let stored = match (self.objects.credential().await, &bootstrap) {
            (Ok(stored), _) => stored,
            // The registration replaces a credential that is not valid.
            (Err(FleetHubError::Invalid { .. }), Some(_)) => None,
            (Err(error), _) => return Err(error),
        };
        let current = stored.and_then(|stored| stored.current(bootstrap.as_ref()));
        if let Some((stored, is_changed)) = current {
            match (self.connect(&stored).await, &bootstrap) {
                (Ok((client, place)), _) => {
                    if is_changed {
                        self.objects.store(&stored).await?;
                    }
                    if let Some(unused) = &bootstrap {
                        self.objects.delete_bootstrap(unused).await?;
                    }
                    return Ok((client, place, stored.login.url.to_string()));
                }
                (Err(error), Some(_)) if error.is_denied() => {}
                (Err(error), None) if error.is_denied() => {
                    return Err(FleetHubError::CredentialRejected);
                }
                (Err(error), _) => return Err(error),
            }
        }
        let bootstrap = bootstrap.ok_or(FleetHubError::NotRegistered)?;
        self.register(&bootstrap).await
    }

    async fn register(
        &self,
        bootstrap: &Bootstrap,
    ) -> Result<(Client, HubPlace, String), FleetHubError> {
        let config = self.objects.config().await?;
        let hub = self.direct(&bootstrap.login, "Secret fleet-agent-bootstrap", || {})?;
        let hub = hub.client(&bootstrap.cluster_namespace);
        let status = &self.options.status;
        let registering = register::register(&hub, bootstrap, config, |request| {
            let message = format!("the hub has not yet granted the ClusterRegistration {request}");
            status.publish(false, "WaitingForRegistration", message);
        });
        let credential = registering.await?;
        // A hub grants the registration once, so that a crash must not lose the credential.
        self.objects.store(&credential).await?;
        let begin = Instant::now();
        let (client, place) = loop {
            // The hub can need a moment until the roles of the new account are in force.
            match self.connect(&credential).await {
                Err(error) if error.is_denied() && begin.elapsed() < ACCEPT_TIMEOUT => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
                connected => break connected?,
            }
        };
        self.objects.delete_bootstrap(bootstrap).await?;
        Ok((client, place, credential.login.url.to_string()))
    }

    /// Tests the credential, and reads the UID of the cluster with the first check-in.
    async fn connect(&self, credential: &Credential) -> Result<(Client, HubPlace), FleetHubError> {
        let places = Arc::clone(&self.places);
        let rejected = move || {
            places.send_replace(None);
        };
        let hub = self.direct(&credential.login, "Secret fleet-agent", rejected)?;
        let client = hub.client(&credential.deployment_namespace);
        let namespace = &credential.deployment_namespace;
        let deployments = Api::<BundleDeployment>::namespaced(client.clone(), namespace);
        let params = ListParams::default().limit(1);
        let listing = deployments.list_metadata(&params);
        hub_call("list the bundle deployments", listing).await?;
        let clusters = Api::<PartialObjectMeta<FleetCluster>>::namespaced(
            client.clone(),
            &credential.cluster_namespace,
        );
        let agent = json!({ "namespace": self.options.namespace });
        let patch = Patch::Merge(json!({ "status": { "agent": agent } }));
        let params = PatchParams::default();
        let checking_in = clusters.patch_status(&credential.cluster_name, &params, &patch);
        let cluster = hub_call("write the status of the Fleet Cluster", checking_in).await?;
        let place = HubPlace {
            cluster_uid: ClusterUid::new(cluster.uid().unwrap_or_default()),
            cluster_namespace: credential.cluster_namespace.clone(),
            cluster_name: credential.cluster_name.clone(),
            namespace: namespace.clone(),
            check_in: None,
        };
        Ok((client, place))
    }

    /// Returns the connections to a hub. `object` contains the address.
    fn direct(
        &self,
        login: &HubLogin,
        object: &'static str,
        rejected: impl Fn() + Send + Sync + 'static,
    ) -> Result<DirectHub, FleetHubError> {
        let invalid = |entry, reason: String| FleetHubError::Invalid {
            object,
            entry,
            reason,
        };
        let roots = roots(&login.authorities).map_err(|reason| invalid("apiServerCA", reason))?;
        let server = Server::at(login.url.host(), login.url.port(), roots)
            .map_err(|error| invalid("apiServerURL", error.to_string()))?
            .dialled_from(self.options.source)
            .dialled_through(self.options.proxy.clone());
        DirectHub::new(server, login.url.path(), &login.token, rejected)
            .map_err(|error| invalid("token", error.to_string()))
    }
}

/// Returns the trusted authorities. Without own authorities, these are Mozilla's, because the agent's image
/// has no certificates.
fn roots(pem: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if pem.is_empty() {
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
        return Ok(roots);
    }
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|_| "it is not PEM".to_owned())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("it contains no PEM certificate".to_owned());
    }
    Ok(roots)
}

/// Sends a request to the hub with a timeout.
async fn hub_call<T>(
    operation: &'static str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, FleetHubError> {
    let after = TIMEOUT;
    match tokio::time::timeout(after, request).await {
        Ok(response) => response.map_err(|source| FleetHubError::Hub {
            operation,
            source: source.into(),
        }),
        Err(_) => Err(FleetHubError::TimedOut { operation, after }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_authorities_of_the_hub_are_trusted() {
        assert!(roots("").unwrap().len() > 50);
        assert!(roots("no certificate").is_err());
        let broken = "-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n";
        assert!(roots(broken).is_err());
    }
}
