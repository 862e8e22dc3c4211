//! One terminal: a stream to a container that continues while no browser is connected.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use drover_api::ids::UserUid;
use drover_api::rest::{TerminalCreate, TerminalEndReason, TerminalEnding, TerminalView};
use drover_proxy::in_process::Upstream;
use drover_proxy::{AbortObserver, AbortReason};
use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_util::sync::CancellationToken;

use crate::channel::{self, Input, Received};
use crate::output::Output;

/// Time after which a terminal without a browser ends. A browser without network has this time to
/// reconnect.
pub(crate) const ABANDONED_AFTER: Duration = Duration::from_mins(2);
/// Number of input messages that wait for the container.
pub(crate) const INPUT_QUEUE: usize = 16;
/// Maximum number of output bytes in one message to the browser.
const MAX_PART: usize = 16 * 1024;

/// The user and the token that opened a terminal. Only requests with this token can use the
/// terminal, so the end of the token's permit ends all connections to the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: UserUid,
    pub(crate) token: String,
}

/// A terminal.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) owner: Owner,
    create: TerminalCreate,
    created_at: Timestamp,
    state: Mutex<State>,
    /// Changes with each change of the state.
    progress: watch::Sender<()>,
    input: mpsc::Sender<Input>,
    closing: CancellationToken,
}

struct State {
    output: Output,
    ending: Option<TerminalEnding>,
    /// Number of the last connection of a browser.
    connection: u64,
    /// The time at which the last browser disconnected. `None` while a browser is connected.
    detached_at: Option<Instant>,
}

/// The next step of a connection to a browser.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    /// Send this output.
    Send(Bytes),
    /// The terminal has ended, and the browser has received all output.
    Ended(TerminalEnding),
    /// A different connection has replaced this connection.
    Replaced,
}

impl Session {
    /// Creates a terminal. Returns the terminal and the receiver of its input, for [`Self::run`].
    pub(crate) fn new(
        id: String,
        owner: Owner,
        create: TerminalCreate,
    ) -> (Arc<Self>, mpsc::Receiver<Input>) {
        let (input, receiver) = mpsc::channel(INPUT_QUEUE);
        let session = Self {
            id,
            owner,
            create,
            created_at: Timestamp::now(),
            state: Mutex::new(State {
                output: Output::default(),
                ending: None,
                connection: 0,
                detached_at: Some(Instant::now()),
            }),
            progress: watch::Sender::new(()),
            input,
            closing: CancellationToken::new(),
        };
        (Arc::new(session), receiver)
    }

    pub(crate) fn view(&self) -> TerminalView {
        let (create, state) = (self.create.clone(), self.state.lock());
        TerminalView {
            id: self.id.clone(),
            cluster: create.cluster,
            namespace: create.namespace,
            pod: create.pod,
            container: create.container,
            kind: create.kind,
            command: create.command,
            created_at: self.created_at,
            attached: state.detached_at.is_none(),
            ending: state.ending.clone(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().ending.is_some()
    }

    /// Ends the terminal at the user's request.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    /// Copies bytes between the container and the terminal until one of them ends.
    pub(crate) async fn run<S>(&self, upstream: Upstream<S>, input: mpsc::Receiver<Input>)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (sink, stream) = upstream.socket.split();
        let observer = &upstream.observer;
        let ending = tokio::select! {
            biased;
            // The output of the container is not read while the browser is slow.
            () = observer.aborted() => lost(observer),
            () = self.closing.cancelled() => ending(
                TerminalEndReason::Closed, "the terminal was closed"),
            ending = self.read(stream, observer) => ending,
            never = write(sink, input) => match never {},
            () = self.abandoned() => ending(
                TerminalEndReason::Abandoned,
                "no browser was connected to the terminal for two minutes"),
        };
        self.change(|state| state.ending = Some(ending));
    }

    /// Reads the output. Stops reading while the browser has not processed the previous output.
    async fn read(
        &self,
        mut stream: impl Stream<Item = Result<Message, WsError>> + Unpin,
        observer: &AbortObserver,
    ) -> TerminalEnding {
        loop {
            self.until(|state| state.output.has_room().then_some(()))
                .await;
            match stream.next().await {
                Some(Ok(Message::Binary(message))) => match channel::decode(message) {
                    Received::Output(bytes) => self.change(|state| state.output.push(&bytes)),
                    Received::Ended(ending) => return ending,
                    Received::Other => {}
                },
                Some(Ok(Message::Close(_)) | Err(_)) | None => return lost(observer),
                Some(Ok(_)) => {}
            }
        }
    }

    /// Waits until no browser has been connected for [`ABANDONED_AFTER`].
    async fn abandoned(&self) {
        loop {
            let since = self.until(|state| state.detached_at).await;
            let attached = self.until(|state| (state.detached_at != Some(since)).then_some(()));
            let timeout = tokio::time::timeout_at(since + ABANDONED_AFTER, attached);
            if timeout.await.is_err() {
                return;
            }
        }
    }

    /// Starts a connection of a browser that has received the output before `received`. Replaces
    /// the previous connection, which may be broken.
    pub(crate) fn attach(self: &Arc<Self>, received: u64) -> Connection {
        let mut begun = (0, 0);
        self.change(|state| {
            state.connection += 1;
            state.detached_at = None;
            state.output.acknowledge(received);
            begun = (state.connection, state.output.resume_at(received));
        });
        Connection {
            session: Arc::clone(self),
            number: begun.0,
            position: begun.1,
        }
    }

    /// Sends input to the container. Returns false if the container does not read its input.
    pub(crate) async fn input(&self, input: Input, limit: Duration) -> bool {
        self.input.send_timeout(input, limit).await.is_ok()
    }

    /// Records that the browser has processed the output before `offset`.
    pub(crate) fn acknowledge(&self, offset: u64) {
        self.change(|state| state.output.acknowledge(offset));
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.progress.send_replace(());
    }

    /// Waits until `ready` returns a value for the state.
    async fn until<T>(&self, mut ready: impl FnMut(&State) -> Option<T>) -> T {
        let mut progress = self.progress.subscribe();
        loop {
            progress.mark_unchanged();
            if let Some(value) = ready(&self.state.lock()) {
                return value;
            }
            // The sender is part of the session, so the channel stays open.
            let _ = progress.changed().await;
        }
    }
}

/// A connection of a browser to a terminal. Dropping the connection detaches the browser.
pub(crate) struct Connection {
    session: Arc<Session>,
    number: u64,
    position: u64,
}

impl Connection {
    /// Returns the offset of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Waits for the next step.
    pub(crate) async fn next(&mut self) -> Step {
        let (number, position) = (self.number, self.position);
        let step = self.session.until(|state| {
            if state.connection != number {
                return Some(Step::Replaced);
            }
            let revoked = |it: &&TerminalEnding| it.reason == TerminalEndReason::Revoked;
            if let Some(ending) = state.ending.as_ref().filter(revoked) {
                // A user without access receives no further output.
                return Some(Step::Ended(ending.clone()));
            }
            let bytes = state.output.read(position, MAX_PART);
            if !bytes.is_empty() {
                return Some(Step::Send(bytes));
            }
            state.ending.clone().map(Step::Ended)
        });
        let step = step.await;
        if let Step::Send(bytes) = &step {
            self.position += bytes.len() as u64;
        }
        step
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.session.change(|state| {
            if state.connection == self.number {
                state.detached_at = Some(Instant::now());
            }
        });
    }
}

/// Sends the input to the container. Never returns: a broken connection also ends the output.
async fn write(
    mut sink: impl Sink<Message, Error = WsError> + Unpin,
    mut input: mpsc::Receiver<Input>,
) -> Infallible {
    while let Some(input) = input.recv().await {
        if sink.send(Message::Binary(input.encode())).await.is_err() {
            break;
        }
    }
    std::future::pending().await
}

fn ending(reason: TerminalEndReason, message: impl Into<String>) -> TerminalEnding {
    TerminalEnding {
        reason,
        message: message.into(),
        exit_code: None,
    }
}

/// Returns the end of a terminal whose stream ended without an exit code.
fn lost(observer: &AbortObserver) -> TerminalEnding {
    match observer.reason() {
        Some(AbortReason::ServerShutdown) => ending(
            TerminalEndReason::ServerShutdown,
            "the server shut down; open a new terminal",
        ),
        Some(reason) => ending(TerminalEndReason::Revoked, reason.to_string()),
        None => ending(
            TerminalEndReason::Disconnected,
            "the connection to the cluster was lost; open a new terminal",
        ),
    }
}

#[cfg(test)]
mod tests;
