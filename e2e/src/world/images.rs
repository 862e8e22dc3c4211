//! The images, built beforehand.

use std::path::{Path, PathBuf};

/// The target folder that this test was built in: tests lie in `target/debug/deps`.
pub fn target_of_tests() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors()
        .nth(3)
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// An image is not there.
#[derive(Debug, thiserror::Error)]
#[error("{} is missing: run `cargo run -p xtask -- images`", path.display())]
pub struct MissingImage {
    /// Where it was looked for.
    pub path: PathBuf,
}

/// An image that `xtask images` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltImage {
    /// The server's.
    Server,
    /// The agent's.
    Agent,
}

impl BuiltImage {
    /// Its archive in cargo's target folder.
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
