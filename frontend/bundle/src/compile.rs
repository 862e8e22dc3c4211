//! Compiles the web UI to WebAssembly, splits the program into chunks, and generates its JavaScript
//! modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;

use crate::error::BundleError;
use crate::folders::{BuildMode, Folders};

const TARGET: &str = "wasm32-unknown-unknown";
/// The JavaScript module that loads the chunks. The program imports the module under this name.
pub(crate) const LOADER: &str = "./chunks.js";
/// The JavaScript module of the program. The loader imports the module under this name.
pub(crate) const SCRIPT: &str = "./app.js";

/// Compiles the program with cargo and returns the path of the WebAssembly file.
pub(crate) fn cargo(folders: &Folders, mode: BuildMode) -> Result<PathBuf, BundleError> {
    let (profile, folder) = match mode {
        BuildMode::Dev => ("--profile=wasm-dev", "wasm-dev"),
        BuildMode::Demonstration => ("--profile=wasm-demonstration", "wasm-demonstration"),
        BuildMode::Release => ("--profile=wasm", "wasm"),
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&folders.frontend)
        .env("CARGO_TARGET_DIR", &folders.target)
        .args(["rustc", "--locked", "--package=drover-ui", "--target"])
        .args([TARGET, profile])
        // The relocations show which functions and data each function uses.
        .args(["--", "-Clink-arg=--emit-relocs"])
        .status()
        .map_err(|source| BundleError::Start {
            program: "cargo",
            install: "see https://rustup.rs",
            source,
        })?;
    if !status.success() {
        return Err(BundleError::Failed {
            program: "cargo rustc",
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
    pub(crate) script: String,
    /// The JavaScript module that loads the chunks.
    pub(crate) loader: String,
    /// The WebAssembly program without the code of the chunks.
    pub(crate) wasm: Vec<u8>,
    /// The WebAssembly files with the remaining code.
    pub(crate) chunks: Vec<Chunk>,
}

/// A WebAssembly file that the browser loads when a user opens one of its screens.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The name of the file without `.wasm`. The loader contains this name.
    pub(crate) name: String,
    /// The entry functions that need the file.
    pub(crate) entries: Vec<String>,
    pub(crate) wasm: Vec<u8>,
}

impl Program {
    /// Splits a compiled program, and generates the JavaScript modules.
    pub(crate) fn generate(wasm: &Path, staging: &Path) -> Result<Self, BundleError> {
        if staging.exists() {
            fs::remove_dir_all(staging).map_err(BundleError::file("remove", staging))?;
        }
        let main = staging.join("main.wasm");
        let (loader, chunks) = split(wasm, &main, staging)?;
        let (script, wasm) = bind(&main, staging)?;
        Ok(Self {
            script,
            loader,
            wasm,
            chunks,
        })
    }

    /// Applies a function to the program and to all chunks. The function receives the name and the
    /// content of a file.
    pub(crate) fn map(
        self,
        change: impl Fn(&str, &[u8]) -> Result<Vec<u8>, BundleError>,
    ) -> Result<Self, BundleError> {
        let chunks = self.chunks.into_iter().map(|chunk| {
            let wasm = change(&chunk.name, &chunk.wasm)?;
            Ok(Chunk { wasm, ..chunk })
        });
        Ok(Self {
            wasm: change("app", &self.wasm)?,
            chunks: chunks.collect::<Result<_, BundleError>>()?,
            script: self.script,
            loader: self.loader,
        })
    }
}

/// Splits a program at its entry functions. Returns the loader and the chunks, and writes the rest
/// of the program to `main`.
fn split(wasm: &Path, main: &Path, staging: &Path) -> Result<(String, Vec<Chunk>), BundleError> {
    let input = read(wasm)?;
    let mut options = wasm_split_cli_support::Options::new(&input);
    options.output_dir = staging;
    options.main_out_path = main;
    options.link_name = LOADER;
    options.main_module = SCRIPT;
    let split = wasm_split_cli_support::transform(options)
        .map_err(|error| BundleError::Split(format!("{error:#}")))?;
    let mut chunks = Vec::new();
    for path in split.split_modules {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let needs = |files: &Vec<String>| files.iter().any(|file| *file == name);
        let entries = split.prefetch_map.iter().filter(|(_, files)| needs(files));
        let mut entries: Vec<_> = entries.map(|(entry, _)| entry.clone()).collect();
        entries.sort();
        // The loader does not load a chunk that no entry function needs.
        if !entries.is_empty() {
            chunks.push(Chunk {
                wasm: read(&path)?,
                name: name.into_owned(),
                entries,
            });
        }
    }
    let loader = staging.join(LOADER);
    let loader = fs::read_to_string(&loader).map_err(BundleError::file("read", loader))?;
    Ok((loader, chunks))
}

/// Generates the JavaScript module of a program. Returns the module and the WebAssembly file.
fn bind(wasm: &Path, staging: &Path) -> Result<(String, Vec<u8>), BundleError> {
    let failed = |error| BundleError::Bindgen(format!("{error:#}"));
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).out_name("app").typescript(false);
    // The chunks import the exports of the linker.
    bindgen.keep_lld_exports(true);
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
    let script = staging.join("app.js");
    let script = fs::read_to_string(&script).map_err(BundleError::file("read", script))?;
    Ok((script, read(&staging.join("app_bg.wasm"))?))
}

fn read(path: &Path) -> Result<Vec<u8>, BundleError> {
    fs::read(path).map_err(BundleError::file("read", path))
}
