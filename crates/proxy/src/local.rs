//! The hub as cluster `local`. Requests use the server's Kubernetes client, with impersonation.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use drover_tunnel::tunnel::{HeadTimeout, Traffic};
use drover_tunnel::upgrade::{SpliceEnd, splice};
use http::{Request, StatusCode, Version};
use http_body_util::{Either, Empty};
use hyper_util::rt::TokioIo;
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::body::{RequestBody, UnreadBody};
use super::forward::ResponseContext;
use super::handler::UpstreamRequest;
use super::refusal::Refusal;
use super::upgrade::copy_both_ways;
use super::{Proxy, timeout};
use crate::open::in_flight::InFlightRequest;

impl Proxy {
    /// Sends a request to the hub and returns the response.
    pub(super) async fn to_hub(
        &self,
        upstream: UpstreamRequest,
        in_flight: &Arc<InFlightRequest>,
    ) -> Result<Response, Refusal> {
        let back = ResponseContext::new(self, &upstream);
        let UpstreamRequest {
            mut head,
            body,
            upgrade,
            verb,
            ..
        } = upstream;
        let limit = timeout::for_head(verb, &head.method, head.uri.query(), upgrade.is_some());
        head.version = Version::HTTP_11;
        if let Some(upgrade) = &upgrade {
            upgrade.set_headers(&mut head.headers);
        }
        let body = self
            .streaming_client
            .body(UnreadBody::new(body).outgoing(in_flight))
            .await;
        let sending = self.hub.client();
        let sending = sending.send(Request::from_parts(head, body));
        let answer = match limit {
            None => sending.await,
            Some(limit) => tokio::time::timeout(limit, sending)
                .await
                .map_err(|_| Refusal::HubSlow(HeadTimeout(limit)))?,
        };
        let mut answer = answer.map_err(|error| Refusal::Hub(error.into()))?;
        let Some(upgrade) = upgrade.filter(|_| answer.status() == StatusCode::SWITCHING_PROTOCOLS)
        else {
            return back.answer(answer, in_flight);
        };
        let hub = hyper::upgrade::on(&mut answer);
        let mut headers = std::mem::take(answer.headers_mut());
        back.finish_headers(StatusCode::SWITCHING_PROTOCOLS, &mut headers)?;
        let response = upgrade.accept_response(headers);
        in_flight.answered(response.status());
        let traffic = Arc::new(Traffic::default());
        let splicing = {
            let traffic = Arc::clone(&traffic);
            async move {
                match tokio::try_join!(upgrade.client, hub) {
                    Ok((client, hub)) => {
                        let (client, hub) = (TokioIo::new(client), TokioIo::new(hub));
                        splice(client, hub, &traffic, &CancellationToken::new()).await
                    }
                    Err(error) => SpliceEnd::UserBroken(std::io::Error::other(error)),
                }
            }
        };
        copy_both_ways(splicing, traffic, Arc::clone(in_flight));
        Ok(response)
    }
}

/// A client that sends requests with streaming bodies through the Kubernetes client.
///
/// Only a `kube::Client` can build a `kube::client::Body` from a stream, and only as a response
/// body. This internal client therefore returns each stream as a response body. The resulting body
/// cannot be cloned, so the hub's client cannot send a request twice.
#[derive(Clone)]
pub(super) struct StreamingClient(kube::Client);

/// A wrapper that makes the body cloneable. A stream is not `Clone`, but an HTTP extension must be
/// `Clone`.
#[derive(Clone)]
struct StreamExtension(Arc<Mutex<Option<RequestBody>>>);

impl StreamingClient {
    /// Creates the client that wraps streams. Call this function inside a tokio runtime.
    pub(super) fn new() -> Self {
        let give_back = tower::service_fn(async |mut request: Request<KubeBody>| {
            let carried = request.extensions_mut().remove::<StreamExtension>();
            let body = carried.and_then(|carried| carried.0.lock().take());
            Ok::<_, Infallible>(http::Response::new(
                body.map_or_else(|| Either::Right(Empty::<Bytes>::new()), Either::Left),
            ))
        });
        Self(kube::Client::new(give_back, "default"))
    }

    async fn body(&self, body: RequestBody) -> KubeBody {
        let mut request = Request::new(KubeBody::empty());
        request
            .extensions_mut()
            .insert(StreamExtension(Arc::new(Mutex::new(Some(body)))));
        match self.0.send(request).await {
            Ok(answer) => answer.into_body(),
            Err(_) => KubeBody::empty(),
        }
    }
}
