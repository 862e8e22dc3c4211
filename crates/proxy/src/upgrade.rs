//! Requests that switch protocols: SPDY/3.1 and WebSocket. Their bytes are carried, never read.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use drover_tunnel::tunnel::Traffic;
use drover_tunnel::upgrade::{SpliceEnd, token};
use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Method, StatusCode, request};
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;

use crate::open::journey::Journey;

/// A client's wish to switch protocols.
pub(super) struct Wish {
    /// As the client wrote it: `websocket`, `SPDY/3.1`.
    protocol: HeaderValue,
    /// The client's connection.
    pub(super) client: OnUpgrade,
    /// The client speaks HTTP/2 (RFC 8441), where 200 is the answer that agrees.
    extended_connect: bool,
}

impl Wish {
    /// Takes the wish out of a request, if it has one; an RFC 8441 request becomes the `GET` that
    /// it stands for.
    pub(super) fn take(head: &mut request::Parts) -> Option<Self> {
        if head.method == Method::CONNECT {
            let protocol = head.extensions.remove::<Protocol>()?;
            let wish = Self {
                protocol: HeaderValue::from_str(protocol.as_str()).ok()?,
                client: head.extensions.remove::<OnUpgrade>()?,
                extended_connect: true,
            };
            head.method = Method::GET;
            return Some(wish);
        }
        Some(Self {
            protocol: token(&head.headers)?.clone(),
            client: head.extensions.remove::<OnUpgrade>()?,
            extended_connect: false,
        })
    }

    /// Sets the headers that ask for the switch, as HTTP/1.1 has them.
    pub(super) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, self.protocol.clone());
    }

    /// The answer that agrees to switch; `headers` are the target's.
    pub(super) fn agree(&self, mut headers: HeaderMap) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = if self.extended_connect {
            StatusCode::OK
        } else {
            self.ask(&mut headers);
            StatusCode::SWITCHING_PROTOCOLS
        };
        *response.headers_mut() = headers;
        response
    }
}

/// Carries bytes both ways until both ends have finished, one fails, or the request is cut.
///
/// Each direction ends by itself, so that one end may finish while the other still talks.
pub(super) fn carry(
    splice: impl Future<Output = SpliceEnd> + Send + 'static,
    traffic: Arc<Traffic>,
    journey: Arc<Journey>,
) {
    journey.upgraded(traffic);
    tokio::spawn(async move {
        let end = tokio::select! {
            biased;
            _ = journey.until_cut() => return,
            end = splice => end,
        };
        match end {
            SpliceEnd::Done => journey.complete(),
            SpliceEnd::UpstreamBroken(error) => {
                tracing::debug!(%error, "the cluster broke an upgraded stream off");
                journey.upstream_gone();
            }
            SpliceEnd::UserBroken(error) => {
                tracing::debug!(%error, "the client broke an upgraded stream off");
            }
            SpliceEnd::Aborted => journey.upstream_gone(),
            SpliceEnd::Cancelled | SpliceEnd::HalfClosedSilence => {}
        }
    });
}
