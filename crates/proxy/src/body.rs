//! Streaming bodies. The proxy forwards a body frame by frame, and counts its bytes. When the
//! request is aborted, the proxy ends the body with an error.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use drover_tunnel::BoxError;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;

use super::observed_write::ResponseCopy;
use super::open::AbortReason;
use crate::open::in_flight::{InFlightRequest, Side};

/// A request body from which the proxy has not read a frame. The proxy can still send the body
/// through a different tunnel. `None` is an empty body, which needs no memory.
#[derive(Clone)]
pub(super) struct UnreadBody(Option<Arc<Mutex<Option<Body>>>>);

impl UnreadBody {
    pub(super) fn new(body: Body) -> Self {
        let is_empty = http_body::Body::is_end_stream(&body);
        Self((!is_empty).then(|| Arc::new(Mutex::new(Some(body)))))
    }

    pub(super) fn is_unread(&self) -> bool {
        self.0.as_ref().is_none_or(|body| body.lock().is_some())
    }

    /// Converts the body into a stream that the proxy sends to the cluster.
    pub(super) fn outgoing(&self, in_flight: &Arc<InFlightRequest>) -> RequestBody {
        let body = self.0.as_ref().map(|body| body.lock());
        let (size, ended) = match body.as_deref() {
            Some(Some(body)) => (
                http_body::Body::size_hint(body),
                http_body::Body::is_end_stream(body),
            ),
            None | Some(None) => (SizeHint::with_exact(0), true),
        };
        RequestBody {
            unread: self.clone(),
            body: None,
            size,
            ended,
            in_flight: Arc::clone(in_flight),
        }
    }
}

/// A request body that the proxy streams to the cluster.
pub(super) struct RequestBody {
    unread: UnreadBody,
    body: Option<Body>,
    size: SizeHint,
    ended: bool,
    in_flight: Arc<InFlightRequest>,
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(reason) = this.in_flight.poll_abort(Side::Upload, cx) {
            return Poll::Ready(Some(Err(abort_error(reason).into())));
        }
        if this.body.is_none() {
            let unread = this.unread.0.as_ref();
            this.body = unread.and_then(|body| body.lock().take());
        }
        let Some(body) = &mut this.body else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
        {
            this.in_flight.sent_up(data.len());
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

/// A response body that the proxy streams to the client. An abort ends the body with an error so
/// that the client detects the abort. A chunked body then lacks its last chunk, and an HTTP/2
/// stream is reset.
pub(super) struct ResponseBody<B> {
    inner: B,
    /// The value of `Content-Length`. Some HTTP servers stop reading after this many bytes and
    /// never poll for the end.
    declared: Option<u64>,
    in_flight: Arc<InFlightRequest>,
    /// The copy of the response, if an observer wants it.
    copy: Option<Box<ResponseCopy>>,
}

impl<B> ResponseBody<B> {
    /// Creates a body from a body that has not ended.
    pub(super) const fn new(
        inner: B,
        declared: Option<u64>,
        in_flight: Arc<InFlightRequest>,
        copy: Option<Box<ResponseCopy>>,
    ) -> Self {
        Self {
            inner,
            declared,
            in_flight,
            copy,
        }
    }

    /// Records that the client received the complete response.
    fn complete(&mut self) {
        self.in_flight.complete();
        if let Some(copy) = self.copy.take() {
            copy.finish(&self.in_flight);
        }
    }
}

impl<B> http_body::Body for ResponseBody<B>
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
        if let Poll::Ready(reason) = this.in_flight.poll_abort(Side::Download, cx) {
            return Poll::Ready(Some(Err(abort_error(reason).into())));
        }
        match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
            Some(Ok(frame)) => {
                if let (Some(copy), Some(data)) = (&mut this.copy, frame.data_ref()) {
                    copy.add(data);
                }
                let sent = this
                    .in_flight
                    .sent_down(frame.data_ref().map_or(0, Bytes::len));
                if this.inner.is_end_stream() || this.declared == Some(sent) {
                    this.complete();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => {
                this.in_flight.upstream_gone();
                Poll::Ready(Some(Err(error.into())))
            }
            None => {
                this.complete();
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

pub(super) fn abort_error(reason: AbortReason) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("the request was aborted: {reason}"),
    )
}
