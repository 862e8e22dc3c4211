//! Creates the nodes and sample workloads at the first start of a cluster.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, TypeMeta};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::plan::Plan;

/// Name of the ConfigMap that marks a completed setup. If the ConfigMap exists, a start does not
/// create objects, so that users' changes persist.
const MARKER: &str = "simulated-cluster";
const NAMESPACE: &str = "kube-system";
const MANAGER: &str = "drover-simulate";

/// The reason why the setup failed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The API server refused a request.
    #[error("cannot create {object}: {reason}")]
    Refused {
        /// Kind and name of the refused object.
        object: String,
        /// Message of the API server.
        reason: String,
    },
    /// An object of the plan has no kind.
    #[error("cannot create an object of the plan: the object has no kind: {object}", object = .0)]
    NoKind(Value),
}

fn refused(object: &str) -> impl FnOnce(kube::Error) -> SetupError {
    let object = object.to_owned();
    |error| SetupError::Refused {
        object,
        // kube formats a `Status` as debug output, so use the message.
        reason: match error {
            kube::Error::Api(status) => status.message,
            other => other.to_string(),
        },
    }
}

/// Creates the objects of the plan, unless an earlier setup was completed. Continues an interrupted
/// setup.
pub(crate) async fn apply_plan(client: &Client, plan: &Plan) -> Result<(), SetupError> {
    let marks: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let mark = format!("ConfigMap {MARKER}");
    let known = marks.get_opt(MARKER).await.map_err(refused(&mark))?;
    if known.is_some() {
        return Ok(());
    }
    for node in &plan.nodes {
        apply(client, node.node(), "").await?;
        let mut status = node.node();
        status["spec"] = Value::Null;
        status["status"] = node.status();
        apply(client, status, "status").await?;
    }
    for object in &plan.objects {
        apply(client, object.clone(), "").await?;
    }
    let done = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": MARKER, "namespace": NAMESPACE},
        "data": {"description": plan.description},
    });
    apply(client, done, "").await
}

async fn apply(client: &Client, object: Value, subresource: &str) -> Result<(), SetupError> {
    let object: DynamicObject =
        serde_json::from_value(object.clone()).map_err(|_| SetupError::NoKind(object))?;
    let types = object.types.clone();
    let types = types.ok_or_else(|| SetupError::NoKind(json!(object.metadata)))?;
    let name = object.name_any();
    let object_name = format!("{} {name}", types.kind);
    let resource = resource(&types);
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let (params, patch) = (PatchParams::apply(MANAGER).force(), Patch::Apply(&object));
    let applied = match subresource {
        "status" => api.patch_status(&name, &params, &patch).await,
        _ => api.patch(&name, &params, &patch).await,
    };
    applied.map(drop).map_err(refused(&object_name))
}

fn resource(types: &TypeMeta) -> ApiResource {
    let (group, version) = types
        .api_version
        .split_once('/')
        .unwrap_or(("", types.api_version.as_str()));
    let gvk = kube::core::GroupVersionKind::gvk(group, version, &types.kind);
    ApiResource::from_gvk(&gvk)
}
