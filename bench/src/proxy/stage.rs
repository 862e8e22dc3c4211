//! The programs of the proxy benchmark.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use drover_e2e::{
    Agent, AgentOptions, CommandError, ControlPlane, DroverError, NoFreePort, Options, PortLease,
    Program, ProgramError, Running, Server, ServerOptions, StartError, TimedOut, eventually,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::peer::{Peer, PeerError};
use crate::certificate::{self, CertificateError, Files};
use crate::load::{Connection, Target};
use crate::process::{ProcessError, stop};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Name of the measured cluster.
const CLUSTER: &str = "bench";
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason why the programs cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// A control plane failed.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// A program of Drover failed.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// The backend failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The reference proxy failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A command line tool failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The certificate cannot be created.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The operating system has no free port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The connection through Drover cannot be opened.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A file or folder cannot be prepared.
    #[error("cannot prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// The output of a command cannot be parsed.
    #[error("cannot parse the output of `{command}`")]
    Unreadable { command: &'static str },
}

/// The running programs. Rust drops the fields in order, and so stops the programs in this order.
pub(super) struct Stage {
    /// The reference proxy with TLS on each connection, as in Drover.
    pub(super) peer: Peer,
    /// The reference proxy without TLS.
    _plain_peer: Peer,
    pub(super) agent: Agent,
    pub(super) server: Server,
    backend: Running,
    /// The API server to which the backend forwards requests.
    _cluster: ControlPlane,
    _hub: ControlPlane,
    targets: Targets,
    _folder: TempDir,
}

/// The targets for requests to the backend.
struct Targets {
    direct: Target,
    drover: Target,
    peer: Target,
    plain_peer: Target,
}

impl Stage {
    pub(super) async fn start() -> Result<Self, StageError> {
        let folder =
            TempDir::with_prefix("drover-bench-").map_err(|source| StageError::Prepare {
                path: std::env::temp_dir(),
                source,
            })?;
        let files = certificate::make(folder.path())?;
        let (hub, cluster) = tokio::try_join!(
            ControlPlane::start(named("hub")),
            ControlPlane::start(named(CLUSTER)),
        )?;
        let ports = Ports::take()?;
        let backend = start_backend(&files, &cluster, &ports, folder.path()).await?;
        let server = Server::start(&hub, ServerOptions::default()).await?;
        server.log_in().await?;
        server.import(CLUSTER, &cluster).await?;
        let kubeconfig = agent_kubeconfig(&files, &cluster, &ports, folder.path()).await?;
        let mut agent = Agent::start(AgentOptions {
            replica: CLUSTER.to_owned(),
            kubeconfig,
            logs: folder.path().to_owned(),
            arguments: Vec::new(),
        })?;
        agent.wait_until_connected().await?;
        server.wait_for_cluster(CLUSTER).await?;
        let peer = Peer::start(
            &format!("https://{}", ports.secure()),
            Some(&files),
            folder.path(),
        )
        .await?;
        let plain_peer =
            Peer::start(&format!("http://{}", ports.plain()), None, folder.path()).await?;
        let targets = Targets::new(&files, &server, &ports, &peer, &plain_peer).await?;
        for target in [
            &targets.drover,
            &targets.peer,
            &targets.plain_peer,
            &targets.direct,
        ] {
            opens(target).await?;
        }
        drop(ports);
        Ok(Self {
            peer,
            _plain_peer: plain_peer,
            agent,
            server,
            backend,
            _cluster: cluster,
            _hub: hub,
            targets,
            _folder: folder,
        })
    }

    /// Stops Drover's programs and the backend gracefully. The server stops first, because the agent
    /// waits for open streams of a connected server.
    pub(super) async fn stop(mut self) -> Result<(), ProcessError> {
        stop(self.server.running()).await?;
        stop(self.agent.running()).await?;
        stop(&mut self.backend).await
    }

    /// Returns a target that reaches the backend directly, with the headers that an agent sends.
    pub(super) fn direct(&self, path: &str) -> Target {
        self.targets.direct.at(path)
    }

    /// Returns a target that reaches the backend through the server, the tunnel and the agent.
    pub(super) fn drover(&self, path: &str) -> Target {
        self.targets
            .drover
            .at(&format!("/k8s/clusters/{CLUSTER}{path}"))
    }

    /// Returns a target for a path of the server itself. The server responds without a request to a
    /// cluster.
    pub(super) fn server_itself(&self, path: &str) -> Target {
        self.targets.drover.at(path)
    }

    /// Returns a target that reaches the backend through remotedialer, with TLS.
    pub(super) fn through_peer(&self, path: &str) -> Target {
        self.targets.peer.at(path)
    }

    /// Returns a target that reaches the backend through remotedialer, without TLS.
    pub(super) fn through_plain_peer(&self, path: &str) -> Target {
        self.targets.plain_peer.at(path)
    }

    /// Returns the processes of the request path whose CPU usage is measured.
    pub(super) fn proxy_processes(&self) -> [(&'static str, u32); 3] {
        [
            ("server", self.server.id()),
            ("agent", self.agent.id()),
            ("backend", self.backend.id()),
        ]
    }

    /// Returns the backend process whose CPU usage is measured.
    pub(super) fn backend(&self) -> [(&'static str, u32); 1] {
        [("backend", self.backend.id())]
    }
}

fn named(name: &str) -> Options {
    Options {
        name: name.to_owned(),
        ..Options::default()
    }
}

/// The ports that the backend listens on.
struct Ports {
    secure: PortLease,
    plain: PortLease,
}

impl Ports {
    fn take() -> Result<Self, NoFreePort> {
        Ok(Self {
            secure: PortLease::take(LOOPBACK)?,
            plain: PortLease::take(LOOPBACK)?,
        })
    }

    fn secure(&self) -> String {
        format!("{LOOPBACK}:{}", self.secure.port())
    }

    fn plain(&self) -> String {
        format!("{LOOPBACK}:{}", self.plain.port())
    }
}

impl Targets {
    async fn new(
        files: &Files,
        server: &Server,
        ports: &Ports,
        peer: &Peer,
        plain_peer: &Peer,
    ) -> Result<Self, StageError> {
        let bench = certificate::client(&files.authority)?;
        let bearer = |token: &str| ("Authorization".to_owned(), format!("Bearer {token}"));
        let impersonated = [
            (
                "Impersonate-User",
                "drover:user:3f0b0f5e-6d6c-4c39-9a53-6a5a43c1f6a1",
            ),
            ("Impersonate-Group", "system:authenticated"),
            (
                "Impersonate-Extra-Management.drover.dev%2ftoken-id",
                "bcdfghjkmnpq",
            ),
        ];
        let impersonated: Vec<(String, String)> = impersonated
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .chain([bearer("of-a-service-account")])
            .collect();
        let target = |address: String, tls, headers: &[(String, String)]| Target {
            address,
            tls,
            path: "/small".to_owned(),
            headers: headers.to_vec(),
            sent: None,
            numbers: Arc::default(),
        };
        let token = api_token(server).await?;
        let trusts_server = certificate::client(server.authority())?;
        let address = server.url().trim_start_matches("https://").to_owned();
        Ok(Self {
            direct: target(ports.secure(), Some(bench.clone()), &impersonated),
            drover: target(address, Some(trusts_server), &[bearer(&token)])
                .at(&format!("/k8s/clusters/{CLUSTER}/small")),
            peer: target(peer.address(), Some(bench), &impersonated),
            plain_peer: target(plain_peer.address(), None, &impersonated),
        })
    }
}

async fn start_backend(
    files: &Files,
    cluster: &ControlPlane,
    ports: &Ports,
    logs: &Path,
) -> Result<Running, StageError> {
    let own = std::env::current_exe().map_err(|source| StageError::Prepare {
        path: "drover-bench".into(),
        source,
    })?;
    let mut backend = Program::new("backend", own, logs)
        .args([
            "backend",
            "--listen",
            &ports.secure(),
            "--plain",
            &ports.plain(),
        ])
        .arg("--certificate")
        .arg(&files.certificate)
        .arg("--key")
        .arg(&files.key)
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig_path())
        .start()?;
    backend.wait_for_log("ready", START_TIMEOUT).await?;
    Ok(backend)
}

/// Writes the kubeconfig of the agent. In the kubeconfig, the API server is the backend, and the
/// user is the agent's service account.
async fn agent_kubeconfig(
    files: &Files,
    cluster: &ControlPlane,
    ports: &Ports,
    folder: &Path,
) -> Result<PathBuf, StageError> {
    let arguments = [
        "create",
        "token",
        "drover-agent",
        "--namespace=drover-agent",
        "--duration=6h",
    ];
    let token = cluster.kubectl(arguments).await?.stdout;
    let server = format!("https://{}", ports.secure());
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": CLUSTER,
        "clusters": [{"name": CLUSTER, "cluster":
            {"server": server, "certificate-authority": files.authority}}],
        "users": [{"name": CLUSTER, "user": {"token": token.trim()}}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": CLUSTER}}],
    });
    let path = folder.join("agent.kubeconfig");
    fs::write(&path, config.to_string()).map_err(|source| StageError::Prepare {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

/// Creates an API token of the administrator.
async fn api_token(server: &Server) -> Result<String, StageError> {
    const COMMAND: &str = "drover token create --output json";
    let words = COMMAND.split(' ').skip(1);
    let answer = server.command_line().run(words).await?.stdout;
    serde_json::from_str::<Value>(&answer)
        .ok()
        .and_then(|value| value["token"].as_str().map(str::to_owned))
        .ok_or(StageError::Unreadable { command: COMMAND })
}

/// Waits until the server responds to a request for the target.
async fn opens(target: &Target) -> Result<(), StageError> {
    let target_name = format!("{} of {}", target.path, target.address);
    Ok(eventually(&target_name, START_TIMEOUT, async || {
        Connection::open(target).await?.exchange().await
    })
    .await
    .map(drop)?)
}
