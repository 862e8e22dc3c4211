//! Through a tunnel to a cluster, and the answer back.

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

use super::body::{Answer, Unread};
use super::isolation::{self, Redirect};
use super::refusal::Refusal;
use super::road::Onward;
use super::upgrade::{Wish, carry};
use super::{Road, patience, why};
use crate::open::journey::Journey;
use drover_agent_gateway::tunnels::Chosen;

/// Tunnels that are tried before a request is given up.
const ATTEMPTS: usize = 3;

/// What is kept of a request to finish its answer.
pub(super) struct Return {
    name: String,
    host: Option<String>,
}

impl Road {
    /// Sends a request along the user lane and brings the answer.
    pub(super) async fn to_cluster(
        &self,
        cluster: &ClusterUid,
        mut onward: Onward,
        journey: &Arc<Journey>,
    ) -> Result<Response, Refusal> {
        let lane = HeaderValue::from_static(Lane::User.as_str());
        let headers = &mut onward.head.headers;
        headers.insert(HeaderName::from_static(LANE_HEADER), lane);
        let back = Return::new(&onward);
        let answer = match onward.wish.take() {
            // Boxed: the future of each request would have room for it.
            Some(wish) => Box::pin(self.switch(cluster, onward, wish)).await?,
            None => Way::Answer(self.exchange(cluster, onward, journey).await?),
        };
        match answer {
            Way::Answer(answer) => back.answer(answer, journey),
            Way::Switched(mut headers, wish, splice) => {
                back.finish_headers(StatusCode::SWITCHING_PROTOCOLS, &mut headers)?;
                let response = wish.agree(headers);
                journey.answered(response.status());
                let traffic = splice.traffic();
                let splicing = splice.run(CancellationToken::new());
                carry(splicing, traffic, Arc::clone(journey));
                Ok(response)
            }
        }
    }

    /// A plain request and its answer.
    async fn exchange(
        &self,
        cluster: &ClusterUid,
        onward: Onward,
        journey: &Arc<Journey>,
    ) -> Result<http::Response<TunnelBody>, Refusal> {
        let head = onward.head;
        let limit = patience::for_head(onward.verb, &head.method, head.uri.query(), false);
        let unread = Unread::new(onward.body);
        let mut attempts = Attempts::of(self, &onward.name);
        loop {
            let chosen = attempts.choose(cluster)?;
            let mut request = Request::new(unread.for_journey(journey));
            *request.method_mut() = head.method.clone();
            *request.uri_mut() = head.uri.clone();
            *request.headers_mut() = head.headers.clone();
            if let Some(limit) = limit {
                request.extensions_mut().insert(HeadTimeout(limit));
            }
            match chosen.tunnel().send(request).await {
                Ok(answer) => return Ok(answer),
                Err(error) => attempts.failed(error, unread.is_unread())?,
            }
        }
    }

    /// A request to switch protocols.
    async fn switch(
        &self,
        cluster: &ClusterUid,
        onward: Onward,
        wish: Wish,
    ) -> Result<Way, Refusal> {
        let mut head = onward.head;
        wish.ask(&mut head.headers);
        let limit = patience::for_head(onward.verb, &head.method, head.uri.query(), true);
        let mut attempts = Attempts::of(self, &onward.name);
        let forwarded = loop {
            let chosen = attempts.choose(cluster)?;
            let mut request = Request::new(());
            *request.method_mut() = head.method.clone();
            *request.uri_mut() = head.uri.clone();
            *request.headers_mut() = head.headers.clone();
            let forwarding = upgrade::forward(chosen.tunnel(), request, wish.client.clone());
            match in_time(limit, forwarding).await {
                Ok(forwarded) => break forwarded,
                Err(error) => attempts.failed(error, true)?,
            }
        };
        Ok(match forwarded {
            Forwarded::Refused(answer) => Way::Answer(answer),
            Forwarded::Switched(answer, splice) => {
                Way::Switched(answer.into_parts().0.headers, wish, splice)
            }
        })
    }
}

/// Waits for an answer, a bounded time if there is a limit.
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

/// How a cluster took a request.
enum Way {
    Answer(http::Response<TunnelBody>),
    Switched(HeaderMap, Wish, Box<Splice>),
}

/// Tries at sending one request: on the best tunnel, and on another only if the first surely did
/// nothing and the body, if there is one, was not touched.
struct Attempts<'a> {
    road: &'a Road,
    name: &'a str,
    left: usize,
}

impl<'a> Attempts<'a> {
    fn of(road: &'a Road, name: &'a str) -> Self {
        Self {
            road,
            name,
            left: ATTEMPTS,
        }
    }

    fn choose(&self, cluster: &ClusterUid) -> Result<Chosen, Refusal> {
        let chosen = self.road.tunnels.choose(cluster);
        chosen.map_err(|error| Refusal::sending(self.name, error.into()))
    }

    /// Returns if there is another try.
    fn failed(&mut self, error: SendError, untouched: bool) -> Result<(), Refusal> {
        self.left -= 1;
        if self.left == 0 || !untouched || !error.retry_is_safe() {
            return Err(Refusal::sending(self.name, error.into()));
        }
        tracing::debug!(cluster.name = self.name, %error, "trying another tunnel");
        self.road.ledger.metrics.tunnel_retries.inc();
        Ok(())
    }
}

impl Return {
    pub(super) fn new(onward: &Onward) -> Self {
        Self {
            name: onward.name.clone(),
            host: onward.host.clone(),
        }
    }

    /// Makes the answer of a target the client's answer.
    pub(super) fn answer<B>(
        &self,
        answer: http::Response<B>,
        journey: &Arc<Journey>,
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
        why::note(status, &mut headers, journey.permit(), &self.name);
        journey.answered(status);
        if body.is_end_stream() {
            journey.complete();
            return Ok(with_head(status, headers, Body::empty()));
        }
        let declared = headers
            .get(CONTENT_LENGTH)
            .and_then(|v| v.to_str().ok()?.parse().ok());
        let body = Answer::new(body, declared, Arc::clone(journey));
        Ok(with_head(status, headers, Body::new(body)))
    }

    pub(super) fn finish_headers(
        &self,
        status: StatusCode,
        headers: &mut HeaderMap,
    ) -> Result<(), Refusal> {
        drover_access::headers::strip_hop_by_hop(headers);
        isolation::isolate(headers);
        let prefix = || format!("{}{}", drover_access::path::ROAD, self.name);
        if !headers.contains_key(LOCATION) {
            return Ok(());
        }
        match isolation::redirect(status, headers, &prefix(), self.host.as_deref()) {
            Redirect::AsIs => {}
            Redirect::Rewritten(location) => {
                headers.insert(LOCATION, location);
            }
            Redirect::Elsewhere => return Err(Refusal::RedirectElsewhere(self.name.clone())),
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
    async fn a_switch_of_protocols_that_nobody_answers_ends_in_time() {
        let limit = Duration::from_secs(62);
        let silent = std::future::pending::<Result<(), SendError>>();
        let error = in_time(Some(limit), silent).await.unwrap_err();
        assert!(matches!(error, SendError::HeadTimeout(waited) if waited == limit));
    }
}
