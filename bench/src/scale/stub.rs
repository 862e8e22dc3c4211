//! The shared API server of many clusters: a stub in the process of their agents.
//!
//! The stub stores the objects of the agents' namespaces in memory, returns the same nodes and pods
//! for each cluster, accepts all applied objects, and sends no watch events. The CPU usage of real
//! API servers would dominate the measurement. With a real API server, each connection would need
//! two open files.
//!
//! | request | response |
//! |---|---|
//! | `GET /small` | 1 KiB |
//! | `GET` of an object | the stored object, or 404 |
//! | `GET` of a list | the nodes, pods or stored Secrets, or an empty list for other kinds |
//! | `GET` of a watch | no event until its timeout |
//! | `POST` of an object | 201 with the stored object, or 409 |
//! | `POST` of an Event | 201 with the Event, which is not stored |
//! | `POST` to the subresource `token` | 201 with a token of the service account |
//! | `POST` of a TokenReview | 201 with a node agent; its token is the name of its node |
//! | `PUT`, `PATCH` as merge | the stored object |
//! | `PATCH` as apply, `PATCH` of an Event, `DELETE` | 200 |

mod objects;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use drover_agent_link::upstream::{Body, Upstream};
use drover_api::agent::{NODE_TOKEN_AUDIENCE, NodeClass};
use drover_api::group::{CONTROL_PLANE_LABEL, NODE_AGENT_NAMESPACE};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::{Value, json};

use self::objects::Objects;
pub(crate) use self::objects::Refused;

const SMALL: usize = 1024;
static SMALL_BYTES: [u8; SMALL] = [b'd'; SMALL];
/// Number of nodes of each cluster.
pub(crate) const NODES: u32 = 3;
const PODS: u32 = 30;
/// Default timeout of a watch.
const WATCH_TIMEOUT: Duration = Duration::from_mins(5);

/// The stub of an API server. Clones share its objects.
#[derive(Clone)]
pub(crate) struct Stub(Arc<Inner>);

struct Inner {
    objects: Objects,
    nodes: Bytes,
    pods: Bytes,
}

impl Stub {
    /// Creates a stub with workers.
    pub(crate) fn new() -> Self {
        Self::with_nodes(&json!({}))
    }

    /// Creates a stub with control-plane nodes. Their node agents may have tunnels.
    pub(crate) fn with_control_plane() -> Self {
        Self::with_nodes(&json!({CONTROL_PLANE_LABEL: ""}))
    }

    fn with_nodes(labels: &Value) -> Self {
        let nodes: Vec<Value> = (0..NODES).map(|number| node(number, labels)).collect();
        let pods: Vec<Value> = (0..PODS).map(pod).collect();
        Self(Arc::new(Inner {
            objects: Objects::default(),
            nodes: list(&nodes),
            pods: list(&pods),
        }))
    }

    /// Stores an object of a manifest in the stub.
    pub(crate) fn put(&self, object: Value) -> Result<(), Refused> {
        let path = objects::path_of(&object)?;
        self.0.objects.put(&path, object)?;
        Ok(())
    }

    /// Returns the upstream to which the agents forward the requests of their lanes.
    pub(crate) fn upstream(&self) -> Upstream {
        let stub = self.clone();
        Upstream::in_process(move |request| Box::pin(stub.clone().answer(request)))
    }

    /// Responds to a request.
    pub(crate) async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body,
    {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else {
            return status(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                "cannot read the body",
            );
        };
        let path = head.uri.path();
        let query = head.uri.query().unwrap_or_default();
        if head.method == Method::GET {
            return self.read(path, query);
        }
        let kind = head.headers.get(CONTENT_TYPE);
        let applied = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/apply"));
        let sent = serde_json::from_slice(&body.to_bytes()).unwrap_or(Value::Null);
        match self.write(&head.method, path, sent, applied) {
            Ok((code, object)) => json_of(code, object.to_string().into()),
            Err(refused) => status(refused.code(), refused.reason(), &refused.to_string()),
        }
    }

    fn read(&self, path: &str, query: &str) -> Response<Body> {
        match path {
            "/small" => return Response::new(full(Bytes::from_static(&SMALL_BYTES))),
            "/livez" | "/readyz" => return Response::new(full(Bytes::from_static(b"ok"))),
            "/version" => {
                let version = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.3-stub",
                    "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "",
                    "compiler": "", "platform": ""});
                return json_of(StatusCode::OK, version.to_string().into());
            }
            _ => {}
        }
        if query.split('&').any(|pair| pair.starts_with("watch=")) {
            return watch(query);
        }
        match path {
            "/api/v1/nodes" => json_of(StatusCode::OK, self.0.nodes.clone()),
            "/api/v1/pods" => json_of(StatusCode::OK, self.0.pods.clone()),
            _ if path.ends_with("/secrets") => {
                json_of(StatusCode::OK, list(&self.0.objects.list(path)))
            }
            _ if objects::is_list(path) => json_of(StatusCode::OK, list(&[])),
            _ => match self.0.objects.get(path) {
                Some(object) => json_of(StatusCode::OK, object.to_string().into()),
                None => status(StatusCode::NOT_FOUND, "NotFound", "object not found"),
            },
        }
    }

    fn write(
        &self,
        method: &Method,
        path: &str,
        sent: Value,
        applied: bool,
    ) -> Result<(StatusCode, Value), Refused> {
        let objects = &self.0.objects;
        let ok = |object| (StatusCode::OK, object);
        let created = |object| (StatusCode::CREATED, object);
        let passing = applied || path.contains("/events");
        match *method {
            Method::DELETE => Ok(ok(objects.delete(path))),
            Method::POST if path.ends_with("/token") => Ok(created(token(sent))),
            Method::POST if path.ends_with("/tokenreviews") => Ok(created(review(sent))),
            Method::POST if passing => Ok(created(objects.stamped(sent))),
            Method::POST => objects.create(path, sent).map(created),
            Method::PUT => objects.put(path, sent).map(ok),
            Method::PATCH if passing => Ok(ok(objects.stamped(sent))),
            Method::PATCH => objects.merge(path, &sent).map(ok),
            _ => Err(Refused::Method),
        }
    }
}

impl<B> tower::Service<Request<B>> for Stub
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.clone().answer(request);
        Box::pin(async move { Ok(answer.await) })
    }
}

/// Returns the response to a watch. The response contains no events.
fn watch(query: &str) -> Response<Body> {
    let seconds = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("timeoutSeconds=")?.parse().ok());
    let lasts = seconds.map_or(WATCH_TIMEOUT, Duration::from_secs);
    let silence = futures::stream::once(tokio::time::sleep(lasts)).filter_map(async |()| None);
    let mut response = Response::new(StreamBody::new(silence.boxed()).boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// Returns the response to a token request of a service account.
fn token(mut sent: Value) -> Value {
    sent["status"] = json!({"token": "of-a-stub", "expirationTimestamp": "2100-01-01T00:00:00Z"});
    sent
}

/// Returns the name of a node.
pub(crate) fn node_name(number: u32) -> String {
    format!("stub-{number}")
}

fn node_uid(name: &str) -> String {
    format!("uid-of-{name}")
}

/// Returns the response to a review of a node agent's token.
fn review(mut sent: Value) -> Value {
    let account = NodeClass::ControlPlane.service_account();
    let node = sent["spec"]["token"].as_str().unwrap_or_default();
    let extra = json!({
        "authentication.kubernetes.io/node-name": [node],
        "authentication.kubernetes.io/node-uid": [node_uid(node)],
    });
    sent["status"] = json!({
        "authenticated": true,
        "audiences": [NODE_TOKEN_AUDIENCE],
        "user": {
            "username": format!("system:serviceaccount:{NODE_AGENT_NAMESPACE}:{account}"),
            "extra": extra,
        },
    });
    sent
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");

fn full(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn json_of(code: StatusCode, bytes: Bytes) -> Response<Body> {
    let mut response = Response::new(full(bytes));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code.as_u16(), "reason": reason, "message": message});
    json_of(code, status.to_string().into())
}

fn list(items: &[Value]) -> Bytes {
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
        "items": items});
    list.to_string().into()
}

fn node(number: u32, labels: &Value) -> Value {
    let name = node_name(number);
    let size = json!({"cpu": "4", "memory": "16Gi", "pods": "110"});
    json!({"kind": "Node", "apiVersion": "v1",
        "metadata": {"name": name, "uid": node_uid(&name), "labels": labels, "resourceVersion": "1"},
        "spec": {},
        "status": {"capacity": size, "allocatable": size,
            "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn pod(number: u32) -> Value {
    let requests = json!({"requests": {"cpu": "100m", "memory": "128Mi"}});
    json!({"kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": format!("stub-{number}"), "namespace": "default",
            "uid": format!("pod-{number}"), "resourceVersion": "1"},
        "spec": {"nodeName": node_name(number % NODES),
            "containers": [{"name": "main", "resources": requests}]},
        "status": {"phase": "Running"}})
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn send(stub: &Stub, method: Method, path: &str, body: Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path);
        let body = Full::<Bytes>::from(body.to_string());
        let answer = stub.clone().answer(request.body(body).unwrap()).await;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    #[tokio::test]
    async fn api_stub_returns_created_and_patched_objects() {
        let stub = Stub::new();
        let map = json!({"kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": "m", "namespace": "n"}, "data": {"a": "1"}});
        stub.put(map).unwrap();
        let path = "/api/v1/namespaces/n/configmaps/m";
        let changes = json!({"data": {"a": null, "b": "2"}});
        assert_eq!(send(&stub, Method::PATCH, path, changes).await.0, 200);
        let (code, found) = send(&stub, Method::GET, path, Value::Null).await;
        assert_eq!((code, &found["data"]), (200, &json!({"b": "2"})));
        let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}});
        let secrets = "/api/v1/namespaces/n/secrets";
        let created = send(&stub, Method::POST, secrets, secret.clone()).await;
        assert_eq!((created.0, &created.1["data"]["a"]), (201, &json!("Yg==")));
        assert_eq!(send(&stub, Method::POST, secrets, secret).await.0, 409);
        let listed = send(&stub, Method::GET, secrets, Value::Null).await.1;
        assert_eq!(listed["items"][0]["metadata"]["name"], "s");
        let gone = "/api/v1/namespaces/n/secrets/s";
        assert_eq!(send(&stub, Method::DELETE, gone, Value::Null).await.0, 200);
        assert_eq!(send(&stub, Method::GET, gone, Value::Null).await.0, 404);
    }

    #[tokio::test]
    async fn api_stub_lists_fixed_nodes_and_sends_no_watch_events() {
        let stub = Stub::new();
        let nodes = send(&stub, Method::GET, "/api/v1/nodes?limit=5", Value::Null)
            .await
            .1;
        assert_eq!(nodes["items"].as_array().unwrap().len(), 3);
        tokio::time::pause();
        let start = tokio::time::Instant::now();
        let watch = "/api/v1/nodes?watch=true&timeoutSeconds=7";
        assert_eq!(send(&stub, Method::GET, watch, Value::Null).await.0, 200);
        // tokio's timers have a resolution of a millisecond.
        assert_eq!(start.elapsed().as_secs(), 7);
    }
}
