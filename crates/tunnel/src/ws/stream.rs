//! The byte stream over a WebSocket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::encode::Encoder;
use super::frame::{self, Control, Decoder, MAX_MESSAGE, Role};

/// Number of unsent bytes in the buffer at which writes wait.
const HIGH_WATER: usize = MAX_MESSAGE;
/// Initial capacity of the write buffer in bytes. An empty buffer is freed, so that an idle tunnel
/// needs no memory for the buffer.
const INITIAL_CAPACITY: usize = 4 * 1024;

/// Maximum duration for which a shutdown waits for the peer's close frame.
const LINGER: Duration = Duration::from_secs(2);

/// A WebSocket over `S` as a byte stream.
///
/// Small writes are buffered until a flush or until 64 KiB are buffered. Reads also send pongs for
/// received pings. An invalid frame returns [`io::ErrorKind::InvalidData`] with the source
/// [`FrameError`](super::FrameError). The end of `S` inside a frame returns
/// [`io::ErrorKind::UnexpectedEof`]. A shutdown sends a close frame and waits up to two seconds for
/// the peer's close frame.
#[derive(Debug)]
pub struct ByteStream<S> {
    inner: S,
    decoder: Decoder,
    encoder: Encoder,
    out: BytesMut,
    /// The most recent ping without a pong. While the write buffer is full, a newer ping replaces
    /// an older ping, as RFC 6455 allows.
    pong: Option<Control>,
    /// True if a writer waits for `inner` and has registered its waker. A reader must then not
    /// replace the waker.
    writer_waits: bool,
    close: Close,
    /// True if the stream has reached its end.
    ended: bool,
    /// Timer that limits how long the shutdown waits for the peer's close frame.
    linger: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    Open,
    /// The close frame is in the write buffer.
    Sent,
    /// The close frame was sent, and the write half of `inner` was shut down.
    Done,
}

impl<S> ByteStream<S> {
    /// Creates a byte stream from a connection after the WebSocket handshake.
    pub fn new(inner: S, role: Role) -> Self {
        Self {
            inner,
            decoder: Decoder::new(role),
            encoder: Encoder::new(role),
            out: BytesMut::new(),
            pong: None,
            writer_waits: false,
            close: Close::Open,
            ended: false,
            linger: None,
        }
    }

    /// Returns the underlying connection.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    fn queue(&mut self, opcode: u8, payload: &[u8]) {
        self.encoder.frame(
            opcode,
            payload.len(),
            std::iter::once(payload),
            &mut self.out,
        );
    }

    fn queue_pong(&mut self) {
        if self.out.len() < HIGH_WATER
            && let Some(pong) = self.pong.take()
            && self.close == Close::Open
        {
            self.queue(frame::PONG, pong.as_slice());
        }
    }

    fn queue_close(&mut self) {
        if self.close == Close::Open {
            self.close = Close::Sent;
            // Status code 1000 means normal closure.
            self.queue(frame::CLOSE, &1000_u16.to_be_bytes());
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ByteStream<S> {
    /// Writes all buffered bytes to `inner`. Does not flush `inner`.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.queue_pong();
            if self.out.is_empty() {
                self.out = BytesMut::new();
                return Poll::Ready(Ok(()));
            }
            let n = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.out))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(n);
        }
    }

    /// Writes all buffered bytes like [`Self::poll_drain`]. Records whether the writer waits.
    fn poll_drain_writer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let drained = self.poll_drain(cx);
        self.writer_waits = drained.is_pending();
        drained
    }

    /// Sends pongs and the close response. Does nothing while a writer waits for the network,
    /// because the writer then sends these frames. The reader must not replace the writer's waker.
    fn send_control_frames(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.writer_waits {
            return Ok(());
        }
        if let Poll::Ready(drained) = self.poll_drain(cx) {
            drained?;
            if let Poll::Ready(flushed) = Pin::new(&mut self.inner).poll_flush(cx) {
                flushed?;
            }
        }
        Ok(())
    }

    /// Reads until the peer closes the connection or [`LINGER`] has passed. An immediate close
    /// would discard data that the peer has not read.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = self
            .linger
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if linger.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut discarded = [0; 4096];
        while !self.ended {
            let mut buf = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buf)) {
                Ok(()) if buf.filled().is_empty() => break,
                Err(_) => break,
                Ok(()) => match self.decoder.decode(buf.filled_mut()) {
                    Ok(found) => self.ended = found.closed,
                    Err(_) => break,
                },
            }
        }
        self.ended = true;
        Poll::Ready(())
    }

    fn poll_write_slices<'a>(
        &mut self,
        cx: &mut Context<'_>,
        total: usize,
        slices: impl Iterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        if self.close != Close::Open {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.out.len() >= HIGH_WATER {
            ready!(self.poll_drain_writer(cx))?;
        }
        let length = total.min(MAX_MESSAGE);
        if length == 0 {
            return Poll::Ready(Ok(0));
        }
        let mut remaining = length;
        let slices = slices.map_while(|slice| {
            let n = slice.len().min(remaining);
            remaining -= n;
            (n > 0 || remaining > 0).then(|| &slice[..n])
        });
        // Several small frames would otherwise grow the buffer several times.
        if self.out.capacity() == 0 && length < INITIAL_CAPACITY {
            self.out.reserve(INITIAL_CAPACITY);
        }
        self.encoder
            .frame(frame::BINARY, length, slices, &mut self.out);
        Poll::Ready(Ok(length))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for ByteStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let start = buf.filled().len();
        while !this.ended && buf.remaining() > 0 {
            ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
            let raw = &mut buf.filled_mut()[start..];
            if raw.is_empty() {
                this.ended = true;
                if !this.decoder.at_boundary() {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                break;
            }
            let found = match this.decoder.decode(raw) {
                Ok(found) => found,
                Err(error) => {
                    this.ended = true;
                    buf.set_filled(start);
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
                }
            };
            buf.set_filled(start + found.payload);
            if found.ping.is_some() {
                this.pong = found.ping;
            }
            if found.closed {
                this.ended = true;
                this.queue_close();
            }
            if this.pong.is_some() || found.closed {
                this.send_control_frames(cx)?;
            }
            if found.payload > 0 {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ByteStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_slices(cx, buf.len(), std::iter::once(buf))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let total = bufs.iter().map(|buf| buf.len()).sum();
        self.poll_write_slices(cx, total, bufs.iter().map(|buf| &**buf))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain_writer(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.close != Close::Done {
            self.queue_close();
            ready!(self.poll_drain_writer(cx))?;
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
            self.close = Close::Done;
        }
        self.poll_linger(cx).map(Ok)
    }
}
