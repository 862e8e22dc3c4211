//! Builds and runs one test binary, and reads the results of its tests.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::build::{share_dependencies, target};
use crate::limited::{self, Limited};

/// Timeout of a test binary. A test can hang after a patch removes the tested defence.
const LIMIT: Duration = Duration::from_mins(2);

/// The reason why a test binary cannot be built or run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuiteError {
    /// A program cannot be started.
    #[error("cannot start {program}")]
    Start { program: String, source: io::Error },
    /// The test binary does not compile.
    #[error("cannot compile {suite}:\n{output}")]
    DoesNotCompile { suite: Suite, output: String },
    /// cargo's messages contain no test binary.
    #[error("cannot find the test binary of {suite}: check the package and the target")]
    NoBinary { suite: Suite },
    /// The recipe's time ended before the results were known.
    #[error("cannot run {suite}: the time limit ended")]
    TimeLimit { suite: Suite },
    /// The binary exited without a summary.
    #[error("{suite} exited before all tests had finished:\n{output}")]
    Incomplete { suite: Suite, output: String },
}

/// A test binary of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The unit tests of the library.
    Library,
    /// An integration test with this name.
    Integration(String),
}

impl Target {
    /// Parses `lib`, or the name of an integration test.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match text {
            "lib" => Some(Self::Library),
            name => plain.then(|| Self::Integration(name.to_owned())),
        }
    }
}

/// A package's test binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Suite {
    pub(super) package: String,
    pub(super) target: Target,
    /// The module with the tests, for a binary with several independent test suites.
    pub(super) module: Option<String>,
}

impl fmt::Display for Suite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Library => write!(formatter, "{} (unit tests", self.package)?,
            Target::Integration(name) => write!(formatter, "{} (tests/{name}", self.package)?,
        }
        match &self.module {
            None => write!(formatter, ")"),
            Some(module) => write!(formatter, ", {module})"),
        }
    }
}

/// The results of a binary's tests.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) passed: BTreeSet<String>,
    pub(super) failed: BTreeSet<String>,
}

impl Suite {
    /// Builds the binary from the sources in `root`, and runs all its tests. Stops at `deadline`.
    pub(super) fn run(
        &self,
        root: &Path,
        deadline: Option<Instant>,
    ) -> Result<Outcome, SuiteError> {
        let binary = self.build(root, deadline)?;
        let hangs_at = Instant::now() + LIMIT;
        let mut command = Command::new(&binary);
        command
            .args(["--test-threads=4", "--color=never"])
            .args(&self.module)
            // The tests of drover-deploy would search the program beside the weakened programs.
            .env("DROVER_RENDER", target().join("debug/drover-render"))
            .current_dir(root);
        let stop = deadline.map_or(hangs_at, |deadline| deadline.min(hangs_at));
        let Limited { status, stdout, .. } =
            limited::run(command, Some(stop)).map_err(|source| SuiteError::Start {
                program: binary.display().to_string(),
                source,
            })?;
        if status.is_none() && stop < hangs_at {
            return Err(self.out_of_time());
        }
        self.outcome(&stdout, status.is_none())
    }

    fn out_of_time(&self) -> SuiteError {
        SuiteError::TimeLimit {
            suite: self.clone(),
        }
    }

    fn outcome(&self, output: &str, hung: bool) -> Result<Outcome, SuiteError> {
        let outcome = parse(output);
        if hung || !output.contains("\ntest result: ") {
            // A test that hangs has no line in the output, so add one.
            let output = format!("hung: {hung}\n{output}");
            return Err(SuiteError::Incomplete {
                suite: self.clone(),
                output,
            });
        }
        Ok(outcome)
    }

    fn build(&self, root: &Path, deadline: Option<Instant>) -> Result<PathBuf, SuiteError> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args([
                "test",
                "--locked",
                "--no-run",
                "--message-format=json",
                "--package",
                &self.package,
            ])
            .current_dir(root)
            // Without debug information, Drover's crates have separate artifacts in the shared build
            // folder. Other crates have the same profile as in the checkout.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            // The same sources are compiled repeatedly with small changes.
            .env("CARGO_INCREMENTAL", "1");
        share_dependencies(&mut cargo, "weakened");
        match &self.target {
            Target::Library => cargo.arg("--lib"),
            Target::Integration(name) => cargo.args(["--test", name]),
        };
        let output = limited::run(cargo, deadline).map_err(|source| SuiteError::Start {
            program: "cargo".to_owned(),
            source,
        })?;
        let Some(status) = output.status else {
            return Err(self.out_of_time());
        };
        if !status.success() {
            let output = rendered(&output.stdout, &output.stderr);
            return Err(SuiteError::DoesNotCompile {
                suite: self.clone(),
                output,
            });
        }
        executable(&output.stdout).ok_or_else(|| SuiteError::NoBinary {
            suite: self.clone(),
        })
    }
}

/// Finds the test binary in cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["profile"]["test"] == Value::Bool(true))
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

/// Finds the rendered compiler errors in cargo's messages.
fn rendered(messages: &str, stderr: &str) -> String {
    let errors: String = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["message"]["level"] == "error")
        .filter_map(|message| message["message"]["rendered"].as_str().map(str::to_owned))
        .collect();
    if errors.is_empty() {
        stderr.to_owned()
    } else {
        errors
    }
}

/// Parses the lines `test NAME ... ok` and `test NAME ... FAILED`.
fn parse(output: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in output.lines() {
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        else {
            continue;
        };
        // `should_panic` tests have a suffix after the name.
        let name = name.split(" - ").next().unwrap_or(name).to_owned();
        match result {
            "ok" => outcome.passed.insert(name),
            _ => outcome.failed.insert(name),
        };
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_results_are_parsed_from_test_output() {
        let outcome = parse(
            "\nrunning 3 tests\ntest a::b ... ok\ntest c - should panic ... ok\n\
             test d::e ... FAILED\n\nfailures:\n\ntest result: FAILED. 2 passed; 1 failed\n",
        );
        assert_eq!(outcome.passed.iter().collect::<Vec<_>>(), ["a::b", "c"]);
        assert_eq!(outcome.failed.iter().collect::<Vec<_>>(), ["d::e"]);
    }

    #[test]
    fn incomplete_test_output_returns_an_error() {
        let suite = Suite {
            package: "x".to_owned(),
            target: Target::Library,
            module: None,
        };
        let error = suite
            .outcome("running 2 tests\ntest a ... ok\n", false)
            .unwrap_err();
        assert!(error.to_string().contains("exited before"), "{error}");
    }

    #[test]
    fn test_binary_is_found_in_cargo_messages() {
        let messages = r#"{"profile":{"test":false},"executable":"/a"}
{"profile":{"test":true},"executable":"/b"}"#;
        assert_eq!(executable(messages), Some(PathBuf::from("/b")));
    }
}
