//! The recipe `xtask bench`: builds the programs as for a release, and runs a bench.

use std::process::Command;

use crate::build::{RunError, run, target};
use crate::optimized::{self, HOST_TARGET, OptimizedError, Recording};
use crate::renderer;

/// The reason why the bench failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// The programs cannot be built.
    #[error(transparent)]
    Build(#[from] OptimizedError),
    /// The bench failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Arguments of `xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Bench {
    /// Record a new profile for the compiler, even if a profile exists
    #[arg(long)]
    record: bool,

    /// Name and options of the bench; `drover-bench --help` lists them [default: build only]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Bench {
    pub(crate) fn run(self) -> Result<(), BenchError> {
        let recording = if self.record {
            Recording::New
        } else {
            Recording::Existing
        };
        let programs = optimized::build(HOST_TARGET, recording)?;
        // The agents find the renderer in their folder.
        renderer::build(&programs, "bench test")?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        let mut bench = Command::new(programs.join("drover-bench"));
        bench.args(self.arguments).env("CARGO_TARGET_DIR", target());
        Ok(run("drover-bench", "bench test", &mut bench)?)
    }
}
