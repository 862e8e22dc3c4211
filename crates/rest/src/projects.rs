//! Routes that list, return, create, change and delete projects.

use std::time::Duration;

use axum::extract::State;
use drover_api::agent::Lane;
use drover_api::ids::ClusterUid;
use drover_api::kinds::{
    ClusterReference, ContainerDefaults, Project, ProjectNamespace, ProjectQuota, ProjectSpec,
};
use drover_api::rest::{List, ProjectCreate, ProjectPatch, ProjectView};
use http::StatusCode;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde::Deserialize;

use super::RestState;
use super::authorized_writes::{AuthorizedWriter, delete_without_owner};
use super::page::PageQuery;
use crate::access::members;
use crate::access::members::InProject;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, created_at, project_scope};
use drover_identity::caller::Caller;

/// Timeout of the requests that read the UIDs of namespaces from a cluster.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Query parameters of the route that lists projects.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ProjectQuery {
    /// Name of a cluster. The response then contains only projects in this cluster.
    cluster: Option<String>,
    /// Number of items on the page: 1 to 500. The default is 500.
    limit: Option<usize>,
    /// Value of `continue` in the response with the previous page.
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

fn view(visibility: &Visibility, project: &Project) -> ProjectView {
    let (spec, status) = (project.spec.clone(), project.status.clone());
    let status = status.unwrap_or_default();
    let own = status.namespaces.into_iter();
    let scope = project_scope(project);
    let may = |verb| {
        scope
            .as_ref()
            .is_some_and(|scope| visibility.may(verb, "projects", scope))
    };
    ProjectView {
        name: project.name_any(),
        uid: project.uid().unwrap_or_default(),
        generation: project.metadata.generation,
        cluster: spec.cluster.name,
        display_name: spec.display_name,
        description: spec.description,
        namespaces: spec.namespaces,
        own_namespaces: own.map(|namespace| namespace.name).collect(),
        quota: spec.quota,
        container_defaults: spec.container_defaults,
        pod_security: spec.pod_security,
        created_at: created_at(project),
        deleting: project.metadata.deletion_timestamp.is_some(),
        may_change: may("update"),
        may_delete: may("delete"),
        conditions: status.conditions,
    }
}

/// Lists the projects that the caller can access.
#[utoipa::path(get, path = "/v1/projects", tag = "access", params(ProjectQuery),
    responses((status = 200, body = List<ProjectView>)))]
pub(super) async fn list(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<ProjectQuery>,
) -> Result<axum::Json<List<ProjectView>>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let desired = |project: &Project| {
        let cluster = query.cluster.as_ref();
        cluster.is_none_or(|name| *name == project.spec.cluster.name)
            && visibility.can_see_project(project)
    };
    PageQuery::new(query.limit, query.continue_token.clone())
        .of(&state.hub.stores().projects, desired, |project| {
            view(&visibility, project)
        })
        .map(axum::Json)
}

/// Returns a project.
#[utoipa::path(get, path = "/v1/projects/{name}", tag = "access",
    params(("name" = String, Path, description = "The project's name")),
    responses((status = 200, body = ProjectView)))]
pub(super) async fn read(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<axum::Json<ProjectView>, Status> {
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let project = visibility.project(&name)?;
    Ok(axum::Json(view(&visibility, &project)))
}

/// Creates a project in a cluster.
#[utoipa::path(post, path = "/v1/projects", tag = "access", request_body = ProjectCreate,
    responses((status = 201, body = ProjectView)))]
pub(super) async fn create(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Json(request): Json<ProjectCreate>,
) -> Result<(StatusCode, axum::Json<ProjectView>), Status> {
    // Check the caller's access first, so that the response does not reveal whether the cluster
    // exists.
    let cluster = Visibility::of(state.hub.stores(), &caller).cluster(&request.cluster)?;
    let spec = ProjectSpec {
        cluster: ClusterReference {
            name: request.cluster,
            uid: None,
        },
        display_name: request.display_name.filter(|text| !text.is_empty()),
        description: request.description.filter(|text| !text.is_empty()),
        namespaces: request.namespaces,
        quota: request.quota,
        container_defaults: request.container_defaults,
        pod_security: request.pod_security,
    };
    let requested = Project::new(&request.name, spec);
    let mut project = requested.clone();
    project.spec.cluster.uid = cluster.uid().map(ClusterUid::new);
    fill_uids(&state, &[], &mut project.spec).await;
    let writer = AuthorizedWriter::<Project>::new(&state.hub, &caller);
    let created = writer.create(&requested, &project).await?;
    noted.about(&created.name_any());
    let ClusterReference { name, uid } = &created.spec.cluster;
    noted.in_cluster(name, uid.clone());
    let visibility = Visibility::of(state.hub.stores(), &caller);
    if !project_scope(&created).is_some_and(|scope| visibility.may("update", "projects", &scope)) {
        let owner = members::make_owner::<InProject>(&state, &caller, &created).await;
        delete_without_owner(state.hub.writer(), &created, owner).await?;
    }
    let visibility = Visibility::of(state.hub.stores(), &caller);
    Ok((StatusCode::CREATED, axum::Json(view(&visibility, &created))))
}

/// Changes a project.
#[utoipa::path(patch, path = "/v1/projects/{name}", tag = "access", request_body = ProjectPatch,
    params(("name" = String, Path, description = "The project's name")),
    responses((status = 200, body = ProjectView)))]
pub(super) async fn patch(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
    Json(request): Json<ProjectPatch>,
) -> Result<axum::Json<ProjectView>, Status> {
    let project = Visibility::of(state.hub.stores(), &caller).project(&name)?;
    // The server's status updates change the resource version, but not the generation.
    let expected = request.generation;
    if expected.is_some() && expected != project.metadata.generation {
        return Err(Status::conflict(
            "the project has changed since your last read: reload the project, and send your \
             change again",
        ));
    }
    let mut changed = Project::clone(&project);
    let spec = &mut changed.spec;
    let before = spec.namespaces.clone();
    if let Some(text) = request.display_name {
        spec.display_name = Some(text).filter(|text| !text.is_empty());
    }
    if let Some(text) = request.description {
        spec.description = Some(text).filter(|text| !text.is_empty());
    }
    if let Some(namespaces) = request.namespaces {
        spec.namespaces = namespaces;
        fill_uids(&state, &before, spec).await;
    }
    if let Some(quota) = request.quota {
        spec.quota = Some(quota).filter(|quota| *quota != ProjectQuota::default());
    }
    if let Some(defaults) = request.container_defaults {
        spec.container_defaults =
            Some(defaults).filter(|defaults| *defaults != ContainerDefaults::default());
    }
    if let Some(level) = request.pod_security {
        spec.pod_security = Some(level);
    }
    let writer = AuthorizedWriter::<Project>::new(&state.hub, &caller);
    let changed = writer.replace(&project, &changed).await?;
    let visibility = Visibility::of(state.hub.stores(), &caller);
    Ok(axum::Json(view(&visibility, &changed)))
}

/// Maximum number of namespaces whose UIDs one request reads from a cluster.
const MAX_LOOKED_UP: usize = 50;

/// Sets the UIDs of the namespaces to adopt. The UIDs are from the project's previous spec or from
/// the cluster. If the cluster does not respond, the server records the UIDs later.
async fn fill_uids(state: &RestState, before: &[ProjectNamespace], spec: &mut ProjectSpec) {
    let namespaces = spec.namespaces.iter_mut();
    let mut new = Vec::new();
    for desired in namespaces.filter(|desired| desired.adopt && desired.uid.is_none()) {
        let mut same = before.iter();
        match same.find(|old| old.adopt && old.name == desired.name) {
            Some(old) => desired.uid.clone_from(&old.uid),
            None => new.push(desired),
        }
    }
    let Some(cluster) = spec.cluster.uid.as_ref().filter(|_| !new.is_empty()) else {
        return;
    };
    let api: Api<Namespace> = Api::all(state.tunnels.client(cluster, Lane::Controller));
    let lookup = async {
        for desired in new.into_iter().take(MAX_LOOKED_UP) {
            // The server's service account in the cluster can list namespaces, but not get them.
            let named = ListParams::default().fields(&format!("metadata.name={}", desired.name));
            let Ok(found) = api.list_metadata(&named).await else {
                return;
            };
            let mut found = found.items.iter();
            let found = found.find(|namespace| namespace.name_any() == desired.name);
            desired.uid = found.and_then(ResourceExt::uid);
        }
    };
    let _ = tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await;
}

/// Deletes a project. Its namespaces remain in the cluster without a project.
#[utoipa::path(delete, path = "/v1/projects/{name}", tag = "access",
    params(("name" = String, Path, description = "The project's name")),
    responses((status = 204)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    let project = Visibility::of(state.hub.stores(), &caller).project(&name)?;
    let writer = AuthorizedWriter::<Project>::new(&state.hub, &caller);
    writer.delete(&project).await?;
    Ok(StatusCode::NO_CONTENT)
}
