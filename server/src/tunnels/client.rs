//! A Kubernetes client through the tunnels, for the server's own controllers.

use std::pin::Pin;
use std::task::{Context, Poll};

use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use http::{Request, Response};
use kube::client::Body;
use tower::Service;

use super::{TunnelSendError, Tunnels};

/// Sends each request through the tunnel that is best at that moment.
#[derive(Clone)]
pub(super) struct Through {
    pub(super) tunnels: Tunnels,
    pub(super) cluster: ClusterUid,
    pub(super) lane: Lane,
}

impl Service<Request<Body>> for Through {
    type Response = Response<drover_tunnel::tunnel::Body>;
    type Error = TunnelSendError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { this.tunnels.send(&this.cluster, this.lane, request).await })
    }
}
