//! The recipe `xtask release`: writes all files of an installation into one folder: programs,
//! images, charts and checksums. docs/install/programs.md lists the files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_e2e::{BuildError, Tool};

use crate::build::{RunError, STATIC_TARGET, cargo, root, run, target};
use crate::images::{self, ImagesError};
use crate::optimized::{self, OptimizedError, RELEASE_PROFILE, Recording};

/// The build target of the command line for Windows. Debian's MinGW provides the linker.
const WINDOWS_TARGET: &str = "x86_64-pc-windows-gnu";
/// The argument of `.ci/install` that installs the tools of a release.
const PURPOSE: &str = "release";

/// The reason why the release cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    /// The programs cannot be built.
    #[error(transparent)]
    Programs(#[from] OptimizedError),
    /// The images cannot be built.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// Helm is not installed.
    #[error(transparent)]
    Helm(#[from] BuildError),
    /// cargo, Helm or `sha256sum` failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write { path: PathBuf, source: io::Error },
}

/// Arguments of `xtask release`.
#[derive(clap::Args)]
pub(crate) struct Release {
    /// Folder for the files (created if missing)
    #[arg(long)]
    folder: PathBuf,
}

impl Release {
    pub(crate) fn run(self) -> Result<(), ReleaseError> {
        let write = |path: &Path| {
            let path = path.to_owned();
            move |source| ReleaseError::Write { path, source }
        };
        fs::create_dir_all(&self.folder).map_err(write(&self.folder))?;
        let folder = fs::canonicalize(&self.folder).map_err(write(&self.folder))?;
        let programs = optimized::build(STATIC_TARGET, Recording::New)?;
        images::pack(&programs, &folder, PURPOSE)?;
        run("cargo build", PURPOSE, &mut windows_build())?;
        let windows = target().join(WINDOWS_TARGET).join(RELEASE_PROFILE);
        for (built, file) in [
            (programs.join("drover"), "drover-linux-amd64"),
            (windows.join("drover.exe"), "drover-windows-amd64.exe"),
        ] {
            let file = folder.join(file);
            fs::copy(built, &file).map_err(write(&file))?;
        }
        let unit = folder.join("drover.service");
        fs::copy(root().join("deploy/drover.service"), &unit).map_err(write(&unit))?;
        let helm = Tool::Helm.locate_blocking()?;
        for chart in ["drover", "drover-agent"] {
            let mut package = Command::new(&helm);
            package
                .args(["package", "--destination"])
                .arg(&folder)
                .arg(root().join("charts").join(chart));
            run("helm package", PURPOSE, &mut package)?;
        }
        let sums = folder.join("SHA256SUMS");
        let mut sum = Command::new("sh");
        sum.current_dir(&folder).args([
            "-c",
            "rm -f SHA256SUMS && sha256sum drover* >SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS && \
             cat SHA256SUMS",
        ]);
        run("sha256sum", PURPOSE, &mut sum)?;
        fs::metadata(&sums).map(drop).map_err(write(&sums))
    }
}

/// Returns the command that builds the Windows program `drover.exe`, which contains only the client
/// commands.
fn windows_build() -> Command {
    let mut build = cargo();
    build
        .args(["build", "--locked", "--profile", RELEASE_PROFILE])
        .args(["--package=drover-server", "--bin=drover"])
        .args(["--no-default-features", "--target", WINDOWS_TARGET]);
    build
}
