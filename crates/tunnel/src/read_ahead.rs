//! Reads large blocks from the connection below the TLS layer.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Read size in bytes: a little more than two TLS records of maximum size.
const READ_SIZE: usize = 40 * 1024;

/// Connection wrapper that reads up to 40 KiB at a time, regardless of the requested size.
///
/// rustls requests 4 KiB at a time, and would need five system calls for a full record. The wrapper
/// allocates memory only while data is buffered, so that an idle connection needs no memory.
#[derive(Debug)]
pub struct ReadAhead<S> {
    inner: S,
    ahead: Bytes,
}

impl<S> ReadAhead<S> {
    /// Creates a wrapper with an empty buffer.
    pub const fn new(inner: S) -> Self {
        Self {
            inner,
            ahead: Bytes::new(),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadAhead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let n = self.ahead.len().min(buf.remaining());
            buf.put_slice(&self.ahead[..n]);
            self.ahead.advance(n);
            if self.ahead.is_empty() {
                self.ahead = Bytes::new();
            }
            return Poll::Ready(Ok(()));
        }
        if buf.remaining() >= READ_SIZE {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        #[expect(
            clippy::large_stack_arrays,
            reason = "the array fits on a worker's stack and is not initialized; a heap buffer would need an allocation per read"
        )]
        let mut chunk = [MaybeUninit::uninit(); READ_SIZE];
        let mut chunk = ReadBuf::uninit(&mut chunk);
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut chunk))?;
        let (now, later) = chunk
            .filled()
            .split_at(chunk.filled().len().min(buf.remaining()));
        buf.put_slice(now);
        if !later.is_empty() {
            self.ahead = Bytes::copy_from_slice(later);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadAhead<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::ReadAhead;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn read_ahead_preserves_byte_order_for_all_write_and_read_sizes() {
        let (mut remote, local) = tokio::io::duplex(100_000);
        let sent: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
        let writes = sent.clone();
        tokio::spawn(async move {
            for chunk in writes.chunks(77_777) {
                remote.write_all(chunk).await.unwrap();
            }
        });
        let (mut local, mut read) = (ReadAhead::new(local), Vec::new());
        for size in [1, 5, 4096, 16 * 1024, 64 * 1024].into_iter().cycle() {
            let mut chunk = vec![0; size];
            let n = local.read(&mut chunk).await.unwrap();
            if n == 0 {
                break;
            }
            read.extend_from_slice(&chunk[..n]);
        }
        assert_eq!(read, sent);
    }
}
