//! Combines the flushes of one scheduler turn into one flush.
//!
//! The HTTP/2 connection flushes after nearly every DATA frame. Without this wrapper, each flush
//! causes a TLS record, a system call, and a wake-up at the peer. This wrapper delays the flush
//! until all ready tasks have run, so that their frames are sent together.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream that delays each flush until the next poll of its task.
///
/// A flush that returns success is only scheduled. Use this stream only with a caller that reads
/// and then flushes on *every* poll, as the HTTP/2 connection does.
///
/// ```text
///   Idle ──flush after a write: wake own task──► Scheduled
///     ──read (the next poll)──► Due ──flush inner──► Idle
/// ```
#[derive(Debug)]
pub struct Coalesce<S> {
    inner: S,
    flush: Flush,
    /// True if bytes were written since the last flush of `inner`.
    written: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    Idle,
    Scheduled,
    Due,
}

impl<S> Coalesce<S> {
    /// Creates a stream without a scheduled flush.
    pub const fn new(inner: S) -> Self {
        Self {
            inner,
            flush: Flush::Idle,
            written: false,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Coalesce<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.flush == Flush::Scheduled {
            self.flush = Flush::Due;
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Coalesce<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written = true;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.written = true;
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.flush {
            Flush::Idle if self.written => {
                self.flush = Flush::Scheduled;
                cx.waker().wake_by_ref();
                Poll::Ready(Ok(()))
            }
            Flush::Scheduled => Poll::Ready(Ok(())),
            Flush::Idle | Flush::Due => {
                let flushed = Pin::new(&mut self.inner).poll_flush(cx);
                if flushed.is_ready() {
                    self.flush = Flush::Idle;
                    self.written = false;
                }
                flushed
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Stream for tests that counts flushes. Reads always return pending.
    #[derive(Default)]
    struct Line {
        flushes: usize,
    }

    impl AsyncRead for Line {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Line {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushes += 1;
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Simulates one poll of the HTTP/2 connection that writes `frames` frames. Returns the total
    /// number of flushes.
    fn turn(stream: &mut Coalesce<Line>, cx: &mut Context<'_>, frames: usize) -> usize {
        let mut buf = [0; 8];
        let read = Pin::new(&mut *stream).poll_read(cx, &mut ReadBuf::new(&mut buf));
        assert!(read.is_pending());
        for _ in 0..frames {
            assert!(Pin::new(&mut *stream).poll_write(cx, b"frame").is_ready());
            assert!(Pin::new(&mut *stream).poll_flush(cx).is_ready());
        }
        assert!(Pin::new(&mut *stream).poll_flush(cx).is_ready());
        stream.inner.flushes
    }

    #[test]
    fn writes_of_one_poll_are_flushed_once_in_the_next_poll() {
        let count = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let woken = || count.0.load(Ordering::Relaxed);
        let mut stream = Coalesce::new(Line::default());
        assert_eq!(turn(&mut stream, &mut cx, 3), 0);
        assert_eq!(woken(), 1, "the task is woken once");
        assert_eq!(turn(&mut stream, &mut cx, 0), 1);
        assert_eq!(woken(), 1, "an idle stream does not wake its task");
    }
}
