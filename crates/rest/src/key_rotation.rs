//! The route that requests new keys of a cluster's agents.

use axum::extract::State;
use drover_api::kinds::Cluster;
use drover_api::rest::KeyRotation;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::RestState;
use super::authorized_writes::AuthorizedWriter;
use drover_http_edge::body::Name;
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope};
use drover_identity::caller::Caller;

/// Requests new keys of the cluster's agent and of its node agents. Open streams continue.
#[utoipa::path(post, path = "/v1/clusters/{name}/rotate-keys", tag = "clusters",
    params(("name" = String, Path, description = "The cluster's name")),
    responses((status = 200, body = KeyRotation)))]
pub(super) async fn request(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<axum::Json<KeyRotation>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let cluster = visibility.cluster(&name)?;
    visibility.require("update", "clusters", &cluster_scope(&cluster))?;
    if cluster.metadata.deletion_timestamp.is_some() {
        return Err(Status::conflict("the cluster is being deleted"));
    }
    // A key can be bound later than now according to the clock of another server.
    let requested_at = bound_at(&cluster).chain([Timestamp::now()]).max();
    // The hub stores times in seconds.
    let second = requested_at.map_or(0, Timestamp::as_second);
    let requested_at =
        Timestamp::from_second(second).map_err(|error| Status::internal(error.to_string()))?;
    let mut requested = Cluster::clone(&cluster);
    requested.spec.key_rotation.requested_at = Some(Time(requested_at));
    let authorized = AuthorizedWriter::<Cluster>::new(&state.hub, &caller);
    authorized.check_replace(&cluster, &requested).await?;
    // A patch without the version, because the server changes the status every few seconds.
    let patch = json!({
        "metadata": { "uid": cluster.metadata.uid },
        "spec": { "keyRotation": { "requestedAt": Time(requested_at) } },
    });
    let writer = state.hub.writer::<Cluster>().with_manager();
    writer
        .patch("request new keys of a cluster", &name, &patch)
        .await?;
    Ok(axum::Json(KeyRotation { requested_at }))
}

/// Returns the times at which the server bound the keys of the cluster's agents.
fn bound_at(cluster: &Cluster) -> impl Iterator<Item = Timestamp> {
    let status = cluster.status.iter();
    let agents = status
        .clone()
        .filter_map(|status| Some(status.registration.as_ref()?.bound_at.0));
    let nodes = status.flat_map(|status| &status.node_agents);
    agents.chain(nodes.filter_map(|agent| Some(agent.key.as_ref()?.bound_at.0)))
}
