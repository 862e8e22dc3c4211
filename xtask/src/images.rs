//! `xtask images`: the server's and the agent's images, of static programs and nothing else, as the
//! end-to-end tests load them. The programs make them: there is one writer, the one that users have.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::build::{cargo, target};

/// The programs in the images are built for this target: they need no file of a system.
pub(crate) const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";
/// The archives, and what writes each.
const IMAGES: [(&str, [&str; 2]); 2] = [
    ("drover.tar", ["server", "image"]),
    ("drover-agent.tar", ["agent", "image"]),
];

/// Why there are no images.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImagesError {
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
    /// What was made is not there.
    #[error("look at {path}")]
    Look { path: PathBuf, source: io::Error },
    /// What was made could not be put in its place.
    #[error("write {path}")]
    Keep { path: PathBuf, source: io::Error },
}

/// `xtask images`.
#[derive(clap::Args)]
pub(crate) struct Images {
    /// Folder to write drover.tar and drover-agent.tar into; the target folder if left out
    #[arg(long)]
    folder: Option<PathBuf>,
}

impl Images {
    /// The recipe that writes into this folder.
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
            // Their C parts are compiled against musl too.
            .env("CC_x86_64_unknown_linux_musl", "musl-gcc");
        run("cargo build", &mut build)?;
        let programs = target().join(STATIC_TARGET).join("image");
        let folder = self.folder.unwrap_or_else(target);
        for (name, words) in IMAGES {
            let file = folder.join(name);
            // Renamed at the end: another run, or a test, may be reading the one that is there.
            let unfinished = folder.join(format!("{name}.{}", std::process::id()));
            let mut pack = Command::new(programs.join("drover"));
            pack.args(words).arg("--file").arg(&unfinished);
            run("drover image", &mut pack)?;
            fs::rename(&unfinished, &file).map_err(|source| ImagesError::Keep {
                path: file.clone(),
                source,
            })?;
            // A closed standard output does not unmake the file.
            let _ = writeln!(io::stdout(), "{} {}", file.display(), size(&file)?);
        }
        Ok(())
    }
}

/// How large an archive is, for people.
fn size(file: &Path) -> Result<String, ImagesError> {
    let told = fs::metadata(file).map_err(|source| ImagesError::Look {
        path: file.to_owned(),
        source,
    })?;
    let tenths = told.len() * 10 / (1 << 20);
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
