//! The recipe `xtask kubernetes`: manages the Kubernetes programs of the tests.

use drover_e2e::{BuildError, Tool};

use crate::print::print_line;

/// The subcommands of `xtask kubernetes`.
#[derive(Clone, Copy, clap::Subcommand)]
pub(crate) enum Recipe {
    /// Build missing programs into the cache, and print the path of each program.
    Build,
}

impl Recipe {
    pub(crate) fn run(self) -> Result<(), BuildError> {
        match self {
            Self::Build => {
                for tool in Tool::ALL {
                    let path = tool.locate_blocking()?;
                    print_line(&path.display().to_string());
                }
                Ok(())
            }
        }
    }
}
