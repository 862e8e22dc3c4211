//! The recipe `xtask renderer`: builds the Go program that renders charts for the cluster agent.

use std::path::{Path, PathBuf};

use crate::build::{RunError, go_build, target};

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
    go_build("renderer", ".", &folder.join(PROGRAM), purpose)
}
