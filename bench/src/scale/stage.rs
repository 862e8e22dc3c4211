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
use super::limits::{TooFewFiles, allow_files};
use crate::administrator::{Administrator, AdministratorError};
use crate::certificate::{self, CertificateError};
use crate::fleet::{self, manifest};
use crate::load::{Connection, ExchangeError, Numbers, TURN, Target};

/// Long enough for what a burst allocates to be given back.
const SETTLE: Duration = Duration::from_secs(15);
/// Imports under way at the same time.
const IMPORTS: usize = 16;
/// Agents that are started in a second, a little below what the server registers.
const PER_SECOND: u32 = 45;
/// How long whatever takes long with many clusters may take.
const PATIENCE: Duration = Duration::from_mins(10);
const SOON: Duration = Duration::from_mins(1);
/// Between looks at whether something is so.
const LOOK: Duration = Duration::from_millis(100);

/// Why something did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// The server.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// A process.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The server's API.
    #[error(transparent)]
    Api(#[from] AdministratorError),
    /// The server's certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The system's limit.
    #[error(transparent)]
    Files(#[from] TooFewFiles),
    /// A file or folder.
    #[error("prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// An answer makes no sense.
    #[error("{what} is something else than expected")]
    Unreadable { what: &'static str },
    /// The server is not ready.
    #[error("the server is not ready again")]
    NotReady(#[source] ExchangeError),
    /// Too slow.
    #[error("{have} of {wanted} clusters {what} after {} s", PATIENCE.as_secs())]
    Slow {
        what: &'static str,
        have: u64,
        wanted: u32,
    },
    /// The agents have not been started.
    #[error("the agents do not run")]
    NoAgents,
}

/// What runs; dropped in this order.
pub(super) struct Stage {
    agents: Option<Running>,
    server: DemoServer,
    /// The server's API, as the administrator.
    api: Administrator,
    target: Target,
    clusters: u32,
    folder: TempDir,
}

/// Waits until what a burst allocated is given back.
pub(super) async fn settle() {
    tokio::time::sleep(SETTLE).await;
}

impl Stage {
    /// Starts a server that has no clusters.
    pub(super) async fn start(clusters: u32) -> Result<Self, StageError> {
        // For the server, which inherits the limit.
        allow_files(files(clusters.into()))?;
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
            agents: None,
            server,
            api,
            target,
            clusters,
            folder,
        })
    }

    /// Imports all clusters, and connects their agents.
    pub(super) async fn join(&mut self) -> Result<(), StageError> {
        let path = self.folder.path().join("clusters.jsonl");
        let mut file = BufWriter::new(File::create(&path).map_err(prepare(&path))?);
        let this = &*self;
        let mut imports = futures::stream::iter((0..self.clusters).map(|n| this.import(n)))
            .buffer_unordered(IMPORTS);
        while let Some(cluster) = imports.try_next().await? {
            let line = serde_json::to_string(&cluster).expect("names and objects are JSON");
            writeln!(file, "{line}").map_err(prepare(&path))?;
        }
        drop(imports);
        file.flush().map_err(prepare(&path))?;
        let own = std::env::current_exe().map_err(prepare(Path::new("drover-bench")))?;
        let mut agents = Program::new("agents", own, self.folder.path())
            .args(["agents", "--per-second", &PER_SECOND.to_string()])
            .arg("--clusters")
            .arg(path)
            .start()?;
        agents.wait_for_log("ready", PATIENCE).await?;
        self.agents = Some(agents);
        self.until_all_ready().await
    }

    async fn import(&self, number: u32) -> Result<Joining, StageError> {
        let name = fleet::name(number);
        self.api.post("/v1/clusters", json!({"name": name})).await?;
        let import = format!("/v1/clusters/{name}/import");
        let import = self.api.post(&import, json!({})).await?;
        let text = import["manifest"].as_str();
        let objects = text.and_then(|text| manifest::in_namespace(text, &name));
        let objects = objects.ok_or(StageError::Unreadable {
            what: "an import manifest",
        })?;
        Ok(Joining { name, objects })
    }

    /// Kills the server, starts it, and waits until it says that it is ready.
    pub(super) async fn kill_and_restart(&mut self) -> Result<(), StageError> {
        let running = self.server.running();
        running.kill()?;
        running.restart()?;
        let start = Instant::now();
        while let Err(error) = self.ready().await {
            if start.elapsed() > SOON {
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

    /// Waits until every cluster has a tunnel.
    pub(super) async fn until_all_connected(&self) -> Result<(), StageError> {
        let connected = async || {
            let metrics = self.api.get("/metrics").await?;
            let line = metrics
                .lines()
                .find_map(|line| line.strip_prefix("drover_clusters_connected "));
            line.and_then(|count| count.parse().ok())
                .ok_or(StageError::Unreadable {
                    what: "the metric of connected clusters",
                })
        };
        self.until_all("are connected", connected).await
    }

    /// Waits until the server says of every cluster that it can be used.
    pub(super) async fn until_all_ready(&self) -> Result<(), StageError> {
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
        what: &'static str,
        count: impl AsyncFn() -> Result<u64, StageError>,
    ) -> Result<(), StageError> {
        let start = Instant::now();
        loop {
            let have = count().await?;
            if have >= self.clusters.into() {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let wanted = self.clusters;
                return Err(StageError::Slow { what, have, wanted });
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A path of any cluster, another each time.
    pub(super) fn any_cluster(&self, path: &str) -> Target {
        self.target.at(&format!("/k8s/clusters/fleet-{TURN}{path}"))
    }

    /// The server's process.
    pub(super) fn server_id(&self) -> u32 {
        self.server.id()
    }

    /// The agents' process.
    pub(super) fn agents_id(&self) -> Result<u32, StageError> {
        let agents = self.agents.as_ref().ok_or(StageError::NoAgents)?;
        Ok(agents.id())
    }

    /// All processes, for a meter.
    pub(super) fn processes(&self) -> Result<[(&'static str, u32); 2], StageError> {
        Ok([("server", self.server.id()), ("agents", self.agents_id()?)])
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
