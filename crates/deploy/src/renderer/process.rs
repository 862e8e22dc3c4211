//! The process of the renderer.

use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::protocol::{Found, Request, Response};
use super::{Lookup, Settings};

/// Maximum size of a frame, in bytes.
const MAX_FRAME_BYTES: usize = 192 << 20;
/// Maximum number of lookups of one chart.
const MAX_LOOKUPS: usize = 1000;
/// Limits of the process. The Go runtime reserves more address space than it uses.
const LIMITS: [(Resource, u64); 4] = [
    (Resource::As, 4 << 30),
    (Resource::Core, 0),
    (Resource::Fsize, 256 << 20),
    (Resource::Nofile, 256),
];

/// The reason why the process has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program cannot be started.
    #[error("cannot start the renderer {program}")]
    Start {
        /// Path of the program.
        program: std::path::PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The process ended, or its streams failed.
    #[error(
        "cannot exchange data with the renderer: the process ended; the renderer may have exceeded its memory limit"
    )]
    Exchange(#[source] io::Error),
    /// The process sent an invalid response.
    #[error("cannot use the response of the renderer: {0}")]
    Protocol(&'static str),
}

/// A running renderer. Dropping the value ends the process.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _home: TempDir,
}

impl Process {
    pub(super) fn start(settings: &Settings) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start {
            program: settings.program.clone(),
            source,
        };
        let home = tempfile::Builder::new()
            .prefix("drover-render")
            .tempdir()
            .map_err(failed)?;
        let mut command = Command::new(&settings.program);
        command
            .arg(format!("--memory-bytes={}", settings.memory_bytes))
            .env_clear()
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .envs(
                settings
                    .environment
                    .iter()
                    .map(|(name, value)| (name, value)),
            )
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        limit(&child).map_err(failed)?;
        let closed = || failed(io::Error::other("the process has no standard streams"));
        Ok(Self {
            input: child.stdin.take().ok_or_else(closed)?,
            output: BufReader::new(child.stdout.take().ok_or_else(closed)?),
            child,
            _home: home,
        })
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns `None` if the program has ended.
    pub(super) fn if_running(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    /// Sends a request, answers the lookups, and returns the response.
    pub(super) async fn exchange(
        &mut self,
        request: &Request<'_>,
        lookup: &dyn Lookup,
    ) -> Result<Response, ProcessError> {
        self.write(request).await?;
        for _ in 0..=MAX_LOOKUPS {
            let response = self.read().await?;
            let Some(question) = &response.lookup else {
                return Ok(response);
            };
            let found = match lookup.lookup(question).await {
                Ok(object) => Found {
                    object,
                    error: String::new(),
                },
                Err(error) => Found {
                    object: Value::Null,
                    error,
                },
            };
            self.write(&found).await?;
        }
        Err(ProcessError::Protocol("the chart calls lookup too often"))
    }

    async fn write(&mut self, value: &impl Serialize) -> Result<(), ProcessError> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, value)
            .map_err(|error| ProcessError::Exchange(error.into()))?;
        let length = u32::try_from(frame.len() - 4)
            .ok()
            .filter(|_| frame.len() <= MAX_FRAME_BYTES);
        let length = length.ok_or(ProcessError::Protocol("the request is too large"))?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.input
            .write_all(&frame)
            .await
            .map_err(ProcessError::Exchange)?;
        self.input.flush().await.map_err(ProcessError::Exchange)
    }

    async fn read(&mut self) -> Result<Response, ProcessError> {
        let length = self
            .output
            .read_u32()
            .await
            .map_err(ProcessError::Exchange)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > MAX_FRAME_BYTES {
            return Err(ProcessError::Protocol("the frame is too large"));
        }
        let mut frame = vec![0; length];
        self.output
            .read_exact(&mut frame)
            .await
            .map_err(ProcessError::Exchange)?;
        let mut response: Response = serde_json::from_slice(&frame)
            .map_err(|_| ProcessError::Protocol("the frame is not valid JSON"))?;
        if let Some(rendered) = &mut response.rendered {
            rendered.size = length;
        }
        Ok(response)
    }
}

/// Limits the resources of the process.
fn limit(child: &Child) -> io::Result<()> {
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("the process has ended"))?;
    for (resource, value) in LIMITS {
        prlimit(
            Some(id),
            resource,
            Rlimit {
                current: Some(value),
                maximum: Some(value),
            },
        )?;
    }
    Ok(())
}
