//! Finds the repository's folders, and runs cargo and other programs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// The build target of the programs in the images. Static programs need no system files.
pub(crate) const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// The reason why a program of a recipe failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The program cannot be started.
    #[error("cannot start {program}")]
    Start {
        program: &'static str,
        source: io::Error,
    },
    /// The program failed. The program has printed the reason.
    #[error(
        "`{program}` failed ({status}); install the required tools with `.ci/install {purpose}`"
    )]
    Failed {
        program: &'static str,
        status: ExitStatus,
        purpose: &'static str,
    },
}

/// Runs a program until its end. `purpose` is the argument of `.ci/install` that installs the tools
/// of the program.
pub(crate) fn run(
    program: &'static str,
    purpose: &'static str,
    command: &mut Command,
) -> Result<(), RunError> {
    let status = command
        .status()
        .map_err(|source| RunError::Start { program, source })?;
    succeeded(program, purpose, status)
}

/// Builds a Go package from a folder of the repository as a static program, because the images contain
/// only static programs. `purpose` is as for [`run`].
pub(crate) fn go_build(
    folder: &str,
    package: &str,
    program: &Path,
    purpose: &'static str,
) -> Result<(), RunError> {
    let mut go = Command::new("go");
    go.args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"])
        .args(["-ldflags", "-s -w", "-o"])
        .arg(program)
        .arg(package)
        .current_dir(root().join(folder))
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off");
    run("go build", purpose, &mut go)
}

/// Returns an error unless the status is 0.
pub(crate) fn succeeded(
    program: &'static str,
    purpose: &'static str,
    status: ExitStatus,
) -> Result<(), RunError> {
    if status.success() {
        return Ok(());
    }
    Err(RunError::Failed {
        program,
        status,
        purpose,
    })
}

/// Returns the repository's root.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap_or_else(|| Path::new("."))
}

/// Returns the target folder of the running xtask program.
pub(crate) fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors()
        .nth(2)
        .map_or_else(|| root().join("target"), Path::to_path_buf)
}

/// Returns a `cargo` command with the target folder of the running program.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(root())
        .env("CARGO_TARGET_DIR", target())
        // C code of dependencies must also be compiled for musl.
        .env("CC_x86_64_unknown_linux_musl", "musl-gcc");
    command
}

/// Configures a build of single packages that uses the compiled dependencies of the checkout. The
/// final artifacts are in `folder` in the target folder, so that they do not replace the artifacts of
/// the checkout.
pub(crate) fn share_dependencies(cargo: &mut Command, folder: &str) {
    cargo
        .env("CARGO_BUILD_BUILD_DIR", target())
        .env("CARGO_TARGET_DIR", target().join(folder))
        // The checkout's builds select the whole workspace. With the features of one package only,
        // cargo would compile the dependencies again. The setting is not stable yet.
        .env("CARGO_RESOLVER_FEATURE_UNIFICATION", "workspace")
        .env("CARGO_UNSTABLE_FEATURE_UNIFICATION", "true")
        .env("__CARGO_TEST_CHANNEL_OVERRIDE_DO_NOT_USE_THIS", "nightly");
}
