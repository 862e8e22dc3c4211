//! Runs a program until a deadline.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
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
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = read(child.stdout.take());
    let stderr = read(child.stderr.take());
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
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

/// Reads a pipe in a thread, because a full pipe stops the program.
fn read(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // Ignore errors: the output before the read error is sufficient.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
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
    fn output_of_a_finished_program_is_returned() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let output = run(command, None).unwrap();
        assert_eq!(output.status.and_then(|status| status.code()), Some(3));
        assert_eq!((&*output.stdout, &*output.stderr), ("out\n", "err\n"));
    }
}
