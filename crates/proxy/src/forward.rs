//! Sends requests through a tunnel to a cluster and returns the response.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use drover_api::agent::{LANE_HEADER, Lane};
use drover_api::ids::ClusterUid;
use drover_tunnel::SendError;
use drover_tunnel::tunnel::{Body as TunnelBody, HeadTimeout};
use drover_tunnel::upgrade::{self, Forwarded, Splice};
use http::header::{CONTENT_LENGTH, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, response};
use tokio_util::sync::CancellationToken;

use super::body::{ResponseBody, UnreadBody};
use super::handler::UpstreamRequest;
use super::isolation::{self, Redirect};
use super::observed_write::ObservedRequest;
use super::refusal::Refusal;
use super::upgrade::{UpgradeRequest, copy_both_ways};
use super::{Proxy, deny_reason, timeout};
use crate::open::in_flight::InFlightRequest;
use drover_agent_gateway::tunnels::SelectedTunnel;

/// Maximum number of tunnels on which the proxy tries to send one request.
const ATTEMPTS: usize = 3;

/// Properties of a request that are necessary to convert the response.
pub(super) struct ResponseContext {
    name: Arc<str>,
    host: Option<HeaderValue>,
    observed: Option<Box<ObservedRequest>>,
}

impl Proxy {
    /// Sends a request to a cluster over the user lane and returns the response. `upstream` is a
    /// reference, because otherwise the future contains several copies.
    pub(super) async fn to_cluster(
        &self,
        cluster: &ClusterUid,
        upstream: &mut UpstreamRequest,
        in_flight: &Arc<InFlightRequest>,
    ) -> Result<Response, Refusal> {
        let lane = HeaderValue::from_static(Lane::User.as_str());
        let headers = &mut upstream.head.headers;
        headers.insert(HeaderName::from_static(LANE_HEADER), lane);
        let back = ResponseContext::new(self, upstream);
        let answer = match upstream.upgrade.take() {
            // Boxed, because otherwise the future of every request reserves memory for the upgrade.
            Some(upgrade) => Box::pin(self.switch(cluster, upstream, upgrade)).await?,
            None => TargetResponse::Direct(self.exchange(cluster, upstream, in_flight).await?),
        };
        match answer {
            TargetResponse::Direct(answer) => back.answer(answer, in_flight),
            TargetResponse::Upgraded(mut headers, upgrade, splice) => {
                back.finish_headers(StatusCode::SWITCHING_PROTOCOLS, &mut headers)?;
                let response = upgrade.accept_response(headers);
                in_flight.answered(response.status());
                let traffic = splice.traffic();
                let splicing = splice.run(CancellationToken::new());
                copy_both_ways(splicing, traffic, Arc::clone(in_flight));
                Ok(response)
            }
        }
    }

    /// Sends a request without a protocol upgrade.
    async fn exchange(
        &self,
        cluster: &ClusterUid,
        upstream: &mut UpstreamRequest,
        in_flight: &Arc<InFlightRequest>,
    ) -> Result<http::Response<TunnelBody>, Refusal> {
        let head = &mut upstream.head;
        let limit = timeout::for_head(upstream.verb, &head.method, head.uri.query(), false);
        let unread = UnreadBody::new(std::mem::take(&mut upstream.body));
        let mut attempts = Attempts::of(self, &upstream.name);
        loop {
            let chosen = attempts.choose(cluster)?;
            let mut request = Request::new(unread.outgoing(in_flight));
            *request.method_mut() = head.method.clone();
            *request.uri_mut() = head.uri.clone();
            *request.headers_mut() = head.headers.clone();
            // The map is empty, and the first attempt uses its memory.
            *request.extensions_mut() = std::mem::take(&mut head.extensions);
            if let Some(limit) = limit {
                request.extensions_mut().insert(HeadTimeout(limit));
            }
            match chosen.tunnel().send(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => attempts.failed(error, unread.is_unread())?,
            }
        }
    }

    /// Sends a request for a protocol upgrade.
    async fn switch(
        &self,
        cluster: &ClusterUid,
        upstream: &mut UpstreamRequest,
        upgrade: UpgradeRequest,
    ) -> Result<TargetResponse, Refusal> {
        let head = &mut upstream.head;
        upgrade.set_headers(&mut head.headers);
        let limit = timeout::for_head(upstream.verb, &head.method, head.uri.query(), true);
        let mut attempts = Attempts::of(self, &upstream.name);
        let forwarded = loop {
            let chosen = attempts.choose(cluster)?;
            let mut request = Request::new(());
            *request.method_mut() = head.method.clone();
            *request.uri_mut() = head.uri.clone();
            *request.headers_mut() = head.headers.clone();
            let forwarding = upgrade::forward(chosen.tunnel(), request, upgrade.client.clone());
            match in_time(limit, forwarding).await {
                Ok(forwarded) => break forwarded,
                Err(error) => attempts.failed(error, true)?,
            }
        };
        Ok(match forwarded {
            Forwarded::Refused(answer) => TargetResponse::Direct(answer),
            Forwarded::Switched(answer, splice) => {
                TargetResponse::Upgraded(answer.into_parts().0.headers, upgrade, splice)
            }
        })
    }
}

/// Waits for a response. `limit` is the maximum duration. `None` waits without a limit.
async fn in_time<T>(
    limit: Option<Duration>,
    answer: impl Future<Output = Result<T, SendError>>,
) -> Result<T, SendError> {
    match limit {
        None => answer.await,
        Some(limit) => tokio::time::timeout(limit, answer)
            .await
            .unwrap_or(Err(SendError::HeadTimeout(limit))),
    }
}

enum TargetResponse {
    Direct(http::Response<TunnelBody>),
    Upgraded(HeaderMap, UpgradeRequest, Box<Splice>),
}

/// The retry state of one request. The proxy retries on a different tunnel only if the previous
/// tunnel sent no byte to the cluster and the body is unread.
struct Attempts<'a> {
    proxy: &'a Proxy,
    name: &'a str,
    left: usize,
}

impl<'a> Attempts<'a> {
    fn of(proxy: &'a Proxy, name: &'a str) -> Self {
        Self {
            proxy,
            name,
            left: ATTEMPTS,
        }
    }

    fn choose(&self, cluster: &ClusterUid) -> Result<SelectedTunnel, Refusal> {
        let chosen = self.proxy.tunnels.choose(cluster);
        chosen.map_err(|error| Refusal::sending(self.name, error.into()))
    }

    /// Records a failed attempt. Returns `Ok` if a retry is allowed.
    fn failed(&mut self, error: SendError, untouched: bool) -> Result<(), Refusal> {
        self.left -= 1;
        if self.left == 0 || !untouched || !error.retry_is_safe() {
            return Err(Refusal::sending(self.name, error.into()));
        }
        tracing::debug!(cluster.name = self.name, %error, "retrying a request on a different \
                                                           tunnel of the cluster");
        self.proxy.recorder.metrics.tunnel_retries.inc();
        Ok(())
    }
}

impl ResponseContext {
    pub(super) fn new(proxy: &Proxy, upstream: &UpstreamRequest) -> Self {
        Self {
            name: Arc::clone(&upstream.name),
            host: upstream.host.clone(),
            observed: proxy.observed(upstream),
        }
    }

    /// Converts the response of a cluster or the hub into the response for the client.
    pub(super) fn answer<B>(
        self,
        answer: http::Response<B>,
        in_flight: &Arc<InFlightRequest>,
    ) -> Result<Response, Refusal>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + Unpin + 'static,
        B::Error: Into<drover_tunnel::BoxError>,
    {
        let (
            response::Parts {
                status,
                mut headers,
                ..
            },
            body,
        ) = answer.into_parts();
        self.finish_headers(status, &mut headers)?;
        deny_reason::add_warning(status, &mut headers, in_flight.permit(), &self.name);
        in_flight.answered(status);
        let observed = self.observed;
        let copy = observed.and_then(|observed| observed.answered(status, &headers));
        if body.is_end_stream() {
            in_flight.complete();
            if let Some(copy) = copy {
                copy.finish(in_flight);
            }
            return Ok(with_head(status, headers, Body::empty()));
        }
        let declared = headers
            .get(CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok()?.parse().ok());
        let body = ResponseBody::new(body, declared, Arc::clone(in_flight), copy);
        Ok(with_head(status, headers, Body::new(body)))
    }

    pub(super) fn finish_headers(
        &self,
        status: StatusCode,
        headers: &mut HeaderMap,
    ) -> Result<(), Refusal> {
        drover_access::headers::strip_hop_by_hop(headers);
        isolation::isolate(headers);
        let prefix = || format!("{}{}", drover_access::path::CLUSTER_PATH_PREFIX, self.name);
        if !headers.contains_key(LOCATION) {
            return Ok(());
        }
        let host = self.host.as_ref().and_then(|host| host.to_str().ok());
        match isolation::redirect(status, headers, &prefix(), host) {
            Redirect::AsIs => {}
            Redirect::Rewritten(location) => {
                headers.insert(LOCATION, location);
            }
            Redirect::Elsewhere => return Err(Refusal::RedirectElsewhere(self.name.to_string())),
        }
        Ok(())
    }
}

fn with_head(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn protocol_upgrade_without_a_response_times_out() {
        let limit = Duration::from_secs(62);
        let silent = std::future::pending::<Result<(), SendError>>();
        let error = in_time(Some(limit), silent).await.unwrap_err();
        assert!(matches!(error, SendError::HeadTimeout(waited) if waited == limit));
    }
}
