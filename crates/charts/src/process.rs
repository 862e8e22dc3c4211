//! One process of the program `drover-render`, for one request.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::{ChartError, ChartRequest, ChartSettings, FetchedChart, Layout};

/// Maximum size of the unpacked files of a chart, in bytes. The hub stores no larger bundles.
const MAX_UNPACKED_BYTES: usize = 32 << 20;
/// Maximum size of a response: the files in base64, and their names.
const MAX_RESPONSE_BYTES: usize = MAX_UNPACKED_BYTES / 3 * 4 + (8 << 20);
/// Limits of a process. The Go runtime reserves more address space than it uses.
const LIMITS: [(Resource, u64); 5] = [
    (Resource::As, 4 << 30),
    (Resource::Core, 0),
    (Resource::Cpu, 60),
    (Resource::Fsize, 64 << 20),
    (Resource::Nofile, 256),
];
/// Soft limit of the Go runtime's memory, in bytes.
const MEMORY_BYTES: u64 = 512 << 20;
/// The variables that a process gets from this program.
const ENVIRONMENT: [&str; 8] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// The reason why a process has no result.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program cannot be started.
    #[error("cannot start {program}, which fetches charts: {source}")]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The process ended, or its streams failed.
    #[error(
        "cannot fetch the chart: the process ended; it may have exceeded its memory or CPU time"
    )]
    Exchange(#[source] io::Error),
    /// The response is invalid.
    #[error("cannot fetch the chart: {0}")]
    Response(&'static str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    timeout_ms: u64,
    fetch: Fetch<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fetch<'a> {
    chart: &'a str,
    repo: &'a str,
    version: &'a str,
    username: &'a str,
    password: &'a str,
    ca: &'a str,
    insecure_skip_tls_verify: bool,
    #[serde(rename = "plainHttp")]
    plain_http: bool,
    layout: &'static str,
    max_bytes: usize,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    error: String,
    fetched: Option<Fetched>,
}

#[derive(Deserialize)]
struct Fetched {
    version: String,
    files: BTreeMap<String, String>,
}

/// Starts a process, sends a request, and returns the result.
pub(crate) async fn exchange(
    settings: &ChartSettings,
    request: &ChartRequest,
) -> Result<FetchedChart, ChartError> {
    let failed = |source| ProcessError::Start {
        program: settings.program.clone(),
        source,
    };
    std::fs::create_dir_all(&settings.folder).map_err(failed)?;
    let home = tempfile::Builder::new()
        .prefix("chart")
        .tempdir_in(&settings.folder)
        .map_err(failed)?;
    let mut command = Command::new(&settings.program);
    command
        .arg(format!("--memory-bytes={MEMORY_BYTES}"))
        .env_clear()
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .current_dir(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    for name in ENVIRONMENT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let mut child = command.spawn().map_err(failed)?;
    limit(&child).map_err(failed)?;
    write(&mut child, settings, request).await?;
    let response = read(&mut child).await?;
    if !response.error.is_empty() {
        return Err(ChartError::Rejected(response.error));
    }
    let fetched = response
        .fetched
        .ok_or(ProcessError::Response("the response has no result"))?;
    let files = fetched.files.into_iter();
    let files = files.map(|(path, text)| Ok((path, STANDARD.decode(text)?)));
    let files: Result<_, base64::DecodeError> = files.collect();
    Ok(FetchedChart {
        version: fetched.version,
        files: files.map_err(|_| ProcessError::Response("the response is not valid"))?,
    })
}

async fn write(
    child: &mut Child,
    settings: &ChartSettings,
    request: &ChartRequest,
) -> Result<(), ProcessError> {
    let (username, password) = match &request.credential {
        Some(credential) => (&*credential.username, credential.password.expose_secret()),
        None => ("", ""),
    };
    let request = Request {
        timeout_ms: u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX),
        fetch: Fetch {
            chart: &request.chart,
            repo: &request.repo,
            version: &request.version,
            username,
            password,
            ca: &request.authorities,
            insecure_skip_tls_verify: request.insecure_skip_tls_verify,
            plain_http: request.plain_http,
            layout: match request.layout {
                Layout::Archive => "archive",
                Layout::Packed => "packed",
            },
            max_bytes: MAX_UNPACKED_BYTES,
        },
    };
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, &request)
        .map_err(|error| ProcessError::Exchange(error.into()))?;
    let length = u32::try_from(frame.len() - 4)
        .map_err(|_| ProcessError::Response("the request is too large"))?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    let input = child.stdin.as_mut();
    let input = input.ok_or(ProcessError::Response("the process has no standard input"))?;
    let written = input.write_all(&frame).await;
    written.map_err(ProcessError::Exchange)?;
    input.flush().await.map_err(ProcessError::Exchange)
}

async fn read(child: &mut Child) -> Result<Response, ProcessError> {
    let output = child.stdout.as_mut();
    let output = output.ok_or(ProcessError::Response("the process has no standard output"))?;
    let length = output.read_u32().await.map_err(ProcessError::Exchange)?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > MAX_RESPONSE_BYTES {
        return Err(ProcessError::Response("the chart is too large"));
    }
    let mut frame = vec![0; length];
    let read = output.read_exact(&mut frame).await;
    read.map_err(ProcessError::Exchange)?;
    serde_json::from_slice(&frame).map_err(|_| ProcessError::Response("the response is not valid"))
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
