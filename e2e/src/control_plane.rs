//! A real control plane: etcd, kube-apiserver, kube-controller-manager and optionally
//! kube-scheduler.

mod accounts;
pub(crate) mod audit;
mod credentials;
mod error;
mod folder;
mod launch;
mod shared;
mod store;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;

pub use credentials::Identity;
pub use error::StartError;
pub use shared::SharedControlPlane;

use crate::kubectl::{CommandError, CommandLine, Output};
use crate::pki::{KeyedCertificate, PkiError};
use crate::program::{ProgramError, Running};
use crate::tools::Tool;
use audit::AuditEvent;
use credentials::Credentials;
use folder::{Folder, Ports};

/// The address range of Services in every cluster of this crate.
pub(crate) const SERVICE_RANGE: &str = "10.96.0.0/16";
/// The `ClusterIP` of the API server in every cluster of this crate.
pub(crate) const API_SERVICE_IP: &str = "10.96.0.1";
/// Timeout of the start. The timeout is sufficient for several clusters that start concurrently on
/// two cores.
const READY: Duration = Duration::from_mins(3);

/// The options of a control plane.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the cluster in kubeconfigs and errors.
    pub name: String,
    /// The folder that stores the cluster's state, certificates and ports across restarts. `None`
    /// selects a temporary folder, which is removed when the control plane stops.
    pub folder: Option<PathBuf>,
    /// The listen address of the API server. A cluster with a node listens on the address of a
    /// [`NodeNetwork`](crate::NodeNetwork). All other clusters listen on the loopback address.
    pub address: IpAddr,
    /// True to run kube-scheduler. Only a cluster with nodes needs the scheduler.
    pub scheduler: bool,
    /// True to write an audit log, which [`ControlPlane::audit_events`] returns.
    pub audit: bool,
    /// True to use fsync in etcd. Only benchmarks need fsync.
    pub durable: bool,
    /// Additional flags of kube-apiserver, such as `--v=4`.
    pub api_server_flags: Vec<String>,
    /// Additional flags of kube-controller-manager, such as `--controllers=…`.
    pub controller_manager_flags: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "cluster".to_owned(),
            folder: None,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            scheduler: false,
            audit: false,
            durable: false,
            api_server_flags: Vec::new(),
            controller_manager_flags: Vec::new(),
        }
    }
}

/// A program of a [`ControlPlane`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// etcd, the store of the API server.
    Etcd,
    /// kube-apiserver, the API server.
    ApiServer,
    /// kube-controller-manager, which runs the Kubernetes controllers.
    ControllerManager,
    /// kube-scheduler, which assigns pods to nodes. Requires [`Options::scheduler`].
    Scheduler,
}

/// A running control plane.
///
/// Dropping the control plane stops its programs and removes its folder, unless [`Options::folder`]
/// is set. If a test panics, the drop also prints the last lines of each program's log.
pub struct ControlPlane {
    // The fields are dropped in this order: clients of the API server, the store, the folder.
    scheduler: Option<Running>,
    controller_manager: Running,
    api_server: Running,
    etcd: Running,
    client: Client,
    kubectl: PathBuf,
    credentials: Credentials,
    options: Options,
    ports: Ports,
    folder: Folder,
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ControlPlane")
            .field("options", &self.options)
            .field("url", &self.url())
            .field("folder", &self.folder.root)
            .finish_non_exhaustive()
    }
}

impl ControlPlane {
    /// Starts a control plane. Waits until its API and its controllers are ready.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        launch::start(options).await
    }

    /// Returns the name in [`Options::name`].
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Returns the address of the API server's TLS listener.
    pub fn api_address(&self) -> SocketAddr {
        SocketAddr::new(self.options.address, self.ports.api_server.port())
    }

    /// Returns the URL of the API server without a trailing slash.
    pub fn url(&self) -> String {
        format!("https://{}", self.api_address())
    }

    /// Returns the certificate authority of the API server's certificate, as PEM.
    pub fn ca(&self) -> &str {
        &self.credentials.ca
    }

    /// Returns the kubeconfig of the administrator, who is a member of `system:masters`.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.folder.kubeconfig
    }

    /// Returns a client with the administrator's credential.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Creates a client certificate for `user`. The user is a member of at most one group.
    pub fn identity(&self, user: &str, group: Option<&str>) -> Result<Identity, PkiError> {
        self.credentials
            .identity(&self.url(), &self.options.name, user, group)
    }

    /// Returns the folder of this cluster. A temporary folder is removed when the control plane
    /// stops.
    pub fn folder(&self) -> &Path {
        &self.folder.root
    }

    /// Returns the folder of the log files. Each program has one log file.
    pub fn logs(&self) -> PathBuf {
        self.folder.logs()
    }

    /// Runs kubectl as the administrator of the cluster.
    pub async fn kubectl<A: AsRef<str>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Output, CommandError> {
        self.command_line().run(arguments).await
    }

    /// Returns a kubectl command with the administrator's kubeconfig. The methods of
    /// [`CommandLine`] set further options.
    pub fn command_line(&self) -> CommandLine {
        CommandLine::new(&self.kubectl, self.kubeconfig_path(), &self.folder.home())
    }

    /// Returns a Helm command with the administrator's kubeconfig.
    pub async fn helm(&self) -> Result<CommandLine, StartError> {
        let helm = Tool::Helm.locate().await?;
        Ok(CommandLine::new(
            &helm,
            self.kubeconfig_path(),
            &self.folder.home(),
        ))
    }

    /// Returns the audit events of the API server, oldest first. Requires [`Options::audit`].
    ///
    /// A watch or a protocol upgrade has two events: one event at the start of the response, one
    /// event at the end.
    pub fn audit_events(&self) -> Result<Vec<AuditEvent>, StartError> {
        audit::read(&self.folder.audit_log())
    }

    /// Pauses a program without closing its connections, to simulate a slow API server.
    pub fn pause(&self, component: Component) -> Result<(), StartError> {
        Ok(self.program(component)?.pause()?)
    }

    /// Resumes a program that [`ControlPlane::pause`] has paused.
    pub fn resume(&self, component: Component) -> Result<(), StartError> {
        Ok(self.program(component)?.resume()?)
    }

    /// Returns the process of a program of the control plane.
    pub fn id(&self, component: Component) -> Result<u32, StartError> {
        Ok(self.program(component)?.id())
    }

    /// Kills a program to simulate a failed API server. The port stays reserved until
    /// [`ControlPlane::restart`].
    pub fn kill(&mut self, component: Component) -> Result<(), StartError> {
        self.program_mut(component)?.kill()?;
        Ok(())
    }

    /// Restarts a program on the same port, and waits for the API.
    pub async fn restart(&mut self, component: Component) -> Result<(), StartError> {
        self.program_mut(component)?.restart()?;
        self.wait_until_ready().await
    }

    /// Restarts the API server with additional flags, and waits for the API.
    pub async fn reconfigure_api_server(&mut self, flags: &[String]) -> Result<(), StartError> {
        self.api_server.restart_with(flags)?;
        self.wait_until_ready().await
    }

    /// Waits until the API server is ready.
    pub async fn wait_until_ready(&mut self) -> Result<(), StartError> {
        launch::wait_for_api(&mut self.api_server, &self.client).await?;
        Ok(())
    }

    /// Returns an error if a program has ended. The error contains the last lines of the program's
    /// log.
    pub fn check(&mut self) -> Result<(), ProgramError> {
        self.etcd.check()?;
        self.api_server.check()?;
        self.controller_manager.check()?;
        self.scheduler.as_mut().map_or(Ok(()), Running::check)
    }

    /// Stops the programs gracefully. If [`Options::folder`] is set, the folder keeps the cluster's
    /// state.
    pub async fn stop(mut self) -> Result<(), ProgramError> {
        let limit = Duration::from_secs(5);
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.terminate(limit).await?;
        }
        self.controller_manager.terminate(limit).await?;
        self.api_server.terminate(limit).await?;
        self.etcd.terminate(limit).await?;
        Ok(())
    }

    /// Returns the path of the certificate of the authority that issues this cluster's client
    /// certificates.
    pub(crate) fn ca_file(&self) -> &Path {
        &self.credentials.ca_file
    }

    /// Creates a server certificate for a server of this cluster, for example a kubelet. The API
    /// server has a separate certificate.
    pub(crate) fn server_certificate(
        &self,
        name: &str,
        alternatives: &[String],
    ) -> Result<KeyedCertificate, PkiError> {
        self.credentials.server(name, alternatives)
    }

    fn program(&self, component: Component) -> Result<&Running, StartError> {
        match component {
            Component::Etcd => Ok(&self.etcd),
            Component::ApiServer => Ok(&self.api_server),
            Component::ControllerManager => Ok(&self.controller_manager),
            Component::Scheduler => self.scheduler.as_ref().ok_or(StartError::NoScheduler),
        }
    }

    fn program_mut(&mut self, component: Component) -> Result<&mut Running, StartError> {
        match component {
            Component::Etcd => Ok(&mut self.etcd),
            Component::ApiServer => Ok(&mut self.api_server),
            Component::ControllerManager => Ok(&mut self.controller_manager),
            Component::Scheduler => self.scheduler.as_mut().ok_or(StartError::NoScheduler),
        }
    }
}
