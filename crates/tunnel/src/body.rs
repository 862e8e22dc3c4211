//! Removes empty data frames from HTTP bodies.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};

/// Body wrapper that drops empty data frames.
///
/// h2 closes a connection at its 101st empty DATA frame that does not end a stream. Without this
/// wrapper, a body with empty frames closes the tunnel for all users.
#[derive(Debug)]
pub struct SkipEmpty<B>(B);

impl<B> SkipEmpty<B> {
    /// Creates a wrapper around `body`.
    pub fn new(body: B) -> Self {
        Self(body)
    }
}

impl<B: Body + Unpin> Body for SkipEmpty<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.0).poll_frame(cx));
            if let Some(Ok(frame)) = &frame
                && frame.data_ref().is_some_and(|data| !data.has_remaining())
            {
                continue;
            }
            return Poll::Ready(frame);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
