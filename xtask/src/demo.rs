//! `xtask demo` (`make run`): a hub and a first cluster on this machine, joined.
//!
//! Everything lies in one folder and is still there the next time. The first cluster has no node,
//! so nothing runs its agent's pods; the agent runs here instead, as a process.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use drover_e2e::{
    Agent, AgentOptions, BuildError, CommandError, ControlPlane, DroverError, Options,
    ProgramError, Server, ServerOptions, StartError, Tool,
};

/// Longest that the server may take to end when asked to.
const SERVER_ENDS: Duration = Duration::from_secs(20);
/// The name under which the first cluster is imported.
const CLUSTER: &str = "first";

/// Why the demonstration ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Neither variable that says where data lives is set.
    #[error("no place for the demonstration's state: set XDG_DATA_HOME or HOME, or give --folder")]
    NoFolder,
    /// A Kubernetes program could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A control plane did not start.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// One of Drover's programs did not start.
    #[error(transparent)]
    Drover(#[from] DroverError),
    /// A command refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A program ended although it was needed.
    #[error(transparent)]
    Ended(#[from] ProgramError),
    /// The system did not give what is needed.
    #[error("the system gave no runtime or no signals")]
    System(#[source] io::Error),
}

/// `xtask demo`.
#[derive(clap::Args)]
pub(crate) struct Demo {
    /// Folder of the demonstration's state; `drover/demo` where data lives if left out
    #[arg(long, env = "DROVER_DEMO_FOLDER")]
    folder: Option<PathBuf>,
    /// Port of the server
    #[arg(long, default_value_t = 8443)]
    port: u16,
    /// Start, say so, and end: a test that it works
    #[arg(long)]
    once: bool,
}

/// What runs; dropped in this order.
struct Running {
    agent: Agent,
    server: Server,
    cluster: ControlPlane,
    hub: ControlPlane,
}

impl Demo {
    pub(crate) fn run(self) -> Result<(), DemoError> {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(DemoError::System)?
            .block_on(self.demonstrate())
    }

    async fn demonstrate(self) -> Result<(), DemoError> {
        let folder = self
            .folder
            .clone()
            .or_else(default_folder)
            .ok_or(DemoError::NoFolder)?;
        for tool in [
            Tool::Etcd,
            Tool::KubeApiserver,
            Tool::KubeControllerManager,
            Tool::Kubectl,
        ] {
            tool.locate().await?;
        }
        let mut running = tokio::select! {
            running = start(folder.clone(), self.port) => running?,
            () = interrupted() => return Ok(()),
        };
        say(&instructions(&running, &folder).await?);
        let outcome = if self.once {
            Ok(())
        } else {
            watch(&mut running).await
        };
        say("stopping; `make run` goes on where this ends");
        // It gives its Lease up only when it is asked to end, and while its hub still runs.
        let ended = running.server.running().terminate(SERVER_ENDS).await;
        drop((running.agent, running.server));
        if let Err(error) = ended {
            say(&format!("the server did not end by itself: {error}"));
        }
        running.cluster.stop().await?;
        running.hub.stop().await?;
        outcome
    }
}

async fn start(folder: PathBuf, port: u16) -> Result<Running, DemoError> {
    let control_plane = |name: &str| Options {
        name: name.to_owned(),
        folder: Some(folder.join(name)),
        ..Options::default()
    };
    say("starting two control planes: the hub and the first cluster");
    let (hub, cluster) = tokio::try_join!(
        ControlPlane::start(control_plane("hub")),
        ControlPlane::start(control_plane(CLUSTER)),
    )?;
    say("starting the server");
    let options = ServerOptions {
        port: Some(port),
        folder: Some(folder.join("server")),
        ..ServerOptions::default()
    };
    let server = Server::start(&hub, options).await?;
    server.log_in().await?;
    say("importing the first cluster");
    server.import(CLUSTER, &cluster).await?;
    let mut agent = Agent::start(AgentOptions {
        replica: "demo".to_owned(),
        kubeconfig: cluster.kubeconfig_path().to_owned(),
        logs: folder.join("server"),
        arguments: Vec::new(),
    })?;
    agent.wait_until_connected().await?;
    server.wait_for_cluster(CLUSTER).await?;
    Ok(Running {
        agent,
        server,
        cluster,
        hub,
    })
}

/// Waits for Ctrl-C, or for a program to end that should not.
async fn watch(running: &mut Running) -> Result<(), DemoError> {
    let interrupted = interrupted();
    tokio::pin!(interrupted);
    loop {
        tokio::select! {
            () = &mut interrupted => return Ok(()),
            () = tokio::time::sleep(Duration::from_secs(2)) => {}
        }
        running.hub.check()?;
        running.cluster.check()?;
        running.server.running().check()?;
        running.agent.running().check()?;
    }
}

async fn interrupted() {
    // Without signals there is only SIGKILL, which needs no waiting for.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn instructions(running: &Running, folder: &std::path::Path) -> Result<String, DemoError> {
    let password = running.server.log_in().await?;
    let kubeconfig = folder.join("kubeconfig");
    let file = kubeconfig.display().to_string();
    let command = running.server.command_line();
    command
        .run([
            "cluster",
            "kubeconfig",
            CLUSTER,
            "--credential",
            "token",
            "--output-file",
            &file,
        ])
        .await?;
    let kubectl = Tool::Kubectl.locate().await?;
    let programs = drover_e2e::Programs::find().map_err(DroverError::from)?;
    Ok(format!(
        "\nDrover runs at {url}  (user admin, password {password})\n\n\
         kubectl, through the server and the agent's tunnel:\n  \
           export KUBECONFIG={file}\n  \
           {kubectl} get namespaces\n  \
           {kubectl} auth whoami\n\n\
         drover, after logging in:\n  \
           {drover} login {url} --username admin --ca-file {ca}\n  \
           {drover} cluster list\n\n\
         logs, audit and state: {folder}\n\
         Ctrl-C ends it.",
        url = running.server.url(),
        kubectl = kubectl.display(),
        drover = programs.drover.display(),
        ca = running.server.authority().display(),
        folder = folder.display(),
    ))
}

fn default_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/share")))
        .map(|data| data.join("drover/demo"))
}

fn say(text: &str) {
    // Whoever closed standard output does not want to know.
    let _ = writeln!(io::stdout(), "{text}");
}
