//! Serves the requests of a tunnel. The order of the steps protects the cluster. First, the guard
//! admits or refuses the request. Then the agent removes hop-by-hop headers, sets the lane's token,
//! and forwards the request to the API server of its cluster. The server cannot select the service
//! account or the address.

mod client;
pub mod refusals;
pub mod tokens;

use std::sync::Arc;

use drover_access::guard::{self, Refused};
use drover_access::headers::strip_hop_by_hop;
use drover_api::agent::{LANE_HEADER, Lane, NEXT_KEY_PATH, REFUSED_HEADER, USE_KEY_PATH};
use drover_tunnel::protocol::Version;
use drover_tunnel::upgrade::{self, RelayError};
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, EXPECT, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::refusals::Refusals;
use self::tokens::{LaneTokens, TokenError};
use crate::error_chain::error_chain;
use crate::upstream::{Body, ForwardError, Upstream, boxed};
pub use client::lane_client;

/// The tunnel that delivered a request.
#[derive(Clone, Debug)]
pub struct TunnelContext {
    /// The negotiated version of the tunnel protocol.
    pub protocol: Version,
    /// Token that the agent cancels when the tunnel closes, to stop all tasks of the tunnel.
    pub closed: CancellationToken,
    /// Handler of requests for the key of the tunnel's agent.
    pub keys: Arc<dyn LaneHandler>,
}

/// Responds to the requests on one lane. The agent does not forward these requests to the API
/// server.
pub trait LaneHandler: std::fmt::Debug + Send + Sync {
    /// Responds to a request that the guard has admitted.
    fn handle(
        &self,
        tunnel: &TunnelContext,
        request: Request<Incoming>,
    ) -> BoxFuture<'static, Response<Body>>;
}

/// The handler of tunnelled requests. Forwards requests on the user and controller lanes to the API
/// server. Passes requests on the report lane to a separate handler.
#[derive(Debug)]
pub struct Lanes {
    /// The API server that receives the forwarded requests.
    pub upstream: Upstream,
    /// Tokens of the lanes' service accounts.
    pub tokens: Arc<LaneTokens>,
    /// Counts of the requests that the agent refused.
    pub refusals: Arc<Refusals>,
    /// Handler of the report lane.
    pub report: Arc<dyn LaneHandler>,
}

impl Lanes {
    /// Responds to one request of a tunnel.
    pub async fn serve(
        &self,
        tunnel: &TunnelContext,
        request: Request<Incoming>,
    ) -> Response<Body> {
        match guard::admit(request.method(), request.uri(), request.headers()) {
            Err(refused) => self.refuse(&request, refused),
            Ok(Lane::Report) => match request.uri().path() {
                NEXT_KEY_PATH | USE_KEY_PATH => tunnel.keys.handle(tunnel, request).await,
                _ => self.report.handle(tunnel, request).await,
            },
            Ok(lane) => self.forward(tunnel, lane, request).await,
        }
    }

    fn refuse(&self, request: &Request<Incoming>, refused: Refused) -> Response<Body> {
        let lane = request
            .headers()
            .get(LANE_HEADER)
            .and_then(|value| value.to_str().ok());
        let (lane, message) = (lane.unwrap_or("none"), refused.to_string());
        // Log neither path nor headers: a query or a header may contain a secret.
        warn!(lane, reason = refused.reason(), method = %request.method(), detail = %message, "refused a tunnelled request");
        self.refusals.count(lane, refused.reason(), &message);
        let advice = format!(
            "the cluster's agent refused the request: {message}; if the server is newer than the agent, upgrade the agent"
        );
        let mut response = status_response(StatusCode::FORBIDDEN, "Forbidden", &advice);
        response
            .headers_mut()
            .insert(REFUSED_HEADER, HeaderValue::from_static(refused.reason()));
        response
    }

    async fn forward(
        &self,
        tunnel: &TunnelContext,
        lane: Lane,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let authorization = match self.tokens.authorization(lane).await {
            Ok(authorization) => authorization,
            Err(error) => return no_token(&error),
        };
        self.prepare(&mut request, &authorization);
        let answer = if request.method() == Method::CONNECT {
            // Boxed, because an upgrade is rare and its future is large.
            Box::pin(self.upgrade(tunnel, request)).await
        } else {
            self.upstream.send(request).await
        };
        match answer {
            Ok(mut response) => {
                if response.status() == StatusCode::UNAUTHORIZED {
                    self.tokens.discard(lane, &authorization);
                }
                strip_hop_by_hop(response.headers_mut());
                response
            }
            Err(error) => unreachable_response(&error),
        }
    }

    /// Relays exec, attach and port-forward: copies the bytes of a separate connection without
    /// parsing them.
    async fn upgrade(
        &self,
        tunnel: &TunnelContext,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, ForwardError> {
        let broken = |error: RelayError| ForwardError::Broken(error_chain(&error));
        let (request, tunneled) = upgrade::upstream_request(request).map_err(broken)?;
        let stream = self.upstream.connect().await?;
        let cancel = tunnel.closed.child_token();
        let answer = upgrade::relay(request, stream, tunneled, cancel)
            .await
            .map_err(broken)?;
        Ok(answer.map(boxed))
    }

    /// Removes headers that are not for the API server, and sets the lane's token.
    fn prepare(&self, request: &mut Request<Incoming>, authorization: &HeaderValue) {
        let host = HeaderValue::from_str(self.upstream.authority().as_str())
            .expect("an authority that was parsed from a URI is a header value");
        let headers = request.headers_mut();
        strip_hop_by_hop(headers);
        headers.remove(LANE_HEADER);
        // The agent has already responded to `Expect: 100-continue`.
        headers.remove(EXPECT);
        headers.insert(HOST, host);
        headers.insert(AUTHORIZATION, authorization.clone());
    }
}

fn no_token(error: &TokenError) -> Response<Body> {
    info!(%error, "failed to get a service account token for a lane");
    let advice = format!(
        "{error}; apply the manifest of \"drover cluster import\" again if its roles were changed"
    );
    status_response(
        StatusCode::SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        &advice,
    )
}

fn unreachable_response(error: &ForwardError) -> Response<Body> {
    info!(%error, "failed to receive a response from the API server");
    let (code, reason) = match error {
        ForwardError::Connect(_) => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        ForwardError::Broken(_) => (StatusCode::BAD_GATEWAY, "BadGateway"),
    };
    let advice = format!("the agent is connected, but {error}; check the cluster's control plane");
    status_response(code, reason, &advice)
}

/// Returns a response that the agent creates, as a Kubernetes `Status`.
pub fn status_response(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "code": code.as_u16(),
        "reason": reason,
        "message": message,
    });
    let body = status.to_string().into_bytes();
    let mut response = Response::new(boxed(Full::from(body)));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
