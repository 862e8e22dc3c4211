//! The recipe `xtask instructions`: counts the instructions of hot paths with valgrind, and compares the
//! counts with `bench/instructions/baseline`. A count that differs by more than 5 % is a failure.
//!
//! The recipe uses callgrind directly. gungraun stores its baselines in the target folder instead of the
//! repository, and needs a separate program of the same version.
//!
//! The crates with most of the hot paths are optimized. Other crates are not optimized, so that the
//! recipe uses the crates that the tests have compiled, and takes seconds instead of minutes. The
//! counts are therefore higher than in a release, and show changes of Drover's code.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::build::{cargo, root, share_dependencies, target};
use crate::limited::{self, Limited};

/// The optimized crates. No large crate depends on these crates without optimization.
const OPTIMIZED: &[&str] = &["drover-access", "drover-instructions", "drover-tunnel"];
const BASELINE: &str = "bench/instructions/baseline";
const TOLERANCE_PERCENT: u64 = 5;
/// Timeout of one hot path under valgrind.
const TIMEOUT: Duration = Duration::from_mins(2);
/// The C library selects functions by the CPU, for example to copy memory. Without these CPU features,
/// all machines use the same functions.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM";

/// The reason why the counts cannot be confirmed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstructionsError {
    /// A program cannot be started.
    #[error("cannot start {program}: run `.ci/install test`")]
    Start {
        program: &'static str,
        source: io::Error,
    },
    /// A program failed.
    #[error("cannot count the instructions: {program} failed:\n{output}")]
    Failed {
        program: &'static str,
        output: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {operation} {path}")]
    File {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// valgrind's output contains no count.
    #[error("cannot find the count of {hot_path} in valgrind's output {path}")]
    NoCount { hot_path: String, path: PathBuf },
    /// A line of the baseline is invalid.
    #[error("cannot parse the line {line:?} of {BASELINE}: write a name and a number")]
    Baseline { line: String },
    /// Counts differ from the baseline.
    #[error(
        "cannot confirm the instruction counts:\n{changes}\nIf the changes are intended, run \
         `make instructions ACCEPT=1` and commit {BASELINE}",
        changes = .0.join("\n")
    )]
    Changed(Vec<String>),
}

type Counts = BTreeMap<String, u64>;

/// Arguments of `xtask instructions`.
#[derive(clap::Args)]
pub(crate) struct Instructions {
    /// Write the counts to bench/instructions/baseline
    #[arg(long)]
    accept: bool,
}

impl Instructions {
    pub(crate) fn run(self) -> Result<(), InstructionsError> {
        let program = build()?;
        let counts = count_all(&program)?;
        let path = root().join(BASELINE);
        let file = |operation| {
            let path = path.clone();
            move |source| InstructionsError::File {
                operation,
                path,
                source,
            }
        };
        if self.accept {
            return fs::write(&path, format(&counts)).map_err(file("write"));
        }
        let baseline = parse(&fs::read_to_string(&path).map_err(file("read"))?)?;
        // Ignore errors: if standard output is closed, the exit code still shows the result.
        let _ = io::stdout().write_all(table(&baseline, &counts).as_bytes());
        match changes(&baseline, &counts) {
            changes if changes.is_empty() => Ok(()),
            changes => Err(InstructionsError::Changed(changes)),
        }
    }
}

/// Builds the program with the hot paths and returns its path.
fn build() -> Result<PathBuf, InstructionsError> {
    let mut cargo = cargo();
    cargo.args([
        "build",
        "--locked",
        "--quiet",
        "--package",
        "drover-instructions",
    ]);
    share_dependencies(&mut cargo, "instructions");
    // Incremental builds split crates into more parts, and inline less.
    cargo.env("CARGO_INCREMENTAL", "0");
    for package in OPTIMIZED {
        for setting in [
            "opt-level=3",
            "codegen-units=16",
            "debug-assertions=false",
            "overflow-checks=false",
        ] {
            cargo.arg(format!("--config=profile.dev.package.{package}.{setting}"));
        }
    }
    output(cargo, "cargo", None)?;
    Ok(target().join("instructions/debug/drover-instructions"))
}

fn output(
    command: Command,
    program: &'static str,
    deadline: Option<Instant>,
) -> Result<String, InstructionsError> {
    let Limited {
        status,
        stdout,
        stderr,
    } = limited::run(command, deadline)
        .map_err(|source| InstructionsError::Start { program, source })?;
    if status.is_some_and(|status| status.success()) {
        Ok(stdout)
    } else {
        let output = format!("{stdout}{stderr}");
        Err(InstructionsError::Failed { program, output })
    }
}

/// Counts the instructions of all hot paths at the same time.
fn count_all(program: &Path) -> Result<Counts, InstructionsError> {
    let mut list = Command::new(program);
    list.arg("list");
    let names = output(list, "drover-instructions", Some(Instant::now() + TIMEOUT))?;
    thread::scope(|scope| {
        let counting: Vec<_> = names
            .lines()
            .map(|name| scope.spawn(move || Ok((name.to_owned(), count(program, name)?))))
            .collect();
        counting
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

fn count(program: &Path, hot_path: &str) -> Result<u64, InstructionsError> {
    let path = target().join(format!("instructions/{hot_path}.callgrind"));
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--toggle-collect=*measured_region*"])
        .arg(format!("--callgrind-out-file={}", path.display()))
        .arg(program)
        .arg(hot_path)
        .env("GLIBC_TUNABLES", TUNABLES);
    output(valgrind, "valgrind", Some(Instant::now() + TIMEOUT))?;
    let text = fs::read_to_string(&path).map_err(|source| InstructionsError::File {
        operation: "read",
        path: path.clone(),
        source,
    })?;
    total(&text).ok_or_else(|| InstructionsError::NoCount {
        hot_path: hot_path.to_owned(),
        path,
    })
}

/// Finds the number of instructions in a file of callgrind.
fn total(callgrind: &str) -> Option<u64> {
    let mut lines = callgrind.lines();
    let count = lines.find_map(|line| line.strip_prefix("totals: "))?;
    count.trim().parse().ok().filter(|count| *count > 0)
}

fn format(counts: &Counts) -> String {
    let lines = counts
        .iter()
        .map(|(name, count)| format!("{name} {count}\n"));
    lines.collect()
}

fn parse(text: &str) -> Result<Counts, InstructionsError> {
    let lines = text.lines().map(|line| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    });
    lines
        .zip(text.lines())
        .map(|(entry, line)| {
            entry.ok_or_else(|| InstructionsError::Baseline {
                line: line.to_owned(),
            })
        })
        .collect()
}

fn table(baseline: &Counts, counts: &Counts) -> String {
    let mut table = String::new();
    for (name, count) in counts {
        let change = baseline.get(name).map(|old| change(*old, *count));
        let change = change.unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{name:20} {count:>12} {change:>8}");
    }
    table
}

/// Formats the difference of a count, for example `+6.2 %`.
fn change(old: u64, new: u64) -> String {
    let sign = if new < old { '-' } else { '+' };
    let tenths = new.abs_diff(old) * 1000 / old.max(1);
    format!("{sign}{}.{} %", tenths / 10, tenths % 10)
}

/// Describes each hot path whose count differs from the baseline by more than the tolerance.
fn changes(baseline: &Counts, counts: &Counts) -> Vec<String> {
    let removed = baseline.keys().filter(|name| !counts.contains_key(*name));
    let removed = removed.map(|name| format!("{name}: the hot path no longer exists"));
    let changed = counts.iter().filter_map(|(name, &new)| {
        let Some(&old) = baseline.get(name) else {
            return Some(format!(
                "{name}: {new} instructions, but the baseline has no count"
            ));
        };
        (new.abs_diff(old) * 100 > old * TOLERANCE_PERCENT).then(|| {
            let change = change(old, new);
            format!("{name}: {old} → {new} instructions ({change}; limit: ±{TOLERANCE_PERCENT} %)")
        })
    });
    removed.chain(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(entries: &[(&str, u64)]) -> Counts {
        let entries = entries.iter();
        entries
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn counts_may_differ_by_five_percent() {
        let baseline = counts(&[("permits", 1000)]);
        for (count, expected) in [
            (950, None),
            (1050, None),
            (
                949,
                Some("permits: 1000 → 949 instructions (-5.1 %; limit: ±5 %)"),
            ),
            (
                1051,
                Some("permits: 1000 → 1051 instructions (+5.1 %; limit: ±5 %)"),
            ),
        ] {
            let changes = changes(&baseline, &counts(&[("permits", count)]));
            assert_eq!(changes.first().map(String::as_str), expected);
        }
    }

    #[test]
    fn new_and_removed_hot_paths_differ_from_the_baseline() {
        let changes = changes(&counts(&[("old", 1)]), &counts(&[("new", 2)]));
        assert_eq!(
            changes,
            [
                "old: the hot path no longer exists",
                "new: 2 instructions, but the baseline has no count"
            ]
        );
    }

    #[test]
    fn written_baseline_is_parsed() {
        let counts = counts(&[("a", 1), ("b", 20)]);
        assert_eq!(parse(&format(&counts)).unwrap(), counts);
        assert!(parse("a b\n").is_err());
    }

    #[test]
    fn total_of_zero_instructions_is_missing() {
        assert_eq!(total("events: Ir\ntotals: 12\n"), Some(12));
        assert_eq!(total("totals: 0\n"), None);
    }
}
