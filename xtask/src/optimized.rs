//! Builds the programs of a release with profile-guided optimization (PGO).
//!
//! 1. An instrumented build of the programs counts how often each branch runs.
//! 2. Parts of the benches run with the instrumented programs.
//! 3. The release build reads the counts. The compiler inlines frequent calls, and moves code that
//!    did not run away from frequent code.
//!
//! cargo puts a hash of the profile's settings into symbol names. Therefore both builds use the same
//! cargo profile. The compiler ignores the counts of changed functions, and often the counts of other
//! functions in the same crate.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{RunError, STATIC_TARGET, cargo, root, run, succeeded, target};
use crate::print::print_line;

/// The build target of the benches: Linux with glibc.
pub(crate) const HOST_TARGET: &str = "x86_64-unknown-linux-gnu";
/// The cargo profile of a release, which is also the name of the folder of the programs.
pub(crate) const RELEASE_PROFILE: &str = "release";
/// The packages of the programs. The bench runs the programs to record their profile.
const PACKAGES: [&str; 4] = [
    "drover-server",
    "drover-agent",
    "drover-node-agent",
    "drover-bench",
];
/// The arguments of `drover-bench` for recording. The recorded work includes each kind of work that
/// has a performance target, because the compiler optimizes code that did not run for size.
const RECORDED: [&[&str]; 6] = [
    &[
        "proxy",
        "--only=small,bulk,latency",
        "--turns=1",
        "--seconds=8",
    ],
    &[
        "hub",
        "--only=ready,create,get,list,patch,fanout,status,large",
        "--turns=1",
    ],
    &[
        "scale",
        "--clusters=300",
        "--only=latency,reconnect",
        "--turns=1",
    ],
    &["failover", "--only=node-agent", "--turns=1"],
    &["gitops", "--reporting=200", "--only=reporting"],
    &["access"],
];

/// The reason why the programs cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptimizedError {
    /// cargo, a bench or a tool failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file or folder of the profile cannot be read or written.
    #[error("cannot {operation} {path}")]
    File {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A component of the Rust toolchain is missing.
    #[error("cannot find {path}; install the component with `.ci/install {purpose}`")]
    NoTool {
        path: PathBuf,
        purpose: &'static str,
    },
    /// The instrumented programs recorded nothing.
    #[error("the instrumented programs wrote no profile to {folder}", folder = .0.display())]
    NoProfile(PathBuf),
}

/// Selects the recorded profile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recording {
    /// Record a profile of the current code.
    New,
    /// Use the existing profile. Record a profile if no profile exists.
    Existing,
}

/// Builds the programs for `build_target`. Returns their folder.
pub(crate) fn build(
    build_target: &'static str,
    recording: Recording,
) -> Result<PathBuf, OptimizedError> {
    let folder = target().join("profile").join(build_target);
    let settings = settings(purpose(build_target))?;
    let profile = match existing(&folder, &settings)? {
        Some(profile) if recording == Recording::Existing => profile,
        _ => record(build_target, &folder, &settings)?,
    };
    print_line("building the optimized programs");
    let mut flags = flag("-Cprofile-use=", &profile);
    // Separates two flags.
    flags.push("\x1f");
    // Without this flag, the compiler prints a warning for each function that has changed.
    flags.push("-Cllvm-args=-no-pgo-warn-mismatch");
    compile(build_target, &target(), flags)?;
    Ok(programs(&target(), build_target))
}

/// Returns a hash of the compiler's version and of the settings of the cargo profile. A recorded
/// profile matches only symbols of the same version and settings.
fn settings(purpose: &'static str) -> Result<String, OptimizedError> {
    let version = rustc(purpose, &["--version", "--verbose"])?;
    let mut variables: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PROFILE_RELEASE_"))
        .collect();
    variables.sort();
    Ok(hash(&(version, variables)))
}

/// Records and merges a profile. Returns the file of the profile.
fn record(
    build_target: &'static str,
    folder: &Path,
    settings: &str,
) -> Result<PathBuf, OptimizedError> {
    let purpose = purpose(build_target);
    let profdata = profdata(purpose)?;
    let instrumented = target().join("instrumented");
    let raw = folder.join("raw");
    if raw.exists() {
        fs::remove_dir_all(&raw).map_err(file("remove", &raw))?;
    }
    fs::create_dir_all(&raw).map_err(file("create", &raw))?;
    print_line("building the instrumented programs");
    let generate = flag("-Cprofile-generate=", &raw);
    compile(build_target, &instrumented, generate)?;
    for arguments in RECORDED {
        print_line(&format!("recording `drover-bench {}`", arguments.join(" ")));
        let mut bench = Command::new(programs(&instrumented, build_target).join("drover-bench"));
        // The figures of this bench are not in the folder of the benches' figures.
        bench.args(arguments).env("CARGO_TARGET_DIR", &instrumented);
        run("drover-bench", purpose, &mut bench)?;
    }
    let unnamed = folder.join("merged");
    let mut merge = Command::new(profdata);
    merge.args(["merge", "--output"]).arg(&unnamed);
    merge.args(recorded(&raw)?);
    run("llvm-profdata", purpose, &mut merge)?;
    if let Some(old) = existing(folder, settings)? {
        fs::remove_file(&old).map_err(file("remove", &old))?;
    }
    // The name contains a hash of the content, because cargo builds the programs again only if the
    // compiler's arguments change.
    let content = fs::read(&unnamed).map_err(file("read", &unnamed))?;
    let profile = folder.join(format!("{settings}-{}.profdata", hash(&content)));
    fs::rename(&unnamed, &profile).map_err(file("write", &profile))?;
    Ok(profile)
}

/// Returns the recorded profile for these settings.
fn existing(folder: &Path, settings: &str) -> Result<Option<PathBuf>, OptimizedError> {
    if !folder.exists() {
        return Ok(None);
    }
    let matches = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(settings) && name.ends_with(".profdata")
    };
    Ok(entries(folder)?.into_iter().find(matches))
}

/// Returns the files that the instrumented programs wrote.
fn recorded(raw: &Path) -> Result<Vec<PathBuf>, OptimizedError> {
    let files = entries(raw)?;
    if files.is_empty() {
        return Err(OptimizedError::NoProfile(raw.to_owned()));
    }
    Ok(files)
}

fn hash(value: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, OptimizedError> {
    let entries = fs::read_dir(folder).map_err(file("read", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths
        .collect::<Result<_, _>>()
        .map_err(file("read", folder))
}

/// Runs cargo with flags for the compiler. With `--target`, build scripts do not get the flags.
fn compile(
    build_target: &'static str,
    folder: &Path,
    flags: OsString,
) -> Result<(), OptimizedError> {
    let mut build = cargo();
    build
        .args(["build", "--locked", "--bins", "--profile", RELEASE_PROFILE])
        .args(["--target", build_target])
        .args(PACKAGES.iter().flat_map(|package| ["--package", package]))
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags);
    Ok(run("cargo build", purpose(build_target), &mut build)?)
}

/// Returns the path of `llvm-profdata` in the toolchain. Other versions cannot read the profile.
fn profdata(purpose: &'static str) -> Result<PathBuf, OptimizedError> {
    let sysroot = rustc(purpose, &["--print", "sysroot"])?;
    let tools = Path::new(&sysroot).join("lib/rustlib").join(HOST_TARGET);
    let path = tools.join("bin/llvm-profdata");
    if path.is_file() {
        return Ok(path);
    }
    Err(OptimizedError::NoTool { path, purpose })
}

/// Returns the output of the Rust compiler of the repository's toolchain.
fn rustc(purpose: &'static str, arguments: &[&str]) -> Result<String, OptimizedError> {
    let mut rustc = Command::new("rustc");
    let output = rustc.current_dir(root()).args(arguments).output();
    let output = output.map_err(|source| RunError::Start {
        program: "rustc",
        source,
    })?;
    succeeded("rustc", purpose, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn programs(folder: &Path, build_target: &str) -> PathBuf {
    folder.join(build_target).join(RELEASE_PROFILE)
}

fn flag(name: &str, value: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(value);
    flag
}

/// Returns the argument of `.ci/install` that installs the tools of a build.
fn purpose(build_target: &str) -> &'static str {
    if build_target == STATIC_TARGET {
        "release"
    } else {
        "bench"
    }
}

fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OptimizedError {
    let path = path.to_owned();
    move |source| OptimizedError::File {
        operation,
        path,
        source,
    }
}
