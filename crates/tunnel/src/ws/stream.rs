//! The byte stream itself: frames out of one buffer, payloads straight into the reader's.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::encode::Encoder;
use super::frame::{self, Control, Decoder, MAX_MESSAGE, Role};

/// Writes are held back above this many bytes not yet taken by the network.
const HIGH_WATER: usize = MAX_MESSAGE;
/// A drained buffer above this size is given back, so that an idle tunnel holds little.
const KEEP: usize = 4 * 1024;

/// How long a shutdown waits for the peer's end.
const LINGER: Duration = Duration::from_secs(2);

/// A WebSocket over `S` as a stream of bytes.
///
/// Small writes are gathered until a flush or until 64 KiB wait. Reading answers pings.
/// A broken frame is an [`io::ErrorKind::InvalidData`] whose source is a
/// [`FrameError`](super::FrameError); the end of `S` inside a frame is
/// [`io::ErrorKind::UnexpectedEof`]. Shutdown sends a close frame and waits up to two seconds
/// for the peer's.
#[derive(Debug)]
pub struct ByteStream<S> {
    inner: S,
    decoder: Decoder,
    encoder: Encoder,
    out: BytesMut,
    /// A ping that found the write buffer full; the latest is answered, as RFC 6455 allows.
    pong: Option<Control>,
    /// A writer waits for `inner` and its waker is registered there.
    writer_waits: bool,
    close: Close,
    /// Nothing more will be read.
    ended: bool,
    /// How long a shutdown still waits for the peer's end.
    linger: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    Open,
    /// The close frame is on its way out.
    Sent,
    /// It is out, and so is the end of `inner`.
    Done,
}

impl<S> ByteStream<S> {
    /// Wraps a connection on which the WebSocket handshake is done.
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

    /// The connection below.
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
            // 1000: normal closure.
            self.queue(frame::CLOSE, &1000_u16.to_be_bytes());
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> ByteStream<S> {
    /// Writes out the buffer. Does not flush `inner`.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            self.queue_pong();
            if self.out.is_empty() {
                if self.out.capacity() > KEEP {
                    self.out = BytesMut::new();
                }
                return Poll::Ready(Ok(()));
            }
            let n = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.out))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.out.advance(n);
        }
    }

    /// As [`Self::poll_drain`] for a writer: remembers that it waits.
    fn poll_drain_writer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let drained = self.poll_drain(cx);
        self.writer_waits = drained.is_pending();
        drained
    }

    /// Sends what reading gave rise to (pongs, the answer to a close) unless a writer waits
    /// for the network: it will send it, and its waker must not be replaced by the reader's.
    fn answer(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
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

    /// Reads on until the peer ends too, or for [`LINGER`]: closing while the peer still
    /// writes would make the network throw away what the peer has not read yet.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = self
            .linger
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if linger.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        let mut waste = [0; 4096];
        while !self.ended {
            let mut buf = ReadBuf::new(&mut waste);
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
        let mut left = length;
        let slices = slices.map_while(|slice| {
            let n = slice.len().min(left);
            left -= n;
            (n > 0 || left > 0).then(|| &slice[..n])
        });
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
                this.answer(cx)?;
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
