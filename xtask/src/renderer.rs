//! The recipe `xtask renderer`: builds the Go program that renders charts for the cluster agent.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{RunError, root, run, target};

/// File name of the program.
const PROGRAM: &str = "drover-render";

/// Arguments of `xtask renderer`.
#[derive(clap::Args)]
pub(crate) struct Renderer {
    /// Folder for drover-render [default: the folder debug of the target folder]
    #[arg(long)]
    folder: Option<PathBuf>,
}

impl Renderer {
    pub(crate) fn run(self) -> Result<(), RunError> {
        build(
            &self.folder.unwrap_or_else(|| target().join("debug")),
            "test",
        )
    }
}

/// Builds the program into `folder`. `purpose` is the argument of `.ci/install` for the recipe.
pub(crate) fn build(folder: &Path, purpose: &'static str) -> Result<(), RunError> {
    let mut go = Command::new("go");
    // The images contain only static programs.
    go.args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"])
        .args(["-ldflags", "-s -w", "-o"])
        .arg(folder.join(PROGRAM))
        .arg(".")
        .current_dir(root().join("renderer"))
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off");
    run("go build", purpose, &mut go)
}
