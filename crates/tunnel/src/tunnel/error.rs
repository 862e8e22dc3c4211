//! What can go wrong on the server's end, and whether trying again is safe.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::budget::Budget;

/// Why a tunnel is gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClosedReason {
    /// The agent closed it, after a GOAWAY or without.
    #[error("the agent closed the tunnel")]
    ByAgent,
    /// The agent was silent for too long.
    #[error("the agent gave no sign of life in time")]
    KeepaliveTimeout,
    /// The connection broke.
    #[error("the tunnel's connection broke: {detail}")]
    Broken {
        /// What the network said.
        kind: io::ErrorKind,
        /// The same in words.
        detail: Arc<str>,
    },
    /// One end broke HTTP/2's rules or exceeded a bound, as the other saw it.
    #[error("the tunnel broke the rules of HTTP/2: {0}")]
    Protocol(Arc<str>),
    /// [`Tunnel::close`](super::Tunnel::close), with what was given there.
    #[error("{0}")]
    ByServer(Arc<str>),
    /// The driver was dropped, or all handles were and no request was left.
    #[error("the server let the tunnel go")]
    Dropped,
}

impl ClosedReason {
    pub(super) fn of(error: h2::Error) -> Self {
        if error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR) {
            return Self::ByAgent;
        }
        if !error.is_io() {
            return Self::Protocol(error.to_string().into());
        }
        let detail: Arc<str> = error.to_string().into();
        let io = error.into_io();
        match io.as_ref().map(io::Error::kind) {
            // A broken WebSocket frame: the agent's fault, not the network's.
            Some(io::ErrorKind::InvalidData) => Self::Protocol(detail),
            Some(kind) => Self::Broken { kind, detail },
            None => Self::Broken {
                kind: io::ErrorKind::Other,
                detail,
            },
        }
    }
}

/// Why no tunnel came of a connection.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The other end did not finish HTTP/2's opening in time.
    #[error("the agent did not open HTTP/2 within {0:?}")]
    Timeout(Duration),
    /// The connection ended or broke HTTP/2's rules while opening.
    #[error("the agent's connection closed while the tunnel was opened: {0}")]
    Closed(#[source] ClosedReason),
    /// The other end cannot carry exec, attach and port-forward.
    #[error("the agent does not allow extended CONNECT, which exec and port-forward need")]
    NoExtendedConnect,
}

/// Why a request got no response.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The tunnel was gone before the request was sent.
    #[error("the tunnel to the cluster is closed: {0}")]
    Closed(#[source] ClosedReason),
    /// No more requests are taken on this tunnel.
    #[error("the tunnel to the cluster is about to close and takes no more requests")]
    Draining,
    /// The request would have exceeded a budget.
    #[error("the request was refused: {0}")]
    BudgetExceeded(#[from] Budget),
    /// The agent refused the request unseen.
    #[error("the cluster's agent refused the request before looking at it")]
    RefusedByAgent,
    /// The request cannot be expressed in HTTP/2.
    #[error("the request cannot be sent through the tunnel: {0}")]
    Request(String),
    /// The tunnel closed after the request was sent.
    #[error("the tunnel closed before the response came: {0}")]
    Lost(#[source] ClosedReason),
    /// The agent gave the request up after it was sent.
    #[error("the cluster's agent gave the request up ({0})")]
    Reset(h2::Reason),
    /// No response in the time that [`HeadTimeout`](super::HeadTimeout) allowed.
    #[error("the cluster did not answer within {0:?}")]
    HeadTimeout(Duration),
}

impl SendError {
    /// Whether the agent cannot have acted on the request, so that the same request may be
    /// sent on another tunnel of the same cluster.
    pub const fn retry_is_safe(&self) -> bool {
        match self {
            Self::Closed(_) | Self::Draining | Self::RefusedByAgent => true,
            Self::BudgetExceeded(budget) => {
                !matches!(budget, Budget::ServerStreams | Budget::ServerBytes)
            }
            Self::Request(_) | Self::Lost(_) | Self::Reset(_) | Self::HeadTimeout(_) => false,
        }
    }
}

/// Why the tunnel reset a stream on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AbortReason {
    /// Bytes waited for the user all this time.
    #[error("nothing was read for {0:?} though bytes were waiting")]
    Stalled(Duration),
    /// The stream held the most unread bytes of a tunnel or server that held too many.
    #[error("its unread bytes were too many: {0}")]
    Shed(Budget),
}

/// Why a response's body, or an upgraded stream, broke off.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The agent gave it up.
    #[error("the cluster's agent gave the response up ({0})")]
    Reset(h2::Reason),
    /// The tunnel closed.
    #[error("the tunnel closed in the middle of the response")]
    Lost(#[source] h2::Error),
    /// The tunnel reset the stream.
    #[error("the server gave the response up: {0}")]
    Aborted(#[from] AbortReason),
}

impl BodyError {
    pub(super) fn of(error: h2::Error) -> Self {
        match error.reason() {
            Some(reason) if error.is_reset() => Self::Reset(reason),
            _ => Self::Lost(error),
        }
    }
}

impl From<BodyError> for io::Error {
    fn from(error: BodyError) -> Self {
        let kind = match &error {
            BodyError::Reset(_) => io::ErrorKind::ConnectionReset,
            BodyError::Lost(_) => io::ErrorKind::ConnectionAborted,
            BodyError::Aborted(_) => io::ErrorKind::TimedOut,
        };
        Self::new(kind, error)
    }
}
