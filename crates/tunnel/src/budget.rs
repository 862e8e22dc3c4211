//! Limits of one tunnel and of all tunnels of a server.
//!
//! Streams are counted exactly, at the start and end of each request. Buffered bytes are bytes that
//! agents have sent and users have not read, including the overhead of h2. The sweep of each tunnel
//! measures the buffered bytes about once a second.
//!
//! A tunnel above its limit rejects new requests and resets the streams with the most unread bytes.
//! If the server's total exceeds its limit, only tunnels above their fair share reject requests and
//! reset streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limits of one tunnel or of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent requests.
    pub streams: usize,
    /// Maximum memory in bytes for data that users have not read. Includes the overhead of HTTP/2.
    pub buffered_bytes: usize,
}

impl Limits {
    /// Default limits of a tunnel: 10,000 requests and 512 MiB. This memory is sufficient for 340
    /// stalled readers of 64-byte frames, or for 2,000 stalled readers of 16 KiB frames.
    pub const TUNNEL: Self = Self {
        streams: 10_000,
        buffered_bytes: 512 << 20,
    };
    /// Default limits of a server: 100,000 requests and 2 GiB.
    pub const SERVER: Self = Self {
        streams: 100_000,
        buffered_bytes: 2 << 30,
    };
}

/// A limit that a request exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Budget {
    /// The tunnel has reached its limit [`Limits::streams`].
    #[error("the cluster's tunnel has reached its limit of concurrent requests")]
    TunnelStreams,
    /// The tunnel has reached the agent's maximum number of concurrent streams.
    #[error("the cluster's agent has reached its limit of concurrent requests")]
    AgentStreams,
    /// The tunnel has reached its limit [`Limits::buffered_bytes`].
    #[error("the cluster's tunnel has reached its limit of unread bytes")]
    TunnelBytes,
    /// The server has reached its limit [`Limits::streams`].
    #[error("the server has reached its limit of concurrent requests")]
    ServerStreams,
    /// The server has reached its limit [`Limits::buffered_bytes`], and this tunnel uses more than
    /// its fair share.
    #[error(
        "the server has reached its limit of unread bytes, and this tunnel exceeds its share of \
         the limit"
    )]
    ServerBytes,
}

/// Limits and usage of all tunnels of a server.
#[derive(Debug)]
pub struct ServerBudget {
    limits: Limits,
    streams: AtomicUsize,
    buffered: AtomicUsize,
    tunnels: AtomicUsize,
}

impl ServerBudget {
    /// Creates a budget whose usage is zero.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            streams: AtomicUsize::new(0),
            buffered: AtomicUsize::new(0),
            tunnels: AtomicUsize::new(0),
        })
    }

    /// Returns the number of running requests on all tunnels.
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Returns the unread bytes on all tunnels, as of the last sweep of each tunnel.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    /// Returns the number of open tunnels.
    pub fn tunnels(&self) -> usize {
        self.tunnels.load(Ordering::Relaxed)
    }
}

/// Usage of a tunnel, which counts against the limits of the tunnel and the server.
#[derive(Debug)]
pub(crate) struct TunnelBudget {
    limits: Limits,
    streams: AtomicUsize,
    buffered: AtomicUsize,
    server: Arc<ServerBudget>,
}

impl TunnelBudget {
    pub(crate) fn new(limits: Limits, server: Arc<ServerBudget>) -> Arc<Self> {
        server.tunnels.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            limits,
            streams: AtomicUsize::new(0),
            buffered: AtomicUsize::new(0),
            server,
        })
    }

    pub(crate) fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    pub(crate) fn buffered(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    /// Reserves one stream. The reservation ends when the permit is dropped.
    pub(crate) fn stream(self: &Arc<Self>, agent_limit: usize) -> Result<StreamPermit, Budget> {
        if let Some(over) = self.excess().map(|(budget, _)| budget) {
            return Err(over);
        }
        let limit = self.limits.streams.min(agent_limit);
        if self.streams.fetch_add(1, Ordering::Relaxed) >= limit {
            self.streams.fetch_sub(1, Ordering::Relaxed);
            let agents = agent_limit < self.limits.streams;
            return Err(if agents {
                Budget::AgentStreams
            } else {
                Budget::TunnelStreams
            });
        }
        let permit = StreamPermit {
            tunnel: Arc::clone(self),
        };
        if self.server.streams.fetch_add(1, Ordering::Relaxed) >= self.server.limits.streams {
            return Err(Budget::ServerStreams);
        }
        Ok(permit)
    }

    /// Releases the buffered bytes of a closed tunnel. Its open streams are released when their
    /// permits are dropped.
    pub(crate) fn close(&self) {
        self.set_buffered(0);
        self.server.tunnels.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records the unread bytes of this tunnel.
    pub(crate) fn set_buffered(&self, bytes: usize) {
        let before = self.buffered.swap(bytes, Ordering::Relaxed);
        self.server.buffered.fetch_add(bytes, Ordering::Relaxed);
        self.server.buffered.fetch_sub(before, Ordering::Relaxed);
    }

    /// Returns the exceeded limit, and the number of bytes above the limit. Returns `None` if the
    /// tunnel is within its own limit and its fair share of the server's limit.
    pub(crate) fn excess(&self) -> Option<(Budget, usize)> {
        excess(
            self.buffered(),
            self.limits.buffered_bytes,
            self.server.buffered_bytes(),
            self.server.limits.buffered_bytes,
            self.server.tunnels(),
        )
    }
}

/// Computes the result of [`TunnelBudget::excess`] from the usage, the limits and the number of
/// tunnels.
fn excess(
    own: usize,
    own_limit: usize,
    server: usize,
    server_limit: usize,
    tunnels: usize,
) -> Option<(Budget, usize)> {
    if own > own_limit {
        return Some((Budget::TunnelBytes, own - own_limit));
    }
    let share = server_limit / tunnels.max(1);
    (server > server_limit && own > share).then(|| {
        (
            Budget::ServerBytes,
            (own - share).min(server - server_limit),
        )
    })
}

/// Permit of one stream. The stream counts against the limits of the tunnel and of the server until
/// the permit is dropped.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    tunnel: Arc<TunnelBudget>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.tunnel.streams.fetch_sub(1, Ordering::Relaxed);
        self.tunnel.server.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, Limits, ServerBudget, TunnelBudget, excess};

    #[test]
    fn tunnel_above_its_buffer_limit_resets_excess_streams() {
        assert_eq!(
            excess(120, 100, 120, 1000, 1),
            Some((Budget::TunnelBytes, 20))
        );
        assert_eq!(excess(100, 100, 100, 1000, 1), None);
    }

    #[test]
    fn full_server_buffer_resets_only_streams_of_tunnels_above_their_fair_share() {
        // Four tunnels share 1,000 bytes: the fair share is 250 bytes.
        assert_eq!(
            excess(900, 5000, 1100, 1000, 4),
            Some((Budget::ServerBytes, 100))
        );
        assert_eq!(excess(200, 5000, 1100, 1000, 4), None);
        assert_eq!(
            excess(260, 5000, 5000, 1000, 4),
            Some((Budget::ServerBytes, 10))
        );
    }

    #[test]
    fn rejected_streams_do_not_change_the_stream_counts() {
        let server = ServerBudget::new(Limits {
            streams: 3,
            buffered_bytes: 10,
        });
        let first = TunnelBudget::new(
            Limits {
                streams: 2,
                buffered_bytes: 10,
            },
            server.clone(),
        );
        let second = TunnelBudget::new(
            Limits {
                streams: 9,
                buffered_bytes: 10,
            },
            server.clone(),
        );
        let owned = [first.stream(9).unwrap(), first.stream(9).unwrap()];
        assert_eq!(first.stream(9).unwrap_err(), Budget::TunnelStreams);
        assert_eq!(first.stream(1).unwrap_err(), Budget::AgentStreams);
        let other = second.stream(9).unwrap();
        assert_eq!(second.stream(9).unwrap_err(), Budget::ServerStreams);
        assert_eq!(
            (server.streams(), first.streams(), second.streams()),
            (3, 2, 1)
        );
        drop((owned, other));
        assert_eq!(
            (server.streams(), first.streams(), second.streams()),
            (0, 0, 0)
        );
    }

    #[test]
    fn closed_tunnel_releases_its_buffered_bytes() {
        let server = ServerBudget::new(Limits::SERVER);
        let tunnel = TunnelBudget::new(Limits::TUNNEL, server.clone());
        tunnel.set_buffered(70);
        tunnel.set_buffered(50);
        assert_eq!((server.buffered_bytes(), server.tunnels()), (50, 1));
        tunnel.close();
        assert_eq!((server.buffered_bytes(), server.tunnels()), (0, 0));
    }
}
