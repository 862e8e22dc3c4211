//! Converts the standard output of git to a response.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use thiserror::Error;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use super::BackendError;
use super::input::Input;
use super::process::Process;
use crate::cgi;
use crate::cgi::{HeadError, ResponseHead};

/// Size of the buffer of a response, in bytes.
const CHUNK: usize = 32 * 1024;
/// Maximum time that the error of a request body arrives after the end of the killed process.
const ERROR_WAIT: Duration = Duration::from_secs(1);

/// The output is not a response.
#[derive(Debug, Error)]
pub(crate) enum OutputError {
    /// The head is malformed.
    #[error("the output of git http-backend is not a response")]
    Head(#[from] HeadError),
    /// The output ended before the end of the head.
    #[error("git http-backend ended without a response")]
    Ended,
    /// The output cannot be read.
    #[error("cannot read the output of git http-backend")]
    Read(#[source] io::Error),
}

/// The parts of a running request. Dropping the value kills the process and stops the copy of the
/// request body.
struct Running {
    stdout: ChildStdout,
    _input: Input,
    process: Process,
}

/// Reads the head of the response, and returns the response with a body that streams the rest.
pub(super) async fn respond(
    mut stdout: ChildStdout,
    mut input: Input,
    process: Process,
) -> Result<Response, BackendError> {
    let mut buffer = BytesMut::with_capacity(CHUNK);
    let head = tokio::select! {
        biased;
        error = input.failed() => return Err(error.into()),
        head = read_head(&mut stdout, &mut buffer) => head,
    };
    let head = match head {
        // An error of the body kills git, which can end the output before the error arrives here.
        _ if process.is_killed() => {
            let failed = tokio::time::timeout(ERROR_WAIT, input.failed()).await;
            return Err(failed.map_or(BackendError::TimedOut, BackendError::from));
        }
        Ok(head) => head,
        Err(error) => return Err(error.into()),
    };
    let running = Running {
        stdout,
        _input: input,
        process,
    };
    let first = buffer.freeze();
    let stream = futures::stream::unfold(Some((running, first)), next);
    let mut response = Response::new(Body::from_stream(stream));
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    let headers = response.headers_mut();
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(CONTENT_TYPE)
        .or_insert(HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// Reads the head and the beginning of the body. Leaves the body in the buffer.
///
/// git sends the head before the end of the request body. The server waits for the body, so that
/// the response to an invalid request body can still have an error status.
async fn read_head(
    stdout: &mut ChildStdout,
    buffer: &mut BytesMut,
) -> Result<ResponseHead, OutputError> {
    loop {
        if let Some((head, offset)) = cgi::parse(buffer)? {
            let _ = buffer.split_to(offset);
            if buffer.is_empty() {
                stdout.read_buf(buffer).await.map_err(OutputError::Read)?;
            }
            return Ok(head);
        }
        if stdout.read_buf(buffer).await.map_err(OutputError::Read)? == 0 {
            return Err(OutputError::Ended);
        }
    }
}

type Position = Option<(Running, Bytes)>;

/// Returns the next part of the body. The body ends with an error if the process was killed, so
/// that no client takes an incomplete body for the complete body.
async fn next(position: Position) -> Option<(io::Result<Bytes>, Position)> {
    let (mut running, first) = position?;
    if !first.is_empty() {
        return Some((Ok(first), Some((running, Bytes::new()))));
    }
    let mut buffer = BytesMut::with_capacity(CHUNK);
    match running.stdout.read_buf(&mut buffer).await {
        Ok(0) if running.process.is_killed() => {
            let killed = io::Error::other("git http-backend was killed");
            Some((Err(killed), None))
        }
        Ok(0) => {
            running.process.let_end();
            None
        }
        Ok(_) => Some((Ok(buffer.freeze()), Some((running, Bytes::new())))),
        Err(error) => Some((Err(error), None)),
    }
}
