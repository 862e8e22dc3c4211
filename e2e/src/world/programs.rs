//! The programs under test, built by cargo beforehand.

use std::path::{Path, PathBuf};

/// A program under test is not there.
#[derive(Debug, thiserror::Error)]
#[error("{} is missing: {build}", path.display())]
pub struct MissingProgram {
    /// Where it was looked for.
    pub path: PathBuf,
    /// What makes it.
    pub build: &'static str,
}

/// A program under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DroverProgram {
    /// The server and the command line, `drover`.
    Drover,
    /// The agent, as a program of this machine.
    Agent,
    /// The agent as it is put into an image: static, for any Linux.
    StaticAgent,
}

impl DroverProgram {
    /// Where it is, beside the program that runs now.
    pub fn locate(self) -> Result<PathBuf, MissingProgram> {
        // Tests are in target/debug/deps, recipes in target/debug.
        let own = std::env::current_exe().unwrap_or_default();
        let folder = own.parent().unwrap_or(Path::new("."));
        let profile = if folder.ends_with("deps") {
            folder.parent().unwrap_or(folder)
        } else {
            folder
        };
        let (path, build) = match self {
            Self::Drover => (
                profile.join("drover"),
                "run `cargo build -p drover-server -p drover-agent`",
            ),
            Self::Agent => (
                profile.join("drover-agent"),
                "run `cargo build -p drover-server -p drover-agent`",
            ),
            Self::StaticAgent => (
                profile
                    .parent()
                    .unwrap_or(profile)
                    .join("x86_64-unknown-linux-musl/image/drover-agent"),
                "run `cargo run -p xtask -- image`",
            ),
        };
        if path.is_file() {
            Ok(path)
        } else {
            Err(MissingProgram { path, build })
        }
    }
}
