//! The hot path of tunnels: WebSocket frames of small and large messages in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint::black_box;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use drover_tunnel::ws::{ByteStream, Role};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::work::Work;

/// Sizes of the messages in bytes: HTTP/2 control frames, headers, and DATA frames.
const MESSAGES: &[usize] = &[9, 60, 100, 300, 1_200, 16_384, 65_536];
const ROUNDS: usize = 10;
/// Size of the reader's buffer in bytes.
const READ: usize = 16 * 1024;

pub(crate) fn tunnel_frames() -> Work {
    let (to_server, to_client) = (Pipe::default(), Pipe::default());
    let mut client = ByteStream::new(
        End {
            input: Rc::clone(&to_client),
            output: Rc::clone(&to_server),
        },
        Role::Client,
    );
    let mut server = ByteStream::new(
        End {
            input: to_server,
            output: to_client,
        },
        Role::Server,
    );
    let message: Vec<u8> = (0..=u8::MAX).cycle().take(65_536).collect();
    let mut buffer = vec![0; READ];
    Box::new(move || {
        for _ in 0..ROUNDS {
            for &size in MESSAGES {
                send(&mut client, &message[..size]);
                receive(&mut server, &mut buffer);
                send(&mut server, &message[..size]);
                receive(&mut client, &mut buffer);
            }
        }
    })
}

/// Writes a message. The pipe accepts all bytes, so no write waits.
fn send(stream: &mut ByteStream<End>, mut message: &[u8]) {
    let mut context = Context::from_waker(Waker::noop());
    while let Poll::Ready(Ok(written @ 1..)) =
        Pin::new(&mut *stream).poll_write(&mut context, message)
    {
        message = &message[written..];
    }
    let _ = black_box(Pin::new(stream).poll_flush(&mut context));
}

/// Reads until the pipe is empty.
fn receive(stream: &mut ByteStream<End>, buffer: &mut [u8]) {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let mut unfilled = ReadBuf::new(buffer);
        let Poll::Ready(Ok(())) = Pin::new(&mut *stream).poll_read(&mut context, &mut unfilled)
        else {
            return;
        };
        black_box(unfilled.filled());
    }
}

/// Bytes that one end has written and the other end has not read yet.
type Pipe = Rc<RefCell<VecDeque<u8>>>;

/// One end of a connection in memory.
#[derive(Debug)]
struct End {
    input: Pipe,
    output: Pipe,
}

impl AsyncRead for End {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut input = self.input.borrow_mut();
        if input.is_empty() {
            return Poll::Pending;
        }
        let length = buf.remaining().min(input.len());
        buf.put_slice(&input.make_contiguous()[..length]);
        input.drain(..length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for End {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.output.borrow_mut().extend(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
