//! The HTTP/1.1 handshake of a WebSocket for both the client and the server.

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

/// Maximum number of bytes that are read from the body of an error response.
const MAX_REFUSAL: usize = 16 * 1024;

/// Options for [`dial`].
#[derive(Debug, Clone)]
pub struct DialOptions {
    /// Timeout of the handshake. Default: 10 s.
    pub timeout: Duration,
}

impl Default for DialOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
        }
    }
}

/// An open WebSocket of a client, for use with [`serve`](crate::serve::serve).
#[derive(Debug)]
pub struct Dialed<S> {
    /// Byte stream inside the WebSocket.
    pub stream: ByteStream<PrefixedStream<S>>,
    /// Headers of the server's 101 response, including the protocol version.
    pub headers: HeaderMap,
}

/// Error of opening a WebSocket.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The server returned a status other than 101. The body is text of at most 16 KiB.
    #[error("the server returned {status} instead of opening the tunnel: {body}")]
    Refused {
        /// Status of the response.
        status: StatusCode,
        /// Headers of the response.
        headers: Box<HeaderMap>,
        /// Body of the response.
        body: String,
    },
    /// The 101 response is not a valid WebSocket handshake.
    #[error("the server's 101 response is not a WebSocket handshake: {cause}", cause = .0)]
    NotWebSocket(&'static str),
    /// The request is not a valid HTTP request.
    #[error("cannot send the tunnel request: {cause}", cause = .0)]
    Request(&'static str),
    /// The HTTP exchange failed.
    #[error("cannot open the tunnel: the HTTP exchange failed")]
    Http(#[source] hyper::Error),
    /// The server did not respond in time.
    #[error("the server did not respond to the tunnel request within {timeout:?}", timeout = .0)]
    Timeout(Duration),
}

/// Opens a WebSocket to the server at the other end of `stream`.
///
/// `request` is a GET request for a path. The host is in the `Host` header or in the URI. The
/// request also contains headers such as credentials and protocol versions. This function adds the
/// WebSocket headers.
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
    // The task ends with the upgrade, or when `sender` is dropped.
    tokio::spawn(connection.with_upgrades());
    let mut response = sender
        .send_request(request)
        .await
        .map_err(DialError::Http)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(refused_error(response).await);
    }
    check_switch(response.headers(), &key)?;
    let headers = std::mem::take(response.headers_mut());
    let upgraded = hyper::upgrade::on(response)
        .await
        .map_err(DialError::Http)?;
    let parts = upgraded
        .downcast::<TokioIo<S>>()
        .map_err(|_| DialError::NotWebSocket("the connection has another type"))?;
    let stream = PrefixedStream {
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
            "the request has neither a Host header nor an authority in its URI; set one",
        ))?;
        let host = HeaderValue::from_str(authority.as_str())
            .map_err(|_| DialError::Request("the authority is not a valid Host header"))?;
        head.headers.insert(HOST, host);
    }
    head.uri = head.uri.path_and_query().map_or_else(
        || http::Uri::from_static("/"),
        |path| http::Uri::from(path.clone()),
    );
    let key = HeaderValue::from_str(key)
        .map_err(|_| DialError::Request("the WebSocket key is not text"))?;
    head.headers
        .insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    head.headers
        .insert(UPGRADE, HeaderValue::from_static("websocket"));
    head.headers
        .insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    head.headers.insert(SEC_WEBSOCKET_KEY, key);
    Ok(http::Request::from_parts(head, Empty::new()))
}

async fn refused_error(response: http::Response<hyper::body::Incoming>) -> DialError {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_REFUSAL).collect().await.map_or_else(
        |_| "(cannot read the response body)".to_owned(),
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
            "the Upgrade header is not \"websocket\"",
        ));
    }
    let accept = headers.get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
    if accept != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(DialError::NotWebSocket(
            "the Sec-WebSocket-Accept header does not match the key",
        ));
    }
    Ok(())
}

/// Reports whether `header` contains `token` in its comma-separated values, ignoring case.
fn names(headers: &HeaderMap, header: &HeaderName, token: &str) -> bool {
    headers
        .get_all(header)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|value| value.trim().eq_ignore_ascii_case(token))
}

/// Error of accepting a WebSocket.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The request is not an RFC 6455 opening handshake. The server responds with status 400 or
    /// 426.
    #[error("the request is not a WebSocket handshake: {cause}", cause = .0)]
    Request(&'static str),
    /// The connection ended before the upgrade.
    #[error("the connection ended before the WebSocket upgrade")]
    Upgrade(#[source] hyper::Error),
}

/// Builds the 101 response to a WebSocket handshake.
///
/// Send the response only after authentication. Before sending the response, take the [`OnUpgrade`]
/// of the request (`hyper::upgrade::on`) for [`accept`].
pub fn accept_response<B>(request: &http::Request<B>) -> Result<http::Response<()>, AcceptError> {
    let headers = request.headers();
    if request.method() != Method::GET {
        return Err(AcceptError::Request("the method is not GET"));
    }
    if !names(headers, &CONNECTION, "upgrade") || !names(headers, &UPGRADE, "websocket") {
        return Err(AcceptError::Request(
            "\"Connection: Upgrade\" or \"Upgrade: websocket\" is missing",
        ));
    }
    if headers
        .get(SEC_WEBSOCKET_VERSION)
        .is_none_or(|version| version != "13")
    {
        return Err(AcceptError::Request(
            "the Sec-WebSocket-Version header is not 13",
        ));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).ok_or(AcceptError::Request(
        "the Sec-WebSocket-Key header is missing",
    ))?;
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()))
        .map_err(|_| AcceptError::Request("the Sec-WebSocket-Key header is not text"))?;
    let mut response = http::Response::new(());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// Takes over the connection after the server has sent the 101 response of [`accept_response`].
pub async fn accept(upgrade: OnUpgrade) -> Result<ByteStream<TokioIo<Upgraded>>, AcceptError> {
    let upgraded = upgrade.await.map_err(AcceptError::Upgrade)?;
    Ok(ByteStream::new(TokioIo::new(upgraded), Role::Server))
}

/// A stream that first returns bytes that were already read from the connection.
pub struct PrefixedStream<S> {
    prefix: Bytes,
    inner: S,
}

impl<S> PrefixedStream<S> {
    /// Creates a stream that first returns `prefix`, and then reads from `inner`.
    pub const fn new(prefix: Bytes, inner: S) -> Self {
        Self { prefix, inner }
    }
}

impl<S> fmt::Debug for PrefixedStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefixed({} bytes)", self.prefix.len())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PrefixedStream<S> {
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
            // Frees the shared buffer of the prefix.
            self.prefix = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PrefixedStream<S> {
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
