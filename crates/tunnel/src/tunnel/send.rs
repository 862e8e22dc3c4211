//! Sends a request through the tunnel.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderMap, Method, Request, Response, request, response};
use tokio::sync::oneshot;

use super::body::Body;
use super::error::{ClosedReason, SendError};
use super::pipe::pipe;
use super::stream::{Live, Sending, Stream, TunnelStream};
use super::{Shared, Tunnel};
use crate::BoxError;
use crate::budget::StreamPermit;
use crate::upgrade_headers::SWITCHED_HEADER;

/// Request extension with the timeout for the response head. A request without this extension has
/// no timeout while the tunnel is open. For example, a `logs -f` request to a silent pod must not
/// time out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadTimeout(pub Duration);

/// Result of an extended CONNECT (RFC 8441).
#[derive(Debug)]
pub enum Connected {
    /// The API server switched protocols.
    Open(Box<response::Parts>, TunnelStream),
    /// The API server did not switch protocols, and returned this response.
    Refused(Response<Body>),
}

struct Started {
    permit: StreamPermit,
    response: ResponseFuture,
    send: SendStream<Bytes>,
    head_timeout: Option<HeadTimeout>,
}

impl Tunnel {
    /// Sends a request and waits for the response head.
    ///
    /// Dropping the future or the response body resets the stream, and the agent cancels its
    /// request. The function removes hop-by-hop headers. If the URI has no authority, the function
    /// uses the value of the `Host` header as the authority.
    pub async fn send<B>(&self, request: Request<B>) -> Result<Response<Body>, SendError>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let (mut head, body) = request.into_parts();
        let bodyless = body.is_end_stream();
        if !bodyless && let Some(length) = body.size_hint().exact() {
            head.headers
                .entry(CONTENT_LENGTH)
                .or_insert_with(|| HeaderValue::from(length));
        }
        let started = self.start(head, bodyless)?;
        let sending = if bodyless {
            Sending::Done
        } else {
            let (cancel, cancelled) = oneshot::channel();
            let sending = pipe(Box::pin(body), started.send, cancelled);
            spawn_unless_done(Box::pin(sending));
            Sending::Pipe { _cancel: cancel }
        };
        let response = self
            .shared
            .head(started.response, started.head_timeout)
            .await?;
        Ok(self.shared.respond(response, sending, started.permit))
    }

    /// Opens a duplex stream with extended CONNECT for `protocol` (RFC 8441), such as `websocket`
    /// or `SPDY/3.1`. The method of the request is ignored. The stream is open if the response has
    /// [`SWITCHED_HEADER`].
    pub async fn connect(
        &self,
        request: Request<()>,
        protocol: &str,
    ) -> Result<Connected, SendError> {
        let (mut head, ()) = request.into_parts();
        head.method = Method::CONNECT;
        head.extensions.insert(h2::ext::Protocol::from(protocol));
        let Started {
            permit,
            response,
            send,
            head_timeout,
        } = self.start(head, false)?;
        let response = self.shared.head(response, head_timeout).await?;
        let sending = Sending::Own {
            half: send,
            ended: false,
        };
        if !response.headers().contains_key(SWITCHED_HEADER) {
            return Ok(Connected::Refused(
                self.shared.respond(response, sending, permit),
            ));
        }
        let (head, recv) = response.into_parts();
        let live = Live {
            recv,
            send: sending,
            _permit: permit,
        };
        let stream = Stream::register(live, &self.shared.registry);
        Ok(Connected::Open(Box::new(head), TunnelStream::new(stream)))
    }

    fn start(&self, mut head: request::Parts, end: bool) -> Result<Started, SendError> {
        if let Some(reason) = self.shared.closed.get() {
            return Err(SendError::Closed(reason.clone()));
        }
        if self.shared.exhausted.is_cancelled() {
            return Err(SendError::Draining);
        }
        let mut h2 = self.h2.clone();
        let permit = self.shared.budget.stream(h2.current_max_send_streams())?;
        strip_connection_headers(&mut head.headers);
        complete_uri(&mut head)?;
        let head_timeout = head.extensions.get::<HeadTimeout>().copied();
        let request = Request::from_parts(head, ());
        let (response, send) = h2
            .send_request(request, end)
            .map_err(|error| self.shared.send_error(error))?;
        // Streams of the client have odd numbers.
        if response.stream_id().as_u32() / 2 >= self.shared.renew_after {
            self.shared.exhausted.cancel();
        }
        Ok(Started {
            permit,
            response,
            send,
            head_timeout,
        })
    }
}

impl Shared {
    async fn head(
        &self,
        response: ResponseFuture,
        timeout: Option<HeadTimeout>,
    ) -> Result<Response<RecvStream>, SendError> {
        let answered = match timeout {
            None => response.await,
            Some(HeadTimeout(limit)) => tokio::time::timeout(limit, response)
                .await
                .map_err(|_| SendError::HeadTimeout(limit))?,
        };
        match answered {
            Ok(response) => Ok(response),
            // Boxed, because otherwise the future of every request reserves memory for the error.
            Err(error) => Err(Box::pin(self.response_error(error)).await),
        }
    }

    fn respond(
        &self,
        response: Response<RecvStream>,
        send: Sending,
        permit: StreamPermit,
    ) -> Response<Body> {
        response.map(|recv| {
            // Dropping `send` cancels a sender that is still running.
            if recv.is_end_stream() {
                return Body::default();
            }
            let live = Live {
                recv,
                send,
                _permit: permit,
            };
            Body::new(Stream::register(live, &self.registry))
        })
    }

    /// Converts an h2 error that occurred while the request was sent.
    fn send_error(&self, error: h2::Error) -> SendError {
        if is_graceful_goaway(&error) {
            return SendError::Draining;
        }
        if error.is_io() || error.is_go_away() || error.is_reset() {
            let known = self.closed.get().cloned();
            return SendError::Closed(known.unwrap_or_else(|| ClosedReason::of(error)));
        }
        SendError::Request(error.to_string())
    }

    /// Converts an h2 error that occurred before the response head arrived.
    async fn response_error(&self, error: h2::Error) -> SendError {
        if is_graceful_goaway(&error) {
            return SendError::Draining;
        }
        if error.is_reset()
            && let Some(reason) = error.reason()
        {
            return match reason {
                h2::Reason::REFUSED_STREAM => SendError::RefusedByAgent,
                other => SendError::Reset(other),
            };
        }
        // The driver sees the same error and sets a more precise reason within this timeout.
        let known = tokio::time::timeout(Duration::from_secs(1), self.closed.wait()).await;
        SendError::Lost(known.map_or_else(|_| ClosedReason::of(error), Clone::clone))
    }
}

/// Reports whether the error is a GOAWAY with NO_ERROR. The agent then has not processed the
/// rejected requests.
fn is_graceful_goaway(error: &h2::Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR)
}

/// Polls the future once. Spawns a task only if the future is not ready, because most bodies have
/// only one chunk.
fn spawn_unless_done(mut sending: Pin<Box<impl Future<Output = ()> + Send + 'static>>) {
    let mut context = Context::from_waker(std::task::Waker::noop());
    if sending.as_mut().poll(&mut context).is_pending() {
        tokio::spawn(sending);
    }
}

/// Removes hop-by-hop headers, which HTTP/2 forbids (RFC 9113 §8.2.2).
fn strip_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
    if headers.get(TE).is_some_and(|te| te != "trailers") {
        headers.remove(TE);
    }
}

/// Adds the scheme and the authority to the URI, because HTTP/2 requires both.
fn complete_uri(head: &mut request::Parts) -> Result<(), SendError> {
    let host = head.headers.remove(HOST);
    if head.uri.authority().is_some() && head.uri.scheme().is_some() {
        return Ok(());
    }
    let authority = match (head.uri.authority(), host) {
        (Some(authority), _) => authority.clone(),
        (None, Some(host)) => Authority::try_from(host.as_bytes())
            .map_err(|_| SendError::Request("the Host header is invalid".to_owned()))?,
        (None, None) => Authority::from_static("cluster"),
    };
    let mut parts = std::mem::take(&mut head.uri).into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(authority);
    if parts.path_and_query.is_none() {
        parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    }
    head.uri = Uri::from_parts(parts)
        .map_err(|error| SendError::Request(format!("the URI is invalid: {error}")))?;
    Ok(())
}
