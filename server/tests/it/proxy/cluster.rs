//! A scripted cluster: the agent's real request checks, and an API server whose responses the test
//! defines.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use drover_access::guard;
use drover_access::proof::PublicKey;
use drover_agent_gateway::tunnels::{AttachGuard, AttachedAgent, TunnelSource, Tunnels};
use drover_api::agent::{Lane, NodeClass, REFUSED_HEADER};
use drover_testkit::tunnel::{TunnelPair, open_options};
use drover_tunnel::ServeOptions;
use drover_tunnel::upgrade::{is_upgrade, relay, upstream_request};
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::rig::{Rig, uid};

pub(super) type AnyBody = UnsyncBoxBody<Bytes, drover_tunnel::BoxError>;
type Answer = BoxFuture<'static, Response<AnyBody>>;
type Script = Arc<dyn Fn(Request<Incoming>) -> Answer + Send + Sync>;
type Switch = Arc<dyn Fn(DuplexStream) -> BoxFuture<'static, ()> + Send + Sync>;

/// A scripted cluster with its handlers and the recorded requests.
#[derive(Clone)]
pub(super) struct Cluster {
    /// Handler of the user lane.
    pub(super) user: Script,
    /// Handler of the controller lane, including `/livez`.
    pub(super) controller: Script,
    /// Handler of HTTP/1.1 connections for protocol upgrades.
    pub(super) switch: Switch,
    /// Requests on the user lane: method, URI, headers.
    pub(super) seen: Arc<Mutex<Vec<http::request::Parts>>>,
    /// Number of received `/livez` requests.
    pub(super) probes: Arc<AtomicUsize>,
}

/// An attached cluster. The cluster is detached when the value is dropped.
pub(super) struct Attached {
    pub(super) guard: AttachGuard,
    pub(super) pair: TunnelPair,
}

pub(super) fn text(text: impl Into<Bytes>) -> AnyBody {
    Full::new(text.into())
        .map_err(|never| match never {})
        .boxed_unsync()
}

pub(super) fn answer(code: u16, body: impl Into<Bytes>) -> Response<AnyBody> {
    Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .body(text(body))
        .unwrap()
}

/// Returns a body that a test sends frame by frame. The body ends when the sender is dropped.
pub(super) fn fed() -> (
    mpsc::Sender<Result<Frame<Bytes>, drover_tunnel::BoxError>>,
    AnyBody,
) {
    let (feed, frames) = mpsc::channel(16);
    let stream = futures::stream::unfold(frames, async |mut frames| {
        frames.recv().await.map(|frame| (frame, frames))
    });
    (feed, StreamBody::new(stream).boxed_unsync())
}

impl Cluster {
    /// Creates a cluster whose responses to user requests come from `script`.
    pub(super) fn new<F, Fut>(script: F) -> Self
    where
        F: Fn(Request<Incoming>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Response<AnyBody>> + Send + 'static,
    {
        Self {
            user: Arc::new(move |request| Box::pin(script(request))),
            controller: Arc::new(|_| Box::pin(async { answer(200, "ok") })),
            switch: Arc::new(|_| Box::pin(async {})),
            seen: Arc::default(),
            probes: Arc::default(),
        }
    }

    /// Creates a cluster whose responses describe the received request.
    pub(super) fn echo() -> Self {
        Self::new(async |request: Request<Incoming>| {
            let (head, body) = request.into_parts();
            let collected = body.collect().await;
            let body = collected.map_or_else(
                |e| e.to_string().into(),
                http_body_util::Collected::to_bytes,
            );
            let said = json!({
                "method": head.method.as_str(),
                "uri": head.uri.path_and_query().map(ToString::to_string),
                "body": String::from_utf8_lossy(&body),
            });
            answer(200, said.to_string())
        })
    }

    pub(super) fn on_controller_lane<F, Fut>(mut self, script: F) -> Self
    where
        F: Fn(Request<Incoming>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Response<AnyBody>> + Send + 'static,
    {
        self.controller = Arc::new(move |request| Box::pin(script(request)));
        self
    }

    pub(super) fn on_switch<F, Fut>(mut self, script: F) -> Self
    where
        F: Fn(DuplexStream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.switch = Arc::new(move |stream| Box::pin(script(stream)));
        self
    }

    /// Attaches a replica of this cluster's agent.
    pub(super) async fn attach(&self, rig: &Rig, name: &str, replica: &str) -> Attached {
        self.attach_to(&rig.tunnels, name, replica, TunnelSource::Agent)
            .await
    }

    /// Attaches a replica of this cluster's agent with a key that replaced the key of [`Self::attach`].
    pub(super) async fn attach_with_next_key(
        &self,
        rig: &Rig,
        name: &str,
        replica: &str,
    ) -> Attached {
        self.attach_with(
            &rig.tunnels,
            name,
            replica,
            TunnelSource::Agent,
            key_of("next"),
        )
        .await
    }

    /// Attaches the node agent of a control-plane node of this cluster.
    pub(super) async fn attach_node(&self, rig: &Rig, name: &str, node: &str) -> Attached {
        self.attach_to(&rig.tunnels, name, node, control_plane(node))
            .await
    }

    /// Attaches a tunnel of this cluster.
    pub(super) async fn attach_to(
        &self,
        tunnels: &Tunnels,
        name: &str,
        replica: &str,
        source: TunnelSource,
    ) -> Attached {
        let key = key_of(source.node().unwrap_or("agent"));
        self.attach_with(tunnels, name, replica, source, key).await
    }

    async fn attach_with(
        &self,
        tunnels: &Tunnels,
        name: &str,
        replica: &str,
        source: TunnelSource,
        key: PublicKey,
    ) -> Attached {
        let this = self.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let this = this.clone();
            async move { Ok::<_, Infallible>(this.serve(request).await) }
        });
        let mut options = open_options();
        options.server = tunnels.budget();
        let pair = TunnelPair::open_with(service, options, ServeOptions::default()).await;
        let agent = AttachedAgent {
            source,
            previous_key: (key == key_of("next")).then(|| key_of("agent")),
            key,
            replica: replica.to_owned(),
            version: "0.1.0".to_owned(),
            protocol: 2,
        };
        let guard = tunnels.attach(uid(name), agent, pair.tunnel.clone());
        Attached { guard, pair }
    }

    fn serve(
        self,
        request: Request<Incoming>,
    ) -> Pin<Box<dyn Future<Output = Response<AnyBody>> + Send>> {
        Box::pin(async move {
            match guard::admit(request.method(), request.uri(), request.headers()) {
                Err(refused) => Response::builder()
                    .status(StatusCode::FORBIDDEN)
                    .header(REFUSED_HEADER, refused.reason())
                    .body(text(refused.to_string()))
                    .unwrap(),
                Ok(Lane::User) => {
                    let mut head = Request::new(());
                    *head.method_mut() = request.method().clone();
                    *head.uri_mut() = request.uri().clone();
                    *head.headers_mut() = request.headers().clone();
                    self.seen.lock().push(head.into_parts().0);
                    if is_upgrade(&request) {
                        self.switch(request).await
                    } else {
                        (self.user)(request).await
                    }
                }
                Ok(_) => {
                    if request.uri().path() == "/livez" {
                        self.probes.fetch_add(1, Ordering::SeqCst);
                    }
                    (self.controller)(request).await
                }
            }
        })
    }

    async fn switch(&self, request: Request<Incoming>) -> Response<AnyBody> {
        let (request, tunneled) = upstream_request(request).unwrap();
        let (agent, api_server) = tokio::io::duplex(64 * 1024);
        tokio::spawn((self.switch)(api_server));
        let answer = relay(request, agent, tunneled, CancellationToken::new())
            .await
            .unwrap();
        answer.map(|body| body.map_err(Into::into).boxed_unsync())
    }

    /// Returns the head of the only received user request.
    pub(super) fn only_head(&self) -> http::request::Parts {
        let mut seen = self.seen.lock();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }
}

/// Returns the source of the tunnel of a node agent on a control-plane node.
pub(super) fn control_plane(node: &str) -> TunnelSource {
    TunnelSource::Node {
        node: node.to_owned(),
        class: NodeClass::ControlPlane,
    }
}

/// Returns the key of the node agent on a node.
pub(super) fn key_of(node: &str) -> PublicKey {
    let mut bytes = [0; 32];
    bytes[..node.len()].copy_from_slice(node.as_bytes());
    PublicKey::from_bytes(bytes)
}
