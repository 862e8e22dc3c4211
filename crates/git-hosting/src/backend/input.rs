//! Copies the request body to the standard input of git.

use axum::body::Body;
use futures::StreamExt as _;
use thiserror::Error;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Limits;

/// The request body cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum InputError {
    /// The body exceeds the limit.
    #[error("the request body exceeds the limit of {limit} bytes", limit = .0)]
    TooLarge(u64),
    /// No byte arrived before the timeout.
    #[error("no byte of the request body arrived before the timeout")]
    Idle,
    /// The client disconnected, or the body is malformed.
    #[error("the request body ended unexpectedly")]
    Broken,
}

/// The task that copies the body. Dropping the value stops the task.
pub(super) struct Input(JoinSet<Result<(), InputError>>);

impl Input {
    /// Waits for the error of the body. Never returns if the copy succeeds.
    pub(super) async fn failed(&mut self) -> InputError {
        match self.0.join_next().await {
            Some(Ok(Err(error))) => error,
            _ => std::future::pending().await,
        }
    }
}

/// Starts the copy. An error kills git, because git must not use an incomplete body.
pub(super) fn copy(
    body: Body,
    stdin: ChildStdin,
    limits: &Limits,
    killer: CancellationToken,
) -> Input {
    let limits = *limits;
    let mut task = JoinSet::new();
    task.spawn(async move {
        let copied = run(body, stdin, &limits).await;
        if copied.is_err() {
            killer.cancel();
        }
        copied
    });
    Input(task)
}

async fn run(body: Body, mut stdin: ChildStdin, limits: &Limits) -> Result<(), InputError> {
    let mut chunks = body.into_data_stream();
    let mut room = limits.body_bytes;
    loop {
        let next = tokio::time::timeout(limits.idle, chunks.next()).await;
        let chunk = match next.map_err(|_| InputError::Idle)? {
            None => return Ok(()),
            Some(chunk) => chunk.map_err(|_| InputError::Broken)?,
        };
        let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        room = room
            .checked_sub(length)
            .ok_or(InputError::TooLarge(limits.body_bytes))?;
        // git does not read the rest of a body that it rejects. The output contains the reason.
        // The time limit of the request also applies to this wait.
        if stdin.write_all(&chunk).await.is_err() {
            return Ok(());
        }
    }
}
