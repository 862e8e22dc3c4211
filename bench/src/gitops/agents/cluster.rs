//! A simulated cluster with an embedded API, whose agent calls the API in this process.

use std::path::Path;

use bytes::Bytes;
use drover_agent_link::upstream::{Body, Upstream};
use drover_api::client_error::ClientError;
use drover_simulate::{ClusterOptions, Plan};
use http::header::AUTHORIZATION;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::Value;

use crate::scale::Joining;

/// Number of nodes of each cluster.
const NODES: u32 = 1;
/// Field manager of the manifest's objects.
const MANAGER: &str = "kubectl";

/// The reason why a simulated cluster cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// The API cannot start.
    #[error("cannot start the simulated cluster {name}")]
    Start {
        name: String,
        source: drover_simulate::StartError,
    },
    /// An object of the manifest is not valid.
    #[error("cannot parse an object of the manifest of {name}")]
    Object {
        name: String,
        source: serde_json::Error,
    },
    /// The API rejects an object of the manifest.
    #[error("the simulated cluster {name} rejects an object of the manifest")]
    Rejected { name: String, source: ClientError },
}

/// A running cluster. The cluster stops when the value is dropped.
pub(super) struct SimulatedCluster(drover_simulate::Cluster);

impl SimulatedCluster {
    /// Starts a cluster with the objects of its import manifest.
    pub(super) async fn start(folder: &Path, joining: Joining) -> Result<Self, ClusterError> {
        let name = joining.name;
        let path = folder.join(format!("{name}.db"));
        let started =
            drover_simulate::Cluster::start(ClusterOptions::new(path, Plan::empty(NODES)));
        let cluster = started.await.map_err(|source| ClusterError::Start {
            name: name.clone(),
            source,
        })?;
        let client = cluster.client();
        for object in joining.objects {
            apply(&client, &name, object).await?;
        }
        Ok(Self(cluster))
    }

    /// Returns a client with all permissions.
    pub(super) fn client(&self) -> Client {
        self.0.client()
    }

    /// Returns the upstream to which the agent forwards the requests of its lanes.
    pub(super) fn upstream(&self) -> Upstream {
        let client = self.client();
        Upstream::in_process(move |request| Box::pin(answer(client.clone(), request)))
    }
}

async fn apply(client: &Client, name: &str, object: Value) -> Result<(), ClusterError> {
    let object: DynamicObject =
        serde_json::from_value(object).map_err(|source| ClusterError::Object {
            name: name.to_owned(),
            source,
        })?;
    // All objects of the manifest that the agent needs are in the core group.
    let kind = object.types.as_ref().map_or("", |types| &types.kind);
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind));
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) if kind != "Namespace" => {
            Api::namespaced_with(client.clone(), &namespace, &resource)
        }
        _ => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply(MANAGER).force();
    let (object_name, patch) = (object.name_any(), Patch::Apply(&object));
    let applied = api.patch(&object_name, &params, &patch).await;
    applied.map(drop).map_err(|source| ClusterError::Rejected {
        name: name.to_owned(),
        source: source.into(),
    })
}

/// Sends a request of the agent to the API with all permissions.
async fn answer(client: Client, request: Request<Body>) -> Response<Body> {
    let (mut head, body) = request.into_parts();
    head.headers.remove(AUTHORIZATION);
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return unavailable(error.to_string()),
    };
    let request = Request::from_parts(head, kube::client::Body::from(body.to_vec()));
    match client.send(request).await {
        Ok(response) => response.map(|body| body.map_err(Into::into).boxed_unsync()),
        Err(error) => unavailable(error.to_string()),
    }
}

fn unavailable(message: String) -> Response<Body> {
    let body = Full::<Bytes>::from(message);
    let mut response = Response::new(body.map_err(|never| match never {}).boxed_unsync());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
