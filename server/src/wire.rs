//! Creates and connects the server's modules, and shuts the server down gracefully.

mod certificate;
mod gate;
mod imports;
mod modules;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drover_reconcile::Runtime;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::demo::DemoOptions;
pub use drover_hub::connect::HubOptions;

use crate::memory::MemoryPlan;
use drover_audit::OpenAuditError;
use drover_charts::ChartSettings;
use drover_fleet::Loopback;
use drover_git::FetcherSettings;
use drover_http_edge::listen;
use drover_http_edge::listen::{Limits, Proxies, address, files};
use drover_hub::admission::account::exempt_server_account;
use drover_hub::admission::address::Address;
use drover_hub::authority::AuthorityError;
use drover_hub::connect::{ConnectError, Connection, HubMetrics, connect_within, ensure_namespace};
use drover_hub::definitions;
use drover_hub::definitions::InstallError;
use drover_hub::keys::{Keys, KeysError};
use drover_hub::lease;
use drover_hub::lease::{Leadership, LeadershipEnd, LeaseIdentity, LeaseState};
use drover_hub::settings::Settings;
use drover_hub::stores::MAX_STORE_AGE;
use drover_hub::{Hub, HubError, Stores};
use drover_identity::first_administrator;
use drover_identity::first_administrator::FirstAdministratorError;
use drover_identity::passwords::PasswordError;
use drover_identity::{Passwords, SignInSources};
use drover_port_forwards::ForwardDomain;
use drover_telemetry::LogFilter;
use drover_tls::{TlsError, install_provider};

/// Time limit for the first list of the hub's objects.
const SYNC_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for background tasks at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(15);

/// The options of the server. All other configuration is in the settings on the hub.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The options of the connection to the hub.
    pub hub: HubOptions,
    /// Address at which an external hub calls the admission webhook. The default is the server's
    /// own URL.
    pub hub_webhook: Option<Address>,
    /// Settings of the processes that read git repositories.
    pub git: FetcherSettings,
    /// Settings of the processes that fetch charts.
    pub charts: ChartSettings,
    /// Whether API servers of imported clusters can be on this machine. Only tests permit this.
    pub import_loopback: Loopback,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The proxies that are trusted to set the client address.
    pub proxies: Proxies,
    /// URL of the server while the setting `server-url` is empty: `https://host:port`. The default
    /// is the listening address.
    pub server_url: Option<String>,
    /// Domain of the host names of port forwards. `None` for no port forwards in the browser.
    pub forward_domain: Option<ForwardDomain>,
    /// PEM files of the certificate chain and key. If unset, the server's own CA issues the
    /// certificate.
    pub tls: Option<TlsFiles>,
    /// Options of the simulated clusters in this process. `None` runs no simulated clusters.
    pub demo: Option<DemoOptions>,
    /// File to create for the first administrator's password.
    pub first_password_file: Option<PathBuf>,
    /// File of the audit log. `-` means standard output.
    pub audit_log: PathBuf,
    /// Memory limits of the server's components.
    pub memory: MemoryPlan,
    /// The log filter of this process.
    pub log_filter: LogFilter,
    /// True if the setting `log-filter` controls the filter.
    pub log_filter_by_setting: bool,
}

/// The paths of the certificate files.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// PEM file with the certificate chain, leaf first.
    pub certificate: PathBuf,
    /// PEM file with the leaf's private key.
    pub key: PathBuf,
    /// PEM file with the CA certificates for clients. The default is the last certificate of the
    /// chain.
    pub authority: Option<PathBuf>,
}

impl TlsFiles {
    /// Returns the path of the file with the CA certificates for clients.
    fn trusted(&self) -> &Path {
        self.authority.as_ref().unwrap_or(&self.certificate)
    }
}

/// The reason why the server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The connection to the hub failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A request to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The CRDs cannot be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The server's keys cannot be read or created.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The certificate authority cannot be read or created.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The audit log cannot be opened.
    #[error(transparent)]
    Audit(#[from] OpenAuditError),
    /// The folder of git repositories cannot be used.
    #[error(transparent)]
    Repositories(#[from] drover_git_hosting::OpenError),
    /// The password hashing cannot be initialized.
    #[error(transparent)]
    Passwords(#[from] PasswordError),
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: set a different address with --listen")]
    Listen {
        /// The address to listen on.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The server's own host name is below the domain of port forwards.
    #[error(
        "cannot use the forward domain {domain}: the host {host} of the server's URL is not \
         separate from the domain; set a different domain with --forward-domain, for example \
         forwards.{host}"
    )]
    ForwardDomain {
        /// The domain of port forwards.
        domain: ForwardDomain,
        /// The host of the server's URL.
        host: String,
    },
    /// The first lists of the hub's objects did not complete within the time limit.
    #[error(
        "cannot load the hub's objects within {seconds} s: check the API server of the hub, then \
         start the server again",
        seconds = SYNC_TIMEOUT.as_secs()
    )]
    NotSynced,
}

/// The reason why the server ended without a stop request.
#[derive(Debug, Error)]
pub enum EndError {
    /// A different server process has acquired the Lease.
    #[error(
        "another server ({server}) acquired the Lease; this server stops, and the agents connect \
         to the other server", server = .0
    )]
    Replaced(String),
    /// The hub was unreachable for longer than the time limit.
    #[error(
        "this server stops, because the hub was unreachable for {minutes} min and another server \
         may be active: check the hub, then start the server again",
        minutes = MAX_STORE_AGE.as_secs() / 60
    )]
    CutOff,
    /// The first administrator cannot be created.
    #[error(transparent)]
    FirstAdministrator(#[from] FirstAdministratorError),
}

/// The reason why [`run`] ended with an error.
#[derive(Debug, Error)]
pub enum RunError {
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The server ended after its start, without a stop request.
    #[error(transparent)]
    End(#[from] EndError),
}

/// Starts the server, and runs the server until `stop` is cancelled.
pub async fn run(options: ServerOptions, stop: CancellationToken) -> Result<(), RunError> {
    let server = start(options, stop).await?;
    Ok(server.wait().await?)
}

/// A server that listens for connections, before or after it acquires the Lease.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    authority: Option<String>,
    base: Base,
    passwords: Passwords,
    first_password_file: Option<PathBuf>,
    /// The lock that proves to other server processes that this process still runs. The lock is
    /// released after all tasks have ended.
    _presence: LeaseIdentity,
    /// The connection to the hub. The server closes the connection after all tasks have ended.
    connection: Connection,
}

impl Server {
    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the hub client and its stores.
    pub fn hub(&self) -> &Hub {
        &self.base.hub
    }

    /// Returns the leader election state.
    pub fn leadership(&self) -> &Leadership {
        &self.base.leadership
    }

    /// Serves requests until the server is stopped or fails with an [`EndError`].
    pub async fn wait(self) -> Result<(), EndError> {
        let ended = self.lead().await;
        self.base.stop.cancel();
        self.base.tasks.close();
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.base.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("stopping with background tasks still running");
        }
        // The Lease is released and the controllers have stopped: nothing uses the hub now.
        self.connection.close().await;
        ended
    }

    async fn lead(&self) -> Result<(), EndError> {
        let mut leadership = self.base.leadership.clone();
        let leading = leadership.wait_for(LeaseState::may_serve);
        let Some(Some(state)) = self.base.stop.run_until_cancelled(leading).await else {
            return Ok(());
        };
        let authority = self.authority.as_deref();
        tracing::info!(address = %self.address, ?state, authority, "serving");
        let file = self.first_password_file.as_deref();
        first_administrator::ensure(&self.base.hub, &self.passwords, file).await?;
        let ending = leadership.wait_for_end(MAX_STORE_AGE);
        match self.base.stop.run_until_cancelled(ending).await {
            Some(LeadershipEnd::Replaced(holder)) => Err(EndError::Replaced(holder)),
            Some(LeadershipEnd::HubUnreachable) => Err(EndError::CutOff),
            None => Ok(()),
        }
    }
}

/// Starts the server in this order: hub, keys, stores, listener, certificate, Lease, modules.
pub async fn start(options: ServerOptions, stop: CancellationToken) -> Result<Server, StartError> {
    install_provider();
    // The first random bytes take 20 ms, so a thread requests them while the hub opens. Later
    // requests report errors.
    tokio::task::spawn_blocking(|| drover_entropy::random::<1>().is_ok());
    files::raise_limit();
    tracing::info!(memory = %options.memory, "memory limits calculated");
    let connection = connect_within(&options.hub, options.memory.hub).await?;
    match start_on(&connection, options, stop).await {
        Ok(started) => Ok(started.on(connection)),
        Err(error) => {
            connection.close().await;
            Err(error)
        }
    }
}

/// A started server, without the connection to the hub.
struct Started {
    address: SocketAddr,
    authority: Option<String>,
    base: Base,
    passwords: Passwords,
    first_password_file: Option<PathBuf>,
    presence: LeaseIdentity,
}

impl Started {
    fn on(self, connection: Connection) -> Server {
        Server {
            address: self.address,
            authority: self.authority,
            base: self.base,
            passwords: self.passwords,
            first_password_file: self.first_password_file,
            _presence: self.presence,
            connection,
        }
    }
}

async fn start_on(
    connection: &Connection,
    options: ServerOptions,
    stop: CancellationToken,
) -> Result<Started, StartError> {
    let client = connection.client();
    ensure_namespace(&client).await?;
    exempt_server(connection, &client).await;
    definitions::install(&client).await?;
    let stores = Stores::new();
    connection.enforce_rules(&stores);
    let hub = Hub::new(client.clone(), stores.clone(), keys(&client).await?);

    let (tasks, stop) = (TaskTracker::new(), stop.child_token());
    // The guard stops the started tasks if the start fails.
    let unfinished = stop.clone().drop_guard();
    stores.run_reflectors(&client, &tasks, &stop);
    let listener = bind(options.listen).await?;
    let address = listener.local_addr().unwrap_or(options.listen);
    let typed_filter = (!options.log_filter_by_setting).then(|| options.log_filter.current());
    let settings = Settings::new(stores.clone(), &fallback_url(&options, address))
        .with_log_filter(typed_filter)
        .with_certificate_name(
            options
                .hub_webhook
                .as_ref()
                .and_then(Address::certificate_name),
        )
        .with_certificate_name(
            options
                .forward_domain
                .as_ref()
                .map(ForwardDomain::certificate_name),
        );
    if !stores.wait_until_synced(SYNC_TIMEOUT).await {
        return Err(StartError::NotSynced);
    }
    check_forward_domain(options.forward_domain.as_ref(), &settings.server_url())?;
    let certificate = certificate::prepare(&hub, &settings, address, options.tls.as_ref()).await?;
    if let Some(pem) = certificate.trust() {
        connection.trust(pem.to_owned());
    }
    let presence = LeaseIdentity::new(&hostname());
    let (leadership, election) = lease::join(client, &presence, stop.clone());

    let base = Base {
        hub,
        hub_metrics: connection.metrics(),
        hub_is_embedded: connection.is_embedded(),
        settings,
        sign_in_sources: SignInSources::default(),
        runtime: Runtime {
            metrics: drover_reconcile::Metrics::default(),
            leader: leadership.gate(),
            stop: stop.clone(),
        },
        leadership,
        tasks,
        stop,
    };
    let passwords = Passwords::new()?;
    let gate = modules::build(&base, &options, passwords.clone(), &certificate)?;
    let authority = certificate.authority_fingerprint();
    let tls = certificate.shown().server_config()?;
    base.spawn(certificate.run(base.runtime.clone()));
    base.spawn(listen::serve(
        listener,
        tls,
        gate,
        Limits::SERVER,
        options.proxies.clone(),
        base.stop.clone(),
    ));
    // The election starts last, because other servers would have to wait for the Lease after a
    // failed start.
    base.spawn(election);
    unfinished.disarm();
    let first_password_file = options.first_password_file;
    Ok(Started {
        address,
        authority,
        base,
        passwords,
        first_password_file,
        presence,
    })
}

/// Exempts the server's account from the admission rules of an external hub. Logs an error and
/// continues. Without the exemption, the server's next write also fails and reports the error.
async fn exempt_server(connection: &Connection, client: &kube::Client) {
    if connection.is_embedded() {
        return;
    }
    if let Err(error) = exempt_server_account(client).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "failed to exempt the server's account from the admission webhook"
        );
    }
}

/// The state that all modules share. A clone shares the state.
#[derive(Clone, Debug)]
struct Base {
    hub: Hub,
    hub_metrics: HubMetrics,
    hub_is_embedded: bool,
    settings: Settings,
    sign_in_sources: SignInSources,
    leadership: Leadership,
    /// The runtime of all controllers.
    runtime: Runtime,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Base {
    /// Starts a background task. The shutdown waits for the task.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

async fn keys(client: &kube::Client) -> Result<Keys, KeysError> {
    let api = kube::Api::namespaced(client.clone(), drover_api::group::HUB_NAMESPACE);
    Keys::load(&api).await
}

/// Returns an error if requests to the server's URL would reach port forwards.
fn check_forward_domain(domain: Option<&ForwardDomain>, url: &str) -> Result<(), StartError> {
    let host = url.parse::<http::Uri>().ok();
    let host = host.as_ref().and_then(http::Uri::host).unwrap_or_default();
    let host = host.trim_end_matches('.');
    match domain.filter(|domain| domain.contains(host)) {
        None => Ok(()),
        Some(domain) => Err(StartError::ForwardDomain {
            domain: domain.clone(),
            host: host.to_owned(),
        }),
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    let bound = address::bind(address).await;
    bound.map_err(|source| StartError::Listen { address, source })
}

fn fallback_url(options: &ServerOptions, address: SocketAddr) -> String {
    options.server_url.clone().unwrap_or_else(|| {
        let mut reachable = address;
        if address.ip().is_unspecified() {
            reachable.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        format!("https://{reachable}")
    })
}

fn hostname() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    if name.is_empty() {
        "drover".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forward_domain_cannot_contain_the_host_of_the_server() {
        let check = |domain: &str, url: &str| {
            let domain = domain.parse().unwrap();
            check_forward_domain(Some(&domain), url)
        };
        for url in [
            "https://drover.example",
            "https://DROVER.example:8443",
            "https://a.drover.example",
        ] {
            let text = check("drover.example", url).unwrap_err().to_string();
            assert!(text.contains("--forward-domain"), "{text}");
        }
        for url in [
            "https://drover.example:8443",
            "https://127.0.0.1:8443",
            "https://[::1]:8443",
        ] {
            assert!(check("forwards.drover.example", url).is_ok(), "{url}");
        }
        assert!(check_forward_domain(None, "https://drover.example").is_ok());
    }
}
