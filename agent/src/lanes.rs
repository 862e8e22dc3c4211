//! What the agent does with a tunnelled request.
//!
//! The order is the defence: the guard admits or refuses, then every header that is not the
//! request's own business goes, then the lane's token is set, then one place is asked. Nothing
//! that the server sends can choose another account or another place.

pub mod refusals;
pub mod tokens;

use std::sync::Arc;

use drover_access::guard::{self, Refused};
use drover_access::headers::strip_hop_by_hop;
use drover_api::agent::{LANE_HEADER, Lane, REFUSED_HEADER};
use drover_tunnel::protocol::Version;
use drover_tunnel::upgrade::{self, RelayError};
use http::header::{AUTHORIZATION, CONTENT_TYPE, EXPECT, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use self::refusals::Refusals;
use self::tokens::{LaneTokens, TokenError};
use crate::report::Reporter;
use crate::upstream::{Body, ForwardError, Upstream, boxed, chain};

/// What a request's tunnel is.
#[derive(Clone, Debug)]
pub struct Tunnel {
    /// The version agreed on.
    pub protocol: Version,
    /// Cancelled when the tunnel has ended, and with it what runs on it.
    pub closed: CancellationToken,
}

/// Everything a tunnelled request may reach.
#[derive(Debug)]
pub struct Lanes {
    /// The cluster's API server.
    pub upstream: Upstream,
    /// The lanes' credentials.
    pub tokens: Arc<LaneTokens>,
    /// What was refused.
    pub refusals: Arc<Refusals>,
    /// The report lane.
    pub reporter: Reporter,
}

impl Lanes {
    /// Answers one request of a tunnel.
    pub async fn serve(&self, tunnel: &Tunnel, request: Request<Incoming>) -> Response<Body> {
        match guard::admit(request.method(), request.uri(), request.headers()) {
            Err(refused) => self.refuse(&request, refused),
            Ok(Lane::Report) => self.report(tunnel.protocol),
            Ok(lane) => self.forward(tunnel, lane, request).await,
        }
    }

    fn refuse(&self, request: &Request<Incoming>, refused: Refused) -> Response<Body> {
        let lane = request
            .headers()
            .get(LANE_HEADER)
            .and_then(|value| value.to_str().ok());
        let (lane, message) = (lane.unwrap_or("none"), refused.to_string());
        // Neither path nor headers: a query or a header may hold a secret.
        warn!(lane, reason = refused.reason(), method = %request.method(), "refused a tunnelled request: {message}");
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

    fn report(&self, protocol: Version) -> Response<Body> {
        let mut response = Response::new(self.reporter.stream(protocol));
        response.headers_mut().insert(
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-ndjson"),
        );
        response
    }

    async fn forward(
        &self,
        tunnel: &Tunnel,
        lane: Lane,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let authorization = match self.tokens.authorization(lane).await {
            Ok(authorization) => authorization,
            Err(error) => return no_token(&error),
        };
        self.prepare(&mut request, &authorization);
        let answer = if request.method() == Method::CONNECT {
            // Boxed: it is rare, and large; the future of each request would have room for it.
            Box::pin(self.upgrade(tunnel, request)).await
        } else {
            self.upstream.send(request.map(boxed)).await
        };
        match answer {
            Ok(mut response) => {
                if response.status() == StatusCode::UNAUTHORIZED {
                    self.tokens.forget(lane, &authorization);
                }
                strip_hop_by_hop(response.headers_mut());
                response
            }
            Err(error) => unreachable_response(&error),
        }
    }

    /// exec, attach and port-forward: a connection of its own, whose bytes are not parsed.
    async fn upgrade(
        &self,
        tunnel: &Tunnel,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, ForwardError> {
        let broken = |error: RelayError| ForwardError::Broken(chain(&error));
        let (request, tunneled) = upgrade::upstream_request(request).map_err(broken)?;
        let stream = self.upstream.connect().await?;
        let cancel = tunnel.closed.child_token();
        let answer = upgrade::relay(request, stream, tunneled, cancel)
            .await
            .map_err(broken)?;
        Ok(answer.map(boxed))
    }

    /// What the API server may see of the request, and the lane's token.
    fn prepare(&self, request: &mut Request<Incoming>, authorization: &HeaderValue) {
        let host = HeaderValue::from_str(self.upstream.authority().as_str())
            .expect("an authority that was parsed from a URI is a header value");
        let headers = request.headers_mut();
        strip_hop_by_hop(headers);
        headers.remove(LANE_HEADER);
        // Answered on this side already: the body is on its way.
        headers.remove(EXPECT);
        headers.insert(HOST, host);
        headers.insert(AUTHORIZATION, authorization.clone());
    }
}

fn no_token(error: &TokenError) -> Response<Body> {
    info!(%error, "a lane has no token");
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
    info!(%error, "the API server gave no answer");
    let (code, reason) = match error {
        ForwardError::Connect(_) => (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable"),
        ForwardError::Broken(_) => (StatusCode::BAD_GATEWAY, "BadGateway"),
    };
    let advice =
        format!("the agent is connected, but {error}; look at the cluster's control plane");
    status_response(code, reason, &advice)
}

/// The agent's own answer, in Kubernetes' form.
fn status_response(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = Status {
        status: Some("Failure".to_owned()),
        code: Some(code.as_u16().into()),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        ..Default::default()
    };
    let body = serde_json::to_vec(&status).expect("a Status is text and numbers");
    let mut response = Response::new(boxed(Full::from(body)));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
