//! The agent's part: from extended CONNECT to an HTTP/1.1 upgrade of its own.

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

/// Nothing after a switch; otherwise what the upstream answered.
pub type RelayBody = Either<Empty<Bytes>, Incoming>;

/// The tunnel's end of an upgrade, until the upstream has answered.
#[derive(Debug)]
pub struct Tunneled(OnUpgrade);

/// Why an upgrade got no answer from the upstream.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The server did not send what it must with an extended CONNECT; answer 400.
    #[error("the tunnelled upgrade is incomplete: {0}")]
    Incomplete(&'static str),
    /// HTTP failed on the upstream's connection; answer 502.
    #[error("the API server's connection failed while upgrading")]
    Upstream(#[source] hyper::Error),
}

/// Whether a tunnelled request is an upgrade.
pub fn is_upgrade<B>(request: &Request<B>) -> bool {
    request.method() == Method::CONNECT && request.extensions().get::<Protocol>().is_some()
}

/// The HTTP/1.1 request for the upstream that a tunnelled upgrade stands for.
///
/// Credentials and `Host` are the caller's to set before [`relay`].
pub fn upstream_request(
    request: Request<Incoming>,
) -> Result<(Request<Empty<Bytes>>, Tunneled), RelayError> {
    let (mut head, body) = request.into_parts();
    let method = head
        .headers
        .get(METHOD_HEADER)
        .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
        .ok_or(RelayError::Incomplete("its method is missing"))?;
    let token = head
        .headers
        .get(TOKEN_HEADER)
        .cloned()
        .ok_or(RelayError::Incomplete("its Upgrade is missing"))?;
    let path = head
        .uri
        .path_and_query()
        .ok_or(RelayError::Incomplete("its path is missing"))?;
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

/// Asks `upstream`, a fresh connection, for the upgrade and joins it to the tunnel.
///
/// Returns what to answer through the tunnel. After a switch, a task copies both ways until
/// both have ended, either breaks, or `cancel` is cancelled.
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
    // Ends with the upgrade, or once the response's body has been read or dropped.
    tokio::spawn(connection.with_upgrades());
    let mut response = sender
        .send_request(request)
        .await
        .map_err(RelayError::Upstream)?;
    strip_private(response.headers_mut());
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(refusal(response));
    }
    let upstream = hyper::upgrade::on(&mut response);
    tokio::spawn(join(tunneled.0, upstream, cancel));
    let (mut head, _) = response.into_parts();
    head.status = StatusCode::OK;
    head.version = http::Version::HTTP_2;
    head.headers.remove(CONNECTION);
    // hyper answers no CONNECT that announces a length.
    head.headers.remove(CONTENT_LENGTH);
    if let Some(token) = head.headers.remove(UPGRADE) {
        head.headers.insert(TOKEN_HEADER, token);
    }
    head.headers
        .insert(SWITCHED_HEADER, HeaderValue::from_static("1"));
    head.extensions.clear();
    Ok(Response::from_parts(head, Either::Left(Empty::new())))
}

/// The upstream's answer in a form that a CONNECT can be refused with.
fn refusal(response: Response<Incoming>) -> Response<RelayBody> {
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
                tracing::debug!(%error, "an upgrade was given up before it was joined");
                return;
            }
        },
        () = cancel.cancelled() => return,
    };
    let (tunneled, upstream) = (TokioIo::new(tunneled), TokioIo::new(upstream));
    let end = splice(tunneled, upstream, &Arc::default(), &cancel).await;
    tracing::debug!(?end, "an upgraded stream ended");
}
