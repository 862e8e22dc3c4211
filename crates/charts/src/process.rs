//! One process of the program `drover-render`, for one request.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_render_process::{Process, Setup};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};

use crate::{ChartError, ChartRequest, ChartSettings, FetchedChart, Selection};

/// Maximum size of the unpacked files of a chart, in bytes. The hub stores no larger bundles.
pub(crate) const MAX_UNPACKED_BYTES: usize = 32 << 20;
/// Maximum size of a frame. A response contains the files in base64, and their names.
const MAX_RESPONSE_BYTES: usize = MAX_UNPACKED_BYTES / 3 * 4 + (8 << 20);
/// Maximum length of an error, in characters. An error can contain text of a server or an archive.
const MAX_ERROR: usize = 500;
/// Maximum CPU time of a process, in seconds.
const CPU_SECONDS: u64 = 60;
/// Maximum size of a file that a process writes, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
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
    #[error("cannot start {program}, which fetches charts")]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The process ended, or its streams failed.
    #[error(
        "cannot fetch the chart: the process ended, possibly because of its limits of memory and CPU time"
    )]
    Exchange(#[source] io::Error),
    /// The response is invalid.
    #[error("cannot fetch the chart: {0}")]
    Response(&'static str),
}

impl From<drover_render_process::ProcessError> for ProcessError {
    fn from(error: drover_render_process::ProcessError) -> Self {
        use drover_render_process::ProcessError as Error;
        match error {
            Error::Start { program, source } => Self::Start { program, source },
            Error::Exchange(error) => Self::Exchange(error),
            Error::RequestSize => Self::Response("the request is too large"),
            Error::ResponseSize => Self::Response("the chart is too large"),
            Error::Protocol(_) => Self::Response("the response is not valid"),
        }
    }
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
    selections: Vec<Selected<'a>>,
}

#[derive(Serialize)]
struct Selected<'a> {
    chart: &'a str,
    version: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response {
    error: String,
    permanent: bool,
    fetched: Option<Fetched>,
}

/// The result of a request.
#[derive(Deserialize)]
pub(crate) struct Fetched {
    pub(crate) version: String,
    /// `null` if the request asks only for versions.
    files: Option<BTreeMap<String, String>>,
    #[serde(default)]
    versions: Vec<FoundVersion>,
}

/// The newest version of a selection, or the reason why there is none.
#[derive(Deserialize)]
struct FoundVersion {
    version: String,
    error: String,
}

impl Fetched {
    /// Returns the chart.
    pub(crate) fn chart(self) -> Result<FetchedChart, ProcessError> {
        let files = self.files.unwrap_or_default().into_iter();
        let files = files.map(|(path, text)| Ok((path, STANDARD.decode(text)?)));
        let files: Result<_, base64::DecodeError> = files.collect();
        Ok(FetchedChart {
            version: self.version,
            files: files.map_err(|_| ProcessError::Response("the response is not valid"))?,
        })
    }

    /// Returns the versions of the selections.
    pub(crate) fn versions(
        self,
        count: usize,
    ) -> Result<Vec<Result<String, ChartError>>, ProcessError> {
        if self.versions.len() != count {
            return Err(ProcessError::Response("the response is not valid"));
        }
        let found = self.versions.into_iter();
        let found = found.map(|found| match &*found.error {
            "" => Ok(found.version),
            error => Err(ChartError::Rejected {
                message: shortened(error),
                is_permanent: true,
            }),
        });
        Ok(found.collect())
    }
}

/// Starts a process, sends a request, and returns the response.
async fn respond(
    settings: &ChartSettings,
    request: &ChartRequest,
    layout: &'static str,
    selections: &[Selection],
) -> Result<Response, ProcessError> {
    let start = |source| ProcessError::Start {
        program: settings.program.clone(),
        source,
    };
    std::fs::create_dir_all(&settings.folder).map_err(start)?;
    let environment = ENVIRONMENT.into_iter();
    let mut process = Process::start(&Setup {
        program: settings.program.clone(),
        folder: Some(settings.folder.clone()),
        environment: environment
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
            .collect(),
        memory_bytes: settings.memory_bytes,
        cpu_seconds: Some(CPU_SECONDS),
        file_bytes: MAX_FILE_BYTES,
        frame_bytes: MAX_RESPONSE_BYTES,
    })?;
    let message = message(settings, request, layout, selections);
    process.write(&message).await?;
    Ok(process.read().await?.0)
}

/// Returns the result of a request to a new process.
pub(crate) async fn exchange(
    settings: &ChartSettings,
    request: &ChartRequest,
    layout: &'static str,
    selections: &[Selection],
) -> Result<Fetched, ChartError> {
    let response = respond(settings, request, layout, selections).await?;
    if !response.error.is_empty() {
        return Err(ChartError::Rejected {
            message: shortened(&response.error),
            is_permanent: response.permanent,
        });
    }
    let none = ProcessError::Response("the response has no result");
    Ok(response.fetched.ok_or(none)?)
}

/// Returns the beginning of a text without control characters.
fn shortened(text: &str) -> String {
    let printable = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    let mut short: String = printable.take(MAX_ERROR).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Returns the request in the format of the program.
fn message<'a>(
    settings: &ChartSettings,
    request: &'a ChartRequest,
    layout: &'static str,
    selections: &'a [Selection],
) -> Request<'a> {
    let (username, password) = match &request.access.credential {
        Some(credential) => (&*credential.username, credential.password.expose_secret()),
        None => ("", ""),
    };
    Request {
        timeout_ms: u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX),
        fetch: Fetch {
            chart: &request.chart,
            repo: &request.repo,
            version: &request.version,
            username,
            password,
            ca: &request.access.authorities,
            insecure_skip_tls_verify: request.access.insecure_skip_tls_verify,
            plain_http: request.access.plain_http,
            layout,
            max_bytes: MAX_UNPACKED_BYTES,
            selections: selections
                .iter()
                .map(|it| Selected {
                    chart: &it.chart,
                    version: &it.version,
                })
                .collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_errors_are_shortened_and_have_no_control_characters() {
        assert_eq!(shortened("a\r\nb"), "a  b");
        let long = shortened(&"é".repeat(10_000));
        assert_eq!(long.chars().count(), MAX_ERROR + 1);
    }
}
