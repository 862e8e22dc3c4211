//! Builds the server out of its modules, and ends it in good order.

mod certificate;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

pub use crate::hub::connect::HubOptions;

use crate::hub::authority::AuthorityError;
use crate::hub::connect::{ConnectError, connect, ensure_namespace};
use crate::hub::definitions::{self, InstallError};
use crate::hub::keys::{Keys, KeysError};
use crate::hub::lease::{self, Leadership, Standing};
use crate::hub::{Hub, HubError, Stores};
use crate::identity::first_administrator::{self, FirstAdministratorError};
use crate::identity::passwords::PasswordError;
use crate::identity::{Authenticator, LastUse, Logins, Passwords, tokens};
use crate::listen::tls::{TlsError, install_provider};
use crate::listen::{self, files};
use crate::rest::{self, RestState};
use crate::settings::{Settings, keeper};
use crate::status::Status;

/// Longest that the first listing of the hub may take.
const SYNCED_WITHIN: Duration = Duration::from_secs(30);
/// Longest that background work may go on when the server ends.
const ENDED_WITHIN: Duration = Duration::from_secs(15);

/// Everything the server is told from outside; the rest are settings on the hub.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where the server's state lives.
    pub hub: HubOptions,
    /// Address to listen on.
    pub listen: SocketAddr,
    /// `https://host:port` while the setting `server-url` is empty; the address listened on if
    /// absent.
    pub server_url: Option<String>,
    /// Certificate chain and key, PEM files; made by the server's own authority if absent.
    pub tls: Option<TlsFiles>,
    /// New file that gets the first administrator's password.
    pub first_password_file: Option<PathBuf>,
}

/// A certificate chain and its key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The leaf's private key.
    pub key: PathBuf,
}

/// Why the server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no hub.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The kinds could not be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The server's keys could not be had.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The certificate authority could not be had.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The certificate cannot be shown.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Passwords cannot be checked.
    #[error(transparent)]
    Passwords(#[from] PasswordError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The state was not read in time.
    #[error("the hub did not list the server's kinds within {} s", SYNCED_WITHIN.as_secs())]
    NotSynced,
}

/// Why the server ended although nobody asked it to.
#[derive(Debug, Error)]
pub enum EndError {
    /// Another server has taken the Lease over.
    #[error("another server ({0}) has taken over; this one ends so that its agents go there")]
    Replaced(String),
    /// The first administrator could not be made.
    #[error(transparent)]
    FirstAdministrator(#[from] FirstAdministratorError),
}

/// Why [`run`] ended with an error.
#[derive(Debug, Error)]
pub enum RunError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It ended by itself.
    #[error(transparent)]
    End(#[from] EndError),
}

/// Runs the server until `stop`.
pub async fn run(options: ServerOptions, stop: CancellationToken) -> Result<(), RunError> {
    let server = start(options, stop).await?;
    Ok(server.wait().await?)
}

/// A server that listens; it may still wait for its turn.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    hub: Hub,
    leadership: Leadership,
    passwords: Passwords,
    first_password_file: Option<PathBuf>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The hub as this server sees it.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Where it stands among its peers.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Serves until it is stopped, or has to end.
    pub async fn wait(self) -> Result<(), EndError> {
        let ended = self.lead().await;
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(ENDED_WITHIN, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("ending although background work has not ended");
        }
        ended
    }

    async fn lead(&self) -> Result<(), EndError> {
        let mut leadership = self.leadership.clone();
        let leading = leadership.wait_for(Standing::may_serve);
        let Some(Some(standing)) = self.stop.run_until_cancelled(leading).await else {
            return Ok(());
        };
        tracing::info!(address = %self.address, ?standing, "serving");
        let file = self.first_password_file.as_deref();
        first_administrator::ensure(&self.hub, &self.passwords, file).await?;
        let losing = leadership.wait_for(|standing| matches!(standing, Standing::Lost { .. }));
        match self.stop.run_until_cancelled(losing).await {
            Some(Some(Standing::Lost { holder })) => Err(EndError::Replaced(holder)),
            _ => Ok(()),
        }
    }
}

/// Starts the server: hub, keys, certificate, stores, Lease, listener.
pub async fn start(options: ServerOptions, stop: CancellationToken) -> Result<Server, StartError> {
    install_provider();
    files::raise_limit();
    let client = connect(&options.hub).await?;
    ensure_namespace(&client).await?;
    definitions::install(&client).await?;
    let stores = Stores::new();
    let hub = Hub::new(client.clone(), stores.clone(), keys(&client).await?);

    let tasks = TaskTracker::new();
    stores.follow(&client, &tasks, &stop);
    let listener = bind(options.listen).await?;
    let address = listener.local_addr().unwrap_or(options.listen);
    let settings = Settings::new(stores.clone(), &fallback_url(&options, address));
    if !stores.wait_until_synced(SYNCED_WITHIN).await {
        return Err(StartError::NotSynced);
    }
    let certificate = certificate::prepare(&hub, &settings, address, options.tls.as_ref()).await?;
    let me = format!("{}-{}", hostname(), Uuid::new_v4());
    let (leadership, election) = lease::join(client, me, stop.clone());
    tasks.spawn(election);

    let last_use = LastUse::default();
    let passwords = Passwords::new()?;
    let state = RestState {
        hub: hub.clone(),
        authenticator: Authenticator::new(hub.clone(), last_use.clone()),
        logins: Logins::new(hub.clone(), settings.clone(), passwords.clone()),
        settings: settings.clone(),
        trust: certificate.trust().map(Arc::from),
    };
    tasks.spawn(last_use.write_regularly(hub.clone(), stop.clone()));
    tasks.spawn(tokens::purge_regularly(
        hub.clone(),
        leadership.clone(),
        stop.clone(),
    ));
    tasks.spawn(keeper::keep(
        hub.clone(),
        settings,
        leadership.clone(),
        stop.clone(),
    ));

    let tls = certificate.shown().server_config()?;
    tasks.spawn(certificate.renew_regularly(stop.clone()));
    let router = router(state, leadership.clone());
    tasks.spawn(listen::serve(listener, tls, router, stop.clone()));
    let first_password_file = options.first_password_file;
    Ok(Server {
        address,
        hub,
        leadership,
        passwords,
        first_password_file,
        tasks,
        stop,
    })
}

async fn keys(client: &kube::Client) -> Result<Keys, KeysError> {
    let api = kube::Api::namespaced(client.clone(), drover_api::group::HUB_NAMESPACE);
    Keys::load(&api).await
}

async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    let bound = TcpListener::bind(address).await;
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

/// Every route of the server.
fn router(state: RestState, leadership: Leadership) -> Router {
    rest::router(state)
        .fallback(async || Status::no_such_path())
        .method_not_allowed_fallback(async || Status::method_not_allowed())
        .layer(middleware::from_fn_with_state(
            leadership,
            only_when_serving,
        ))
}

/// A server that waits for its turn answers nothing but questions about its health.
async fn only_when_serving(
    State(leadership): State<Leadership>,
    request: Request,
    next: Next,
) -> Response {
    let standing = leadership.standing();
    if standing.may_serve() || matches!(request.uri().path(), "/livez" | "/readyz" | "/metrics") {
        return next.run(request).await;
    }
    let message = match standing {
        Standing::Waiting { holder } if !holder.is_empty() => format!(
            "this server waits: {holder} serves at present; send requests only to servers whose \
             /readyz answers 200"
        ),
        _ => "this server is not serving yet; try again in some seconds".to_owned(),
    };
    Status::unavailable(message, 5).into_response()
}
