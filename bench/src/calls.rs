//! Counts the system calls of a process with perf.
//!
//! perf counts in the kernel, so the process keeps its speed. The kernel must have tracepoints, and
//! the bench must run as root.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const EVENT: &str = "raw_syscalls:sys_enter";
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why the system calls cannot be counted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallsError {
    /// perf cannot be started or stopped.
    #[error("cannot run perf: {cause}; run `.ci/install bench`", cause = .0)]
    Run(io::Error),
    /// perf wrote no count. The user or the kernel may not allow tracing.
    #[error(
        "cannot find the count in the output of perf; run the bench as root: {output}",
        output = .0
    )]
    NoCount(String),
}

/// A running count of the system calls of all threads of one process.
pub(crate) struct CallCounter(Child);

impl CallCounter {
    /// Starts to count the system calls of the process `id`.
    pub(crate) fn start(id: u32) -> Result<Self, CallsError> {
        Command::new("perf")
            .args(["stat", "-x", ",", "-e", EVENT, "-p"])
            .arg(id.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map(Self)
            .map_err(CallsError::Run)
    }

    /// Stops the count and returns the number of system calls.
    pub(crate) async fn stop(self) -> Result<u64, CallsError> {
        let output = self.output().await.map_err(CallsError::Run)?;
        let text = String::from_utf8_lossy(&output.stderr);
        count(&text).ok_or_else(|| CallsError::NoCount(text.trim().to_owned()))
    }

    async fn output(self) -> io::Result<Output> {
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(Pid::from_raw) {
            kill_process(id, Signal::INT)?;
        }
        timeout(STOP_TIMEOUT, self.0.wait_with_output())
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
    }
}

/// Returns the count in the line of the event, for example `42,,raw_syscalls:sys_enter,100,100.00`.
fn count(output: &str) -> Option<u64> {
    let line = output.lines().find(|line| line.contains(EVENT))?;
    line.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_is_the_first_field_of_the_line_of_the_event() {
        let output = "\n42,,raw_syscalls:sys_enter,1003517,100.00,,\n";
        assert_eq!(count(output), Some(42));
        assert_eq!(
            count("<not counted>,,raw_syscalls:sys_enter,0,100.00,,\n"),
            None
        );
        assert_eq!(count("Error: no permission\n"), None);
    }
}
