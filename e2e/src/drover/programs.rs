//! The paths of Drover's programs.

use std::path::{Path, PathBuf};

/// A program of the workspace is not built.
#[derive(Debug, thiserror::Error)]
#[error("cannot find {path}; run `cargo build --workspace --bins` with the same profile first")]
pub struct MissingProgram {
    /// The expected path.
    pub path: PathBuf,
}

/// The paths of the programs that cargo has built.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `drover`: the server and the command line.
    pub drover: PathBuf,
    /// `drover-agent` for this machine.
    pub agent: PathBuf,
}

impl Programs {
    /// Finds the programs next to the current executable: a test, xtask or a benchmark.
    pub fn find() -> Result<Self, MissingProgram> {
        let own = std::env::current_exe().unwrap_or_default();
        let folder = own.parent().unwrap_or_else(|| Path::new("."));
        // Test programs are one folder deeper.
        let folder = match folder.file_name() {
            Some(name) if name == "deps" => folder.parent().unwrap_or(folder),
            _ => folder,
        };
        let find = |name: &str| {
            let path = folder.join(name);
            path.is_file()
                .then_some(path.clone())
                .ok_or(MissingProgram { path })
        };
        Ok(Self {
            drover: find("drover")?,
            agent: find("drover-agent")?,
        })
    }
}
