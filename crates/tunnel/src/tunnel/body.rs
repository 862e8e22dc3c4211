//! Response body of a request that was sent through the tunnel.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::Reason;
use http_body::{Frame, SizeHint};

use super::error::BodyError;
use super::stream::Stream;

/// Response body of a request that was sent through the tunnel. Dropping an unfinished body resets
/// the stream, so that the agent cancels the request.
#[derive(Default)]
pub struct Body {
    stream: Option<Arc<Stream>>,
    data_ended: bool,
}

impl Body {
    pub(super) const fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream: Some(stream),
            data_ended: false,
        }
    }

    fn finish(&mut self) {
        if let Some(stream) = self.stream.take() {
            stream.finish(Reason::CANCEL);
        }
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("ended", &self.stream.is_none())
            .finish_non_exhaustive()
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.finish();
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let Some(stream) = &this.stream else {
            return Poll::Ready(None);
        };
        if !this.data_ended {
            match ready!(stream.poll_chunk(cx)) {
                Some(Ok(data)) => {
                    // Ends the stream without another poll. Later calls then need no lock.
                    if stream.is_end_stream() {
                        this.finish();
                    }
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Err(error)) => {
                    this.finish();
                    return Poll::Ready(Some(Err(error)));
                }
                None => this.data_ended = true,
            }
        }
        let trailers = ready!(stream.poll_trailers(cx));
        this.finish();
        Poll::Ready(trailers.map(|trailers| trailers.map(Frame::trailers)))
    }

    fn is_end_stream(&self) -> bool {
        self.stream
            .as_ref()
            .is_none_or(|stream| stream.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        if self.stream.is_none() {
            SizeHint::with_exact(0)
        } else {
            SizeHint::default()
        }
    }
}
