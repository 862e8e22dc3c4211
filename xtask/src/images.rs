//! The recipe `xtask images`: builds the images of the server and the agent for the end-to-end
//! tests, with the documented commands. The images contain only static programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{RunError, STATIC_TARGET, cargo, run, target};
use crate::print::print_line;
use crate::renderer;

/// The cargo profile of the programs in the images of the tests.
const PROFILE: &str = "image";
/// The file names of the archives, with the `drover` arguments that write each archive.
const IMAGES: [(&str, [&str; 2]); 2] = [
    ("drover.tar", ["server", "image"]),
    ("drover-agent.tar", ["agent", "image"]),
];

/// The reason why the images cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImagesError {
    /// cargo or `drover` failed.
    #[error(transparent)]
    Run(#[from] RunError),
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
    pub(crate) fn run(self) -> Result<(), ImagesError> {
        let mut build = cargo();
        build
            .args(["build", "--locked", "--profile", PROFILE])
            .args([
                "--package=drover-server",
                "--package=drover-agent",
                "--package=drover-node-agent",
                "--bins",
            ])
            .args(["--target", STATIC_TARGET]);
        run("cargo build", "test", &mut build)?;
        let programs = target().join(STATIC_TARGET).join(PROFILE);
        pack(&programs, &self.folder.unwrap_or_else(target), "test")
    }
}

/// Builds the renderer into the folder `programs`, and writes the images of the programs. `purpose` is the argument of
/// `.ci/install` for the recipe.
pub(crate) fn pack(
    programs: &Path,
    folder: &Path,
    purpose: &'static str,
) -> Result<(), ImagesError> {
    renderer::build(programs, purpose)?;
    for (name, words) in IMAGES {
        let file = folder.join(name);
        // Rename the complete file atomically, because another run or a test may read the old
        // archive.
        let unfinished = folder.join(format!("{name}.{}", std::process::id()));
        let mut pack = Command::new(programs.join("drover"));
        pack.args(words).arg("--file").arg(&unfinished);
        run("drover image", purpose, &mut pack)?;
        fs::rename(&unfinished, &file).map_err(|source| ImagesError::Keep {
            path: file.clone(),
            source,
        })?;
        print_line(&format!("{} {}", file.display(), size(&file)?));
    }
    Ok(())
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
