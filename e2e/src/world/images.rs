//! Finds the image archives that `xtask images` has built.

use std::path::{Path, PathBuf};

/// Returns cargo's target folder. The test binary is in the subfolder `debug/deps` of this folder.
pub fn target_of_tests() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors()
        .nth(3)
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// An image archive does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{path} is missing: run `cargo run -p xtask -- images`")]
pub struct MissingImage {
    /// The path at which the archive is expected.
    pub path: PathBuf,
}

/// An image that `xtask images` builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltImage {
    /// The container image of the server.
    Server,
    /// The container image of the agent.
    Agent,
}

impl BuiltImage {
    /// Returns the path of the image archive in cargo's target folder.
    pub fn archive(self) -> Result<PathBuf, MissingImage> {
        let name = match self {
            Self::Server => "drover.tar",
            Self::Agent => "drover-agent.tar",
        };
        let path = target_of_tests().join(name);
        if path.is_file() {
            Ok(path)
        } else {
            Err(MissingImage { path })
        }
    }
}
