//! Runs test programs without cargo, so that tests and builds do not wait for each other's lock on
//! the target folder.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use crate::repeat;

/// The file in the log folder with the test programs of the workspace, as cargo prints them.
pub const LIST: &str = "programs.json";

/// A test program that cargo has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The folder of the package, which is the working directory of the tests.
    pub folder: PathBuf,
    /// The kind of the target: `lib`, `bin`, `test` or `proc-macro`.
    pub kind: String,
    /// The name of the target.
    pub target: String,
    /// The path of the program.
    pub executable: PathBuf,
}

/// The reason why test programs cannot run.
#[derive(Debug)]
pub enum TestsError {
    /// The list of the test programs cannot be read.
    Read {
        /// The file with the list.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A line of the list is invalid.
    Parse(serde_json::Error),
    /// An argument is unknown.
    Argument(String),
    /// No test program matches an argument.
    NoMatch(String),
    /// A test program cannot be started.
    Start {
        /// The test program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl fmt::Display for TestsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(
                formatter,
                "cannot read the list of test programs {}: {source}; run the suite `build` first",
                path.display()
            ),
            Self::Parse(source) => {
                write!(
                    formatter,
                    "cannot parse the list of test programs: {source}"
                )
            }
            Self::Argument(argument) => write!(
                formatter,
                "unknown argument {argument}; use --lib, --bins, --test NAME, --package NAME, \
                 --jobs NUMBER, --repeat and, after `--`, arguments of the tests"
            ),
            Self::NoMatch(argument) => write!(formatter, "no test program matches {argument}"),
            Self::Start { program, source } => {
                write!(formatter, "cannot start {}: {source}", program.display())
            }
        }
    }
}

impl std::error::Error for TestsError {}

/// The selected test programs and their arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Selection {
    lib: bool,
    bins: bool,
    tests: Vec<String>,
    packages: Vec<String>,
    jobs: usize,
    is_repeated: bool,
    arguments: Vec<String>,
}

impl Selection {
    /// Parses arguments that have the same meaning as arguments of `cargo test`.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, TestsError> {
        let mut selection = Self {
            jobs: 1,
            ..Self::default()
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let missing = || TestsError::Argument(argument.clone());
                arguments.next().ok_or_else(missing)
            };
            match argument.as_str() {
                "--lib" => selection.lib = true,
                "--bins" => selection.bins = true,
                "--repeat" => selection.is_repeated = true,
                "--test" => selection.tests.push(value()?),
                "--package" => selection.packages.push(value()?),
                "--jobs" => {
                    let jobs = value()?;
                    let number: NonZeroUsize =
                        jobs.parse().map_err(|_| TestsError::Argument(jobs))?;
                    selection.jobs = number.get();
                }
                "--" => selection.arguments = arguments.by_ref().collect(),
                _ => return Err(TestsError::Argument(argument)),
            }
        }
        Ok(selection)
    }

    fn matches(&self, program: &Program) -> bool {
        let kind = match program.kind.as_str() {
            "test" => self.tests.contains(&program.target),
            "bin" => self.bins,
            "example" | "bench" => false,
            _ => self.lib,
        };
        let package = |name: &String| program.folder.ends_with(name);
        kind && (self.packages.is_empty() || self.packages.iter().any(package))
    }

    /// Returns the selected test programs. Returns an error if an argument selects no program.
    fn select(&self, programs: Vec<Program>) -> Result<Vec<Program>, TestsError> {
        let selected: Vec<_> = programs
            .into_iter()
            .filter(|program| self.matches(program))
            .collect();
        for test in &self.tests {
            let is_test = |program: &Program| program.kind == "test" && program.target == *test;
            if !selected.iter().any(is_test) {
                return Err(TestsError::NoMatch(format!("--test {test}")));
            }
        }
        for package in &self.packages {
            let is_in = |program: &Program| program.folder.ends_with(package);
            if !selected.iter().any(is_in) {
                return Err(TestsError::NoMatch(format!("--package {package}")));
            }
        }
        if selected.is_empty() {
            return Err(TestsError::NoMatch("the arguments".to_owned()));
        }
        Ok(selected)
    }
}

/// Parses the output of `cargo test --no-run --message-format=json`.
pub fn programs(list: &str) -> Result<Vec<Program>, TestsError> {
    let mut found = Vec::new();
    for line in list.lines().filter(|line| line.starts_with('{')) {
        let message: Value = serde_json::from_str(line).map_err(TestsError::Parse)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let folder = message["manifest_path"]
            .as_str()
            .and_then(|manifest| Path::new(manifest).parent());
        if let (Some(executable), Some(folder), Some(kind), Some(target), true) = (
            text(&message["executable"]),
            folder,
            text(&message["target"]["kind"][0]),
            text(&message["target"]["name"]),
            message["profile"]["test"] == true,
        ) {
            found.push(Program {
                folder: folder.to_owned(),
                kind,
                target,
                executable: executable.into(),
            });
        }
    }
    Ok(found)
}

/// Runs the selected test programs of the list in `folder`. Continues after a failed program.
/// Returns the programs that failed.
pub fn run(selection: &Selection, folder: &Path) -> Result<Vec<PathBuf>, TestsError> {
    let path = folder.join(LIST);
    let list = fs::read_to_string(&path).map_err(|source| TestsError::Read { path, source })?;
    let selected = selection.select(programs(&list)?)?;
    let queue = Mutex::new(selected.iter());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let worker = || {
        let mut failed = Vec::new();
        while let Some(program) = next() {
            let passed = start(program, selection).map_err(|source| TestsError::Start {
                program: program.executable.clone(),
                source,
            })?;
            if !passed {
                failed.push(program.executable.clone());
            }
        }
        Ok(failed)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..selection.jobs).map(|_| scope.spawn(worker)).collect();
        let mut failed = Vec::new();
        for worker in workers {
            failed.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(failed)
    })
}

/// Runs a test program, and reports whether its tests passed. Concurrent programs print their output
/// when they have ended.
fn start(program: &Program, selection: &Selection) -> io::Result<bool> {
    use std::io::Write as _;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let title = format!(
        "     Running {} of {} ({})\n",
        program.target,
        program.folder.display(),
        program.executable.display()
    );
    let command = || {
        let mut command = Command::new(&program.executable);
        command
            .current_dir(&program.folder)
            // Cargo sets these variables for test programs.
            .env("CARGO", &cargo)
            .env("CARGO_MANIFEST_DIR", &program.folder);
        command
    };
    let mut first = command();
    first.args(&selection.arguments);
    if selection.jobs == 1 {
        let mut out = io::stdout();
        out.write_all(title.as_bytes())?;
        if selection.is_repeated {
            return repeat::run(first, command, &mut out);
        }
        return Ok(first.status()?.success());
    }
    if selection.is_repeated {
        let mut text = Vec::new();
        let passed = repeat::run(first, command, &mut text);
        let mut out = io::stdout().lock();
        out.write_all(title.as_bytes())?;
        out.write_all(&text)?;
        return passed;
    }
    let output = first.output()?;
    let mut out = io::stdout().lock();
    out.write_all(title.as_bytes())?;
    out.write_all(&output.stderr)?;
    out.write_all(&output.stdout)?;
    Ok(output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"{"reason":"compiler-artifact","manifest_path":"/d/e2e/Cargo.toml","target":{"kind":["test"],"name":"pods"},"profile":{"test":true},"executable":"/t/pods-1"}
{"reason":"compiler-artifact","manifest_path":"/d/e2e/Cargo.toml","target":{"kind":["lib"],"name":"drover_e2e"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/d/e2e/Cargo.toml","target":{"kind":["lib"],"name":"drover_e2e"},"profile":{"test":true},"executable":"/t/drover_e2e-1"}
{"reason":"compiler-artifact","manifest_path":"/d/server/Cargo.toml","target":{"kind":["test"],"name":"it"},"profile":{"test":true},"executable":"/t/it-1"}
{"reason":"compiler-artifact","manifest_path":"/d/server/Cargo.toml","target":{"kind":["bin"],"name":"drover"},"profile":{"test":false},"executable":"/t/drover"}
{"reason":"build-finished","success":true}
"#;

    fn selected(arguments: &str) -> Result<Vec<String>, TestsError> {
        let selection = Selection::parse(arguments.split_whitespace().map(str::to_owned))?;
        let programs = selection.select(programs(LINES)?)?;
        let name = |program: Program| program.executable.display().to_string();
        Ok(programs.into_iter().map(name).collect())
    }

    #[test]
    fn arguments_select_the_programs_that_cargo_test_would_select() {
        assert_eq!(selected("--test pods").unwrap(), ["/t/pods-1"]);
        assert_eq!(selected("--lib --bins").unwrap(), ["/t/drover_e2e-1"]);
        assert_eq!(
            selected("--lib --test it -- --skip x").unwrap(),
            ["/t/drover_e2e-1", "/t/it-1"]
        );
        assert_eq!(
            selected("--lib --test it --package server").unwrap(),
            ["/t/it-1"]
        );
    }

    #[test]
    fn argument_that_selects_no_program_is_an_error() {
        for arguments in [
            "--test renamed",
            "--test pods --package server",
            "--bins",
            "--workspace",
            "",
        ] {
            assert!(selected(arguments).is_err(), "{arguments}");
        }
    }
}
