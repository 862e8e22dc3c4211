//! The command line of `drover-ci`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::programs::{self, Selection, TestsError};
use crate::report::{Outcome, Table};
use crate::run::{print_failures, print_unstable, run as run_suites};
use crate::suite::Suite;
use crate::suites::{RUN_MINUTES, SUITES, Unknown, choose};

const HELP: &str =
    "usage: drover-ci check|test|SUITE...    run suites and the suites that they need
       drover-ci list                  print all suites
       drover-ci tests ARGUMENTS       run test programs that the suite `build` has built";

/// The reason why a command fails. The suites print the reasons of their failures.
#[derive(Debug)]
enum CommandError {
    Usage,
    Unknown(Unknown),
    Run(crate::run::RunError),
    Suites,
    Slow(Duration),
    Tests(TestsError),
    Failed(Vec<PathBuf>),
    Print(io::Error),
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage => formatter.write_str(HELP),
            Self::Unknown(error) => error.fmt(formatter),
            Self::Run(error) => error.fmt(formatter),
            Self::Suites => formatter.write_str("suites failed; the table names them"),
            Self::Slow(time) => write!(
                formatter,
                "the run took {} s; the limit is {RUN_MINUTES} min",
                time.as_secs()
            ),
            Self::Tests(error) => error.fmt(formatter),
            Self::Failed(programs) => {
                let names: Vec<_> = programs
                    .iter()
                    .map(|program| program.display().to_string())
                    .collect();
                write!(formatter, "test programs failed: {}", names.join(" "))
            }
            Self::Print(error) => write!(formatter, "cannot write standard output: {error}"),
        }
    }
}

impl std::error::Error for CommandError {}

/// Runs the command that the arguments select.
pub fn run() -> ExitCode {
    match start(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A write error cannot be reported, so ignore it.
            let _ = writeln!(io::stderr(), "drover-ci: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &[String]) -> Result<(), CommandError> {
    match arguments.first().map(String::as_str) {
        None => Err(CommandError::Usage),
        Some("list") => list().map_err(CommandError::Print),
        Some("tests") => tests(&arguments[1..]),
        Some(_) => suites(choose(arguments).map_err(CommandError::Unknown)?),
    }
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for suite in SUITES {
        let budget = suite.budget().as_secs();
        writeln!(out, "{:<16} {budget:>5} s  {}", suite.name, suite.command)?;
    }
    Ok(())
}

fn tests(arguments: &[String]) -> Result<(), CommandError> {
    let selection = Selection::parse(arguments.iter().cloned()).map_err(CommandError::Tests)?;
    let failed = programs::run(&selection, &folder()).map_err(CommandError::Tests)?;
    if failed.is_empty() {
        Ok(())
    } else {
        Err(CommandError::Failed(failed))
    }
}

fn suites(suites: Vec<Suite>) -> Result<(), CommandError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let begin = Instant::now();
    let mut out = io::stdout();
    let outcomes = run_suites(suites, cores, &folder(), &mut out).map_err(CommandError::Run)?;
    let table = Table {
        outcomes: &outcomes,
        time: begin.elapsed(),
    };
    writeln!(out, "{table}").map_err(CommandError::Print)?;
    print_failures(&mut out, &folder(), &outcomes);
    print_unstable(&mut out, &folder(), &outcomes);
    if !outcomes.iter().all(Outcome::has_passed) {
        return Err(CommandError::Suites);
    }
    if table.time > Duration::from_secs(60 * RUN_MINUTES) {
        return Err(CommandError::Slow(table.time));
    }
    Ok(())
}

/// Returns the folder for the logs of running suites and for the list of test programs.
fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let folder = PathBuf::from(target).join("suites");
    // Suites change their working directory. A missing working directory fails later.
    std::path::absolute(&folder).unwrap_or(folder)
}
