//! Finds the repository's folders and runs cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

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
        .env("CARGO_TARGET_DIR", target());
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
