//! `xtask image`: the agent's image, as the end-to-end tests load it and as `drover agent image`
//! writes it for users.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use crate::build::{cargo, target};
use drover_e2e::{MissingProgram, Programs};

const TARGET: &str = "x86_64-unknown-linux-musl";

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    /// The command line that writes it is not built.
    #[error(transparent)]
    Missing(#[from] MissingProgram),
    /// A program could not be started.
    #[error("start {program}")]
    Start {
        program: &'static str,
        source: io::Error,
    },
    /// A program refused; it has said why.
    #[error("`{command}` failed ({status}); `.ci/install test` installs what it needs")]
    Failed {
        command: &'static str,
        status: ExitStatus,
    },
}

/// `xtask image`.
#[derive(clap::Args)]
pub(crate) struct Image {
    /// File to write; `drover-agent.tar` in the target folder if left out
    #[arg(long)]
    file: Option<PathBuf>,
}

impl Image {
    pub(crate) fn run(self) -> Result<(), ImageError> {
        let mut build = cargo();
        build
            .args([
                "build",
                "--locked",
                "--profile=image",
                "--package=drover-agent",
                "--target",
                TARGET,
            ])
            // Its C parts are compiled against musl too.
            .env("CC_x86_64_unknown_linux_musl", "musl-gcc");
        run("cargo build", &mut build)?;
        let agent = target().join(TARGET).join("image/drover-agent");
        let file = self
            .file
            .unwrap_or_else(|| target().join("drover-agent.tar"));
        let mut pack = Command::new(Programs::find()?.drover);
        pack.args(["agent", "image", "--output", "tar", "--agent-binary"])
            .arg(agent);
        pack.arg("--file").arg(&file);
        run("drover agent image", &mut pack)?;
        // A closed standard output does not unmake the file.
        let _ = writeln!(io::stdout(), "{}", file.display());
        Ok(())
    }
}

fn run(name: &'static str, command: &mut Command) -> Result<(), ImageError> {
    let status = command.status().map_err(|source| ImageError::Start {
        program: name,
        source,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(ImageError::Failed {
            command: name,
            status,
        })
    }
}
