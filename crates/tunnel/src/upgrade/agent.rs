//! The agent's end of an upgrade. Converts an extended CONNECT to an HTTP/1.1 upgrade.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::splice::splice;
use super::{METHOD_HEADER, STATUS_HEADER, SWITCHED_HEADER, TOKEN_HEADER, strip_private};

/// Response body of an upgrade: empty after a protocol switch, otherwise the API server's body.
pub type RelayBody = Either<Empty<Bytes>, Incoming>;

/// The tunnel's stream of an upgrade, before the API server has responded.
#[derive(Debug)]
pub struct Tunneled(OnUpgrade);

/// Error of an upgrade for which the API server returned no response.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The server omitted a required header of an extended CONNECT. The agent responds with status
    /// 400.
    #[error("the upgrade request of the tunnel is incomplete: {cause}", cause = .0)]
    Incomplete(&'static str),
    /// The HTTP exchange with the API server failed. The agent responds with status 502.
    #[error("the connection to the API server failed during the upgrade")]
    Upstream(#[source] hyper::Error),
}

/// Reports whether a request from the tunnel requests an upgrade.
pub fn is_upgrade<B>(request: &Request<B>) -> bool {
    request.method() == Method::CONNECT && request.extensions().get::<Protocol>().is_some()
}

/// Builds the HTTP/1.1 request for the API server from an upgrade in the tunnel. The caller sets
/// the credentials and `Host` before calling [`relay`].
pub fn upstream_request(
    request: Request<Incoming>,
) -> Result<(Request<Empty<Bytes>>, Tunneled), RelayError> {
    let (mut head, body) = request.into_parts();
    let method = head
        .headers
        .get(METHOD_HEADER)
        .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
        .ok_or(RelayError::Incomplete("the method is missing"))?;
    let token = head
        .headers
        .get(TOKEN_HEADER)
        .cloned()
        .ok_or(RelayError::Incomplete("the Upgrade token is missing"))?;
    let path = head
        .uri
        .path_and_query()
        .ok_or(RelayError::Incomplete("the path is missing"))?;
    head.uri = path.clone().into();
    strip_private(&mut head.headers);
    head.method = method;
    head.version = http::Version::HTTP_11;
    head.headers
        .insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    head.headers.insert(UPGRADE, token);
    let mut request = Request::from_parts(head, body);
    let tunneled = Tunneled(hyper::upgrade::on(&mut request));
    request.extensions_mut().clear();
    Ok((request.map(|_| Empty::new()), tunneled))
}

/// Sends the upgrade request on `upstream`, a new connection to the API server. Returns the
/// response for the tunnel.
///
/// After a protocol switch, a task copies bytes in both directions. The task ends when both
/// directions have ended, one direction fails, or the token `cancel` is cancelled.
pub async fn relay<S>(
    request: Request<Empty<Bytes>>,
    upstream: S,
    tunneled: Tunneled,
    cancel: CancellationToken,
) -> Result<Response<RelayBody>, RelayError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(upstream))
        .await
        .map_err(RelayError::Upstream)?;
    // The task ends with the upgrade, or when the response body was read or dropped.
    tokio::spawn(connection.with_upgrades());
    let mut response = sender
        .send_request(request)
        .await
        .map_err(RelayError::Upstream)?;
    strip_private(response.headers_mut());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(rejection(response));
    }
    let upstream = hyper::upgrade::on(&mut response);
    tokio::spawn(join(tunneled.0, upstream, cancel));
    let (mut head, _) = response.into_parts();
    head.status = StatusCode::OK;
    head.version = http::Version::HTTP_2;
    head.headers.remove(CONNECTION);
    // hyper rejects CONNECT responses with a Content-Length.
    head.headers.remove(CONTENT_LENGTH);
    if let Some(token) = head.headers.remove(UPGRADE) {
        head.headers.insert(TOKEN_HEADER, token);
    }
    head.headers
        .insert(SWITCHED_HEADER, HeaderValue::from_static("1"));
    head.extensions.clear();
    Ok(Response::from_parts(head, Either::Left(Empty::new())))
}

/// Converts the API server's response to a response that rejects the CONNECT.
fn rejection(response: Response<Incoming>) -> Response<RelayBody> {
    let (mut head, body) = response.into_parts();
    if head.status.is_success() {
        head.headers
            .insert(STATUS_HEADER, HeaderValue::from(head.status.as_u16()));
        head.status = StatusCode::CONFLICT;
    }
    for name in [CONNECTION, TRANSFER_ENCODING, UPGRADE] {
        head.headers.remove(name);
    }
    head.version = http::Version::HTTP_2;
    Response::from_parts(head, Either::Right(body))
}

async fn join(tunneled: OnUpgrade, upstream: OnUpgrade, cancel: CancellationToken) {
    let both = async { tokio::try_join!(tunneled, upstream) };
    let (tunneled, upstream) = tokio::select! {
        both = both => match both {
            Ok(both) => both,
            Err(error) => {
                tracing::debug!(%error, "upgrade failed before the connections were joined");
                return;
            }
        },
        () = cancel.cancelled() => return,
    };
    let (tunneled, upstream) = (TokioIo::new(tunneled), TokioIo::new(upstream));
    let end = splice(tunneled, upstream, &Arc::default(), &cancel).await;
    tracing::debug!(?end, "upgraded stream ended");
}
