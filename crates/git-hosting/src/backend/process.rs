//! A running `git http-backend` and its descendants, which form a process group.

use std::time::Duration;
use std::{fs, io};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::slots::Slot;
use super::{BackendError, Limits};

/// Maximum length of the error output in the server's log, in bytes.
const LOGGED: usize = 2048;

/// Kills the process group when the value is dropped.
#[derive(Debug)]
pub(super) struct Process {
    killed: CancellationToken,
    guard: DropGuard,
}

impl Process {
    /// Returns a token whose cancellation kills the process group.
    pub(super) fn killer(&self) -> CancellationToken {
        self.killed.clone()
    }

    /// Reports whether the process group was killed.
    pub(super) fn is_killed(&self) -> bool {
        self.killed.is_cancelled()
    }

    /// Lets the process end by itself until the deadline of the request. Call this function after
    /// the end of the output.
    pub(super) fn let_end(self) {
        self.guard.disarm();
    }
}

/// The pipes of a process.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
}

/// Limits the resources of a process, and starts the task that ends the process. The task holds the
/// slot until the process has ended.
pub(super) fn supervise(
    mut child: Child,
    limits: &Limits,
    slot: Slot,
) -> Result<(Process, Pipes), BackendError> {
    let lost = || BackendError::Start(io::Error::other("the process has no pipes or no ID"));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(lost());
    };
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let id = id.ok_or_else(lost)?;
    let killed = CancellationToken::new();
    let process = Process {
        killed: killed.clone(),
        guard: killed.clone().drop_guard(),
    };
    let limited = limit(id, limits);
    let total = limits.total;
    tokio::spawn(async move {
        run(child, id, stderr, &killed, total).await;
        drop(slot);
    });
    limited.map_err(BackendError::Limit)?;
    Ok((process, Pipes { stdin, stdout }))
}

/// Sets the limits right after the start. Descendants inherit the limits, except the descendants
/// that git has already started, which this function also limits.
fn limit(id: Pid, limits: &Limits) -> io::Result<()> {
    limit_one(id, limits)?;
    children(id)
        .into_iter()
        .try_for_each(|child| limit(child, limits))
}

fn children(id: Pid) -> Vec<Pid> {
    let id = id.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
    let text = text.unwrap_or_default();
    let ids = text.split_whitespace();
    ids.filter_map(|id| Pid::from_raw(id.parse().ok()?))
        .collect()
}

fn limit_one(id: Pid, limits: &Limits) -> io::Result<()> {
    for (resource, value) in [
        (Resource::As, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Core, 0),
    ] {
        let value = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        match prlimit(Some(id), resource, value) {
            // The process has already ended.
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits for the end of the process. Kills the process group if `killed` is cancelled, or after the
/// duration `total`.
async fn run(
    mut child: Child,
    id: Pid,
    stderr: ChildStderr,
    killed: &CancellationToken,
    total: Duration,
) {
    let reading = tokio::spawn(error_output(stderr));
    let ended = tokio::select! {
        ended = child.wait() => Some(ended),
        () = killed.cancelled() => None,
        () = tokio::time::sleep(total) => {
            tracing::warn!(seconds = total.as_secs(), "git request exceeded its time limit");
            killed.cancel();
            None
        }
    };
    let Some(ended) = ended else {
        // The process group exists, because the process was not waited for.
        if let Err(error) = kill_process_group(id, Signal::KILL) {
            tracing::debug!(%error, "failed to kill git http-backend");
        }
        let _ = child.wait().await;
        reading.abort();
        return;
    };
    let text = tokio::time::timeout(Duration::from_secs(1), reading).await;
    let text = text.ok().and_then(Result::ok).unwrap_or_default();
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => tracing::warn!(%status, stderr = text, "git http-backend failed"),
        Err(error) => tracing::warn!(%error, "failed to wait for git http-backend"),
    }
}

/// Reads the complete error output, and returns its beginning.
async fn error_output(mut stderr: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let room = LOGGED - kept.len();
        kept.extend_from_slice(&buffer[..read.min(room)]);
    }
    String::from_utf8_lossy(&kept).trim().to_owned()
}
