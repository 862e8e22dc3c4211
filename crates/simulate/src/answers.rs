//! Responses of the simulated API that need no data from the store: logs, resource usage, and
//! rejected connections.

mod logs;
mod usage;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use drover_apiserver::access::Caller;
use drover_apiserver::crd;
use drover_apiserver::resource::Resource;
use drover_apiserver::serve::Connect;
use drover_apiserver::serve::request::ResourcePath;
use drover_apiserver::status::ApiError;
use futures::future::BoxFuture;
use http::{Request, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::world::World;

/// Handlers for requests that the API server has authorized.
pub(crate) struct Answers {
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) clock: Clock,
    pub(crate) stop: CancellationToken,
}

impl Connect for Answers {
    fn connect<'a>(
        &'a self,
        _caller: &'a Caller,
        path: &'a ResourcePath,
        request: Request<Body>,
    ) -> BoxFuture<'a, Option<Result<Response, ApiError>>> {
        Box::pin(std::future::ready(self.answer(path, &request)))
    }
}

impl Answers {
    fn answer(
        &self,
        path: &ResourcePath,
        request: &Request<Body>,
    ) -> Option<Result<Response, ApiError>> {
        let group = path.group.as_str();
        match (group, path.resource.as_str(), path.subresource.as_str()) {
            ("", "pods", "log") => Some(logs::answer(self, path, request.uri())),
            ("", "pods", what @ ("exec" | "attach" | "portforward" | "proxy")) => {
                Some(Err(self.refuse(path, what)))
            }
            ("metrics.k8s.io", "nodes", "") => Some(usage::nodes(self, path, request.uri())),
            ("metrics.k8s.io", "pods", "") => Some(usage::pods(self, path, request.uri())),
            _ => None,
        }
    }

    fn refuse(&self, path: &ResourcePath, subject: &str) -> ApiError {
        let (namespace, name) = (&path.namespace, &path.name);
        if self.world.lock().pods.get(namespace, name).is_none() {
            return ApiError::not_found("", "pods", name);
        }
        let message = format!(
            "pod {name:?} is simulated: no process runs in it, so {subject} is not possible; its \
             objects, events, logs and usage can be read"
        );
        ApiError::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
    }
}

fn resource(group: &str, kind: &str, names: &Value, scope: &str) -> Option<Resource> {
    let definition = json!({"spec": {
        "group": group, "scope": scope, "names": names,
        "versions": [{
            "name": "v1beta1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {
                "type": "object", "description": format!("{kind} of a simulated cluster"),
                "x-kubernetes-preserve-unknown-fields": true,
            }},
        }],
    }});
    let read = crd::resources(&definition);
    read.ok()?.into_iter().next()
}

/// Returns the resources of `metrics.k8s.io`.
pub(crate) fn answered() -> Vec<Resource> {
    let metrics = |kind: &str, plural: &str, scope| {
        let names = json!({"kind": kind, "plural": plural, "singular": ""});
        resource("metrics.k8s.io", kind, &names, scope)
    };
    let all = [
        metrics("NodeMetrics", "nodes", "Cluster"),
        metrics("PodMetrics", "pods", "Namespaced"),
    ];
    all.into_iter()
        .flatten()
        .map(|resource| Resource {
            verbs: vec!["get", "list"],
            ..resource
        })
        .collect()
}
