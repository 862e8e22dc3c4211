//! The server and the agents of all clusters.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_e2e::{DemoOptions, DemoServer, DroverError, Program, ProgramError, Running};
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agents::{Joining, files};
use crate::administrator::{Administrator, AdministratorError};
use crate::certificate::{self, CertificateError};
use crate::limits::{TooFewFiles, allow_files};
use crate::load::{Connection, ExchangeError, Numbers, REPEATING_NUMBER, Target};
use crate::manifest;
use crate::process::{ProcessError, stop};

/// Time after a burst until the allocator has returned unused memory to the operating system.
const SETTLE: Duration = Duration::from_secs(15);
/// Number of concurrent imports.
const IMPORTS: usize = 16;
/// Number of agents to start per second, slightly below the registration limit of the server.
pub(crate) const PER_SECOND: u32 = 45;
/// Timeout of operations on all clusters.
const TIMEOUT: Duration = Duration::from_mins(10);
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// Interval between two polls of the server's status.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The reason why the programs cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// The server's program failed.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// The memory or CPU usage of a process cannot be read.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A request to the server failed.
    #[error(transparent)]
    Api(#[from] AdministratorError),
    /// The server's certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The limit of open files is too low.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    /// A file or folder cannot be prepared.
    #[error("cannot prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// A response cannot be parsed.
    #[error("cannot parse {content}")]
    Unreadable { content: &'static str },
    /// The server did not become ready.
    #[error("the server did not become ready after its restart")]
    NotReady(#[source] ExchangeError),
    /// The operation exceeded its timeout.
    #[error(
        "timed out after {seconds} s: {ready} of {total} clusters {state}",
        ready = .have,
        seconds = TIMEOUT.as_secs()
    )]
    Slow {
        state: &'static str,
        have: u64,
        total: u32,
    },
    /// The agents are not running.
    #[error("cannot find the process ID of the agents: the agents are not running")]
    NoAgents,
}

/// The running programs. Rust drops the fields in order, and so stops the programs in this order.
pub(crate) struct Stage {
    agents: Vec<Running>,
    server: DemoServer,
    /// A client of the server with an administrator's permissions.
    api: Administrator,
    target: Target,
    /// Number of joined clusters.
    clusters: u32,
    /// Number of node agents with a tunnel in each cluster.
    node_agents: u32,
    folder: TempDir,
}

/// Waits until the allocator has returned unused memory to the system.
pub(crate) async fn settle() {
    tokio::time::sleep(SETTLE).await;
}

impl Stage {
    /// Starts a server without clusters. At most `clusters` clusters can join, each with an agent and
    /// this number of node agents.
    pub(crate) async fn start(clusters: u32, node_agents: u32) -> Result<Self, StageError> {
        // The server inherits the limit of open files.
        allow_files(files(u64::from(clusters) * u64::from(1 + node_agents)))?;
        let prefix = TempDir::with_prefix("drover-bench-");
        let folder = prefix.map_err(prepare(&std::env::temp_dir()))?;
        let mut server = DemoServer::start(DemoOptions {
            folder: folder.path().to_owned(),
            port: None,
            clusters: 0,
        })
        .await?;
        server.log_in().await?;
        let api = Administrator::of(&server, folder.path()).await?;
        server.running().check()?;
        let target = Target {
            address: server.url().trim_start_matches("https://").to_owned(),
            tls: Some(certificate::client(api.authority())?),
            path: "/readyz".to_owned(),
            headers: vec![("Authorization".to_owned(), api.bearer().to_owned())],
            sent: None,
            numbers: Arc::new(Numbers::scattered_over(clusters.into())),
        };
        Ok(Self {
            agents: Vec::new(),
            server,
            api,
            target,
            clusters: 0,
            node_agents,
            folder,
        })
    }

    /// Imports `count` more clusters and connects their agents, which run in a new process.
    pub(crate) async fn join(&mut self, count: u32) -> Result<(), StageError> {
        let control_plane = (self.node_agents > 0).then_some("--control-plane");
        let options = |program: Program| program.args(control_plane);
        self.join_with("agents", count, options).await?;
        self.until_all_ready().await
    }

    /// Imports `count` more clusters, and starts the command of `drover-bench` that runs their agents in a
    /// new process. Waits until the command prints that it is ready. Returns the ID of the process.
    pub(crate) async fn join_with(
        &mut self,
        command: &str,
        count: u32,
        options: impl FnOnce(Program) -> Program,
    ) -> Result<u32, StageError> {
        let first = self.clusters;
        let clusters = self.import(count).await?;
        let path = self.clusters_file(first);
        let mut file = BufWriter::new(File::create(&path).map_err(prepare(&path))?);
        for cluster in clusters {
            let line = serde_json::to_string(&cluster).expect("names and objects are JSON");
            writeln!(file, "{line}").map_err(prepare(&path))?;
        }
        file.flush().map_err(prepare(&path))?;
        self.start_agents(command, first, options).await
    }

    /// Connects the node agents of the clusters that joined first. The node agents run in a new process.
    /// Returns the ID of the process.
    pub(super) async fn join_node_agents(&mut self) -> Result<u32, StageError> {
        let (folder, per_cluster) = (self.folder.path().to_owned(), self.node_agents.to_string());
        let options = |program: Program| {
            let program = program.args(["--per-cluster", &per_cluster]);
            program.arg("--folder").arg(folder)
        };
        self.start_agents("node-agents", 0, options).await
    }

    /// Starts a program with agents of the clusters from number `first` on, and waits until the agents
    /// are connected.
    async fn start_agents(
        &mut self,
        command: &str,
        first: u32,
        options: impl FnOnce(Program) -> Program,
    ) -> Result<u32, StageError> {
        let own = std::env::current_exe().map_err(prepare(Path::new("drover-bench")))?;
        let name = format!("{command}-from-{first}");
        let program = Program::new(&name, own, self.folder.path())
            .args([command, "--per-second", &PER_SECOND.to_string()])
            .arg("--clusters")
            .arg(self.clusters_file(first));
        let mut agents = options(program).start()?;
        agents.wait_for_log("ready", TIMEOUT).await?;
        let id = agents.id();
        self.agents.push(agents);
        Ok(id)
    }

    /// Returns the path of the file with the clusters from number `first` on, one per line.
    fn clusters_file(&self, first: u32) -> PathBuf {
        let name = format!("clusters-from-{first}.jsonl");
        self.folder.path().join(name)
    }

    /// Imports a cluster with this name. Returns its import manifest. The caller connects its agents.
    pub(crate) async fn import_named(&self, name: &str) -> Result<String, StageError> {
        self.api.post("/v1/clusters", json!({"name": name})).await?;
        let import = format!("/v1/clusters/{name}/import");
        let import = self.api.post(&import, json!({})).await?;
        let manifest = import["manifest"].as_str().map(str::to_owned);
        manifest.ok_or(StageError::Unreadable {
            content: "an import manifest",
        })
    }

    /// Imports `count` more clusters. The caller connects their agents.
    pub(crate) async fn import(&mut self, count: u32) -> Result<Vec<Joining>, StageError> {
        let first = self.clusters;
        self.clusters += count;
        let this = &*self;
        let imports = (first..self.clusters).map(|number| this.import_one(number));
        let imports = futures::stream::iter(imports).buffer_unordered(IMPORTS);
        imports.try_collect().await
    }

    async fn import_one(&self, number: u32) -> Result<Joining, StageError> {
        let name = format!("cluster-{number:08}");
        let text = self.import_named(&name).await?;
        let objects = manifest::in_namespace(&text, &name);
        let objects = objects.ok_or(StageError::Unreadable {
            content: "an import manifest",
        })?;
        Ok(Joining { name, objects })
    }

    /// Kills and restarts the server, and waits until it is ready.
    pub(super) async fn kill_and_restart(&mut self) -> Result<(), StageError> {
        let running = self.server.running();
        running.kill()?;
        running.restart()?;
        let start = Instant::now();
        while let Err(error) = self.ready().await {
            if start.elapsed() > START_TIMEOUT {
                return Err(StageError::NotReady(error));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    async fn ready(&self) -> Result<u64, ExchangeError> {
        let target = self.target.at("/readyz");
        Connection::open(&target).await?.exchange().await
    }

    /// Waits until every cluster has a connected tunnel.
    pub(super) async fn until_all_connected(&self) -> Result<(), StageError> {
        let connected = async || {
            let metrics = self.api.get("/metrics").await?;
            let line = metrics
                .lines()
                .find_map(|line| line.strip_prefix("drover_clusters_connected "));
            line.and_then(|count| count.parse().ok())
                .ok_or(StageError::Unreadable {
                    content: "the metric of connected clusters",
                })
        };
        self.until_all("are connected", connected).await
    }

    /// Waits until all clusters are ready.
    pub(crate) async fn until_all_ready(&self) -> Result<(), StageError> {
        let ready = async || {
            let (mut count, mut after) = (0, String::new());
            loop {
                let page = self
                    .api
                    .get(&format!("/v1/clusters?limit=500{after}"))
                    .await?;
                let page: Value = serde_json::from_str(&page).unwrap_or_default();
                let items = page["items"].as_array().into_iter().flatten();
                count += items.filter(|cluster| is_ready(cluster)).count() as u64;
                match page["continue"].as_str() {
                    Some(next) => after = format!("&continue={next}"),
                    None => return Ok(count),
                }
            }
        };
        self.until_all("are ready", ready).await
    }

    async fn until_all(
        &self,
        state: &'static str,
        count: impl AsyncFn() -> Result<u64, StageError>,
    ) -> Result<(), StageError> {
        let start = Instant::now();
        loop {
            let have = count().await?;
            if have >= self.clusters.into() {
                return Ok(());
            }
            if start.elapsed() > TIMEOUT {
                let total = self.clusters;
                return Err(StageError::Slow { state, have, total });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns a target whose requests address different clusters.
    pub(super) fn any_cluster(&self, path: &str) -> Target {
        self.target
            .at(&format!("/k8s/clusters/cluster-{REPEATING_NUMBER}{path}"))
    }

    /// Stops the server and the agents gracefully.
    pub(crate) async fn stop(mut self) -> Result<(), ProcessError> {
        stop(self.server.running()).await?;
        for agents in &mut self.agents {
            stop(agents).await?;
        }
        Ok(())
    }

    /// Returns the client with an administrator's permissions.
    pub(crate) const fn api(&self) -> &Administrator {
        &self.api
    }

    /// Returns the host and the port of the server.
    pub(crate) fn server_address(&self) -> &str {
        &self.target.address
    }

    /// Returns the folder for files of the benchmark.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the process ID of the server.
    pub(crate) fn server_id(&self) -> u32 {
        self.server.id()
    }

    /// Returns the process ID of the agents that joined first.
    pub(super) fn agents_id(&self) -> Result<u32, StageError> {
        let agents = self.agents.first().ok_or(StageError::NoAgents)?;
        Ok(agents.id())
    }

    /// Returns the processes whose CPU usage is measured.
    pub(super) fn processes(&self) -> Vec<(&'static str, u32)> {
        let agents = ["agents", "node agents"].into_iter().zip(&self.agents);
        let agents = agents.map(|(name, agents)| (name, agents.id()));
        [("server", self.server.id())]
            .into_iter()
            .chain(agents)
            .collect()
    }
}

fn is_ready(cluster: &Value) -> bool {
    let mut conditions = cluster["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn prepare(path: &Path) -> impl Fn(io::Error) -> StageError {
    let path = path.to_owned();
    move |source| StageError::Prepare {
        path: path.clone(),
        source,
    }
}
