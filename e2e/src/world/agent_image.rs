//! The agent's image, built beforehand.

use std::path::PathBuf;

/// The agent's image is not there.
#[derive(Debug, thiserror::Error)]
#[error("{} is missing: run `cargo run -p xtask -- image`", path.display())]
pub struct MissingImage {
    /// Where it was looked for.
    pub path: PathBuf,
}

/// The archive of the agent's image in cargo's target folder, where `xtask image` writes it.
pub(super) fn agent_image() -> Result<PathBuf, MissingImage> {
    let own = std::env::current_exe().unwrap_or_default();
    // Tests are in target/debug/deps.
    let target = own.ancestors().nth(3);
    let path = target.map_or_else(PathBuf::new, |target| target.join("drover-agent.tar"));
    if path.is_file() {
        Ok(path)
    } else {
        Err(MissingImage { path })
    }
}
