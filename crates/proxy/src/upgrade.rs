//! Protocol upgrades: SPDY/3.1 and WebSocket. Drover forwards the bytes of an upgraded connection
//! and never parses them.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use drover_tunnel::tunnel::Traffic;
use drover_tunnel::upgrade::{SpliceEnd, token};
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use http::{Method, StatusCode, request};
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::open::in_flight::InFlightRequest;

/// A client's request to upgrade the protocol.
pub struct UpgradeRequest {
    /// Name of the protocol as the client sent it, for example `websocket` or `SPDY/3.1`.
    protocol: HeaderValue,
    /// The client's connection.
    pub client: OnUpgrade,
    /// True if the client uses HTTP/2 (RFC 8441). Status 200 then accepts the upgrade.
    extended_connect: bool,
}

impl UpgradeRequest {
    /// Removes the upgrade headers from a request and returns the upgrade, if any. Converts an RFC
    /// 8441 request to the equivalent `GET`. A WebSocket over HTTP/2 has no key, but HTTP/1.1
    /// requires a key, so the function adds a key.
    pub fn take(head: &mut request::Parts) -> Option<Self> {
        if head.method == Method::CONNECT {
            let protocol = head.extensions.remove::<Protocol>()?;
            let upgrade = Self {
                protocol: HeaderValue::from_str(protocol.as_str()).ok()?,
                client: head.extensions.remove::<OnUpgrade>()?,
                extended_connect: true,
            };
            head.method = Method::GET;
            if upgrade.protocol == "websocket"
                && let Ok(key) = HeaderValue::from_str(&generate_key())
            {
                head.headers.insert(SEC_WEBSOCKET_KEY, key);
            }
            return Some(upgrade);
        }
        Some(Self {
            protocol: token(&head.headers)?.clone(),
            client: head.extensions.remove::<OnUpgrade>()?,
            extended_connect: false,
        })
    }

    /// Sets the HTTP/1.1 headers that request the upgrade.
    pub fn set_headers(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, self.protocol.clone());
    }

    /// Returns the response that accepts the upgrade. `headers` are the headers of the response
    /// from the cluster or hub.
    pub fn accept_response(&self, mut headers: HeaderMap) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = if self.extended_connect {
            // The client sent no key (RFC 8441 §5.1).
            headers.remove(SEC_WEBSOCKET_ACCEPT);
            StatusCode::OK
        } else {
            self.set_headers(&mut headers);
            StatusCode::SWITCHING_PROTOCOLS
        };
        *response.headers_mut() = headers;
        response
    }
}

/// Copies bytes in both directions. Ends when both directions have ended, when one direction fails,
/// or when the request is aborted.
///
/// Each direction ends separately, because the client can stop sending while the cluster still
/// sends, and vice versa.
pub(super) fn copy_both_ways(
    splice: impl Future<Output = SpliceEnd> + Send + 'static,
    traffic: Arc<Traffic>,
    in_flight: Arc<InFlightRequest>,
) {
    in_flight.upgraded(traffic);
    tokio::spawn(async move {
        let end = tokio::select! {
            biased;
            _ = in_flight.until_aborted() => return,
            end = splice => end,
        };
        match end {
            SpliceEnd::Done => in_flight.complete(),
            SpliceEnd::UpstreamBroken(error) => {
                tracing::debug!(%error, "the cluster closed an upgraded stream early");
                in_flight.upstream_gone();
            }
            SpliceEnd::UserBroken(error) => {
                tracing::debug!(%error, "the client closed an upgraded stream early");
            }
            SpliceEnd::Aborted => in_flight.upstream_gone(),
            SpliceEnd::Cancelled | SpliceEnd::HalfClosedSilence => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn websocket(method: &Method) -> request::Parts {
        let mut request = Request::new(());
        *request.method_mut() = method.clone();
        let upgrade = hyper::upgrade::on(&mut request);
        request.extensions_mut().insert(upgrade);
        if *method == Method::CONNECT {
            let protocol = Protocol::from_static("websocket");
            request.extensions_mut().insert(protocol);
        } else {
            let headers = request.headers_mut();
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
            headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static("client"));
        }
        request.into_parts().0
    }

    #[test]
    fn websocket_over_http2_is_forwarded_with_a_key_and_accepted_without_a_key() {
        let answer = || {
            let mut headers = HeaderMap::new();
            headers.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::from_static("accept"));
            headers
        };
        let mut head = websocket(&Method::CONNECT);
        let upgrade = UpgradeRequest::take(&mut head).unwrap();
        assert_eq!(head.method, Method::GET);
        assert_eq!(head.headers[SEC_WEBSOCKET_KEY].len(), 24);
        let accepted = upgrade.accept_response(answer());
        assert_eq!(accepted.status(), StatusCode::OK);
        assert!(accepted.headers().is_empty());
        let mut head = websocket(&Method::GET);
        let upgrade = UpgradeRequest::take(&mut head).unwrap();
        assert_eq!(head.headers[SEC_WEBSOCKET_KEY], "client");
        let accepted = upgrade.accept_response(answer());
        assert_eq!(accepted.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(accepted.headers()[SEC_WEBSOCKET_ACCEPT], "accept");
    }
}
