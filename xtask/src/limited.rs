//! Runs a program until a deadline.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The output of a program.
pub(crate) struct Limited {
    /// `None` if the program was killed at the deadline.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program without input. Kills the program at the deadline.
pub(crate) fn run(mut command: Command, deadline: Option<Instant>) -> io::Result<Limited> {
    // Files, because a child of a killed program, for example sshd, can keep a pipe open forever.
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()?;
    let mut killed = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if !killed && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.kill()?;
            killed = true;
        }
        thread::sleep(Duration::from_millis(20));
    };
    Ok(Limited {
        status: (!killed).then_some(status),
        stdout: read(&stdout)?,
        stderr: read(&stderr)?,
    })
}

/// Reads a file without a change of its position, which a child of a killed program shares.
fn read(file: &File) -> io::Result<String> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_killed_at_the_deadline() {
        let mut command = Command::new("sleep");
        command.arg("60");
        let start = Instant::now();
        let output = run(command, Some(start + Duration::from_millis(50))).unwrap();
        assert!(output.status.is_none());
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn child_of_a_killed_program_does_not_delay_the_result() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; sleep 60 & wait"]);
        let start = Instant::now();
        let output = run(command, Some(start + Duration::from_millis(500))).unwrap();
        assert!(output.status.is_none());
        assert_eq!(output.stdout, "out\n");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn output_of_a_finished_program_is_returned() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = run(command, None).unwrap();
        assert_eq!(output.status.and_then(|status| status.code()), Some(3));
        assert_eq!((&*output.stdout, &*output.stderr), ("out\n", "err\n"));
    }
}
