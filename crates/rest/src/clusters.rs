//! Routes that list, return, create and delete clusters.

use axum::extract::State;
use drover_api::group::LOCAL_CLUSTER;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{Cluster, ClusterSpec};
use drover_api::rest::{ClusterCreate, ClusterView, List};
use http::StatusCode;
use kube::ResourceExt;

use super::RestState;
use super::authorized_writes::{AuthorizedWriter, delete_without_owner};
use super::caller::Importer;
use super::page::PageQuery;
use crate::access::members;
use crate::access::members::InCluster;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope};
use drover_identity::caller::Caller;

/// Maximum length of a cluster's description, in characters.
const MAX_DESCRIPTION: usize = 256;

fn view(visibility: &Visibility, cluster: &Cluster) -> ClusterView {
    let (meta, spec) = (cluster.metadata.clone(), cluster.spec.clone());
    let rights = visibility.cluster_rights(cluster);
    ClusterView::of(meta, spec, cluster.status.clone(), rights)
}

/// Lists the clusters that the caller can access.
#[utoipa::path(get, path = "/v1/clusters", tag = "clusters", params(PageQuery),
    responses((status = 200, body = List<ClusterView>)))]
pub(super) async fn list(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<ClusterView>>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let known = |cluster: &Cluster| visibility.can_see(cluster);
    query
        .of(&state.hub.stores().clusters, known, |cluster| ClusterView {
            node_facts: Vec::new(),
            ..view(&visibility, cluster)
        })
        .map(axum::Json)
}

/// Returns a cluster.
#[utoipa::path(get, path = "/v1/clusters/{name}", tag = "clusters",
    params(("name" = String, Path, description = "The cluster's name")),
    responses((status = 200, body = ClusterView)))]
pub(super) async fn read(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<axum::Json<ClusterView>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let cluster = visibility.cluster(&name)?;
    Ok(axum::Json(view(&visibility, &cluster)))
}

/// Creates a cluster. `POST /v1/clusters/{name}/import` returns the command that connects the
/// cluster.
#[utoipa::path(post, path = "/v1/clusters", tag = "clusters", request_body = ClusterCreate,
    responses((status = 201, body = ClusterView)))]
pub(super) async fn create(
    State(state): State<RestState>,
    Importer(caller): Importer,
    noted: AuditNotes,
    Json(request): Json<ClusterCreate>,
) -> Result<(StatusCode, axum::Json<ClusterView>), Status> {
    check_name(&request.name)?;
    let description = request.description.as_deref().unwrap_or_default();
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(Status::invalid(
            "description",
            "must have at most 256 characters",
        ));
    }
    let spec = ClusterSpec {
        description: request.description.filter(|text| !text.is_empty()),
        ..ClusterSpec::default()
    };
    let mut cluster = Cluster::new(&request.name, spec);
    *cluster.labels_mut() = request.labels;
    let authorized = AuthorizedWriter::<Cluster>::new(&state.hub, &caller);
    authorized.check_create(&cluster).await?;
    let writer = state.hub.writer();
    let created = writer.create("create a cluster", &cluster).await;
    let created = created.map_err(|error| match error.code() {
        Some(409) => Status::already_exists("Cluster", &request.name),
        _ => error.into(),
    })?;
    noted.about(&request.name);
    noted.in_cluster(&request.name, created.uid().map(ClusterUid::new));
    let visibility = Visibility::of(state.hub.stores(), &caller);
    if !visibility.may("update", "clusters", &cluster_scope(&created)) {
        let owner = members::make_owner::<InCluster>(&state, &caller, &created).await;
        delete_without_owner(writer, &created, owner).await?;
    }
    let visibility = Visibility::of(state.hub.stores(), &caller);
    Ok((StatusCode::CREATED, axum::Json(view(&visibility, &created))))
}

/// Deletes a cluster. The server also removes Drover's objects from the cluster if the cluster is
/// connected.
#[utoipa::path(delete, path = "/v1/clusters/{name}", tag = "clusters",
    params(("name" = String, Path, description = "The cluster's name")),
    responses((status = 204)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let cluster = visibility.cluster(&name)?;
    visibility.require("delete", "clusters", &cluster_scope(&cluster))?;
    let authorized = AuthorizedWriter::<Cluster>::new(&state.hub, &caller);
    authorized.check_delete(&cluster).await?;
    // The removal of a Cluster takes minutes, so the response does not wait for the store.
    let writer = state.hub.writer::<Cluster>().without_wait();
    writer.delete("delete a cluster", &cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the name of a cluster against the rule of the CRD schema.
fn check_name(name: &str) -> Result<(), Status> {
    if name == LOCAL_CLUSTER {
        return Err(Status::invalid(
            "name",
            "the name \"local\" is reserved for the hub; choose a different name",
        ));
    }
    let valid = (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    if valid {
        Ok(())
    } else {
        Err(Status::invalid(
            "name",
            "must have 1 to 63 characters: lower-case letters, digits and \"-\", with a letter or \
             digit at both ends",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_name_validation_matches_the_crd_rule() {
        for (name, valid) in [
            ("prod-1", true),
            ("local", false),
            ("local-evil", true),
            ("a.b", false),
            ("", false),
            ("A", false),
            ("a-", false),
            ("../x", false),
            ("a\nb: c", false),
        ] {
            assert_eq!(check_name(name).is_ok(), valid, "{name:?}");
        }
    }
}
