//! Bodies on their way through: passed on frame by frame, counted, and ended with an error once
//! their request is cut.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use drover_tunnel::BoxError;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;

use super::open::CutReason;
use crate::open::journey::{Journey, Side};

/// A request's body before anyone read from it, so that it can still go another way.
#[derive(Clone)]
pub(super) struct Unread(Arc<Mutex<Option<Body>>>);

impl Unread {
    pub(super) fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(Some(body))))
    }

    /// Whether nobody has read from it.
    pub(super) fn is_unread(&self) -> bool {
        self.0.lock().is_some()
    }

    /// The body as it goes to the cluster.
    pub(super) fn for_journey(&self, journey: &Arc<Journey>) -> Outgoing {
        let (size, ended) = match &*self.0.lock() {
            Some(body) => (
                http_body::Body::size_hint(body),
                http_body::Body::is_end_stream(body),
            ),
            None => (SizeHint::with_exact(0), true),
        };
        Outgoing {
            unread: self.clone(),
            body: None,
            size,
            ended,
            journey: Arc::clone(journey),
        }
    }
}

/// A request's body on its way to the cluster.
pub(super) struct Outgoing {
    unread: Unread,
    body: Option<Body>,
    size: SizeHint,
    ended: bool,
    journey: Arc<Journey>,
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(reason) = this.journey.poll_cut(Side::Upward, cx) {
            return Poll::Ready(Some(Err(cut_error(reason).into())));
        }
        if this.body.is_none() {
            this.body = this.unread.0.lock().take();
        }
        let Some(body) = &mut this.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            this.journey.sent_up(data.len());
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body
            .as_ref()
            .map_or(self.ended, http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(|| self.size, http_body::Body::size_hint)
    }
}

/// An answer's body on its way to the client.
///
/// A cut ends it with an error, so that the client notices: a chunked body stays without its end,
/// an HTTP/2 stream is reset.
pub(super) struct Answer<B> {
    inner: B,
    /// `Content-Length`: some servers stop reading there and never ask for the end.
    declared: Option<u64>,
    journey: Arc<Journey>,
}

impl<B: http_body::Body> Answer<B> {
    pub(super) fn new(inner: B, declared: Option<u64>, journey: Arc<Journey>) -> Self {
        if inner.is_end_stream() {
            journey.complete();
        }
        Self {
            inner,
            declared,
            journey,
        }
    }
}

impl<B> http_body::Body for Answer<B>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(reason) = this.journey.poll_cut(Side::Downward, cx) {
            return Poll::Ready(Some(Err(cut_error(reason).into())));
        }
        match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
            Some(Ok(frame)) => {
                let sent = this
                    .journey
                    .sent_down(frame.data_ref().map_or(0, Bytes::len));
                if this.inner.is_end_stream() || this.declared == Some(sent) {
                    this.journey.complete();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                this.journey.upstream_gone();
                Poll::Ready(Some(Err(error.into())))
            }
            None => {
                this.journey.complete();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

pub(super) fn cut_error(reason: CutReason) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("the request was stopped: {reason}"),
    )
}
