//! One worker process.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::FetcherSettings;
use crate::error::GitError;
use crate::request::{Reply, Request};

/// The longest line of a reply, in bytes.
const MAX_LINE: u64 = 1 << 20;
/// The time in which a process ends after it has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// The variables that a worker gets from the server. Without HOME and XDG_CONFIG_HOME, a library
/// finds no configuration of a user.
const ENVIRONMENT: &[&str] = &[
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// A running worker. Dropping the value kills the process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(super) requests: u32,
    pub(super) last_use: Instant,
}

fn failed(reason: impl Into<String>) -> GitError {
    GitError::Worker {
        reason: reason.into(),
    }
}

/// Returns the error for a reply that a correct worker does not send.
pub(super) fn unexpected() -> GitError {
    failed("unexpected reply")
}

impl Process {
    pub(super) fn start(settings: &FetcherSettings) -> Result<Self, GitError> {
        let mut command = Command::new(&settings.program);
        command
            .args(&settings.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for name in ENVIRONMENT {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut child = command
            .spawn()
            .map_err(|error| failed(format!("cannot start the worker: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("the worker has no standard input or output"));
        };
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
            requests: 0,
            last_use: Instant::now(),
        })
    }

    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) async fn send(&mut self, request: &Request) -> Result<(), GitError> {
        self.requests += 1;
        let mut line =
            serde_json::to_vec(request).map_err(|_| failed("the request cannot be serialized"))?;
        line.push(b'\n');
        if self.input.write_all(&line).await.is_err() {
            return Err(self.ended().await);
        }
        Ok(())
    }

    pub(super) async fn reply(&mut self) -> Result<Reply, GitError> {
        let mut line = Vec::new();
        let read = (&mut self.output)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)
            .await;
        if read.is_err() || line.last() != Some(&b'\n') {
            return Err(self.ended().await);
        }
        serde_json::from_slice(&line).map_err(|_| unexpected())
    }

    /// Reads the content of a file. The caller has checked the size.
    pub(super) async fn content(&mut self, size: u64) -> Result<Bytes, GitError> {
        let size = usize::try_from(size).map_err(|_| unexpected())?;
        let mut content = vec![0; size];
        if self.output.read_exact(&mut content).await.is_err() {
            return Err(self.ended().await);
        }
        Ok(Bytes::from(content))
    }

    /// Returns the reason why the process has closed its output.
    async fn ended(&mut self) -> GitError {
        let status = tokio::time::timeout(EXIT_TIMEOUT, self.child.wait()).await;
        failed(match status {
            Ok(Ok(status)) => match (status.signal(), status.code()) {
                (Some(24), _) => "CPU time limit, signal 24".to_owned(),
                (Some(25), _) => "file size limit, signal 25".to_owned(),
                (Some(signal), _) => format!("signal {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "unknown exit status".to_owned(),
            },
            Ok(Err(error)) => format!("cannot wait for the worker: {error}"),
            Err(_) => "the worker closed its output".to_owned(),
        })
    }
}
