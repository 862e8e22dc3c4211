//! A connection to the port of a pod: the WebSocket of the cluster as a byte stream, and an HTTP/1.1
//! client on the stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use drover_proxy::in_process::Upstream;
use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_util::sync::CancellationToken;

use crate::channel::{Decoder, Received, encode};

/// Time without a byte in both directions, after which a connection and a port forward end.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_mins(15);
/// Number of bytes between the HTTP client and the WebSocket.
const PIPE: usize = 64 * 1024;
/// Maximum number of bytes in one message to the cluster.
const MAX_PART: usize = 16 * 1024;
/// Maximum size of the headers of a response, in bytes.
pub(crate) const MAX_HEAD: usize = 64 * 1024;
/// Maximum number of headers of a response.
const MAX_HEADERS: usize = 128;

/// The transferred bytes and the last use of a port forward, and the request to end it.
pub(crate) struct Traffic {
    to_pod: AtomicU64,
    from_pod: AtomicU64,
    last_use: Mutex<(Instant, Timestamp)>,
    closing: CancellationToken,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            to_pod: AtomicU64::new(0),
            from_pod: AtomicU64::new(0),
            last_use: Mutex::new((Instant::now(), Timestamp::now())),
            closing: CancellationToken::new(),
        }
    }
}

impl Traffic {
    /// Records a use.
    pub(crate) fn used(&self) {
        *self.last_use.lock() = (Instant::now(), Timestamp::now());
    }

    /// Returns the time of the last use.
    pub(crate) fn last_use(&self) -> (Instant, Timestamp) {
        *self.last_use.lock()
    }

    /// Returns the numbers of bytes to the pod and from the pod.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (read(&self.to_pod), read(&self.from_pod))
    }

    /// Ends all connections.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Waits for [`Self::close`].
    pub(crate) async fn closed(&self) {
        self.closing.cancelled().await;
    }

    fn count(&self, counter: &AtomicU64, bytes: usize) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
        self.used();
    }
}

/// The reason why the cluster cannot connect to the port. Clones share the reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failure(Arc<OnceLock<String>>);

impl Failure {
    pub(crate) fn reason(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    fn set(&self, reason: String) {
        // The first reason is the cause.
        let _ = self.0.set(reason);
    }
}

/// An HTTP/1.1 connection to the port.
pub(crate) struct Connection {
    pub(crate) sender: http1::SendRequest<Body>,
    pub(crate) failure: Failure,
}

/// Starts HTTP/1.1 on the WebSocket. Tasks copy the bytes until the connection or the port forward
/// ends.
pub(crate) async fn start<S>(
    upstream: Upstream<S>,
    port: u16,
    traffic: Arc<Traffic>,
) -> Result<Connection, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (near, far) = tokio::io::duplex(PIPE);
    let failure = Failure::default();
    let reported = failure.clone();
    tokio::spawn(async move { copy(upstream, port, far, &traffic, &reported).await });
    let mut http = http1::Builder::new();
    http.max_buf_size(MAX_HEAD).max_headers(MAX_HEADERS);
    let (sender, connection) = http.handshake(TokioIo::new(near)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection of a port forward ended");
        }
    });
    Ok(Connection { sender, failure })
}

/// Copies bytes between the WebSocket and the stream until one of them ends.
async fn copy<S>(
    upstream: Upstream<S>,
    port: u16,
    stream: DuplexStream,
    traffic: &Traffic,
    failure: &Failure,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (sink, messages) = upstream.socket.split();
    let (reader, writer) = tokio::io::split(stream);
    let last_byte = Mutex::new(Instant::now());
    tokio::select! {
        biased;
        () = upstream.observer.aborted() => traffic.close(),
        () = traffic.closing.cancelled() => {}
        () = idle(&last_byte) => tracing::debug!("closed an idle connection of a port forward"),
        () = from_pod(messages, writer, Decoder::new(port), traffic, &last_byte, failure) => {}
        () = to_pod(reader, sink, traffic, &last_byte) => {}
    }
}

/// Waits until no byte was transferred for [`IDLE_TIMEOUT`].
async fn idle(last_byte: &Mutex<Instant>) {
    loop {
        let end = *last_byte.lock() + IDLE_TIMEOUT;
        if end <= Instant::now() {
            return;
        }
        tokio::time::sleep_until(end).await;
    }
}

async fn from_pod(
    mut messages: impl Stream<Item = Result<Message, WsError>> + Unpin,
    mut writer: WriteHalf<DuplexStream>,
    mut decoder: Decoder,
    traffic: &Traffic,
    last_byte: &Mutex<Instant>,
    failure: &Failure,
) {
    while let Some(Ok(message)) = messages.next().await {
        let message = match message {
            Message::Binary(message) => message,
            Message::Close(_) => return,
            _ => continue,
        };
        match decoder.decode(message) {
            Ok(Received::Data(bytes)) => {
                traffic.count(&traffic.from_pod, bytes.len());
                *last_byte.lock() = Instant::now();
                if writer.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Ok(Received::Failed(reason)) => return failure.set(reason),
            Ok(Received::Nothing) => {}
            Err(error) => return failure.set(error.to_string()),
        }
    }
}

async fn to_pod(
    mut reader: ReadHalf<DuplexStream>,
    mut sink: impl Sink<Message, Error = WsError> + Unpin,
    traffic: &Traffic,
    last_byte: &Mutex<Instant>,
) {
    let mut buffer = vec![0; MAX_PART];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        let message = Message::Binary(encode(&buffer[..count]));
        if sink.send(message).await.is_err() {
            return;
        }
        traffic.count(&traffic.to_pod, count);
        *last_byte.lock() = Instant::now();
    }
}
