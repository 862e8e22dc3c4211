//! The HTTP/1.1 exchange that turns a connection into a WebSocket, both ends.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use bytes::{Buf, Bytes};
use http::header::{
    CONNECTION, HOST, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::HeaderName};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::{ByteStream, Role};

/// Most bytes kept of the body of a refusal.
const MAX_REFUSAL: usize = 16 * 1024;

/// How [`dial`] asks for the WebSocket.
#[derive(Debug, Clone)]
pub struct DialOptions {
    /// Most time for the whole exchange.
    pub timeout: Duration,
}

impl Default for DialOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
        }
    }
}

/// A dialled tunnel connection, ready for [`serve`](crate::serve::serve).
#[derive(Debug)]
pub struct Dialed<S> {
    /// The byte stream inside the WebSocket.
    pub stream: ByteStream<Prefixed<S>>,
    /// The headers of the server's answer; the protocol version among them.
    pub headers: HeaderMap,
}

/// Why no WebSocket came of a connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The server answered with something other than 101. The body says why, as far as it
    /// is text and at most 16 KiB.
    #[error("the server answered {status} instead of opening the tunnel: {body}")]
    Refused {
        /// The answer's status.
        status: StatusCode,
        /// The answer's headers.
        headers: Box<HeaderMap>,
        /// The answer's body.
        body: String,
    },
    /// A 101 that does not prove the server understood the WebSocket request.
    #[error("the server's 101 answer is not a WebSocket's: {0}")]
    NotWebSocket(&'static str),
    /// The request cannot be sent as it is.
    #[error("the request for the tunnel cannot be sent: {0}")]
    Request(&'static str),
    /// HTTP failed on the connection.
    #[error("the HTTP exchange that opens the tunnel failed")]
    Http(#[source] hyper::Error),
    /// Nothing came in time.
    #[error("the server did not answer the request for the tunnel within {0:?}")]
    Timeout(Duration),
}

/// Asks the server at the other end of `stream` for a WebSocket.
///
/// `request` is a GET whose URI has the path, with a `Host` header or an authority in its
/// URI, and whatever else the server wants to know (authentication, protocol versions);
/// the WebSocket's own headers are added here.
pub async fn dial<S>(
    stream: S,
    request: http::Request<()>,
    options: DialOptions,
) -> Result<Dialed<S>, DialError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limit = options.timeout;
    tokio::time::timeout(limit, exchange(stream, request))
        .await
        .unwrap_or(Err(DialError::Timeout(limit)))
}

async fn exchange<S>(stream: S, request: http::Request<()>) -> Result<Dialed<S>, DialError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let key = generate_key();
    let request = dial_request(request, &key)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(DialError::Http)?;
    // Ends by itself: with the upgrade, or once `sender` is gone.
    tokio::spawn(connection.with_upgrades());
    let mut response = sender
        .send_request(request)
        .await
        .map_err(DialError::Http)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(refusal(response).await);
    }
    check_switch(response.headers(), &key)?;
    let headers = std::mem::take(response.headers_mut());
    let upgraded = hyper::upgrade::on(response)
        .await
        .map_err(DialError::Http)?;
    let parts = upgraded
        .downcast::<TokioIo<S>>()
        .map_err(|_| DialError::NotWebSocket("the connection was exchanged below"))?;
    let stream = Prefixed {
        prefix: parts.read_buf,
        inner: parts.io.into_inner(),
    };
    Ok(Dialed {
        stream: ByteStream::new(stream, Role::Client),
        headers,
    })
}

fn dial_request(
    request: http::Request<()>,
    key: &str,
) -> Result<http::Request<Empty<Bytes>>, DialError> {
    let (mut head, ()) = request.into_parts();
    head.method = Method::GET;
    if !head.headers.contains_key(HOST) {
        let authority = head.uri.authority().ok_or(DialError::Request(
            "it has neither a Host header nor an authority in its URI; set one",
        ))?;
        let host = HeaderValue::from_str(authority.as_str())
            .map_err(|_| DialError::Request("its authority is not a valid Host"))?;
        head.headers.insert(HOST, host);
    }
    head.uri = head.uri.path_and_query().map_or_else(
        || http::Uri::from_static("/"),
        |path| http::Uri::from(path.clone()),
    );
    let key = HeaderValue::from_str(key).map_err(|_| DialError::Request("its key is not text"))?;
    head.headers
        .insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    head.headers
        .insert(UPGRADE, HeaderValue::from_static("websocket"));
    head.headers
        .insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    head.headers.insert(SEC_WEBSOCKET_KEY, key);
    Ok(http::Request::from_parts(head, Empty::new()))
}

async fn refusal(response: http::Response<hyper::body::Incoming>) -> DialError {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_REFUSAL).collect().await.map_or_else(
        |_| "(its body could not be read)".to_owned(),
        |body| String::from_utf8_lossy(&body.to_bytes()).trim().to_owned(),
    );
    DialError::Refused {
        status: head.status,
        headers: Box::new(head.headers),
        body,
    }
}

fn check_switch(headers: &HeaderMap, key: &str) -> Result<(), DialError> {
    if !names(headers, &UPGRADE, "websocket") {
        return Err(DialError::NotWebSocket(
            "its Upgrade header is not \"websocket\"",
        ));
    }
    let accept = headers.get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    if accept != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(DialError::NotWebSocket(
            "its Sec-WebSocket-Accept does not fit the key",
        ));
    }
    Ok(())
}

/// Whether one of the comma-separated values of `header` is `token`, in any case.
fn names(headers: &HeaderMap, header: &HeaderName, token: &str) -> bool {
    headers
        .get_all(header)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(token))
}

/// Why a request cannot be answered with a WebSocket, or no connection came of the answer.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The request is not RFC 6455's opening handshake; answer 400 (or 426).
    #[error("the request does not open a WebSocket: {0}")]
    Request(&'static str),
    /// The connection ended before it was handed over.
    #[error("the connection ended before it became a WebSocket")]
    Upgrade(#[source] hyper::Error),
}

/// The 101 answer to a request that opens a WebSocket.
///
/// Answer with it, after authentication, having taken the request's
/// [`OnUpgrade`] (`hyper::upgrade::on`) for [`accept`].
pub fn accept_response<B>(request: &http::Request<B>) -> Result<http::Response<()>, AcceptError> {
    let headers = request.headers();
    if request.method() != Method::GET {
        return Err(AcceptError::Request("its method is not GET"));
    }
    if !names(headers, &CONNECTION, "upgrade") || !names(headers, &UPGRADE, "websocket") {
        return Err(AcceptError::Request(
            "it lacks \"Connection: Upgrade, Upgrade: websocket\"",
        ));
    }
    if headers
        .get(SEC_WEBSOCKET_VERSION)
        .is_none_or(|version| version != "13")
    {
        return Err(AcceptError::Request("its Sec-WebSocket-Version is not 13"));
    }
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .ok_or(AcceptError::Request("it has no Sec-WebSocket-Key"))?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| AcceptError::Request("its Sec-WebSocket-Key is not text"))?;
    let mut response = http::Response::new(());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// Takes the connection over once the 101 of [`accept_response`] is out.
pub async fn accept(upgrade: OnUpgrade) -> Result<ByteStream<TokioIo<Upgraded>>, AcceptError> {
    let upgraded = upgrade.await.map_err(AcceptError::Upgrade)?;
    Ok(ByteStream::new(TokioIo::new(upgraded), Role::Server))
}

/// A stream some of whose bytes were already read.
pub struct Prefixed<S> {
    prefix: Bytes,
    inner: S,
}

impl<S> Prefixed<S> {
    /// Puts `prefix`, which was read from `inner`, before what is still to be read.
    pub const fn new(prefix: Bytes, inner: S) -> Self {
        Self { prefix, inner }
    }
}

impl<S> fmt::Debug for Prefixed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefixed({} bytes)", self.prefix.len())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let n = self.prefix.len().min(buf.remaining());
        buf.put_slice(&self.prefix[..n]);
        self.prefix.advance(n);
        if self.prefix.is_empty() {
            // Lets go of the buffer the prefix was a part of.
            self.prefix = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
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
