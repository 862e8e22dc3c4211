//! One HTTP/2 connection: its settings, the task that drives it, and the body of a response.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use drover_tunnel::Coalesce;
use drover_tunnel::client::{self, HandshakeError};
use h2::client::{Builder, Connection};
use h2::{Ping, PingPong, RecvStream};
use http_body::Frame;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, timeout};

use super::{Multiplexer, Stream};

/// Flow-control window of one stream, in bytes. The window limits the unread bytes of a response
/// whose reader is slow.
const STREAM_WINDOW: u32 = 128 * 1024;
/// Flow-control window of the connection, in bytes. The window is the HTTP/2 maximum, so that a
/// slow reader delays no other request.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;
/// Maximum size of a DATA frame, in bytes, as in the tunnel.
const MAX_FRAME: u32 = 64 * 1024 - 64;
/// Maximum size of the decoded headers of a response, in bytes.
const MAX_HEADER_LIST: u32 = 256 * 1024;
/// Limit for the overhead of unread DATA frames shorter than 256 bytes. Each such frame counts as
/// 256 bytes minus its length. Above the limit, h2 closes the connection.
const FRAME_BUDGET: usize = 64 * 1024 * 1024;
/// Maximum duration until the API server responds to the first ping.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between pings of a connection with requests in flight. A ping detects a lost API server.
const BUSY_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between pings of a connection without requests.
const IDLE_INTERVAL: Duration = Duration::from_secs(15);
/// Timeout of a ping. After the timeout, the agent sends reads without a response on other
/// connections.
const PING_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after the last request until a connection closes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(55);

/// The reason why a connection cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("the API server did not respond within {seconds} s", seconds = HANDSHAKE_TIMEOUT.as_secs())]
    Timeout,
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
}

/// Starts HTTP/2 on a connection, adds the connection to the multiplexer, and drives the connection
/// in a new task. Waits for the response to a ping, because a load balancer can negotiate HTTP/2
/// without support for it. The API server sends its limit of streams before the response.
pub(super) async fn start<S>(stream: S, multiplexer: &Multiplexer) -> Result<(), StartError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let builder = builder();
    let starting = client::handshake(Coalesce::new(stream), &builder);
    let (sender, connection, ping_pong) = timeout(HANDSHAKE_TIMEOUT, starting)
        .await
        .map_err(|_| StartError::Timeout)??;
    let id = multiplexer.add(sender);
    let multiplexer = multiplexer.clone();
    tokio::spawn(async move {
        match drive(connection, ping_pong, id, &multiplexer).await {
            Ok(()) => multiplexer.remove(id),
            Err(error) => {
                tracing::debug!(%error, "HTTP/2 connection to the API server ended");
                multiplexer.remove_failed(id);
            }
        }
    });
    Ok(())
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MAX_FRAME)
        .max_header_list_size(MAX_HEADER_LIST)
        .data_frame_budget(FRAME_BUDGET)
        .enable_push(false)
        .max_local_error_reset_streams(None);
    builder
}

/// Drives a connection until it ends, or until the API server does not respond to a ping. A
/// connection that the multiplexer has removed ends after its last request.
async fn drive<S>(
    connection: Connection<S, Bytes>,
    ping_pong: PingPong,
    id: u64,
    multiplexer: &Multiplexer,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    tokio::select! {
        // After a pause of the process, read the response to a ping before its timeout is checked.
        biased;
        ended = connection => ended.map_err(io::Error::other),
        error = keep_alive(ping_pong, id, multiplexer) => Err(error),
    }
}

/// Sends pings, and removes the connection from the multiplexer when it is idle. Returns an error
/// if the API server does not respond to a ping.
async fn keep_alive(mut ping_pong: PingPong, id: u64, multiplexer: &Multiplexer) -> io::Error {
    let mut pinged = Instant::now();
    loop {
        sleep(BUSY_INTERVAL).await;
        multiplexer.remove_idle(id, IDLE_TIMEOUT);
        if !multiplexer.is_busy(id) && pinged.elapsed() < IDLE_INTERVAL {
            continue;
        }
        pinged = Instant::now();
        match timeout(PING_TIMEOUT, ping_pong.ping(Ping::opaque())).await {
            Err(_) => {
                let silent = "the API server did not respond to a ping";
                return io::Error::new(io::ErrorKind::TimedOut, silent);
            }
            Ok(Err(error)) => return io::Error::other(error),
            Ok(Ok(_)) => {}
        }
    }
}

/// The body of a response on a shared connection. Dropping an unfinished body cancels the request.
pub(in crate::upstream) struct ResponseBody {
    recv: RecvStream,
    data_ended: bool,
    stream: Stream,
}

impl ResponseBody {
    pub(super) fn new(recv: RecvStream, mut stream: Stream) -> Self {
        stream.complete = recv.is_end_stream();
        Self {
            recv,
            data_ended: false,
            stream,
        }
    }
}

impl http_body::Body for ResponseBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let this = &mut *self;
        if !this.data_ended {
            match ready!(this.recv.poll_data(cx)) {
                Some(Ok(data)) => {
                    // Fails only for more bytes than received.
                    let _ = this.recv.flow_control().release_capacity(data.len());
                    this.stream.complete = this.recv.is_end_stream();
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => this.data_ended = true,
            }
        }
        let trailers = ready!(this.recv.poll_trailers(cx));
        this.stream.complete = true;
        Poll::Ready(
            trailers
                .transpose()
                .map(|trailers| trailers.map(Frame::trailers)),
        )
    }

    fn is_end_stream(&self) -> bool {
        self.recv.is_end_stream()
    }
}
