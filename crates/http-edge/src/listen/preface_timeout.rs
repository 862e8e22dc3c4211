//! The time limit for the HTTP/2 preface.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Length of the HTTP/2 connection preface, in bytes (RFC 9113 §3.4).
const PREFACE: usize = 24;

/// A stream whose reads fail if the HTTP/2 preface does not arrive before a deadline. After the
/// preface, the stream forwards all reads and writes. hyper has no time limit for the preface, and
/// sends pings only after the preface.
pub(super) struct PrefaceTimeout<S> {
    stream: S,
    /// The deadline and the number of outstanding bytes of the preface. `None` after the complete
    /// preface.
    awaited: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> PrefaceTimeout<S> {
    pub(super) fn new(stream: S, within: Duration) -> Self {
        Self {
            stream,
            awaited: Some((Box::pin(sleep(within)), PREFACE)),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefaceTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if let Some((deadline, missing)) = &mut this.awaited {
            *missing = missing.saturating_sub(buffer.filled().len() - before);
            if *missing == 0 {
                this.awaited = None;
            } else if deadline.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefaceTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
