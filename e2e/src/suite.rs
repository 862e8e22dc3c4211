//! Runs the tests of one binary sequentially in one environment.
//!
//! The standard test harness would start an environment for each test, or never stop a shared
//! environment. This harness has the interface of the standard harness: filters, `--exact`,
//! `--list`, and a line for each test.

use std::error::Error;
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use crate::error::with_causes;

/// Timeout of one test. The longest test needs much less time, even on a slow machine. The caller
/// of the suite sets the time limit of the complete suite.
const LIMIT: Duration = Duration::from_mins(15);

/// Environment variable that makes test filters strict. If the variable is set, a filter that
/// matches no test is an error.
const GATE: &str = "DROVER_SUITES";

/// The environment in which the tests of a suite run.
pub trait Stage {
    /// Returns recent logs of the environment, which help to find the cause of a failed test.
    fn story(&self) -> String;
}

/// A test and its name. Use the macro [`test!`](crate::test) to create a value.
pub struct Test<S> {
    /// The path of the test function in the binary.
    pub name: &'static str,
    /// The test function. The test fails if the function panics.
    pub run: for<'a> fn(&'a mut S) -> LocalBoxFuture<'a, ()>,
}

impl<S> std::fmt::Debug for Test<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Creates a [`suite::Test`](crate::suite::Test) from a function `async fn(&mut S)`.
#[macro_export]
macro_rules! test {
    ($path:path) => {
        $crate::suite::Test {
            name: stringify!($path),
            run: |stage| Box::pin($path(stage)),
        }
    };
}

/// The tests that the command line arguments select.
#[derive(Debug, Default, PartialEq, Eq)]
struct Choice {
    filters: Vec<String>,
    skipped: Vec<String>,
    exact: bool,
    list: bool,
}

impl Choice {
    /// Parses the arguments of the standard test harness. Ignores arguments that this harness does
    /// not support.
    fn parse(arguments: impl IntoIterator<Item = String>) -> Self {
        let mut choice = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => choice.exact = true,
                "--list" => choice.list = true,
                "--skip" => choice.skipped.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "-Z" => drop(arguments.next()),
                _ if argument.starts_with('-') => {}
                _ => choice.filters.push(argument),
            }
        }
        choice
    }

    fn fits(&self, pattern: &str, name: &str) -> bool {
        if self.exact {
            name == pattern
        } else {
            name.contains(pattern)
        }
    }

    /// Returns a filter that matches no test. Returns `None` if every filter matches a test.
    fn unmatched<'a, S>(&'a self, tests: &[Test<S>]) -> Option<&'a str> {
        let unmatched = |pattern: &&String| !tests.iter().any(|test| self.fits(pattern, test.name));
        self.filters.iter().find(unmatched).map(String::as_str)
    }

    fn takes(&self, name: &str) -> bool {
        let fits = |pattern: &String| self.fits(pattern, name);
        (self.filters.is_empty() || self.filters.iter().any(fits)) && !self.skipped.iter().any(fits)
    }
}

/// Implements the `main` function of a test binary without the standard harness. Creates the
/// environment with `start`, runs `tests` in the environment, and prints the results.
///
/// A failed test can leave the environment in any state, so the next test gets a new environment.
pub fn main<S: Stage, E: Error>(
    tests: &[Test<S>],
    start: impl AsyncFn() -> Result<S, E>,
) -> ExitCode {
    let choice = Choice::parse(std::env::args().skip(1));
    let mut out = io::stdout();
    let chosen: Vec<_> = tests
        .iter()
        .filter(|test| choice.takes(test.name))
        .collect();
    if choice.list {
        for test in &chosen {
            say(&mut out, &format!("{}: test", test.name));
        }
        return ExitCode::SUCCESS;
    }
    // The gate lists tests that must exist. In a manual run a name may belong to another binary.
    if let Some(pattern) = choice.unmatched(tests)
        && std::env::var_os(GATE).is_some()
    {
        say(&mut out, &format!("no test matches {pattern:?}"));
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&mut out, &format!("no runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(run(&chosen, tests.len() - chosen.len(), start, &mut out))
}

async fn run<S: Stage, E: Error>(
    chosen: &[&Test<S>],
    left_out: usize,
    start: impl AsyncFn() -> Result<S, E>,
    out: &mut impl Write,
) -> ExitCode {
    let begin = Instant::now();
    say(out, &format!("\nrunning {} tests", chosen.len()));
    let mut failed = Vec::new();
    let mut stage = None;
    for test in chosen {
        let mut current = match stage.take() {
            Some(stage) => stage,
            None => match start().await {
                Ok(stage) => stage,
                Err(error) => {
                    say(
                        out,
                        &format!(
                            "cannot start the stage of the tests: {}",
                            with_causes(&error)
                        ),
                    );
                    say(out, &format!("test {} ... FAILED", test.name));
                    failed.push(test.name);
                    continue;
                }
            },
        };
        let started = Instant::now();
        let outcome = attempt(test, &mut current).await;
        let seconds = started.elapsed().as_secs_f64();
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        say(
            out,
            &format!("test {} ... {word} ({seconds:.1} s)", test.name),
        );
        match outcome {
            Ok(()) => stage = Some(current),
            Err(reason) => {
                say(
                    out,
                    &format!("{}: {reason}\n{}", test.name, current.story()),
                );
                failed.push(test.name);
            }
        }
    }
    drop(stage);
    conclude(out, chosen.len(), &failed, left_out, begin.elapsed())
}

fn conclude(
    out: &mut impl Write,
    tests: usize,
    failed: &[&str],
    left_out: usize,
    took: Duration,
) -> ExitCode {
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    say(
        out,
        &format!(
            "\ntest result: {word}. {} passed; {} failed; 0 ignored; 0 measured; {left_out} filtered \
             out; finished in {:.2}s\n",
            tests - failed.len(),
            failed.len(),
            took.as_secs_f64()
        ),
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        say(out, &format!("failures:\n    {}\n", failed.join("\n    ")));
        ExitCode::FAILURE
    }
}

async fn attempt<S>(test: &Test<S>, stage: &mut S) -> Result<(), String> {
    let guarded = AssertUnwindSafe((test.run)(stage)).catch_unwind();
    match tokio::time::timeout(LIMIT, guarded).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err("panicked, see above".to_owned()),
        Err(_) => Err(format!("the test did not end within {} s", LIMIT.as_secs())),
    }
}

/// Prints a line. Ignores the error if standard output is closed.
fn say(out: &mut impl Write, line: &str) {
    let _ = writeln!(out, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(arguments: &str) -> Choice {
        Choice::parse(arguments.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn tests_are_selected_as_in_the_rust_test_harness() {
        assert!(choice("").takes("workflow::any"));
        assert!(choice("workflow").takes("workflow::any"));
        assert!(!choice("workflow").takes("failures::any"));
        assert!(!choice("--exact workflow").takes("workflow::any"));
        assert!(choice("--exact workflow::any").takes("workflow::any"));
        assert!(!choice("--skip workflow").takes("workflow::any"));
        assert!(choice("--test-threads 1 --nocapture any").takes("workflow::any"));
        assert!(choice("--list").list);
    }

    #[test]
    fn unknown_test_name_is_reported() {
        let tests = [test!(passes), test!(fails)];
        assert_eq!(choice("passes fai").unmatched(&tests), None);
        assert_eq!(choice("passes renamed").unmatched(&tests), Some("renamed"));
        assert_eq!(choice("--exact passe").unmatched(&tests), Some("passe"));
        assert_eq!(choice("--skip renamed").unmatched(&tests), None);
    }

    #[derive(Debug, thiserror::Error)]
    #[error("no")]
    struct No;

    struct Count(u32);

    async fn start() -> Result<Count, No> {
        Ok(Count(0))
    }

    impl Stage for Count {
        fn story(&self) -> String {
            String::new()
        }
    }

    async fn passes(count: &mut Count) {
        count.0 += 1;
    }

    async fn fails(count: &mut Count) {
        assert_eq!(count.0, 7, "the test fails intentionally");
    }

    async fn needs_a_new_stage(count: &mut Count) {
        assert_eq!(count.0, 0);
    }

    async fn needs_the_same_stage(count: &mut Count) {
        assert_eq!(count.0, 1);
    }

    async fn outcome(tests: &[Test<Count>]) -> (String, String) {
        let mut output = Vec::new();
        let code = run(&tests.iter().collect::<Vec<_>>(), 0, start, &mut output).await;
        (format!("{code:?}"), String::from_utf8(output).unwrap())
    }

    #[tokio::test]
    async fn test_failure_is_reported_and_next_test_receives_a_new_environment() {
        let tests = [test!(passes), test!(needs_the_same_stage)];
        let (code, body) = outcome(&tests).await;
        assert_eq!(code, format!("{:?}", ExitCode::SUCCESS));
        assert!(
            body.contains("test result: ok. 2 passed; 0 failed"),
            "{body}"
        );
        let tests = [test!(passes), test!(fails), test!(needs_a_new_stage)];
        let (code, body) = outcome(&tests).await;
        assert_eq!(code, format!("{:?}", ExitCode::FAILURE));
        assert!(body.contains("2 passed; 1 failed"), "{body}");
        assert!(body.contains("failures:\n    fails\n"), "{body}");
        assert!(body.contains("test needs_a_new_stage ... ok"), "{body}");
    }
}
