//! Runs the commands of suites in parallel, and prints their output without interleaving.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::repeat::UNSTABLE;
use crate::report::{Outcome, Verdict};
use crate::schedule::{Schedule, ScheduleError};
use crate::suite::Suite;

/// The exit codes of `timeout` after the timeout: the command ended after SIGTERM, or needed
/// SIGKILL.
const TIMEOUT_CODES: [i32; 2] = [124, 137];

/// The number of lines of a failed suite that are printed at the end of a run.
const FAILURE_LINES: usize = 80;

/// The number of lines of a panic that are printed at the end of a run.
const PANIC_LINES: usize = 4;

/// The number of panics of a failed suite that are printed at the end of a run.
const SHOWN_PANICS: usize = 10;

/// Runs the command of a suite, and writes the CPU time of its processes to the file `$2`.
const WRAPPER: &str = r#"bash -euo pipefail -c "$1"; status=$?; times >"$2"; exit $status"#;

/// The reason why no suite can run.
#[derive(Debug)]
pub enum RunError {
    /// The suites cannot be scheduled.
    Schedule(ScheduleError),
    /// The path of this program is unknown.
    Program(io::Error),
    /// The folder of the log files cannot be created.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl std::fmt::Display for RunError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Schedule(error) => error.fmt(formatter),
            Self::Program(source) => {
                write!(formatter, "cannot find the path of this program: {source}")
            }
            Self::Folder { path, source } => {
                write!(formatter, "cannot create {}: {source}", path.display())
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Runs all suites, and writes the output of each suite to `out` when the suite has ended. `folder`
/// contains the logs of running suites. A failed suite ends only the suites that need it.
pub fn run(
    suites: Vec<Suite>,
    cores: usize,
    folder: &Path,
    out: &mut impl Write,
) -> Result<Vec<Outcome>, RunError> {
    fs::create_dir_all(folder).map_err(|source| RunError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let mut schedule = Schedule::new(suites, cores).map_err(RunError::Schedule)?;
    // A build replaces the file of this program. Then the kernel does not know its path any more.
    let program = Arc::new(std::env::current_exe().map_err(RunError::Program)?);
    let begin = Instant::now();
    let (sender, ended) = mpsc::channel();
    let mut outcomes = Vec::new();
    loop {
        for index in schedule.start() {
            let suite = schedule.suites()[index];
            say(
                out,
                &format!(
                    "== suite {} starts (budget {} s)",
                    suite.name,
                    suite.budget().as_secs()
                ),
            );
            let (sender, log, program) = (sender.clone(), log(folder, &suite), program.clone());
            thread::spawn(move || {
                let start = begin.elapsed();
                // The receiver lives until all suites have ended.
                let _ = sender.send((index, execute(&suite, start, &log, &program)));
            });
        }
        let next = schedule.is_running().then(|| ended.recv().ok()).flatten();
        let Some((index, outcome)) = next else {
            add_unstarted(schedule.suites(), begin.elapsed(), &mut outcomes);
            return Ok(outcomes);
        };
        print(out, &outcome, &log(folder, &schedule.suites()[index]));
        for skipped in schedule.end(index, outcome.has_passed()) {
            let suite = &schedule.suites()[skipped];
            outcomes.push(Outcome::skipped(suite, begin.elapsed(), outcome.name));
        }
        outcomes.push(outcome);
    }
}

/// Adds an outcome for each suite that the schedule never started.
fn add_unstarted(suites: &[Suite], time: Duration, outcomes: &mut Vec<Outcome>) {
    for suite in suites {
        if outcomes.iter().all(|outcome| outcome.name != suite.name) {
            let reason = "the suites that it waits for did not end".to_owned();
            outcomes.push(Outcome {
                verdict: Verdict::NotStarted(reason),
                ..Outcome::skipped(suite, time, suite.name)
            });
        }
    }
}

/// Runs the command of a suite until its end, or until three times its budget.
fn execute(suite: &Suite, start: Duration, log: &Path, program: &Path) -> Outcome {
    let begin = Instant::now();
    let times = log.with_extension("times");
    // The file exists after an earlier run.
    let _ = fs::remove_file(&times);
    let status = spawn(suite, log, &times, program);
    let time = begin.elapsed();
    let verdict = match status {
        Err(error) => Verdict::NotStarted(error.to_string()),
        Ok(status) => verdict(status, time, suite.budget()),
    };
    let cpu = fs::read_to_string(&times)
        .ok()
        .and_then(|text| cpu_time(&text));
    Outcome {
        name: suite.name,
        start,
        time,
        cpu,
        budget: suite.budget(),
        verdict,
    }
}

fn spawn(suite: &Suite, log: &Path, times: &Path, program: &Path) -> io::Result<ExitStatus> {
    let output = File::create(log)?;
    let limit = 3 * suite.budget().as_secs();
    // The kernel stops the suite when this program ends, for example after Ctrl-C.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]);
    if suite.is_build() {
        command.args(["chrt", "--idle", "0"]);
    }
    command
        .args(["timeout", "--kill-after=20", &limit.to_string()])
        .args(["bash", "-uo", "pipefail", "-c", WRAPPER])
        .args([suite.name, suite.command])
        .arg(times)
        // The harness of the end-to-end tests rejects unknown test names if the variable is set.
        .env("DROVER_SUITES", log.parent().unwrap_or(log))
        .env("DROVER_CI", program)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
}

fn verdict(status: ExitStatus, time: Duration, budget: Duration) -> Verdict {
    match status.code() {
        Some(0) if time > budget => Verdict::OverBudget,
        Some(0) => Verdict::Passed,
        Some(code) if TIMEOUT_CODES.contains(&code) => Verdict::Killed,
        // `timeout` sends SIGKILL to its own process group.
        None if status.signal() == Some(9) => Verdict::Killed,
        _ => Verdict::Failed,
    }
}

/// Parses the output of the shell's command `times`: user and system time of the shell, then of its
/// children, for example `1m2.345s 0m0.678s`.
fn cpu_time(text: &str) -> Option<Duration> {
    text.split_whitespace()
        .map(|word| {
            let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
            let minutes = 60.0 * minutes.parse::<f64>().ok()?;
            Duration::try_from_secs_f64(minutes + seconds.parse::<f64>().ok()?).ok()
        })
        .sum()
}

fn log(folder: &Path, suite: &Suite) -> PathBuf {
    folder.join(format!("{}.log", suite.name))
}

fn print(out: &mut impl Write, outcome: &Outcome, log: &Path) {
    say(out, &format!("== output of suite {}", outcome.name));
    // A missing log has the reason in the verdict. Closed standard output cannot be reported.
    if let Ok(mut log) = File::open(log) {
        let _ = io::copy(&mut log, out);
    }
    say(
        out,
        &format!(
            "== suite {}: {}; {} s of {} s",
            outcome.name,
            outcome.verdict,
            outcome.time.as_secs(),
            outcome.budget.as_secs()
        ),
    );
}

/// Prints the last lines of each failed suite again, so that the end of a long log contains the
/// reason of the failure.
pub fn print_failures(out: &mut impl Write, folder: &Path, outcomes: &[Outcome]) {
    let failed = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Failed | Verdict::Killed);
    for outcome in outcomes.iter().filter(failed) {
        // A missing log has the reason in the verdict.
        let Ok(text) = fs::read(folder.join(format!("{}.log", outcome.name))) else {
            continue;
        };
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(FAILURE_LINES)..];
        let panics = panics(&lines);
        say(
            out,
            &format!(
                "== last lines of suite {}\n{}\n== panics of suite {}\n{}",
                outcome.name,
                last.join("\n"),
                outcome.name,
                panics.join("\n")
            ),
        );
    }
}

/// Returns the first panics with their messages.
fn panics<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let is_panic = |window: &&[&str]| window[0].contains(" panicked at ");
    let found = lines.windows(PANIC_LINES).filter(is_panic);
    found.take(SHOWN_PANICS).flatten().copied().collect()
}

/// Prints the names of the unstable tests of all suites.
pub fn print_unstable(out: &mut impl Write, folder: &Path, outcomes: &[Outcome]) {
    for outcome in outcomes {
        // A missing log has the reason in the verdict.
        let text = fs::read(folder.join(format!("{}.log", outcome.name))).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for line in text.lines().filter(|line| line.starts_with(UNSTABLE)) {
            say(out, &format!("{}: {line}", outcome.name));
        }
    }
}

fn say(out: &mut impl Write, line: &str) {
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Group, Recorded, Resource};

    fn suite(name: &'static str, command: &'static str) -> Suite {
        Suite {
            name,
            group: Group::Test,
            after: &[],
            behind: &[],
            cpu: 10,
            resources: &[],
            recorded: Recorded::always(60),
            command,
        }
    }

    fn ran(suites: Vec<Suite>) -> (Vec<Outcome>, String) {
        let folder = tempfile::tempdir().unwrap();
        let mut out = Vec::new();
        let outcomes = run(suites, 2, folder.path(), &mut out).unwrap();
        (outcomes, String::from_utf8(out).unwrap())
    }

    fn verdict_of<'a>(outcomes: &'a [Outcome], name: &str) -> &'a Verdict {
        let outcome = outcomes.iter().find(|outcome| outcome.name == name);
        &outcome.unwrap().verdict
    }

    #[test]
    fn run_continues_after_a_failed_suite_and_skips_its_dependents() {
        let (outcomes, _) = ran(vec![
            suite("fails", "exit 3"),
            Suite {
                after: &["fails"],
                ..suite("dependent", "true")
            },
            suite("passes", "true"),
        ]);
        assert_eq!(outcomes.len(), 3);
        assert_eq!(verdict_of(&outcomes, "fails"), &Verdict::Failed);
        assert_eq!(
            verdict_of(&outcomes, "dependent"),
            &Verdict::Skipped("fails")
        );
        assert_eq!(verdict_of(&outcomes, "passes"), &Verdict::Passed);
    }

    #[test]
    fn last_lines_of_failed_suites_are_printed_again() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "for line in $(seq 100); do echo line $line; done";
        let panic = "echo \"thread 'a' panicked at b:1:2:\"; echo reason";
        let fails = suite("fails", format!("{panic}; {lines}; exit 1").leak());
        let passes = suite("passes", lines);
        let outcomes = run(vec![fails, passes], 2, folder.path(), &mut Vec::new()).unwrap();
        let mut out = Vec::new();
        print_failures(&mut out, folder.path(), &outcomes);
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.starts_with("== last lines of suite fails\nline 21\n"),
            "{out}"
        );
        let panics =
            "\nline 100\n== panics of suite fails\nthread 'a' panicked at b:1:2:\nreason\n";
        assert!(out.contains(panics), "{out}");
        assert!(!out.contains("passes"), "{out}");
    }

    #[test]
    fn unstable_tests_are_named_at_the_end_of_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let passes = suite("passes", "echo 'unstable tests: a::b'");
        let outcomes = run(vec![passes], 2, folder.path(), &mut Vec::new()).unwrap();
        let mut out = Vec::new();
        print_unstable(&mut out, folder.path(), &outcomes);
        let out = String::from_utf8(out).unwrap();
        assert_eq!(out, "passes: unstable tests: a::b\n");
    }

    #[test]
    fn first_failed_command_of_a_suite_ends_the_suite() {
        let (outcomes, out) = ran(vec![suite("fails", "false | true; echo later")]);
        assert_eq!(verdict_of(&outcomes, "fails"), &Verdict::Failed);
        assert!(!out.contains("later"), "{out}");
    }

    #[test]
    fn output_of_parallel_suites_is_not_interleaved() {
        // Each suite waits until the other suite has printed, so the suites run at the same time.
        let folder = tempfile::tempdir().unwrap();
        let meet = |own: &str, other: &str| {
            let folder = folder.path().display();
            format!(
                "echo {own} 1; touch {folder}/{own}; until [ -e {folder}/{other} ]; do sleep 0.01; \
                 done; echo {own} 2 >&2"
            )
        };
        let left = suite("left", meet("left", "right").leak());
        let right = Suite {
            resources: &[Resource::Build],
            ..suite("right", meet("right", "left").leak())
        };
        let (outcomes, out) = ran(vec![left, right]);
        assert!(outcomes.iter().all(Outcome::has_passed), "{out}");
        for name in ["left", "right"] {
            let block = format!("== output of suite {name}\n{name} 1\n{name} 2\n== suite {name}: ");
            assert!(out.contains(&block), "{out}");
        }
    }

    #[test]
    fn cpu_time_is_the_sum_of_the_times_of_the_shell_and_its_children() {
        let text = "0m0.001s 0m0.002s\n1m2.500s 0m0.497s\n";
        assert_eq!(cpu_time(text), Some(Duration::from_secs(63)));
        assert_eq!(cpu_time("unknown"), None);
    }

    #[test]
    fn verdict_distinguishes_slow_failed_and_killed_suites() {
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        let (short, long) = (Duration::from_secs(1), Duration::from_secs(3));
        let budget = Duration::from_secs(2);
        for (code, time, expected) in [
            (0, short, Verdict::Passed),
            (0, long, Verdict::OverBudget),
            (1, short, Verdict::Failed),
            (101, long, Verdict::Failed),
            (124, long, Verdict::Killed),
            (137, long, Verdict::Killed),
        ] {
            assert_eq!(verdict(exited(code), time, budget), expected, "{code}");
        }
        // `timeout` sends SIGKILL to its own process group.
        assert_eq!(
            verdict(ExitStatus::from_raw(9), long, budget),
            Verdict::Killed
        );
    }
}
