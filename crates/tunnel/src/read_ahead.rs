//! Reads beneath TLS in large pieces.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Two TLS records of the largest size, and a little more.
const PIECE: usize = 40 * 1024;

/// A connection that is read in pieces of up to 40 KiB, whatever its reader asks for: rustls asks
/// for 4 KiB at a time, which would be five system calls for a full record.
///
/// It holds memory only while there is something that its reader has not taken yet, so an idle
/// connection costs nothing.
#[derive(Debug)]
pub struct ReadAhead<S> {
    inner: S,
    ahead: Bytes,
}

impl<S> ReadAhead<S> {
    /// Wraps a connection of which nothing was read ahead.
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
        if buf.remaining() >= PIECE {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        #[expect(
            clippy::large_stack_arrays,
            reason = "a worker's stack has room for it, and it is not even zeroed; the heap would cost every read an allocation"
        )]
        let mut piece = [MaybeUninit::uninit(); PIECE];
        let mut piece = ReadBuf::uninit(&mut piece);
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut piece))?;
        let (now, later) = piece
            .filled()
            .split_at(piece.filled().len().min(buf.remaining()));
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
    async fn bytes_arrive_in_order_whatever_the_sizes_of_writes_and_reads() {
        let (mut far, near) = tokio::io::duplex(100_000);
        let sent: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
        let writes = sent.clone();
        tokio::spawn(async move {
            for chunk in writes.chunks(77_777) {
                far.write_all(chunk).await.unwrap();
            }
        });
        let (mut near, mut read) = (ReadAhead::new(near), Vec::new());
        for size in [1, 5, 4096, 16 * 1024, 64 * 1024].into_iter().cycle() {
            let mut piece = vec![0; size];
            let n = near.read(&mut piece).await.unwrap();
            if n == 0 {
                break;
            }
            read.extend_from_slice(&piece[..n]);
        }
        assert_eq!(read, sent);
    }
}
