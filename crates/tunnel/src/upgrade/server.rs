//! The server's part: from the user's HTTP/1.1 upgrade to extended CONNECT and back.

use std::sync::Arc;

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;

use super::splice::{SpliceEnd, splice};
use super::{METHOD_HEADER, STATUS_HEADER, TOKEN_HEADER, strip_private};
use crate::tunnel::{Body, Connected, SendError, Traffic, Tunnel, TunnelStream};

/// What came of a user's upgrade.
#[derive(Debug)]
pub enum Forwarded {
    /// Answer with this 101 and run the splice beside it.
    Switched(Box<Response<()>>, Box<Splice>),
    /// Answer with this: the upstream's own answer, unchanged.
    Refused(Response<Body>),
}

/// An upgraded connection about to be joined to the tunnel.
#[derive(Debug)]
pub struct Splice {
    user: OnUpgrade,
    stream: TunnelStream,
    traffic: Arc<Traffic>,
}

/// What a request wants to upgrade to, if its `Connection` header asks for an upgrade.
pub fn token(headers: &HeaderMap) -> Option<&HeaderValue> {
    let asked = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    if asked { headers.get(UPGRADE) } else { None }
}

/// Sends a user's upgrade through the tunnel.
///
/// `request` still has the method and the `Upgrade` and `Connection` headers it came with;
/// `user` is its connection (`hyper::upgrade::on`), which the splice takes over.
pub async fn forward(
    tunnel: &Tunnel,
    mut request: Request<()>,
    user: OnUpgrade,
) -> Result<Forwarded, SendError> {
    let Some(asked) = token(request.headers()).cloned() else {
        return Err(SendError::Request(
            "it does not ask for an upgrade".to_owned(),
        ));
    };
    let Ok(protocol) = asked.to_str().map(ToOwned::to_owned) else {
        return Err(SendError::Request(
            "its Upgrade header is not text".to_owned(),
        ));
    };
    let method = HeaderValue::from_str(request.method().as_str())
        .map_err(|_| SendError::Request("its method is not text".to_owned()))?;
    let headers = request.headers_mut();
    strip_private(headers);
    // A POST says that it has no body, `Content-Length: 0`. On a CONNECT that would be the length
    // of what is sent after the switch, and HTTP/2 resets the stream at its first byte.
    headers.remove(CONTENT_LENGTH);
    headers.remove(TRANSFER_ENCODING);
    headers.insert(METHOD_HEADER, method);
    headers.insert(TOKEN_HEADER, asked.clone());
    match tunnel.connect(request, &protocol).await? {
        Connected::Open(mut head, stream) => {
            let token = head.headers.remove(TOKEN_HEADER).unwrap_or(asked);
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
    let told = response
        .headers()
        .get(STATUS_HEADER)
        .map(HeaderValue::as_bytes);
    if let Some(status) = told.and_then(|status| StatusCode::from_bytes(status).ok()) {
        *response.status_mut() = status;
    }
    strip_private(response.headers_mut());
    response
}

impl Splice {
    /// What has passed so far: in is from the user, out is to the user.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Copies both ways until both have ended, either breaks, or `cancel` is cancelled.
    ///
    /// Starts when the 101 is out. The user's connection and the stream are closed when it
    /// returns.
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
