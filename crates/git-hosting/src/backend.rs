//! Serves one request with the program `git http-backend`.

mod input;
mod output;
mod process;
mod slots;

use std::io;
use std::net::IpAddr;
use std::process::Stdio;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use drover_http_edge::status::Status;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Method, StatusCode};
use thiserror::Error;
use tokio::process::Command;

use self::input::InputError;
use self::output::OutputError;
use self::slots::{Slots, SlotsFull};
use crate::name::RepositoryName;
use crate::repositories::Repositories;

/// Limits of the git processes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of concurrent requests.
    pub requests: usize,
    /// Maximum number of concurrent requests of one caller. The limit is lower than the limit of
    /// all requests, so that slow requests of one caller do not block other callers.
    pub requests_per_caller: usize,
    /// Maximum time that a request waits for a free process.
    pub wait: Duration,
    /// Maximum size of a request body, in bytes.
    pub body_bytes: u64,
    /// Maximum time without a byte from the client.
    pub idle: Duration,
    /// Maximum duration of a request.
    pub total: Duration,
    /// Maximum CPU time of each process, in seconds.
    pub cpu_seconds: u64,
    /// Maximum size of each file that a process writes, in bytes.
    pub file_bytes: u64,
    /// Maximum address space of each process, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests: 16,
            requests_per_caller: 4,
            wait: Duration::from_secs(10),
            body_bytes: 256 << 20,
            idle: Duration::from_mins(1),
            total: Duration::from_mins(15),
            cpu_seconds: 300,
            file_bytes: 1 << 30,
            memory_bytes: 2 << 30,
        }
    }
}

/// A service of smart HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Reads a repository.
    UploadPack,
    /// Changes a repository.
    ReceivePack,
}

impl Service {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::UploadPack, Self::ReceivePack]
            .into_iter()
            .find(|service| service.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "git-upload-pack",
            Self::ReceivePack => "git-receive-pack",
        }
    }
}

/// A step of smart HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// `GET info/refs`: lists the branches and tags.
    Refs,
    /// `POST`: transfers objects.
    Transfer,
}

/// An authorized request.
pub(crate) struct GitRequest<'a> {
    pub(crate) repository: &'a RepositoryName,
    pub(crate) service: Service,
    pub(crate) step: Step,
    /// Name of the user or service account, which git writes into the reflog.
    pub(crate) caller: &'a str,
    pub(crate) from: IpAddr,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: Body,
}

/// The reason why `git http-backend` did not serve a request.
#[derive(Debug, Error)]
enum BackendError {
    #[error(transparent)]
    Full(#[from] SlotsFull),
    #[error("the request body has an encoding other than gzip")]
    Encoding,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("git http-backend did not respond before the timeout")]
    TimedOut,
    #[error("the program git is not installed")]
    NoGit,
    #[error("cannot start git http-backend")]
    Start(#[source] io::Error),
    #[error("cannot limit the resources of git http-backend")]
    Limit(#[source] io::Error),
}

impl From<BackendError> for Status {
    fn from(error: BackendError) -> Self {
        match error {
            BackendError::Full(SlotsFull::Caller) => Self::too_many_requests(
                "too many concurrent git requests of this user: try again when one has ended",
                5,
            ),
            BackendError::Full(SlotsFull::All) => {
                Self::unavailable("the server serves too many git requests: try again", 5)
            }
            BackendError::Encoding => Self::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                "send the body without encoding, or with \"Content-Encoding: gzip\"",
            ),
            BackendError::Input(InputError::TooLarge(limit)) => {
                Self::too_large(usize::try_from(limit).unwrap_or(usize::MAX))
            }
            BackendError::Input(InputError::Idle) => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                "Timeout",
                "the request body did not arrive before the timeout: try again",
            ),
            BackendError::Input(InputError::Broken) => {
                Self::bad_request("the request body ended unexpectedly")
            }
            BackendError::TimedOut => {
                Self::timeout("git did not respond before the timeout: try again")
            }
            BackendError::NoGit => Self::unavailable(
                "the program git is not installed: install git on the server's machine",
                60,
            ),
            BackendError::Output(_) | BackendError::Start(_) | BackendError::Limit(_) => {
                Self::internal(
                    "git http-backend failed: an administrator finds the cause in the server's log",
                )
            }
        }
    }
}

/// Runs `git http-backend`. Clones share the limits of concurrent processes.
#[derive(Clone, Debug)]
pub(crate) struct Backend {
    repositories: Repositories,
    limits: Limits,
    slots: Slots,
}

impl Backend {
    pub(crate) fn new(repositories: Repositories, limits: Limits) -> Self {
        Self {
            repositories,
            limits,
            slots: Slots::new(limits.requests, limits.requests_per_caller),
        }
    }

    pub(crate) fn repositories(&self) -> &Repositories {
        &self.repositories
    }

    /// Serves a request. Dropping the returned future, or the body of the response, kills the
    /// processes of the request.
    pub(crate) async fn serve(&self, request: GitRequest<'_>) -> Result<Response, Status> {
        let repository = request.repository;
        let served = self.run(request).await;
        served.map_err(|error| {
            match &error {
                BackendError::Output(_) | BackendError::Start(_) | BackendError::Limit(_) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(%repository, error, "git http-backend failed");
                }
                _ => tracing::debug!(%repository, %error, "git request refused"),
            }
            error.into()
        })
    }

    async fn run(&self, request: GitRequest<'_>) -> Result<Response, BackendError> {
        let limits = self.limits;
        let declared = content_length(request.headers);
        if declared.is_some_and(|length| length > limits.body_bytes) {
            return Err(InputError::TooLarge(limits.body_bytes).into());
        }
        let mut command = self.command(&request)?;
        let slot = self.slots.acquire(request.caller, limits.wait).await?;
        let started = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => BackendError::NoGit,
            _ => BackendError::Start(error),
        })?;
        let (process, pipes) = process::supervise(started, &limits, slot)?;
        let input = input::copy(request.body, pipes.stdin, &limits, process.killer());
        output::respond(pipes.stdout, input, process).await
    }

    fn command(&self, request: &GitRequest<'_>) -> Result<Command, BackendError> {
        let (service, step) = (request.service, request.step);
        let enabled = |enabled: bool| if enabled { "true" } else { "false" };
        let input_bytes = self.limits.body_bytes.to_string();
        let settings = [
            ("http.getAnyFile", "false"),
            ("http.uploadPack", enabled(service == Service::UploadPack)),
            ("http.receivePack", enabled(service == Service::ReceivePack)),
            // The size after decompression. git stops at the limit.
            ("receive.maxInputSize", &*input_bytes),
            ("transfer.fsckObjects", "true"),
            // A process in the background would escape the limits of the request.
            ("gc.autoDetach", "false"),
            ("maintenance.autoDetach", "false"),
            ("pack.threads", "1"),
            ("pack.windowMemory", "64m"),
            ("core.packedGitWindowSize", "32m"),
            ("core.packedGitLimit", "256m"),
        ];
        let mut command = self.repositories.command(&settings);
        let segment = request.repository.segment();
        let (method, query, path) = match step {
            Step::Refs => (
                Method::GET,
                format!("service={}", service.name()),
                format!("/{segment}/info/refs"),
            ),
            Step::Transfer => (
                Method::POST,
                String::new(),
                format!("/{segment}/{}", service.name()),
            ),
        };
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", self.repositories.folder())
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", method.as_str())
            .env("QUERY_STRING", query)
            .env("PATH_INFO", path)
            .env("REMOTE_USER", request.caller)
            .env("REMOTE_ADDR", request.from.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        forward_headers(&mut command, request)?;
        Ok(command)
    }
}

/// Forwards the headers that git needs. Each other header stays unknown to git.
fn forward_headers(command: &mut Command, request: &GitRequest<'_>) -> Result<(), BackendError> {
    let headers = request.headers;
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(version) = text("git-protocol").filter(|text| is_protocol(text)) {
        command.env("GIT_PROTOCOL", version);
    }
    if request.step == Step::Refs {
        return Ok(());
    }
    if let Some(kind) = text(CONTENT_TYPE.as_str()) {
        command.env("CONTENT_TYPE", kind);
    }
    if let Some(length) = content_length(headers) {
        command.env("CONTENT_LENGTH", length.to_string());
    }
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(()),
        (Some(only), None) if only == "gzip" || only == "x-gzip" => {
            command.env("HTTP_CONTENT_ENCODING", "gzip");
            Ok(())
        }
        (Some(only), None) if only == "identity" => Ok(()),
        _ => Err(BackendError::Encoding),
    }
}

/// Reports whether a `Git-Protocol` header names a version of the protocol. Other keys are for
/// future versions, and git ignores the header then.
fn is_protocol(value: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'=' | b':' | b'-' | b'.');
    value.len() <= 64 && value.bytes().all(plain)
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
