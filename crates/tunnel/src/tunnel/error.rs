//! Errors of the server's end of a tunnel. Each error states whether a retry is safe.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::budget::Budget;

/// Reason why a tunnel closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClosedReason {
    /// The agent closed the tunnel, with or without GOAWAY.
    #[error("the agent closed the tunnel")]
    ByAgent,
    /// The agent did not respond to a keepalive ping.
    #[error("the agent did not respond to a keepalive ping before the timeout")]
    KeepaliveTimeout,
    /// The connection failed.
    #[error("the connection of the tunnel failed: {detail}")]
    Broken {
        /// Kind of the I/O error.
        kind: io::ErrorKind,
        /// Message of the I/O error.
        detail: Arc<str>,
    },
    /// One end violated the HTTP/2 protocol or exceeded a limit.
    #[error("the tunnel violated the HTTP/2 protocol: {cause}", cause = .0)]
    Protocol(Arc<str>),
    /// The server called [`Tunnel::close`](super::Tunnel::close) with this reason.
    #[error("{0}")]
    ByServer(Arc<str>),
    /// The driver was dropped, or all handles of the tunnel were dropped while no request was
    /// running.
    #[error("the server dropped the tunnel")]
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
            // InvalidData is an invalid WebSocket frame of the agent, not a network failure.
            Some(io::ErrorKind::InvalidData) => Self::Protocol(detail),
            Some(kind) => Self::Broken { kind, detail },
            None => Self::Broken {
                kind: io::ErrorKind::Other,
                detail,
            },
        }
    }
}

/// Error of opening a tunnel.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The agent did not complete the HTTP/2 handshake in time.
    #[error("the agent did not complete the HTTP/2 handshake within {timeout:?}", timeout = .0)]
    Timeout(Duration),
    /// The connection closed or violated HTTP/2 during the handshake.
    #[error("the agent's connection closed during the HTTP/2 handshake: {cause}", cause = .0)]
    Closed(#[source] ClosedReason),
    /// The agent does not support extended CONNECT, which exec, attach and port-forward need.
    #[error(
        "the agent does not support HTTP/2 extended CONNECT, which kubectl exec and port-forward \
         need; upgrade the agent"
    )]
    NoExtendedConnect,
}

/// Error of a request that received no response.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The tunnel closed before the request was sent.
    #[error("the tunnel to the cluster is closed: {cause}", cause = .0)]
    Closed(#[source] ClosedReason),
    /// The tunnel rejects new requests.
    #[error("the tunnel to the cluster is closing and accepts no more requests")]
    Draining,
    /// The request exceeds a limit.
    #[error("the request exceeds a limit: {cause}", cause = .0)]
    BudgetExceeded(#[from] Budget),
    /// The agent rejected the request without processing it.
    #[error("the cluster's agent rejected the request without processing it")]
    RefusedByAgent,
    /// The request is not valid in HTTP/2.
    #[error("cannot send the request through the tunnel: {cause}", cause = .0)]
    Request(String),
    /// The tunnel closed after the request was sent.
    #[error("the tunnel closed before the response arrived: {cause}", cause = .0)]
    Lost(#[source] ClosedReason),
    /// The agent reset the stream after the request was sent.
    #[error("the cluster's agent reset the request ({reason})", reason = .0)]
    Reset(h2::Reason),
    /// The response head did not arrive within the [`HeadTimeout`](super::HeadTimeout).
    #[error("the cluster did not respond within {timeout:?}", timeout = .0)]
    HeadTimeout(Duration),
}

impl SendError {
    /// Returns true if the agent cannot have processed the request. The caller can then send the
    /// request through a different tunnel of the cluster.
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

/// Reason why the server reset a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AbortReason {
    /// The user did not read available bytes for this duration.
    #[error("the client did not read available bytes for {duration:?}", duration = .0)]
    Stalled(Duration),
    /// The stream had the most unread bytes when the tunnel or the server exceeded a limit.
    #[error("too many unread bytes: {cause}", cause = .0)]
    Shed(Budget),
}

/// Error that ends a response body or an upgraded stream early.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The agent reset the stream.
    #[error("the cluster's agent reset the response ({reason})", reason = .0)]
    Reset(h2::Reason),
    /// The tunnel closed before the end of the stream.
    #[error("the tunnel closed in the middle of the response")]
    Lost(#[source] h2::Error),
    /// The server reset the stream.
    #[error("the server reset the response: {cause}", cause = .0)]
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
