//! The programs of the proxy bench.

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

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The name under which the benched cluster is imported.
const CLUSTER: &str = "bench";
const SOON: Duration = Duration::from_secs(30);

/// Why something did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// A control plane.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// One of Drover's programs.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// The backend.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The reference.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The bench's certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The connection through Drover did not open.
    #[error(transparent)]
    TimedOut(#[from] TimedOut),
    /// A file or folder.
    #[error("prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// A command's answer.
    #[error("`{command}` answered something else than expected")]
    Unreadable { command: &'static str },
}

/// What runs; dropped in this order.
pub(super) struct Stage {
    /// Through remotedialer, TLS on each leg as with Drover.
    pub(super) peer: Peer,
    /// Through remotedialer with no TLS on any leg.
    _plain_peer: Peer,
    pub(super) agent: Agent,
    pub(super) server: Server,
    backend: Running,
    /// The API server behind the backend.
    pub(super) cluster: ControlPlane,
    _hub: ControlPlane,
    targets: Targets,
    pub(super) folder: TempDir,
}

/// The ways to the backend.
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
            cluster,
            _hub: hub,
            targets,
            folder,
        })
    }

    /// The backend itself, asked with the headers that an agent would send.
    pub(super) fn direct(&self, path: &str) -> Target {
        self.targets.direct.at(path)
    }

    /// The backend through server, tunnel and agent.
    pub(super) fn drover(&self, path: &str) -> Target {
        self.targets
            .drover
            .at(&format!("/k8s/clusters/{CLUSTER}{path}"))
    }

    /// The server itself.
    pub(super) fn server_itself(&self, path: &str) -> Target {
        self.targets.drover.at(path)
    }

    /// The backend through remotedialer, with TLS.
    pub(super) fn through_peer(&self, path: &str) -> Target {
        self.targets.peer.at(path)
    }

    /// The backend through remotedialer, without TLS.
    pub(super) fn through_plain_peer(&self, path: &str) -> Target {
        self.targets.plain_peer.at(path)
    }

    /// The processes that carry a request, for a meter.
    pub(super) fn proxy_processes(&self) -> [(&'static str, u32); 3] {
        [
            ("server", self.server.id()),
            ("agent", self.agent.id()),
            ("backend", self.backend.id()),
        ]
    }

    /// The backend alone, for a meter.
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

/// Where the backend listens.
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
    backend.wait_for_log("ready", SOON).await?;
    Ok(backend)
}

/// The agent's kubeconfig: the backend for an API server, its own service account for a user.
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

/// A token of the administrator's, as programs have one.
async fn api_token(server: &Server) -> Result<String, StageError> {
    const COMMAND: &str = "drover token create --output json";
    let words = COMMAND.split(' ').skip(1);
    let answer = server.command_line().run(words).await?.stdout;
    serde_json::from_str::<Value>(&answer)
        .ok()
        .and_then(|value| value["token"].as_str().map(str::to_owned))
        .ok_or(StageError::Unreadable { command: COMMAND })
}

/// Waits until the backend answers that way.
async fn opens(target: &Target) -> Result<(), StageError> {
    let what = format!("{} of {}", target.path, target.address);
    Ok(eventually(&what, SOON, async || {
        Connection::open(target).await?.exchange().await
    })
    .await
    .map(drop)?)
}
