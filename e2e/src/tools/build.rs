//! Builds all [`Tool`]s from their published Go modules into the cache.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::Tool;

/// The file with the arguments of the Go compiler, one argument per line. The arguments omit debug
/// information, which would take a tenth of the build time.
const FLAGS: &str = "build-flags";
/// The input files of the build. The cache key is a hash of these files.
const INPUTS: [&str; 3] = ["go.mod", "go.sum", FLAGS];

/// The reason why the [`Tool`]s cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The folder of the cache cannot be determined.
    #[error("cannot locate the cache of built programs: set XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// The files of the Go module cannot be read.
    #[error("cannot read the build input {path}")]
    ReadModule {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder of the cache cannot be written.
    #[error("cannot write the cache of built programs at {path}")]
    WriteCache {
        /// Path of the file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The Go compiler is not installed.
    #[error("cannot start `go`: install Go 1.26 or newer and add its folder to PATH")]
    StartGo {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The Go compiler returned an error.
    #[error("`go build` of the Kubernetes programs failed:\n{output}")]
    Compile {
        /// The last lines of the compiler's output.
        output: String,
    },
    /// The task that builds the tools was cancelled or panicked.
    #[error("the build of {tool} was interrupted")]
    Interrupted {
        /// Name of the program.
        tool: &'static str,
        /// Error of the async runtime.
        source: tokio::task::JoinError,
    },
}

/// Returns the path of `tool` in the cache. Builds all tools if the cache does not contain the
/// tool.
pub(super) fn locate(tool: Tool) -> Result<PathBuf, BuildError> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes");
    let folder = cache_folder()?.join(key(&sources)?);
    let programs = folder.join("bin");
    let built = programs.join(tool.built_as());
    if built.is_file() {
        return Ok(built);
    }
    let write = |path: &Path| {
        let path = path.to_path_buf();
        move |source| BuildError::WriteCache { path, source }
    };
    fs::create_dir_all(&folder).map_err(write(&folder))?;
    let lock_path = folder.join("lock");
    let lock = File::create(&lock_path).map_err(write(&lock_path))?;
    lock.lock().map_err(write(&lock_path))?;
    // Another process may have built the tools while this process waited for the lock.
    if !built.is_file() {
        // The folder is renamed at the end, so that an interrupted build leaves no incomplete
        // programs.
        let unfinished = folder.join("unfinished");
        fs::create_dir_all(&unfinished).map_err(write(&unfinished))?;
        compile(&sources, &unfinished)?;
        fs::rename(&unfinished, &programs).map_err(write(&programs))?;
    }
    Ok(built)
}

/// Compiles all programs with one Go command. The programs share most packages. The command links
/// finished programs while it compiles the remaining programs.
fn compile(sources: &Path, folder: &Path) -> Result<(), BuildError> {
    let started = Instant::now();
    let flags = String::from_utf8_lossy(&input(sources, FLAGS)?).into_owned();
    tell("building Kubernetes, etcd, helm and metrics-server from their Go modules");
    let result = Command::new("go")
        .args(["build", "-mod=readonly", "-trimpath", "-buildvcs=false"])
        .args(flags.lines())
        .arg("-o")
        .arg(folder)
        .args(Tool::ALL.map(Tool::package))
        .current_dir(sources)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        // The compiler runs for seconds, so memory is cheaper than garbage collection.
        .env("GOGC", "400")
        .output()
        .map_err(|source| BuildError::StartGo { source })?;
    if !result.status.success() {
        let printed = String::from_utf8_lossy(&result.stderr);
        let output = crate::program::last_lines(&printed, 40).to_owned();
        return Err(BuildError::Compile { output });
    }
    let seconds = started.elapsed().as_secs();
    tell(&format!("built the programs in {seconds} s"));
    Ok(())
}

/// Prints progress immediately. The test harness captures the output of `eprintln`, so this
/// function writes to standard error directly.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn cache_folder() -> Result<PathBuf, BuildError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let root = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .ok_or(BuildError::NoCacheFolder)?;
    Ok(root.join("drover").join("kubernetes"))
}

fn input(sources: &Path, name: &str) -> Result<Vec<u8>, BuildError> {
    let path = sources.join(name);
    fs::read(&path).map_err(|source| BuildError::ReadModule { path, source })
}

/// Returns the cache key, which is a hash of the build inputs.
fn key(sources: &Path) -> Result<String, BuildError> {
    let mut context = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    for name in INPUTS {
        context.update(&input(sources, name)?);
    }
    let mut key = String::new();
    for byte in &context.finish().as_ref()[..8] {
        write!(key, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_module_file_declares_every_tool() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes/go.mod");
        let declared = fs::read_to_string(&path).unwrap();
        for tool in Tool::ALL {
            let package = tool.package();
            assert!(declared.contains(package), "{package} is not declared");
        }
    }

    #[test]
    fn tool_cache_key_changes_with_each_build_input() {
        let folder = tempfile::tempdir().unwrap();
        for name in INPUTS {
            fs::write(folder.path().join(name), "one").unwrap();
        }
        for name in INPUTS {
            let first = key(folder.path()).unwrap();
            fs::write(folder.path().join(name), "two").unwrap();
            assert_ne!(first, key(folder.path()).unwrap(), "{name}");
        }
    }
}
