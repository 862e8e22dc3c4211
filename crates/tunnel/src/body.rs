//! Bodies that do not waste frames.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};

/// A body without its empty data frames.
///
/// h2 ends a connection at the 101st empty, non-final DATA frame of its life, so a body that
/// yields them (to flush, say) would in time kill the tunnel for everyone.
#[derive(Debug)]
pub struct SkipEmpty<B>(Pin<Box<B>>);

impl<B> SkipEmpty<B> {
    /// Wraps `body`.
    pub fn new(body: B) -> Self {
        Self(Box::pin(body))
    }
}

impl<B: Body> Body for SkipEmpty<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        loop {
            let frame = ready!(self.0.as_mut().poll_frame(cx));
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
