//! The build steps that run Node: wasm-opt and compression.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};

use serde_json::Value;

use crate::compile::Program;
use crate::error::BundleError;
use crate::folders::{BuildMode, Folders};

const INSTALL: &str = "Node 20 or newer is missing (Debian: nodejs and npm, or https://nodejs.org)";
/// The WebAssembly features that rustc uses beyond the first version of the format.
const FEATURES: &[&str] = &[
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// Optimizes the program and its chunks with wasm-opt.
pub(crate) fn optimised(program: Program, folders: &Folders) -> Result<Program, BundleError> {
    let tool = folders.frontend.join("node_modules/binaryen/bin/wasm-opt");
    program.map(|name, wasm| {
        let before = folders.staging.join(format!("{name}.before.wasm"));
        let after = folders.staging.join(format!("{name}.after.wasm"));
        fs::write(&before, wasm).map_err(BundleError::file("write", &before))?;
        let mut command = Command::new("node");
        command.arg(&tool).arg("-Oz").args(FEATURES);
        run_quietly("wasm-opt", command.arg(&before).arg("--output").arg(&after))?;
        fs::read(&after).map_err(BundleError::file("read", &after))
    })
}

/// Bundles a JavaScript module with its npm packages, and returns the module.
pub(crate) fn bundle(frontend: &Path, entry: &str) -> Result<Vec<u8>, BundleError> {
    let mut command = Command::new("node");
    command.current_dir(frontend);
    let output = command
        .args(["bundle/modules.mjs", entry])
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|source| BundleError::Start {
            program: "node",
            install: INSTALL,
            source,
        })?;
    if !output.status.success() {
        return Err(BundleError::Failed {
            program: "esbuild",
            status: output.status,
        });
    }
    Ok(output.stdout)
}

/// Writes a `.br` and a `.gz` file for each file of a folder.
pub(crate) fn compress(
    folders: &Folders,
    folder: &Path,
    mode: BuildMode,
) -> Result<(), BundleError> {
    let quality = match mode {
        BuildMode::Dev | BuildMode::Demonstration => "4",
        BuildMode::Release => "11",
    };
    let mut command = Command::new("node");
    command.arg(folders.frontend.join("bundle/compress.mjs"));
    run("compression", command.arg(quality).arg(folder))
}

/// Installs the exact versions of package-lock.json unless npm has installed them.
pub(crate) fn install(frontend: &Path) -> Result<(), BundleError> {
    // The file is a copy of the locked packages, which npm writes last.
    let installed = fs::read_to_string(frontend.join("node_modules/.package-lock.json"));
    let path = frontend.join("package.json");
    let wanted = fs::read_to_string(&path).map_err(BundleError::file("read", path))?;
    if installed.is_ok_and(|installed| has_packages(&installed, &wanted)) {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command.current_dir(frontend);
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    run("npm ci", &mut command)
}

/// Reports whether the installed packages contain the exact versions of `devDependencies`.
fn has_packages(installed: &str, wanted: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (installed, wanted) = (parse(installed), parse(wanted));
    let packages = wanted["devDependencies"].as_object();
    packages.is_some_and(|packages| {
        let mut packages = packages.iter();
        packages.all(|(name, version)| {
            installed["packages"][format!("node_modules/{name}")]["version"] == *version
        })
    })
}

fn run(program: &'static str, command: &mut Command) -> Result<(), BundleError> {
    let status = command.status().map_err(not_started(program))?;
    passed(program, status)
}

/// Runs a program, and prints its errors and warnings only if the program failed.
fn run_quietly(program: &'static str, command: &mut Command) -> Result<(), BundleError> {
    let output = command.output().map_err(not_started(program))?;
    if !output.status.success() {
        // A write error cannot be reported.
        let _ = io::stderr().write_all(&output.stderr);
    }
    passed(program, output.status)
}

fn not_started(program: &'static str) -> impl FnOnce(io::Error) -> BundleError {
    move |source| BundleError::Start {
        program,
        install: INSTALL,
        source,
    }
}

fn passed(program: &'static str, status: ExitStatus) -> Result<(), BundleError> {
    if status.success() {
        Ok(())
    } else {
        Err(BundleError::Failed { program, status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ui_packages_are_installed_again_after_a_change_of_a_version() {
        let wanted = r#"{ "devDependencies": { "@a/b": "1.0.0" } }"#;
        let with = |version: &str| {
            format!(r#"{{ "packages": {{ "node_modules/@a/b": {{ "version": "{version}" }} }} }}"#)
        };
        assert!(has_packages(&with("1.0.0"), wanted));
        assert!(!has_packages(&with("0.9.0"), wanted));
        assert!(!has_packages("{}", wanted));
        assert!(!has_packages("", wanted));
    }
}
