//! Protocol upgrades: SPDY/3.1 and WebSocket. Drover forwards the bytes of an upgraded connection
//! and never parses them.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use drover_tunnel::tunnel::Traffic;
use drover_tunnel::upgrade::{SpliceEnd, token};
use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Method, StatusCode, request};
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;

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
    /// 8441 request to the equivalent `GET`.
    pub fn take(head: &mut request::Parts) -> Option<Self> {
        if head.method == Method::CONNECT {
            let protocol = head.extensions.remove::<Protocol>()?;
            let upgrade = Self {
                protocol: HeaderValue::from_str(protocol.as_str()).ok()?,
                client: head.extensions.remove::<OnUpgrade>()?,
                extended_connect: true,
            };
            head.method = Method::GET;
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
