//! One open stream: what its user and the tunnel's sweep share, and the duplex form of it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Most bytes handed to HTTP/2 at once by a duplex stream.
const WRITE_CHUNK: usize = 64 * 1024;
/// What h2 keeps in memory for a received frame beside its bytes (measured).
const FRAME_OVERHEAD: usize = 320;
/// Assumed of a stream of which nothing was read: the size of a short log line.
const UNKNOWN_FRAME_SIZE: u64 = 64;

/// Who sends the request's half of a stream.
pub(super) enum Sending {
    /// Nobody: it had no body.
    Done,
    /// A task, which resets the stream when the sender of this channel is dropped.
    Pipe { _cancel: oneshot::Sender<()> },
    /// The user of a duplex stream.
    Own {
        half: SendStream<Bytes>,
        ended: bool,
    },
}

/// A stream's HTTP/2 halves and its place in the budgets.
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

/// A stream that has had its response's head.
pub(super) struct Stream {
    id: u32,
    slot: Mutex<Slot>,
    /// How often the user took something; the sweep compares.
    reads: AtomicU64,
    /// How many bytes those were.
    read_bytes: AtomicU64,
    reader: AtomicWaker,
    writer: AtomicWaker,
    aborted: CancellationToken,
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
            aborted: CancellationToken::new(),
            registry: Arc::clone(registry),
        });
        registry.insert(stream.id, &stream);
        stream
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Memory that what waits for the user takes: its bytes, and what h2 needs for each
    /// frame, judged by the size of those read so far.
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

    /// Resets the stream and lets go of everything it held; its user reads `reason`.
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
        self.aborted.cancel();
        self.reader.wake();
        self.writer.wake();
    }

    /// Ends the user's interest; an unfinished stream is reset with `reason`.
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

    /// The next bytes; never empty ones.
    pub(super) fn poll_chunk(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.poll_live(cx, |recv, cx| {
            loop {
                return match ready!(recv.poll_data(cx)) {
                    Some(Ok(data)) if data.is_empty() => continue,
                    Some(Ok(data)) => {
                        // Fails only for more than was received, which this is not.
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

    /// The trailers, once the data is over.
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
        // Before the slot is looked at: an abort in between must find the waker.
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

    /// Hands some of `buf` to HTTP/2 as far as the agent's window allows.
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

    /// Ends the user's half.
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

/// Lets go of a stream's halves. A duplex one is reset explicitly: the implicit reset says
/// CANCEL, which the agent's end would take for an orderly end.
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

/// An upgraded stream: bytes both ways, each of which can end by itself.
///
/// Dropping it before both ways have ended resets it, and the agent aborts its side.
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

    /// Cancelled when the tunnel resets the stream on its own account, so that whoever waits
    /// for the user can stop.
    pub fn aborted(&self) -> CancellationToken {
        self.stream.aborted.clone()
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

    /// What was written is on its way: the tunnel's driver sends it.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shutdown())
    }
}
