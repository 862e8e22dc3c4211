//! Runs one process of the program `drover-render`.
//!
//! The process has an empty home folder, only the environment of its [`Setup`], and limits of its resources. A request and
//! a response are frames: the length in 4 bytes (big endian), and JSON.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Maximum address space, in bytes. The Go runtime reserves more address space than it uses.
const ADDRESS_SPACE: u64 = 4 << 30;
/// Difference between the maximum and the soft limit of the memory, in bytes. The Go runtime collects
/// garbage more often near the soft limit.
const MEMORY_MARGIN: u64 = 192 << 20;
/// Maximum number of open files.
const OPEN_FILES: u64 = 256;

/// The program, its surroundings and its limits.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Path of the program.
    pub program: PathBuf,
    /// Folder for the home folder. `None` for the system's folder of temporary files.
    pub folder: Option<PathBuf>,
    /// Environment variables in addition to those of the home folder.
    pub environment: Vec<(OsString, OsString)>,
    /// Soft limit of the Go runtime's memory, in bytes.
    pub memory_bytes: u64,
    /// Maximum CPU time, in seconds. `None` for a process that serves many requests.
    pub cpu_seconds: Option<u64>,
    /// Maximum size of a file that the process writes, in bytes.
    pub file_bytes: u64,
    /// Maximum size of a frame, in bytes.
    pub frame_bytes: usize,
}

/// The reason why a process has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program cannot be started.
    #[error("cannot start the renderer {program}")]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The process ended, or its streams failed.
    #[error(
        "cannot exchange data with the renderer: the process ended; the renderer may have exceeded its memory limit"
    )]
    Exchange(#[source] io::Error),
    /// A request is larger than a frame.
    #[error("cannot use the renderer: the request is too large")]
    RequestSize,
    /// A response is larger than a frame.
    #[error("cannot use the response of the renderer: the frame is too large")]
    ResponseSize,
    /// The process sent an invalid response.
    #[error("cannot use the response of the renderer: {0}")]
    Protocol(&'static str),
}

/// A running process. Dropping the value ends the process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    frame_bytes: usize,
    _home: TempDir,
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    ///
    /// The program does not exist, or the operating system rejects the process or its limits.
    pub fn start(setup: &Setup) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start {
            program: setup.program.clone(),
            source,
        };
        let mut home = tempfile::Builder::new();
        home.prefix("drover-render");
        let home = match &setup.folder {
            Some(folder) => home.tempdir_in(folder),
            None => home.tempdir(),
        };
        let home = home.map_err(failed)?;
        let mut command = Command::new(&setup.program);
        command
            .arg(format!("--memory-bytes={}", setup.memory_bytes))
            .env_clear()
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .envs(setup.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        limit(&child, setup).map_err(failed)?;
        let closed = || failed(io::Error::other("the process has no standard streams"));
        Ok(Self {
            input: child.stdin.take().ok_or_else(closed)?,
            output: BufReader::new(child.stdout.take().ok_or_else(closed)?),
            child,
            frame_bytes: setup.frame_bytes,
            _home: home,
        })
    }

    /// Returns the process ID. `None` after the end of the process.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Returns `None` if the program has ended.
    #[must_use]
    pub fn if_running(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    /// Sends a value.
    ///
    /// # Errors
    ///
    /// The value is larger than a frame, or the process has ended.
    pub async fn write(&mut self, value: &impl Serialize) -> Result<(), ProcessError> {
        let mut frame = vec![0; 4];
        serde_json::to_writer(&mut frame, value)
            .map_err(|error| ProcessError::Exchange(error.into()))?;
        let length = u32::try_from(frame.len() - 4)
            .ok()
            .filter(|_| frame.len() <= self.frame_bytes);
        let length = length.ok_or(ProcessError::RequestSize)?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        self.input
            .write_all(&frame)
            .await
            .map_err(ProcessError::Exchange)?;
        self.input.flush().await.map_err(ProcessError::Exchange)
    }

    /// Receives a value and its size in bytes.
    ///
    /// # Errors
    ///
    /// The response is larger than a frame or is not valid, or the process has ended.
    pub async fn read<T: DeserializeOwned>(&mut self) -> Result<(T, usize), ProcessError> {
        let length = self
            .output
            .read_u32()
            .await
            .map_err(ProcessError::Exchange)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.frame_bytes {
            return Err(ProcessError::ResponseSize);
        }
        let mut frame = vec![0; length];
        self.output
            .read_exact(&mut frame)
            .await
            .map_err(ProcessError::Exchange)?;
        let value = serde_json::from_slice(&frame)
            .map_err(|_| ProcessError::Protocol("the frame is not valid JSON"))?;
        Ok((value, length))
    }
}

/// Limits the resources of the process.
fn limit(child: &Child, setup: &Setup) -> io::Result<()> {
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("the process has ended"))?;
    let limits = [
        (Resource::As, ADDRESS_SPACE),
        (Resource::Data, setup.memory_bytes + MEMORY_MARGIN),
        (Resource::Core, 0),
        (Resource::Fsize, setup.file_bytes),
        (Resource::Nofile, OPEN_FILES),
    ];
    let cpu = setup.cpu_seconds.map(|seconds| (Resource::Cpu, seconds));
    for (resource, value) in limits.into_iter().chain(cpu) {
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
