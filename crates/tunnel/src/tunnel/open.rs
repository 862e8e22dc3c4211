//! Opens a tunnel on a byte stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::PingPong;
use h2::client::{Builder, Connection};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::driver::{Driver, Parts};
use super::error::{ClosedReason, OpenError};
use super::keepalive::{Pings, Prober};
use super::latch::Latch;
use super::meter::{Metered, Traffic};
use super::sweep::Registry;
use super::{Shared, Tunnel};
use crate::budget::{Limits, ServerBudget, TunnelBudget};
use crate::client::{self, HandshakeError};
use crate::coalesce::Coalesce;
use crate::{CONNECTION_WINDOW, Keepalive, MAX_FRAME, MAX_HEADER_LIST, STREAM_WINDOW};

/// Size of the HPACK table for response headers, in bytes. Most response headers of API servers
/// differ each time. A larger table would use memory in each idle tunnel without a benefit.
const HEADER_TABLE: u32 = 512;
/// Options for opening a tunnel.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Keepalive settings for pings to a silent agent.
    pub keepalive: Keepalive,
    /// Timeout of the HTTP/2 handshake. Default: 10 s.
    pub handshake_timeout: Duration,
    /// Duration after which a stream is reset if the user does not read available bytes. Default:
    /// 60 s.
    pub stall_after: Duration,
    /// Interval of the checks that find stalled streams and exceeded budgets. Default: 1 s.
    pub sweep_every: Duration,
    /// Number of requests after which the tunnel closes, so that the agent reconnects. The default
    /// is slightly less than 2³⁰, the number of stream IDs of an HTTP/2 client.
    pub renew_after: u32,
    /// Limits of this tunnel.
    pub limits: Limits,
    /// Limits that all tunnels of the server share.
    pub server: Arc<ServerBudget>,
}

impl OpenOptions {
    /// Returns default options with the server budget `server`.
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
    /// Opens an HTTP/2 connection to the agent at the other end of `stream`. Returns after the
    /// agent has responded to a ping.
    ///
    /// Spawn the [`Driver`], because the tunnel makes progress only while the driver is polled.
    /// Dropping the driver closes the tunnel.
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
        let shared = Arc::new(Shared {
            budget: TunnelBudget::new(options.limits, options.server),
            traffic,
            registry: Arc::new(Registry::new(options.stall_after)),
            renew_after: options.renew_after,
            exhausted: CancellationToken::new(),
            closed: Latch::new(),
            close: Latch::new(),
            pings: Pings::default(),
        });
        let driver = Driver::new(Parts {
            connection: Box::new(connection),
            prober: Prober {
                ping_pong,
                options: options.keepalive,
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
    let opened = client::handshake(stream, &builder).await.map_err(|error| {
        OpenError::Closed(match error {
            HandshakeError::Failed(error) => ClosedReason::of(error),
            HandshakeError::Closed => ClosedReason::ByAgent,
        })
    })?;
    if !opened.0.is_extended_connect_protocol_enabled() {
        return Err(OpenError::NoExtendedConnect);
    }
    Ok(opened)
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
        // h2 closes this tunnel if unread small frames grow faster than the sweep resets streams.
        .data_frame_budget(options.limits.buffered_bytes)
        // Users cancel thousands of requests; cancelled requests are not an attack.
        .max_local_error_reset_streams(None)
        .max_concurrent_reset_streams(1000);
    builder
}
