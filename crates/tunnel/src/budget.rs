//! What a tunnel, and all tunnels of a server together, may hold.
//!
//! Streams are counted exactly, when a request starts and when it ends. Buffered bytes (what
//! agents sent and users have not read, and what h2 needs to keep it) are measured by each tunnel's sweep, about once a
//! second; a tunnel above its limit refuses new requests and resets the streams with the
//! most unread bytes until it fits again. When the server's total is above its limit, only
//! tunnels above their fair share of it do so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Upper bounds of one tunnel or of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests at once.
    pub streams: usize,
    /// Memory that holds what agents sent and users have not read, HTTP/2's own included.
    pub buffered_bytes: usize,
}

impl Limits {
    /// A tunnel's limits unless told otherwise: 10,000 requests, 512 MiB, which is what 340
    /// stalled readers of 64-byte frames take, or 2,000 of 16 KiB frames.
    pub const TUNNEL: Self = Self {
        streams: 10_000,
        buffered_bytes: 512 << 20,
    };
    /// A server's limits unless told otherwise: 100,000 requests, 2 GiB.
    pub const SERVER: Self = Self {
        streams: 100_000,
        buffered_bytes: 2 << 30,
    };
}

/// A bound that a request would have exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Budget {
    /// [`Limits::streams`] of the tunnel.
    #[error("the cluster's tunnel carries as many requests as it may")]
    TunnelStreams,
    /// What the agent allows at once.
    #[error("the cluster's agent serves as many requests as it allows")]
    AgentStreams,
    /// [`Limits::buffered_bytes`] of the tunnel.
    #[error("the cluster's tunnel holds as many unread bytes as it may")]
    TunnelBytes,
    /// [`Limits::streams`] of the server.
    #[error("the server carries as many requests as it may")]
    ServerStreams,
    /// [`Limits::buffered_bytes`] of the server, of which this tunnel holds more than its
    /// fair share.
    #[error("the server holds as many unread bytes as it may, and this tunnel most of them")]
    ServerBytes,
}

/// The part of the budget that all tunnels of a server share.
#[derive(Debug)]
pub struct ServerBudget {
    limits: Limits,
    streams: AtomicUsize,
    buffered: AtomicUsize,
    tunnels: AtomicUsize,
}

impl ServerBudget {
    /// A budget nobody uses yet.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            streams: AtomicUsize::new(0),
            buffered: AtomicUsize::new(0),
            tunnels: AtomicUsize::new(0),
        })
    }

    /// Requests under way on all tunnels.
    pub fn streams(&self) -> usize {
        self.streams.load(Ordering::Relaxed)
    }

    /// Bytes held for users on all tunnels, as of each tunnel's last sweep.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered.load(Ordering::Relaxed)
    }

    /// Open tunnels.
    pub fn tunnels(&self) -> usize {
        self.tunnels.load(Ordering::Relaxed)
    }
}

/// One tunnel's use of its own and of the server's budget.
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

    /// Takes one stream out of the budget, until the permit is dropped.
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

    /// Gives back what a tunnel that is gone held; its last streams do so by themselves.
    pub(crate) fn close(&self) {
        self.set_buffered(0);
        self.server.tunnels.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes what this tunnel's streams hold now.
    pub(crate) fn set_buffered(&self, bytes: usize) {
        let before = self.buffered.swap(bytes, Ordering::Relaxed);
        self.server.buffered.fetch_add(bytes, Ordering::Relaxed);
        self.server.buffered.fetch_sub(before, Ordering::Relaxed);
    }

    /// By how many bytes this tunnel exceeds its own limit, or its share of the server's.
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

/// See [`TunnelBudget::excess`].
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

/// One stream's place in the budgets.
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
    fn tunnel_above_its_own_limit_sheds_the_difference() {
        assert_eq!(
            excess(120, 100, 120, 1000, 1),
            Some((Budget::TunnelBytes, 20))
        );
        assert_eq!(excess(100, 100, 100, 1000, 1), None);
    }

    #[test]
    fn full_server_takes_only_from_tunnels_above_their_fair_share() {
        // Four tunnels, 1,000 bytes for all: 250 each is fair.
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
    fn refused_streams_leave_the_counts_as_they_were() {
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
        let held = [first.stream(9).unwrap(), first.stream(9).unwrap()];
        assert_eq!(first.stream(9).unwrap_err(), Budget::TunnelStreams);
        assert_eq!(first.stream(1).unwrap_err(), Budget::AgentStreams);
        let other = second.stream(9).unwrap();
        assert_eq!(second.stream(9).unwrap_err(), Budget::ServerStreams);
        assert_eq!(
            (server.streams(), first.streams(), second.streams()),
            (3, 2, 1)
        );
        drop((held, other));
        assert_eq!(
            (server.streams(), first.streams(), second.streams()),
            (0, 0, 0)
        );
    }

    #[test]
    fn closed_tunnel_gives_back_what_it_held() {
        let server = ServerBudget::new(Limits::SERVER);
        let tunnel = TunnelBudget::new(Limits::TUNNEL, server.clone());
        tunnel.set_buffered(70);
        tunnel.set_buffered(50);
        assert_eq!((server.buffered_bytes(), server.tunnels()), (50, 1));
        tunnel.close();
        assert_eq!((server.buffered_bytes(), server.tunnels()), (0, 0));
    }
}
