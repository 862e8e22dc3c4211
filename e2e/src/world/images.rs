//! Finds the image archives that `xtask images` has built.

use std::path::{Path, PathBuf};

/// Returns the target folder of this test binary, which is in `target/debug/deps`.
pub fn target_of_tests() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors()
        .nth(3)
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// An image archive is missing.
#[derive(Debug, thiserror::Error)]
#[error("{} is missing: run `cargo run -p xtask -- images`", path.display())]
pub struct MissingImage {
    /// The expected path of the archive.
    pub path: PathBuf,
}

/// An image that `xtask images` builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltImage {
    /// The image of the server.
    Server,
    /// The image of the agent.
    Agent,
}

impl BuiltImage {
    /// Returns the image archive in cargo's target folder.
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
