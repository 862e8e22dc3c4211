//! The tunnel between a server and an agent: reversed HTTP/2 in a WebSocket, both ends.
//!
//! The agent can dial the server, never the other way round. So the agent dials,
//! upgrades the connection to a WebSocket (which every load balancer passes), and then
//! *serves* HTTP/2 on it; the server is the HTTP/2 client:
//!
//! ```text
//!   user ──HTTP──► server ── Tunnel::send ──► h2 client ─┐
//!                                                        │ DATA in binary WebSocket frames
//!   API server ◄── agent's service ◄── serve::serve ◄────┘ (connection opened by the agent)
//! ```
//!
//! One Kubernetes request is one HTTP/2 stream: cancel is `RST_STREAM`, back-pressure is the
//! stream's window, half-close and trailers are HTTP's own. Upgrades (SPDY/3.1, WebSocket)
//! are extended CONNECT and their bytes are never parsed.
//!
//! | module | is |
//! |---|---|
//! | [`ws`] | a WebSocket as a byte stream: framing, the dialler's and the accepter's handshake |
//! | [`mod@serve`] | the agent's end |
//! | [`tunnel`] | the server's end |
//! | [`budget`] | how much a tunnel, and all tunnels of a server, may hold |
//! | [`memory`] | how much memory the process may use |
//! | [`upgrade`] | exec, attach and port-forward, both ends |
//! | [`waiting`] | bytes of responses that wait in an agent |
//! | [`reconnect`] | when an agent dials again |
//! | [`protocol`] | the version both ends agree on |
//!
//! Everything is generic over the byte stream and uses tokio's clock, so it runs over TLS,
//! over in-memory pipes and over a simulated network in virtual time.
//!
//! # Invariants
//! - A tunnel's peer can hurt only its own tunnel: every bound is per tunnel, and the ones
//!   shared by a server are shed by whoever is above its fair share.
//! - A stream that nobody reads never delays another: each has 256 KiB of window, and the
//!   connection's window is as good as endless, unless an agent bounds the bodies of requests.
//! - No frame of DATA is empty unless it ends its stream: h2 ends a connection at the
//!   101st of its life, so both ends drop them.

pub mod body;
pub mod budget;
mod coalesce;
pub mod memory;
pub mod protocol;
mod read_ahead;
pub mod reconnect;
pub mod serve;
pub mod tunnel;
pub mod upgrade;
mod upgrade_headers;
pub mod waiting;
pub mod ws;

pub use budget::{Limits, ServerBudget};
pub use read_ahead::ReadAhead;
pub use serve::{ServeError, ServeOptions, serve};
pub use tunnel::{ClosedReason, OpenOptions, SendError, Tunnel};

use std::time::Duration;

/// An error of a body or service that is not ours.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How long one stream's unread bytes may grow: 256 KiB each way.
pub(crate) const STREAM_WINDOW: u32 = 256 * 1024;
/// The connection's window, in bytes: the most HTTP/2 allows, so that only the streams'
/// windows hold anything back.
pub(crate) const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Largest frame of DATA, in bytes: as much as a WebSocket message of ours carries, so that bulk costs
/// few frames. Others wait for less than a millisecond behind it on all but the slowest lines.
pub(crate) const MAX_FRAME: u32 = 64 * 1024 - 64;
/// Most bytes of decoded headers in a message; long tokens and group lists fit.
pub(crate) const MAX_HEADER_LIST: u32 = 256 * 1024;

/// When a silent peer is asked for a sign of life, and how long it has to give one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keepalive {
    /// Silence before a ping is sent.
    pub interval: Duration,
    /// Silence after the ping before the tunnel is closed.
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
