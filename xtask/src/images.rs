//! The recipe `xtask images`: builds the images of the server and the agent for the end-to-end
//! tests, with the documented commands. The images contain only static programs.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::build::{cargo, target};

/// The build target of the programs in the images. Static programs need no system files.
pub(crate) const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";
/// The file names of the archives, with the `drover` arguments that write each archive.
const IMAGES: [(&str, [&str; 2]); 2] = [
    ("drover.tar", ["server", "image"]),
    ("drover-agent.tar", ["agent", "image"]),
];

/// The reason why the images cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImagesError {
    /// A program cannot be started.
    #[error("cannot start {program}")]
    Start {
        program: &'static str,
        source: io::Error,
    },
    /// A program failed. The program has printed the reason.
    #[error("`{command}` failed ({status}); install the required tools with `.ci/install test`")]
    Failed {
        command: &'static str,
        status: ExitStatus,
    },
    /// A program did not write an expected file.
    #[error("cannot read the metadata of {path}")]
    Look { path: PathBuf, source: io::Error },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Keep { path: PathBuf, source: io::Error },
}

/// Arguments of `xtask images`.
#[derive(clap::Args)]
pub(crate) struct Images {
    /// Folder for drover.tar and drover-agent.tar [default: the target folder]
    #[arg(long)]
    folder: Option<PathBuf>,
}

impl Images {
    /// Returns the recipe with this output folder.
    pub(crate) const fn into_folder(folder: PathBuf) -> Self {
        Self {
            folder: Some(folder),
        }
    }

    pub(crate) fn run(self) -> Result<(), ImagesError> {
        let mut build = cargo();
        build
            .args(["build", "--locked", "--profile=image"])
            .args([
                "--package=drover-server",
                "--package=drover-agent",
                "--bins",
            ])
            .args(["--target", STATIC_TARGET])
            // C code of dependencies must also be compiled for musl.
            .env("CC_x86_64_unknown_linux_musl", "musl-gcc");
        run("cargo build", &mut build)?;
        let programs = target().join(STATIC_TARGET).join("image");
        let folder = self.folder.unwrap_or_else(target);
        for (name, words) in IMAGES {
            let file = folder.join(name);
            // Rename the complete file atomically, because another run or a test may read the old
            // archive.
            let unfinished = folder.join(format!("{name}.{}", std::process::id()));
            let mut pack = Command::new(programs.join("drover"));
            pack.args(words).arg("--file").arg(&unfinished);
            run("drover image", &mut pack)?;
            fs::rename(&unfinished, &file).map_err(|source| ImagesError::Keep {
                path: file.clone(),
                source,
            })?;
            // Ignore errors: the file is complete even if standard output is closed.
            let _ = writeln!(io::stdout(), "{} {}", file.display(), size(&file)?);
        }
        Ok(())
    }
}

/// Formats the size of an archive in MiB.
fn size(file: &Path) -> Result<String, ImagesError> {
    let reported = fs::metadata(file).map_err(|source| ImagesError::Look {
        path: file.to_owned(),
        source,
    })?;
    let tenths = reported.len() * 10 / (1 << 20);
    Ok(format!("{}.{} MiB", tenths / 10, tenths % 10))
}

fn run(name: &'static str, command: &mut Command) -> Result<(), ImagesError> {
    let status = command.status().map_err(|source| ImagesError::Start {
        program: name,
        source,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(ImagesError::Failed {
            command: name,
            status,
        })
    }
}
