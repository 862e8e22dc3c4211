//! From a byte stream to a tunnel.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, Connection};
use h2::{Ping, PingPong};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::driver::{Driver, Parts};
use super::error::{ClosedReason, OpenError};
use super::keepalive::Prober;
use super::meter::{Metered, Traffic};
use super::sweep::Registry;
use super::{Shared, Tunnel};
use crate::budget::{Limits, ServerBudget, TunnelBudget};
use crate::coalesce::Coalesce;
use crate::{CONNECTION_WINDOW, Keepalive, MAX_FRAME, MAX_HEADER_LIST, STREAM_WINDOW};

/// How many pings may wait to be sent; more askers wait their turn.
const PROBE_QUEUE: usize = 16;
/// Bytes of answers' headers that are remembered for the next ones. Most of what API servers say
/// there is different each time, and with what HTTP/2 begins with, an idle tunnel would hold several
/// KiB of it.
const HEADER_TABLE: u32 = 512;
/// How the server uses one tunnel.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// When a silent agent is pinged and given up.
    pub keepalive: Keepalive,
    /// Most time for HTTP/2's opening.
    pub handshake_timeout: Duration,
    /// How long bytes may wait for a user who does not read before the stream is reset.
    pub stall_after: Duration,
    /// How often streams are looked at for stalls and budgets.
    pub sweep_every: Duration,
    /// Requests after which the tunnel takes no more and closes, so that the agent dials again.
    /// HTTP/2 numbers at most 2³⁰ of them; the default stops a little short.
    pub renew_after: u32,
    /// This tunnel's bounds.
    pub limits: Limits,
    /// The bounds it shares with the server's other tunnels.
    pub server: Arc<ServerBudget>,
}

impl OpenOptions {
    /// The defaults, within `server`'s budget.
    pub fn new(server: Arc<ServerBudget>) -> Self {
        Self {
            keepalive: Keepalive::default(),
            handshake_timeout: Duration::from_secs(10),
            stall_after: Duration::from_mins(1),
            sweep_every: Duration::from_secs(1),
            renew_after: (1 << 30) - (1 << 16),
            limits: Limits::TUNNEL,
            server,
        }
    }
}

impl Tunnel {
    /// Opens HTTP/2 to the agent that serves the other end of `stream`.
    ///
    /// Returns once the agent has answered a ping. Nothing moves unless the [`Driver`] is
    /// polled: spawn it. Dropping it closes the tunnel.
    pub async fn open<S>(stream: S, options: OpenOptions) -> Result<(Self, Driver), OpenError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let traffic = Arc::new(Traffic::default());
        let stream = Coalesce::new(Metered::new(stream, Arc::clone(&traffic)));
        let limit = options.handshake_timeout;
        let (h2, connection, ping_pong) =
            tokio::time::timeout(limit, handshake(stream, builder(&options)))
                .await
                .map_err(|_| OpenError::Timeout(limit))??;
        let (probes, asked) = mpsc::channel(PROBE_QUEUE);
        let last_round_trip = Arc::new(Mutex::new(None));
        let shared = Arc::new(Shared {
            budget: TunnelBudget::new(options.limits, options.server),
            traffic: Arc::clone(&traffic),
            registry: Arc::new(Registry::new(options.stall_after)),
            renew_after: options.renew_after,
            spent: CancellationToken::new(),
            closed: watch::Sender::new(None),
            close: watch::Sender::new(None),
            probes,
            last_round_trip: Arc::clone(&last_round_trip),
        });
        let driver = Driver::new(Parts {
            connection,
            prober: Prober {
                ping_pong,
                options: options.keepalive,
                traffic,
                probes: asked,
                last_round_trip,
            },
            sweep_every: options.sweep_every,
            shared: Arc::clone(&shared),
        });
        Ok((Self { h2, shared }, driver))
    }
}

type Opened<S> = (
    h2::client::SendRequest<Bytes>,
    Connection<S, Bytes>,
    PingPong,
);

async fn handshake<S>(stream: S, builder: Builder) -> Result<Opened<S>, OpenError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let closed = |error| OpenError::Closed(ClosedReason::of(error));
    let (h2, mut connection) = builder.handshake(stream).await.map_err(closed)?;
    let mut ping_pong = connection
        .ping_pong()
        .expect("a new connection's ping handle is taken only here");
    // The agent's settings come before its pong.
    tokio::select! {
        biased;
        ended = &mut connection => {
            return Err(OpenError::Closed(ended.map_or_else(ClosedReason::of, |()| ClosedReason::ByAgent)));
        }
        pong = ping_pong.ping(Ping::opaque()) => pong.map_err(closed)?,
    };
    if !h2.is_extended_connect_protocol_enabled() {
        return Err(OpenError::NoExtendedConnect);
    }
    Ok((h2, connection, ping_pong))
}

fn builder(options: &OpenOptions) -> Builder {
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(MAX_HEADER_LIST)
        .header_table_size(HEADER_TABLE)
        .max_send_buffer_size(STREAM_WINDOW as usize)
        .enable_push(false)
        // Should unread small frames outrun the sweep, h2 ends this tunnel.
        .data_frame_budget(options.limits.buffered_bytes)
        // Users cancel by the thousand; a cancelled request is no attack.
        .max_local_error_reset_streams(None)
        .max_concurrent_reset_streams(1000);
    builder
}
