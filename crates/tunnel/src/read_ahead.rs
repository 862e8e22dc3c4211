//! Reads large blocks from the connection below the TLS layer.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::io::poll_read_buf;

/// Read size in bytes: a little more than two TLS records of maximum size.
const READ_SIZE: usize = 40 * 1024;

/// Connection wrapper that reads up to 40 KiB at a time, regardless of the requested size.
///
/// rustls requests 4 KiB at a time, and would need five system calls for a full record. The wrapper
/// allocates memory only while data is buffered, so that an idle connection needs no memory.
///
/// A read uses a buffer on the stack, so that a small message needs no allocation. After a read that
/// filled the stack buffer, the wrapper reads into a heap buffer, so that bulk data is not copied
/// from the stack to the heap.
#[derive(Debug)]
pub struct ReadAhead<S> {
    inner: S,
    ahead: BytesMut,
    /// True if the most recent read filled its buffer.
    bulk: bool,
}

impl<S> ReadAhead<S> {
    /// Creates a wrapper with an empty buffer.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            ahead: BytesMut::new(),
            bulk: false,
        }
    }

    /// Moves buffered bytes to `buf`. Frees the buffer after the last byte.
    fn take_ahead(&mut self, buf: &mut ReadBuf<'_>) {
        let n = self.ahead.len().min(buf.remaining());
        buf.put_slice(&self.ahead[..n]);
        self.ahead.advance(n);
        if self.ahead.is_empty() {
            self.ahead = BytesMut::new();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadAhead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.ahead.is_empty() {
            this.take_ahead(buf);
            return Poll::Ready(Ok(()));
        }
        if buf.remaining() >= READ_SIZE {
            return Pin::new(&mut this.inner).poll_read(cx, buf);
        }
        if this.bulk {
            let mut block = BytesMut::with_capacity(READ_SIZE);
            let n = ready!(poll_read_buf(Pin::new(&mut this.inner), cx, &mut block))?;
            this.bulk = n >= READ_SIZE;
            this.ahead = block;
            this.take_ahead(buf);
            return Poll::Ready(Ok(()));
        }
        #[expect(
            clippy::large_stack_arrays,
            reason = "the array fits on a worker's stack and is not initialized; a heap buffer would need an allocation per read"
        )]
        let mut chunk = [MaybeUninit::uninit(); READ_SIZE];
        let mut chunk = ReadBuf::uninit(&mut chunk);
        ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
        this.bulk = chunk.remaining() == 0;
        let (now, later) = chunk
            .filled()
            .split_at(chunk.filled().len().min(buf.remaining()));
        buf.put_slice(now);
        if !later.is_empty() {
            this.ahead = BytesMut::from(later);
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
