//! The build steps that run Node: wasm-opt and compression.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};

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
    if !tool.is_file() {
        install(&folders.frontend)?;
    }
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

/// Installs the exact versions of package-lock.json.
fn install(frontend: &Path) -> Result<(), BundleError> {
    let mut command = Command::new("npm");
    command.current_dir(frontend);
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    run("npm ci", &mut command)
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
