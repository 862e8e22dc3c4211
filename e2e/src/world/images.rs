//! The images, built beforehand.

use std::path::PathBuf;

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
        let own = std::env::current_exe().unwrap_or_default();
        // Tests are in target/debug/deps.
        let target = own.ancestors().nth(3);
        let name = match self {
            Self::Server => "drover.tar",
            Self::Agent => "drover-agent.tar",
        };
        let path = target.map_or_else(PathBuf::new, |target| target.join(name));
        if path.is_file() {
            Ok(path)
        } else {
            Err(MissingImage { path })
        }
    }
}
