//! The tunnel between a server and an agent: reversed HTTP/2 in a WebSocket.
//!
//! The server cannot connect to the agent, but the agent can connect to the server. The agent
//! connects and upgrades the connection to a WebSocket, because every load balancer supports
//! WebSockets. The agent then *serves* HTTP/2 on the WebSocket. The server is the HTTP/2 client.
//!
//! ```text
//!   user ──HTTP──► server ── Tunnel::send ──► h2 client ─┐
//!                                                        │ DATA in binary WebSocket frames
//!   API server ◄── agent's service ◄── serve::serve ◄────┘ (connection opened by the agent)
//! ```
//!
//! One Kubernetes request is one HTTP/2 stream. Drover uses `RST_STREAM` for cancellation, stream
//! windows for back-pressure, and the half-close and trailers of HTTP/2. Upgrades (SPDY/3.1,
//! WebSocket) use extended CONNECT, and the tunnel does not parse their bytes.
//!
//! | module | content |
//! |---|---|
//! | [`ws`] | a WebSocket as a byte stream: framing, and the handshake of client and server |
//! | [`mod@serve`] | the end of the agent |
//! | [`tunnel`] | the end of the server |
//! | [`client`] | the start of the client's end of an HTTP/2 connection |
//! | [`budget`] | limits per tunnel and per server |
//! | [`memory`] | the memory limit of the process |
//! | [`upgrade`] | exec, attach and port-forward at both ends |
//! | [`response_budget`] | limit for buffered response bytes in an agent |
//! | [`reconnect`] | reconnect backoff of an agent |
//! | [`protocol`] | negotiation of the protocol version |
//!
//! All types are generic over the byte stream and use tokio's clock. These types run over TLS, over
//! in-memory pipes, and over a simulated network in virtual time.
//!
//! # Invariants
//! - A peer can exhaust only its own tunnel: each limit is per tunnel. If a limit of the server is
//!   exceeded, only tunnels above their fair share drop data.
//! - An unread stream never delays other streams: each stream has a window of 256 KiB. The
//!   connection window is the HTTP/2 maximum, unless an agent limits request bodies.
//! - A DATA frame is empty only if it ends its stream. h2 closes a connection at its 101st empty
//!   DATA frame, so both ends drop such frames.

pub mod body;
pub mod budget;
pub mod client;
mod coalesce;
pub mod memory;
pub mod protocol;
mod read_ahead;
pub mod reconnect;
pub mod response_budget;
pub mod serve;
pub mod tunnel;
pub mod upgrade;
mod upgrade_headers;
pub mod ws;

pub use budget::{Limits, ServerBudget};
pub use coalesce::Coalesce;
pub use read_ahead::ReadAhead;
pub use serve::{ServeError, ServeOptions, serve};
pub use tunnel::{ClosedReason, OpenOptions, SendError, Tunnel};

use std::time::Duration;

/// Error of an HTTP body or service.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Flow-control window of one stream, in bytes: 256 KiB per direction. The window limits the unread
/// bytes of the stream.
pub(crate) const STREAM_WINDOW: u32 = 256 * 1024;
/// Flow-control window of the connection, in bytes. The window is the HTTP/2 maximum, so that only
/// the windows of streams limit the flow.
pub(crate) const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Maximum size of a DATA frame, in bytes. One frame fits into one WebSocket message. Except on
/// very slow links, a frame delays frames of concurrent streams by less than a millisecond.
pub(crate) const MAX_FRAME: u32 = 64 * 1024 - 64;
/// Limit of the plaintext in the buffer for outgoing TLS records, in bytes: a DATA frame of the maximum
/// size, and the small frames that are sent with it. With the default of rustls, 64 KiB, the small
/// frames need a second system call, which also wakes the peer. A connection whose peer does not read
/// can use this memory, which is not part of any memory budget.
pub const TLS_BUFFER: usize = 80 * 1024;
/// Maximum size of the decoded headers of a message, in bytes. The size is sufficient for long
/// tokens and group lists.
pub(crate) const MAX_HEADER_LIST: u32 = 256 * 1024;

/// Keepalive settings. A tunnel sends a ping if its peer is silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Duration without received bytes after which a ping is sent. Default: 15 s.
    pub interval: Duration,
    /// Duration without a pong after which the tunnel is closed. Default: 10 s.
    pub timeout: Duration,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(15),
            timeout: Duration::from_secs(10),
        }
    }
}
