//! Compiles the web UI to WebAssembly and generates its JavaScript module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;

use crate::error::BundleError;
use crate::folders::{BuildMode, Folders};

const TARGET: &str = "wasm32-unknown-unknown";

/// Compiles the program with cargo and returns the path of the WebAssembly file.
pub(crate) fn cargo(folders: &Folders, mode: BuildMode) -> Result<PathBuf, BundleError> {
    let (profile, folder) = match mode {
        BuildMode::Dev => ("--profile=wasm-dev", "wasm-dev"),
        BuildMode::Release => ("--profile=wasm", "wasm"),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&folders.frontend)
        .env("CARGO_TARGET_DIR", &folders.target)
        .args(["build", "--locked", "--package=drover-ui", "--target"])
        .args([TARGET, profile])
        .status()
        .map_err(|source| BundleError::Start {
            program: "cargo",
            install: "see https://rustup.rs",
            source,
        })?;
    if !status.success() {
        return Err(BundleError::Failed {
            program: "cargo build",
            status,
        });
    }
    Ok(folders
        .target
        .join(TARGET)
        .join(folder)
        .join("drover-ui.wasm"))
}

/// The compiled program in the form that browsers load.
#[derive(Debug)]
pub(crate) struct Program {
    /// The JavaScript module that loads the program.
    pub(crate) script: Vec<u8>,
    /// The WebAssembly program.
    pub(crate) wasm: Vec<u8>,
}

impl Program {
    /// Generates the JavaScript module for a compiled program.
    pub(crate) fn bind(wasm: &Path, staging: &Path) -> Result<Self, BundleError> {
        let failed = |error| BundleError::Bindgen(format!("{error:#}"));
        let mut bindgen = Bindgen::new();
        bindgen.input_path(wasm).out_name("app").typescript(false);
        bindgen
            .remove_name_section(true)
            .remove_producers_section(true);
        // The page passes the path of the program, because the file name contains a hash.
        bindgen.omit_default_module_path(true);
        bindgen.web(true).map_err(failed)?;
        let mut output = bindgen.generate_output().map_err(failed)?;
        let inline = output.snippets().values().map(Vec::len).sum::<usize>();
        if inline + output.local_modules().len() > 0 {
            let text = format!(
                "dependencies contain JavaScript snippets, which the server does not serve: {:?} {:?}",
                output.snippets().keys(),
                output.local_modules().keys()
            );
            return Err(BundleError::Bindgen(text));
        }
        output.emit(staging).map_err(failed)?;
        let read = |name: &str| {
            let path = staging.join(name);
            fs::read(&path).map_err(BundleError::file("read", path))
        };
        Ok(Self {
            script: read("app.js")?,
            wasm: read("app_bg.wasm")?,
        })
    }
}
