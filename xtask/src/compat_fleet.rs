//! The recipe `xtask compat-fleet`: Fleet's own agent at Drover's hub, and Drover's agent at a hub with Fleet's
//! own controllers. `DROVER_TEST_HUB=embedded` selects Drover's embedded hub.

mod bundles;
mod check;
mod drover_agent;
mod fleet_agent;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use drover_e2e::{
    CommandError, DroverError, FleetPrograms, ProgramError, StartError, TimedOut, WorldError,
};

use crate::build::{RunError, go_build, root, target};
use crate::print::print_line;
use crate::renderer;

/// Folder of the Go module that selects the version of Fleet.
const MODULE: &str = "e2e/fleet";
const AGENT: &str = "github.com/rancher/fleet/cmd/fleetagent";
const CONTROLLER: &str = "github.com/rancher/fleet/cmd/fleetcontroller";

/// The reason why Drover and Fleet do not work together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CompatError {
    /// A program cannot be built.
    #[error(transparent)]
    Build(#[from] RunError),
    /// A file of Fleet's Go module cannot be copied.
    #[error("cannot copy {path}")]
    Copy { path: PathBuf, source: io::Error },
    /// A hub and its programs do not start.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The agent's cluster does not start.
    #[error(transparent)]
    Cluster(#[from] StartError),
    /// Drover's agent does not start, or does not register.
    #[error(transparent)]
    Agent(#[from] DroverError),
    /// A program ended.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A command failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The hub or the cluster is not in the expected state in time.
    #[error("{source}\n--- the end of the logs:\n{log}")]
    State { source: TimedOut, log: String },
    /// The agent sends requests to the hub without a change.
    #[error("the agent sent {count} requests to the hub without a change:\n{requests}")]
    NotIdle { count: usize, requests: String },
    /// The agent deployed a bundle that it must not deploy.
    #[error("the cluster has objects of Fleet's own agent: {objects}")]
    ForeignAgent { objects: String },
    /// The operating system cannot create the async runtime.
    #[error("cannot start the async runtime")]
    Runtime(#[source] io::Error),
}

/// A pair of programs that the recipe checks.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Pair {
    /// Fleet's agent at Drover's hub
    FleetAgent,
    /// Drover's agent at a hub with Fleet's controllers
    DroverAgent,
}

/// Arguments of `xtask compat-fleet`.
#[derive(clap::Args)]
pub(crate) struct CompatFleet {
    /// Only build Fleet's programs
    #[arg(long)]
    build: bool,
    /// Check only this pair of programs
    #[arg(long)]
    only: Option<Pair>,
}

impl CompatFleet {
    pub(crate) fn run(self) -> Result<(), CompatError> {
        let programs = build()?;
        if self.build {
            return Ok(());
        }
        // Drover's agent finds the renderer in its folder.
        renderer::build(&target().join("debug"), "test")?;
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(CompatError::Runtime)?
            .block_on(Box::pin(self.check(&programs)))
    }

    async fn check(&self, programs: &FleetPrograms) -> Result<(), CompatError> {
        let is_selected = |pair| self.only.is_none_or(|only| only == pair);
        if is_selected(Pair::FleetAgent) {
            Box::pin(fleet_agent::check(programs)).await?;
        }
        if is_selected(Pair::DroverAgent) {
            Box::pin(drover_agent::check(programs)).await?;
        }
        Ok(())
    }
}

/// Builds Fleet's programs from its Go module, and copies Fleet's definitions.
fn build() -> Result<FleetPrograms, CompatError> {
    let programs = FleetPrograms::in_target(&target());
    for (package, program) in [(AGENT, &programs.agent), (CONTROLLER, &programs.controller)] {
        print_line(&format!("building {package}, which takes some minutes"));
        go_build(MODULE, package, program, "test")?;
    }
    let definitions = module()?.join("charts/fleet-crd/templates/crds.yaml");
    let copied = fs::copy(&definitions, &programs.definitions);
    // The files of Go's module cache are read-only, and a second copy must succeed.
    let writable = copied.and_then(|_| {
        let mut permissions = fs::metadata(&programs.definitions)?.permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
        fs::set_permissions(&programs.definitions, permissions)
    });
    writable.map_err(|source| CompatError::Copy {
        path: definitions,
        source,
    })?;
    Ok(programs)
}

/// Returns the folder of Fleet's Go module in Go's module cache.
fn module() -> Result<PathBuf, RunError> {
    let program = "go list";
    let mut go = Command::new("go");
    go.args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}"])
        .arg("github.com/rancher/fleet")
        .current_dir(root().join(MODULE))
        .env("GOWORK", "off");
    let output = go
        .output()
        .map_err(|source| RunError::Start { program, source })?;
    crate::build::succeeded(program, "test", output.status)?;
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}
