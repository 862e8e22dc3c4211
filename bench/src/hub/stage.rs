//! The programs that the benchmark compares, and their objects.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_e2e::{
    Component, ControlPlane, NoFreePort, Options, PortLease, Program, ProgramError, Running,
    StartError,
};
use rustls::ClientConfig;
use tempfile::TempDir;

use crate::api::TOKEN;
use crate::certificate::{self, CertificateError, Files};
use crate::limits::TooFewFiles;
use crate::load::{
    Connection, ExchangeError, NUMBER, Numbers, REPEATING_NUMBER, Sent, Target, repeat,
};
use crate::process::{ProcessError, stop};

/// Number of objects in the list that the benchmark reads.
pub(super) const LISTED: u32 = 10_000;
/// Number of objects that the benchmark patches.
const PATCHED: u32 = 1000;
/// Number of objects that the benchmark watches.
pub(super) const WATCHED: u32 = 10;
/// Number of objects of 1 MiB that the benchmark creates in each round. The benchmark reads the
/// first objects.
pub(super) const LARGE: u32 = 24;
/// Number of bytes in a small object.
const SMALL_BYTES: usize = 1024;
/// Number of bytes in an object of 1 MiB without its metadata. A ConfigMap has at most 1 MiB.
const LARGE_BYTES: usize = (1 << 20) - 2048;
/// API group of the custom objects.
const GROUP: &str = "bench.drover.dev";
/// Number of connections that create the objects.
pub(super) const FILL_CONNECTIONS: u32 = 32;
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason why the compared programs cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    /// kube-apiserver or etcd failed.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// The hub's program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The certificate cannot be created.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The operating system has no free port.
    #[error(transparent)]
    NoFreePort(#[from] NoFreePort),
    /// The benchmark needs more open files.
    #[error(transparent)]
    TooFewFiles(#[from] TooFewFiles),
    /// A file or folder cannot be prepared.
    #[error("cannot prepare {path}")]
    Prepare { path: PathBuf, source: io::Error },
    /// The objects cannot be created.
    #[error("cannot create the objects in {server}", server = .side)]
    Fill {
        side: &'static str,
        source: ExchangeError,
    },
}

/// A compared program: its processes, and the targets for requests to the program.
pub(super) struct Side {
    pub(super) name: &'static str,
    /// The processes whose CPU usage is measured.
    pub(super) processes: Vec<(&'static str, u32)>,
    pub(super) creating: Target,
    pub(super) getting: Target,
    pub(super) listing: Target,
    pub(super) patching: Target,
    pub(super) watching: Target,
    pub(super) changing: Target,
    /// Patches of the status of custom objects.
    pub(super) reporting: Target,
    /// Creations and reads of objects of 1 MiB.
    pub(super) creating_large: Target,
    pub(super) getting_large: Target,
    root: Target,
}

/// The running programs. Rust drops the fields in order, and so stops the programs in this order.
pub(super) struct Stage {
    ours: Side,
    theirs: Side,
    pub(super) hub: Running,
    _reference: ControlPlane,
    pub(super) launch: Launch,
    pub(super) folder: TempDir,
}

impl Stage {
    pub(super) async fn start() -> Result<Self, StageError> {
        let folder =
            TempDir::with_prefix("drover-bench-").map_err(prepare(std::env::temp_dir()))?;
        let files = certificate::make(folder.path())?;
        let (reference, authority) = start_reference(folder.path()).await?;
        let launch = Launch::new(files, folder.path())?;
        let mut hub = launch.program(&launch.store).start()?;
        hub.wait_for_log("ready", START_TIMEOUT).await?;
        let ours = Side::new(
            "drover",
            vec![("drover", hub.id())],
            &launch.address(),
            &launch.trust,
        );
        let theirs = Side::new(
            "kube-apiserver",
            vec![
                ("kube-apiserver", reference.id(Component::ApiServer)?),
                ("etcd", reference.id(Component::Etcd)?),
            ],
            &reference.api_address().to_string(),
            &authority,
        );
        Ok(Self {
            ours,
            theirs,
            hub,
            _reference: reference,
            launch,
            folder,
        })
    }

    /// Returns the hub and kube-apiserver, in this order.
    pub(super) fn sides(&self) -> [&Side; 2] {
        [&self.ours, &self.theirs]
    }

    /// Creates the same objects in the hub and in kube-apiserver.
    pub(super) async fn fill(&self) -> Result<(), StageError> {
        self.fill_with(Side::fill).await
    }

    /// Creates the same custom objects in the hub and in kube-apiserver.
    pub(super) async fn fill_things(&self) -> Result<(), StageError> {
        self.fill_with(Side::fill_things).await
    }

    async fn fill_with(
        &self,
        fill: impl AsyncFn(&Side) -> Result<(), ExchangeError>,
    ) -> Result<(), StageError> {
        for side in self.sides() {
            fill(side).await.map_err(|source| StageError::Fill {
                side: side.name,
                source,
            })?;
        }
        Ok(())
    }

    /// Stops the hub gracefully.
    pub(super) async fn stop(mut self) -> Result<(), ProcessError> {
        stop(&mut self.hub).await
    }

    /// Measures the process of the hub after a restart.
    pub(super) fn renew_process(&mut self) {
        self.ours.processes = vec![("drover", self.hub.id())];
    }
}

/// The options for starting the hub's program.
pub(super) struct Launch {
    files: Files,
    port: PortLease,
    program: PathBuf,
    logs: PathBuf,
    store: PathBuf,
    trust: Arc<ClientConfig>,
}

impl Launch {
    fn new(files: Files, folder: &Path) -> Result<Self, StageError> {
        Ok(Self {
            trust: certificate::client(&files.authority)?,
            files,
            port: PortLease::take(IpAddr::V4(Ipv4Addr::LOCALHOST))?,
            program: std::env::current_exe().map_err(prepare("drover-bench"))?,
            logs: folder.to_owned(),
            store: folder.join("hub.db"),
        })
    }

    /// Returns a copy of the options with a different port.
    pub(super) fn with_other_port(&self) -> Result<Self, StageError> {
        Self::new(self.files.clone(), &self.logs)
    }

    /// Returns a target that reads this path.
    pub(super) fn reading(&self, path: &str) -> Target {
        target(&self.address(), &self.trust).at(path)
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port.port())
    }

    /// Returns the target of readiness requests.
    pub(super) fn ready(&self) -> Target {
        self.reading("/readyz")
    }

    /// Returns the command that starts the hub with this store.
    pub(super) fn program(&self, store: &Path) -> Program {
        Program::new("api", &self.program, &self.logs)
            .args(["api", "--listen", &self.address()])
            .arg("--certificate")
            .arg(&self.files.certificate)
            .arg("--key")
            .arg(&self.files.key)
            .arg("--store")
            .arg(store)
    }
}

/// Starts an etcd that uses fsync, and a kube-apiserver. Does not start a controller manager.
async fn start_reference(folder: &Path) -> Result<(ControlPlane, Arc<ClientConfig>), StageError> {
    let tokens = folder.join("tokens.csv");
    let line = format!("{TOKEN},bench,bench,system:masters\n");
    fs::write(&tokens, line).map_err(prepare(&tokens))?;
    let mut reference = ControlPlane::start(Options {
        name: "reference".to_owned(),
        durable: true,
        api_server_flags: vec![format!("--token-auth-file={}", tokens.display())],
        ..Options::default()
    })
    .await?;
    reference.kill(Component::ControllerManager)?;
    let authority = folder.join("reference-ca.crt");
    fs::write(&authority, reference.ca()).map_err(prepare(&authority))?;
    Ok((reference, certificate::client(&authority)?))
}

fn target(address: &str, trust: &Arc<ClientConfig>) -> Target {
    Target {
        address: address.to_owned(),
        tls: Some(Arc::clone(trust)),
        path: "/".to_owned(),
        headers: vec![
            ("Authorization".to_owned(), format!("Bearer {TOKEN}")),
            ("Accept".to_owned(), "application/json".to_owned()),
        ],
        sent: None,
        numbers: Arc::default(),
    }
}

impl Side {
    fn new(
        name: &'static str,
        processes: Vec<(&'static str, u32)>,
        address: &str,
        trust: &Arc<ClientConfig>,
    ) -> Self {
        let root = target(address, trust);
        let patch = |namespace, round| {
            root.sending(
                &format!("{}/c-{REPEATING_NUMBER}", path(namespace)),
                change(),
            )
            .numbered(Numbers::in_rounds_of(u64::from(round)))
        };
        Self {
            name,
            processes,
            creating: root
                .sending(&path("created"), config_map(SMALL_BYTES))
                .numbered(Numbers::default()),
            getting: root
                .at(&format!("{}/c-{REPEATING_NUMBER}", path("listed")))
                .numbered(Numbers::in_rounds_of(u64::from(LISTED))),
            listing: root.at(&path("listed")),
            patching: patch("patched", PATCHED),
            watching: root.at(&format!("{}?watch=1", path("watched"))),
            changing: patch("watched", WATCHED),
            reporting: root
                .sending(
                    &format!("{}/c-{REPEATING_NUMBER}/status", things("patched")),
                    status(),
                )
                .numbered(Numbers::in_rounds_of(u64::from(PATCHED))),
            creating_large: root
                .sending(&path("large"), config_map(LARGE_BYTES))
                .numbered(Numbers::default()),
            getting_large: root
                .at(&format!("{}/c-{REPEATING_NUMBER}", path("large")))
                .numbered(Numbers::in_rounds_of(u64::from(LARGE))),
            root,
        }
    }

    async fn fill(&self) -> Result<(), ExchangeError> {
        for (namespace, objects) in [
            ("created", 0),
            ("listed", LISTED),
            ("patched", PATCHED),
            ("watched", WATCHED),
            ("large", 0),
        ] {
            let created = sent(
                "POST",
                &format!(r#"{{"metadata":{{"name":"{namespace}"}}}}"#),
            );
            let making = self.root.sending("/api/v1/namespaces", created);
            Connection::open(&making).await?.exchange().await?;
            let filling = self
                .root
                .sending(&path(namespace), config_map(SMALL_BYTES))
                .numbered(Numbers::default());
            repeat(&filling, FILL_CONNECTIONS, objects).await?;
        }
        Ok(())
    }

    /// Defines the custom objects, and creates the objects whose status the benchmark patches.
    async fn fill_things(&self) -> Result<(), ExchangeError> {
        let defining = self.target(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            definition(),
        );
        Connection::open(&defining).await?.exchange().await?;
        let served = self.root.at(&things("patched"));
        let start = Instant::now();
        while let Err(error) = Connection::open(&served).await?.exchange().await {
            if start.elapsed() > START_TIMEOUT {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let filling = self.target(&things("patched"), thing());
        repeat(&filling, FILL_CONNECTIONS, PATCHED).await
    }

    /// Returns a target with its own sequence of numbers.
    pub(super) fn target(&self, path: &str, sent: Sent) -> Target {
        self.root.sending(path, sent).numbered(Numbers::default())
    }

    /// Returns a target that reads this path.
    pub(super) fn reading(&self, path: &str) -> Target {
        self.root.at(path)
    }
}

/// Returns the path of the custom objects in a namespace.
pub(super) fn things(namespace: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/things")
}

/// Returns a request body with a CRD whose objects have a status.
fn definition() -> Sent {
    let fields = r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#;
    sent(
        "POST",
        &format!(
            r#"{{"metadata":{{"name":"things.{GROUP}"}},"spec":{{"group":"{GROUP}",
            "scope":"Namespaced","names":{{"plural":"things","singular":"thing","kind":"Thing"}},
            "versions":[{{"name":"v1","served":true,"storage":true,"subresources":{{"status":{{}}}},
            "schema":{{"openAPIV3Schema":{{"type":"object","properties":
            {{"spec":{fields},"status":{fields}}}}}}}}}]}}}}"#
        ),
    )
}

/// Returns a request body with a custom object.
pub(super) fn thing() -> Sent {
    sent(
        "POST",
        &format!(
            r#"{{"apiVersion":"{GROUP}/v1","kind":"Thing","metadata":{{"name":"c-{NUMBER}"}},
            "spec":{{"replicas":1}}}}"#
        ),
    )
}

/// Returns a patch with a new status.
pub(super) fn status() -> Sent {
    Sent {
        method: "PATCH",
        content_type: "application/merge-patch+json",
        body: format!(
            r#"{{"status":{{"observed":"{NUMBER}","conditions":[{{"type":"Ready","status":"True",
            "reason":"Running","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}}"#
        ),
    }
}

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

pub(super) fn sent(method: &'static str, body: &str) -> Sent {
    Sent {
        method,
        content_type: "application/json",
        body: body.to_owned(),
    }
}

/// Returns a request body with a ConfigMap that contains this number of bytes.
fn config_map(bytes: usize) -> Sent {
    let text = "x".repeat(bytes);
    sent(
        "POST",
        &format!(r#"{{"metadata":{{"name":"c-{NUMBER}"}},"data":{{"text":"{text}"}}}}"#),
    )
}

/// Returns a patch with a new value, so that the patch always changes the object.
fn change() -> Sent {
    Sent {
        method: "PATCH",
        content_type: "application/merge-patch+json",
        body: format!(r#"{{"data":{{"number":"{NUMBER}"}}}}"#),
    }
}

pub(super) fn prepare(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> StageError {
    let path = path.into();
    |source| StageError::Prepare { path, source }
}
