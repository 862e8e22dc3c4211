//! The folders and the mode of a build.

use std::path::{Path, PathBuf};

/// The build mode: a short build time, or a small page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildMode {
    /// A short incremental build with checks, for development.
    Dev,
    /// A short build without checks, for a demonstration on this machine.
    Demonstration,
    /// A small and fast page, for releases.
    Release,
}

/// The folders of a build.
#[derive(Debug)]
pub(crate) struct Folders {
    /// The workspace `frontend`.
    pub(crate) frontend: PathBuf,
    /// The output folder. The server's build embeds the files of the folder.
    pub(crate) dist: PathBuf,
    /// The target folder of cargo.
    pub(crate) target: PathBuf,
    /// The folder for intermediate files.
    pub(crate) staging: PathBuf,
}

impl Folders {
    /// Finds the folders. The target folder is the folder that contains this program.
    pub(crate) fn find() -> Self {
        let frontend = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap_or_else(|| Path::new("."))
            .to_owned();
        let own = std::env::current_exe().unwrap_or_default();
        let target = own
            .ancestors()
            .nth(2)
            .map_or_else(|| frontend.join("target"), Path::to_path_buf);
        Self {
            dist: frontend.join("dist"),
            staging: target.join("ui-staging"),
            target,
            frontend,
        }
    }
}
