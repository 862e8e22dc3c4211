//! The hub as cluster `local`: through the one client that the server has, impersonating.

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

use super::body::{Outgoing, Unread};
use super::forward::Return;
use super::refusal::Refusal;
use super::road::Onward;
use super::upgrade::carry;
use super::{Road, patience};
use crate::open::journey::Journey;

impl Road {
    /// Sends a request to the hub and brings the answer.
    pub(super) async fn to_hub(
        &self,
        onward: Onward,
        journey: &Arc<Journey>,
    ) -> Result<Response, Refusal> {
        let back = Return::new(&onward);
        let Onward {
            mut head,
            body,
            wish,
            verb,
            ..
        } = onward;
        let limit = patience::for_head(verb, &head.method, head.uri.query(), wish.is_some());
        head.version = Version::HTTP_11;
        if let Some(wish) = &wish {
            wish.ask(&mut head.headers);
        }
        let body = self
            .streamed
            .body(Unread::new(body).for_journey(journey))
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
        let Some(wish) = wish.filter(|_| answer.status() == StatusCode::SWITCHING_PROTOCOLS) else {
            return back.answer(answer, journey);
        };
        let hub = hyper::upgrade::on(&mut answer);
        let mut headers = std::mem::take(answer.headers_mut());
        back.finish_headers(StatusCode::SWITCHING_PROTOCOLS, &mut headers)?;
        let response = wish.agree(headers);
        journey.answered(response.status());
        let traffic = Arc::new(Traffic::default());
        let splicing = {
            let traffic = Arc::clone(&traffic);
            async move {
                match tokio::try_join!(wish.client, hub) {
                    Ok((client, hub)) => {
                        let (client, hub) = (TokioIo::new(client), TokioIo::new(hub));
                        splice(client, hub, &traffic, &CancellationToken::new()).await
                    }
                    Err(error) => SpliceEnd::UserBroken(std::io::Error::other(error)),
                }
            }
        };
        carry(splicing, traffic, Arc::clone(journey));
        Ok(response)
    }
}

/// Makes streams into bodies of the Kubernetes client.
///
/// Its body type can be built from bytes in memory only, except by the client itself for the
/// bodies of answers. So a client of our own gives each stream back as the body of an answer. Such
/// a body cannot be cloned, which also keeps the hub's client from sending a request twice.
#[derive(Clone)]
pub(super) struct Streamed(kube::Client);

/// An extension has to be clonable, which the stream in it is not.
#[derive(Clone)]
struct Carried(Arc<Mutex<Option<Outgoing>>>);

impl Streamed {
    /// Call inside a tokio runtime.
    pub(super) fn new() -> Self {
        let give_back = tower::service_fn(async |mut request: Request<KubeBody>| {
            let carried = request.extensions_mut().remove::<Carried>();
            let body = carried.and_then(|carried| carried.0.lock().take());
            Ok::<_, Infallible>(http::Response::new(
                body.map_or_else(|| Either::Right(Empty::<Bytes>::new()), Either::Left),
            ))
        });
        Self(kube::Client::new(give_back, "default"))
    }

    async fn body(&self, body: Outgoing) -> KubeBody {
        let mut request = Request::new(KubeBody::empty());
        request
            .extensions_mut()
            .insert(Carried(Arc::new(Mutex::new(Some(body)))));
        match self.0.send(request).await {
            Ok(answer) => answer.into_body(),
            Err(_) => KubeBody::empty(),
        }
    }
}
