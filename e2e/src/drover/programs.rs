//! Where Drover's programs are.

use std::path::{Path, PathBuf};

/// A program of the workspace that is not where it should be.
#[derive(Debug, thiserror::Error)]
#[error("{path} is not there: run `cargo build --workspace --bins` (with the same profile) first")]
pub struct MissingProgram {
    /// Where it should be.
    pub path: PathBuf,
}

/// Drover's programs, as cargo has built them.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `drover`: server and command line.
    pub drover: PathBuf,
    /// `drover-agent`, for this machine.
    pub agent: PathBuf,
}

impl Programs {
    /// Finds them beside the program that asks: a test, xtask or a bench, built with them.
    pub fn find() -> Result<Self, MissingProgram> {
        let own = std::env::current_exe().unwrap_or_default();
        let folder = own.parent().unwrap_or_else(|| Path::new("."));
        // Tests lie one folder deeper than programs.
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
