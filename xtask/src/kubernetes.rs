//! `xtask kubernetes`: the programs of a real Kubernetes.

use std::io::Write as _;

use drover_e2e::{BuildError, Tool};

/// What to do with the Kubernetes programs.
#[derive(Clone, Copy, clap::Subcommand)]
pub(crate) enum Recipe {
    /// Build all of them into the cache, unless they are there, and print where they are.
    Build,
}

impl Recipe {
    pub(crate) fn run(self) -> Result<(), BuildError> {
        match self {
            Self::Build => {
                for tool in Tool::ALL {
                    let path = tool.locate_blocking()?;
                    // A closed standard output is no reason to stop building.
                    let _ = writeln!(std::io::stdout(), "{}", path.display());
                }
                Ok(())
            }
        }
    }
}
