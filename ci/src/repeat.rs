//! Repeats single failed tests.
//!
//! Several suites share the machine. A test can fail because a server or the disk was slow. The runner
//! repeats such a test alone, after all other tests of its program. A test that then passes is
//! unstable: the end of the run names it, and the run does not fail.

use std::io::{self, BufRead as _, BufReader, Write};
use std::process::{Command, Stdio};

/// The start of a line that names unstable tests.
pub const UNSTABLE: &str = "unstable tests:";

/// More failed tests than this number are not a coincidence, so the program fails.
const REPEATED_TESTS: usize = 2;

/// Runs a test program, and repeats its failed tests once. `again` starts the program without
/// arguments. Reports whether all tests passed.
pub fn run(
    first: Command,
    again: impl FnOnce() -> Command,
    out: &mut impl Write,
) -> io::Result<bool> {
    let Some(failed) = failures(first, out)? else {
        return Ok(true);
    };
    if failed.is_empty() || failed.len() > REPEATED_TESTS {
        return Ok(false);
    }
    let names = failed.join(" ");
    writeln!(out, "drover-ci: repeats the failed tests alone: {names}")?;
    let mut second = again();
    second
        .args(&failed)
        .args(["--exact", "--test-threads", "1"]);
    if failures(second, out)?.is_some() {
        return Ok(false);
    }
    writeln!(out, "{UNSTABLE} {names}")?;
    Ok(true)
}

/// Runs a test program, and copies its standard output to `out`. Returns the names of the failed
/// tests, or `None` if the program succeeded.
fn failures(mut program: Command, out: &mut impl Write) -> io::Result<Option<Vec<String>>> {
    let mut child = program.stdout(Stdio::piped()).spawn()?;
    let mut names = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            out.write_all(&line)?;
            out.write_all(b"\n")?;
            read(&String::from_utf8_lossy(&line), &mut names);
        }
    }
    Ok((!child.wait()?.success()).then_some(names))
}

/// Reads a line of the list of failed tests. The list is the last paragraph after `failures:`, and
/// its lines have four spaces and a name.
fn read(line: &str, names: &mut Vec<String>) {
    if line == "failures:" {
        names.clear();
    } else if let Some(name) = line.strip_prefix("    ")
        && !name.is_empty()
        && !name.contains(' ')
    {
        names.push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program in the shell that prints a list of failed tests. `$*` contains the arguments.
    fn program(script: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-c", script, "test"]);
        command
    }

    fn ran(first: &str, second: &str) -> (bool, String) {
        let mut out = Vec::new();
        let passed = run(program(first), || program(second), &mut out).unwrap();
        (passed, String::from_utf8(out).unwrap())
    }

    const ONE: &str = "printf 'failures:\\n\\n---- a::b stdout ----\\n    at line\\n\\nfailures:\\n    a::b\\n\\n'; exit 101";

    #[test]
    fn failed_test_that_passes_alone_is_named_as_unstable() {
        let (passed, out) = ran(ONE, "echo \"repeated with $*\"");
        assert!(passed, "{out}");
        assert!(
            out.contains("repeated with a::b --exact --test-threads 1\n"),
            "{out}"
        );
        assert!(out.ends_with("unstable tests: a::b\n"), "{out}");
    }

    #[test]
    fn test_that_fails_twice_fails_the_program() {
        let (passed, out) = ran(ONE, ONE);
        assert!(!passed && !out.contains(UNSTABLE), "{out}");
    }

    #[test]
    fn crash_or_three_failed_tests_are_not_repeated() {
        for script in [
            "kill -9 $$",
            "printf 'failures:\\n    a\\n    b\\n    c\\n'; exit 101",
        ] {
            let (passed, out) = ran(script, "true");
            assert!(!passed && !out.contains("repeats"), "{out}");
        }
    }
}
