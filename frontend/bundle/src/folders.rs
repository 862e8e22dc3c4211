//! The folders and the mode of a build.

use std::path::{Path, PathBuf};

/// The trade between build time and the page's size and speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildMode {
    /// For development: a short build.
    Dev,
    /// For users: a small and fast page.
    Release,
}

/// The folders of a build.
#[derive(Debug)]
pub(crate) struct Folders {
    /// The workspace `frontend`.
    pub(crate) frontend: PathBuf,
    /// The finished page, which the server's build embeds.
    pub(crate) dist: PathBuf,
    /// The target folder of cargo.
    pub(crate) target: PathBuf,
    /// Intermediate files.
    pub(crate) staging: PathBuf,
}

impl Folders {
    /// Finds the folders; the target folder is the one that contains this program.
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
