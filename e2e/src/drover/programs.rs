//! The paths of Drover's programs.

use std::path::{Path, PathBuf};

/// The error for a program of the workspace that has not been built.
#[derive(Debug, thiserror::Error)]
#[error("cannot find {path}; run `cargo build --workspace --bins` with the same profile first")]
pub struct MissingProgram {
    /// Path at which the tests expect the program.
    pub path: PathBuf,
}

/// The paths of the programs that cargo has built.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Path of `drover`, which contains the server and the command line.
    pub drover: PathBuf,
    /// Path of `drover-agent`, built for this machine.
    pub agent: PathBuf,
}

impl Programs {
    /// Finds the programs relative to the folder of the current executable. The executable is a
    /// test, a benchmark or xtask.
    pub fn find() -> Result<Self, MissingProgram> {
        Ok(Self {
            drover: find_drover()?,
            agent: find("drover-agent")?,
        })
    }
}

/// Finds `drover` relative to the folder of the current executable.
pub(super) fn find_drover() -> Result<PathBuf, MissingProgram> {
    find("drover")
}

fn find(name: &str) -> Result<PathBuf, MissingProgram> {
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.parent().unwrap_or_else(|| Path::new("."));
    // Test programs are one folder deeper.
    let folder = match folder.file_name() {
        Some(name) if name == "deps" => folder.parent().unwrap_or(folder),
        _ => folder,
    };
    let path = folder.join(name);
    path.is_file()
        .then_some(path.clone())
        .ok_or(MissingProgram { path })
}
