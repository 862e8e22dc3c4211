//! The server's end of an upgrade. Converts the user's HTTP/1.1 upgrade to an extended CONNECT, and
//! converts the response back.

use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;

use super::splice::{SpliceEnd, splice};
use super::{METHOD_HEADER, STATUS_HEADER, TOKEN_HEADER, strip_private};
use crate::tunnel::{Body, Connected, SendError, Traffic, Tunnel, TunnelStream};

/// Result of an upgrade request that was forwarded.
#[derive(Debug)]
pub enum Forwarded {
    /// The caller sends this 101 response and runs the splice concurrently.
    Switched(Box<Response<()>>, Box<Splice>),
    /// The caller sends this response, which is the unchanged response of the API server.
    Refused(Response<Body>),
}

/// The user's connection and the tunnel's stream after an upgrade, not connected yet.
#[derive(Debug)]
pub struct Splice {
    user: OnUpgrade,
    stream: TunnelStream,
    traffic: Arc<Traffic>,
}

/// Returns the value of the `Upgrade` header if the `Connection` header requests an upgrade.
pub fn token(headers: &HeaderMap) -> Option<&HeaderValue> {
    let requested = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    if requested {
        headers.get(UPGRADE)
    } else {
        None
    }
}

/// Forwards a user's upgrade request through the tunnel.
///
/// `request` has its original method and its `Upgrade` and `Connection` headers. `user` is the
/// connection of the request (`hyper::upgrade::on`), which the splice takes over.
pub async fn forward(
    tunnel: &Tunnel,
    mut request: Request<()>,
    user: OnUpgrade,
) -> Result<Forwarded, SendError> {
    let Some(requested) = token(request.headers()).cloned() else {
        return Err(SendError::Request(
            "the request is not an upgrade".to_owned(),
        ));
    };
    let Ok(protocol) = requested.to_str().map(ToOwned::to_owned) else {
        return Err(SendError::Request(
            "the Upgrade header is not text".to_owned(),
        ));
    };
    let method = HeaderValue::from_str(request.method().as_str())
        .map_err(|_| SendError::Request("the method is not text".to_owned()))?;
    let headers = request.headers_mut();
    strip_private(headers);
    // A POST without a body has `Content-Length: 0`. On a CONNECT, this would be the length of
    // the data after the switch, and HTTP/2 would reset the stream at the first byte.
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    headers.insert(METHOD_HEADER, method);
    headers.insert(TOKEN_HEADER, requested.clone());
    match tunnel.connect(request, &protocol).await? {
        Connected::Open(mut head, stream) => {
            let token = head.headers.remove(TOKEN_HEADER).unwrap_or(requested);
            strip_private(&mut head.headers);
            head.status = StatusCode::SWITCHING_PROTOCOLS;
            head.version = http::Version::HTTP_11;
            head.headers
                .insert(CONNECTION, HeaderValue::from_static("Upgrade"));
            head.headers.insert(UPGRADE, token);
            let splice = Splice {
                user,
                stream,
                traffic: Arc::default(),
            };
            Ok(Forwarded::Switched(
                Box::new(Response::from_parts(*head, ())),
                Box::new(splice),
            ))
        }
        Connected::Refused(response) => Ok(Forwarded::Refused(restore_status(response))),
    }
}

fn restore_status(mut response: Response<Body>) -> Response<Body> {
    let sent_status = response
        .headers()
        .get(STATUS_HEADER)
        .map(HeaderValue::as_bytes);
    if let Some(status) = sent_status.and_then(|status| StatusCode::from_bytes(status).ok()) {
        *response.status_mut() = status;
    }
    strip_private(response.headers_mut());
    response
}

impl Splice {
    /// Returns the byte counters. Bytes from the user count as read, and bytes to the user count as
    /// written.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Copies bytes in both directions after the 101 response was sent. Ends when both directions
    /// have ended, one direction fails, or `cancel` is cancelled. Closes both connections at the
    /// end.
    pub async fn run(self, cancel: CancellationToken) -> SpliceEnd {
        let Self {
            user,
            stream,
            traffic,
        } = self;
        let user = tokio::select! {
            user = user => match user {
                Ok(user) => user,
                Err(error) => return SpliceEnd::UserBroken(std::io::Error::other(error)),
            },
            () = cancel.cancelled() => return SpliceEnd::Cancelled,
        };
        let aborted = stream.aborted();
        tokio::select! {
            biased;
            end = splice(TokioIo::new(user), stream, &traffic, &cancel) => end,
            () = aborted.cancelled() => SpliceEnd::Aborted,
        }
    }
}
