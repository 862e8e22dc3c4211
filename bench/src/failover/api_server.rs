//! The API server of a cluster, as one of the cluster's agents reaches it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drover_agent_link::lanes::status_response;
use drover_agent_link::upstream::{Body, Upstream, boxed};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use crate::scale::Stub;

/// Path of the requests of the measurements.
pub(super) const PATH: &str = "/api/v1/namespaces/default/configmaps";
/// Duration of a request that changes an object. A fault therefore affects requests that the API
/// server has received.
const WRITE_DURATION: Duration = Duration::from_millis(50);

/// The agent through which a request reaches the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Caller {
    /// The agent of the cluster.
    Agent,
    /// The node agent on a node of the cluster.
    NodeAgent,
}

/// The response to a request to [`PATH`].
#[derive(Serialize, Deserialize)]
pub(super) struct Reply {
    /// The agent through which the request reached the API server.
    pub(super) through: Caller,
}

/// The number of times that each POST request reached an API server, by name of its object.
#[derive(Clone, Default)]
pub(super) struct Posts(Arc<Mutex<HashMap<String, u32>>>);

impl Posts {
    fn count(&self, name: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(name.to_owned()).or_default() += 1;
    }

    /// Returns the number of requests, and the number of requests that arrived more than once.
    pub(super) fn received_and_repeated(&self) -> (usize, usize) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let repeated = counts.values().filter(|count| **count > 1).count();
        (counts.len(), repeated)
    }
}

/// The responses of the API server to one of the agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reachability {
    Reachable,
    /// The address of the API server refuses connections.
    Refusing,
    /// The network drops all packets. Requests wait until the API server is reachable.
    Silent,
}

/// A connection to the API server. Clones share the connection.
#[derive(Clone)]
pub(super) struct ApiServer {
    stub: Stub,
    caller: Caller,
    posts: Posts,
    reachability: watch::Sender<Reachability>,
}

impl ApiServer {
    pub(super) fn new(stub: &Stub, caller: Caller, posts: &Posts) -> Self {
        Self {
            stub: stub.clone(),
            caller,
            posts: posts.clone(),
            reachability: watch::Sender::new(Reachability::Reachable),
        }
    }

    /// Sets the responses to all requests from now on.
    pub(super) fn set_reachability(&self, reachability: Reachability) {
        self.reachability.send_replace(reachability);
    }

    /// Returns the upstream to which the agent forwards the requests of its lanes.
    pub(super) fn upstream(&self) -> Upstream {
        let this = self.clone();
        Upstream::in_process(move |request| Box::pin(this.clone().answer(request)))
    }

    /// Returns the client with the agent's own service account.
    pub(super) fn client(&self, namespace: &str) -> kube::Client {
        let this = self.clone();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let this = this.clone();
            async move { Ok::<_, std::convert::Infallible>(this.answer(request).await) }
        });
        kube::Client::new(service, namespace)
    }

    async fn answer<B: hyper::body::Body>(self, request: Request<B>) -> Response<Body> {
        let mut changes = self.reachability.subscribe();
        // Fails only without a sender, and `self` contains a sender.
        let _ = changes.wait_for(|now| *now != Reachability::Silent).await;
        if *self.reachability.borrow() == Reachability::Refusing {
            // The agent sends the same response if it cannot connect.
            let message = "the agent is connected, but the API server does not respond";
            let code = StatusCode::SERVICE_UNAVAILABLE;
            return status_response(code, "ServiceUnavailable", message);
        }
        if request.uri().path() != PATH {
            return self.stub.answer(request).await;
        }
        if request.method() == Method::POST {
            let Ok(body) = request.into_body().collect().await else {
                let message = "cannot read the body";
                return status_response(StatusCode::BAD_REQUEST, "BadRequest", message);
            };
            let object: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
            self.posts
                .count(object["metadata"]["name"].as_str().unwrap_or_default());
            tokio::time::sleep(WRITE_DURATION).await;
        }
        let reply = Reply {
            through: self.caller,
        };
        let reply = serde_json::to_vec(&reply).expect("a reply can be serialized as JSON");
        Response::new(boxed(Full::from(reply)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn repeated_post_request_is_counted_across_agents() {
        let (stub, posts) = (Stub::new(), Posts::default());
        for (caller, name) in [
            (Caller::Agent, "a"),
            (Caller::NodeAgent, "a"),
            (Caller::Agent, "b"),
        ] {
            let object = serde_json::json!({"metadata": {"name": name}}).to_string();
            let request = Request::post(PATH)
                .body(Full::<bytes::Bytes>::from(object))
                .unwrap();
            let api = ApiServer::new(&stub, caller, &posts);
            assert_eq!(api.answer(request).await.status(), StatusCode::OK);
        }
        assert_eq!(posts.received_and_repeated(), (2, 1));
    }
}
