//! One open stream of a tunnel: the duplex stream type, and the state that the stream shares with
//! the sweep.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::task::AtomicWaker;
use h2::{Reason, RecvStream, SendStream};
use parking_lot::Mutex;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::error::{AbortReason, BodyError};
use super::sweep::Registry;
use crate::budget::StreamPermit;

/// Maximum number of bytes that a duplex stream passes to HTTP/2 in one write.
const WRITE_CHUNK: usize = 64 * 1024;
/// Measured memory overhead of h2 for each received frame, in bytes.
const FRAME_OVERHEAD: usize = 320;
/// Assumed frame size in bytes before the user reads the first frame. Equals the size of a short
/// log line.
const UNKNOWN_FRAME_SIZE: u64 = 64;

/// The sender of the request body of a stream.
pub(super) enum Sending {
    /// The request has no body, or the body was sent.
    Done,
    /// A task sends the body. The task resets the stream when this channel's sender is dropped.
    Pipe { _cancel: oneshot::Sender<()> },
    /// The user of a duplex stream sends the data.
    Own {
        half: SendStream<Bytes>,
        ended: bool,
    },
}

/// The send half, the receive half and the budget permit of a stream.
pub(super) struct Live {
    pub(super) recv: RecvStream,
    pub(super) send: Sending,
    pub(super) _permit: StreamPermit,
}

enum Slot {
    Live(Live),
    Ended,
    Aborted(AbortReason),
}

/// A stream whose response head has arrived.
pub(super) struct Stream {
    id: u32,
    slot: Mutex<Slot>,
    /// Number of reads by the user. The sweep compares this number with the number at the previous
    /// sweep.
    reads: AtomicU64,
    /// Number of bytes read by the user.
    read_bytes: AtomicU64,
    reader: AtomicWaker,
    writer: AtomicWaker,
    /// Created at the first use, because only duplex streams and aborts use the token.
    aborted: OnceLock<CancellationToken>,
    registry: Arc<Registry>,
}

impl Stream {
    pub(super) fn register(live: Live, registry: &Arc<Registry>) -> Arc<Self> {
        let stream = Arc::new(Self {
            id: live.recv.stream_id().as_u32(),
            slot: Mutex::new(Slot::Live(live)),
            reads: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
            aborted: OnceLock::new(),
            registry: Arc::clone(registry),
        });
        registry.insert(stream.id, &stream);
        stream
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the memory that unread data uses: the bytes, and the overhead of h2 for each frame.
    /// Estimates the number of frames from the average size of the frames that were read.
    pub(super) fn unread(&self) -> usize {
        let bytes = match &mut *self.slot.lock() {
            Slot::Live(live) => live.recv.flow_control().used_capacity(),
            Slot::Ended | Slot::Aborted(_) => 0,
        };
        let read = self.read_bytes.load(Ordering::Relaxed);
        let size = read
            .checked_div(self.reads())
            .unwrap_or(UNKNOWN_FRAME_SIZE)
            .max(1);
        let frames = bytes / usize::try_from(size).unwrap_or(usize::MAX);
        bytes + frames * FRAME_OVERHEAD
    }

    /// Resets the stream and frees its resources. The user's error contains `reason`.
    pub(super) fn abort(&self, reason: AbortReason) {
        let before = {
            let mut slot = self.slot.lock();
            if !matches!(*slot, Slot::Live(_)) {
                return;
            }
            std::mem::replace(&mut *slot, Slot::Aborted(reason))
        };
        reset(before, Reason::CANCEL);
        self.registry.remove(self.id);
        self.aborted().cancel();
        self.reader.wake();
        self.writer.wake();
    }

    fn aborted(&self) -> &CancellationToken {
        self.aborted.get_or_init(CancellationToken::new)
    }

    /// Ends the stream on behalf of the user. Resets an unfinished stream with the code `reason`.
    pub(super) fn finish(&self, reason: Reason) {
        let before = {
            let mut slot = self.slot.lock();
            if !matches!(*slot, Slot::Live(_)) {
                return;
            }
            std::mem::replace(&mut *slot, Slot::Ended)
        };
        reset(before, reason);
        self.registry.remove(self.id);
    }

    pub(super) fn is_end_stream(&self) -> bool {
        match &*self.slot.lock() {
            Slot::Live(live) => live.recv.is_end_stream(),
            Slot::Ended => true,
            Slot::Aborted(_) => false,
        }
    }

    /// Polls the next chunk of data. Chunks are never empty.
    pub(super) fn poll_chunk(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.poll_live(cx, |recv, cx| {
            loop {
                return match ready!(recv.poll_data(cx)) {
                    Some(Ok(data)) if data.is_empty() => continue,
                    Some(Ok(data)) => {
                        // Fails only for more bytes than received.
                        let _ = recv.flow_control().release_capacity(data.len());
                        self.read_bytes
                            .fetch_add(data.len() as u64, Ordering::Relaxed);
                        Poll::Ready(Some(Ok(data)))
                    }
                    Some(Err(error)) => Poll::Ready(Some(Err(BodyError::of(error)))),
                    None => Poll::Ready(None),
                };
            }
        })
    }

    /// Polls the trailers after the end of the data.
    pub(super) fn poll_trailers(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http::HeaderMap, BodyError>>> {
        self.poll_live(cx, |recv, cx| {
            recv.poll_trailers(cx)
                .map(|trailers| trailers.map_err(BodyError::of).transpose())
        })
    }

    fn poll_live<T>(
        &self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut RecvStream, &mut Context<'_>) -> Poll<Option<Result<T, BodyError>>>,
    ) -> Poll<Option<Result<T, BodyError>>> {
        // Register before the slot is read, so that a concurrent abort finds the waker.
        self.reader.register(cx.waker());
        let polled = match &mut *self.slot.lock() {
            Slot::Live(live) => poll(&mut live.recv, cx),
            Slot::Ended => Poll::Ready(None),
            Slot::Aborted(reason) => Poll::Ready(Some(Err((*reason).into()))),
        };
        if polled.is_ready() {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        polled
    }

    /// Writes the first bytes of `buf` to HTTP/2. The agent's window limits the number of bytes.
    fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.writer.register(cx.waker());
        let mut slot = self.slot.lock();
        let half = match &mut *slot {
            Slot::Live(Live {
                send: Sending::Own { half, ended: false },
                ..
            }) => half,
            Slot::Aborted(reason) => return Poll::Ready(Err(BodyError::from(*reason).into())),
            _ => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        };
        half.reserve_capacity(buf.len().min(WRITE_CHUNK));
        let n = loop {
            let capacity = half.capacity().min(buf.len()).min(WRITE_CHUNK);
            if capacity > 0 {
                break capacity;
            }
            match ready!(half.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(BodyError::of(error).into())),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        };
        half.send_data(Bytes::copy_from_slice(&buf[..n]), false)
            .map_err(|error| io::Error::from(BodyError::of(error)))?;
        Poll::Ready(Ok(n))
    }

    /// Ends the data that the user sends.
    fn shutdown(&self) -> io::Result<()> {
        match &mut *self.slot.lock() {
            Slot::Live(Live {
                send: Sending::Own { half, ended },
                ..
            }) if !*ended => {
                *ended = true;
                half.reserve_capacity(0);
                half.send_data(Bytes::new(), true)
                    .map_err(|error| io::Error::from(BodyError::of(error)))
            }
            Slot::Aborted(reason) => Err(BodyError::from(*reason).into()),
            _ => Ok(()),
        }
    }
}

/// Drops both halves of a stream. Resets a duplex stream explicitly, because the implicit reset
/// with CANCEL looks like a regular end to the agent.
fn reset(slot: Slot, reason: Reason) {
    let Slot::Live(Live {
        recv,
        send,
        _permit,
    }) = slot
    else {
        return;
    };
    if let Sending::Own { mut half, ended } = send
        && !(ended && recv.is_end_stream())
    {
        half.send_reset(reason);
    }
}

/// An upgraded stream. Each direction ends independently.
///
/// If the stream is dropped before both directions have ended, the stream is reset. The agent then
/// closes its connection to the API server.
pub struct TunnelStream {
    stream: Arc<Stream>,
    chunk: Bytes,
    read_ended: bool,
}

impl TunnelStream {
    pub(super) const fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            chunk: Bytes::new(),
            read_ended: false,
        }
    }

    /// Returns a token that is cancelled when the server resets the stream. Tasks that wait for the
    /// user can then stop.
    pub fn aborted(&self) -> CancellationToken {
        self.stream.aborted().clone()
    }
}

impl std::fmt::Debug for TunnelStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TunnelStream")
            .field("id", &self.stream.id)
            .finish_non_exhaustive()
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        self.stream.finish(Reason::CONNECT_ERROR);
    }
}

impl AsyncBufRead for TunnelStream {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.chunk.is_empty() && !this.read_ended {
            match ready!(this.stream.poll_chunk(cx)).transpose()? {
                Some(chunk) => this.chunk = chunk,
                None => this.read_ended = true,
            }
        }
        Poll::Ready(Ok(&this.chunk))
    }

    fn consume(mut self: Pin<&mut Self>, n: usize) {
        self.chunk.advance(n);
    }
}

impl AsyncRead for TunnelStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let chunk = ready!(self.as_mut().poll_fill_buf(cx))?;
        let n = chunk.len().min(buf.remaining());
        buf.put_slice(&chunk[..n]);
        self.consume(n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TunnelStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.stream.poll_write(cx, buf)
    }

    /// Does nothing, because the tunnel's driver sends written data.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown())
    }
}
