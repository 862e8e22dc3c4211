//! Routes of RoleTemplates: roles in clusters and projects.

use axum::extract::State;
use drover_api::kinds::{RoleContext, RoleTemplate};
use drover_api::rest::{List, RoleCreate, RoleDetail, RoleUpdate, RoleView};
use http::StatusCode;
use kube::ResourceExt as _;
use serde::Deserialize;

use super::role_views::{BindingScope, RoleViews};
use super::stored_role;
use crate::RestState;
use crate::caller::OnHub;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope, require_project_scope};
use drover_identity::caller::Caller;

/// Query parameters of the route that lists roles.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RoleQuery {
    /// Name of a cluster. Each role in the response states whether the caller can bind the role in
    /// this cluster.
    cluster: Option<String>,
    /// Name of a project. Each role in the response states whether the caller can bind the role in
    /// this project.
    project: Option<String>,
    /// Number of items on the page: 1 to 500. The default is 500.
    limit: Option<usize>,
    /// Value of `continue` in the response with the previous page.
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

impl RoleQuery {
    fn binding_scope(&self, visibility: &Visibility) -> Result<Option<BindingScope>, Status> {
        match (&self.cluster, &self.project) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Status::invalid(
                "project",
                "cannot be combined with a cluster",
            )),
            (Some(cluster), None) => {
                let cluster = visibility.cluster(cluster)?;
                Ok(Some(BindingScope {
                    context: RoleContext::Cluster,
                    scope: cluster_scope(&cluster),
                }))
            }
            (None, Some(project)) => {
                let project = visibility.project(project)?;
                Ok(Some(BindingScope {
                    context: RoleContext::Project,
                    scope: require_project_scope(&project)?,
                }))
            }
        }
    }
}

/// Lists the roles in clusters and projects, with the caller's permissions on each role.
#[utoipa::path(get, path = "/v1/roles", tag = "access", params(RoleQuery),
    responses((status = 200, body = List<RoleView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<RoleQuery>,
) -> Result<axum::Json<List<RoleView>>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, &caller);
    let at = query.binding_scope(&visibility)?;
    let visibility = RoleViews::of(stores, visibility, at);
    PageQuery::new(query.limit, query.continue_token)
        .of(
            &stores.role_templates,
            |_| true,
            |role| visibility.template(role),
        )
        .map(axum::Json)
}

/// Returns a role with its rules and its permissions, including inherited permissions.
#[utoipa::path(get, path = "/v1/roles/{name}", tag = "access",
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 200, body = RoleDetail)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<axum::Json<RoleDetail>, Status> {
    // Only callers with a role can read rules, because rules reveal attack targets.
    let visibility = Visibility::of(state.hub.stores(), &caller);
    if !visibility.has_any_role() {
        return Err(Status::not_found("RoleTemplate", &name));
    }
    let role = stored_role::find::<RoleTemplate>(&state, &name)?;
    Ok(axum::Json(detail(&state, visibility, &role)))
}

/// Creates a role. The caller must have all permissions of the role in every cluster.
#[utoipa::path(post, path = "/v1/roles", tag = "access", request_body = RoleCreate,
    responses((status = 201, body = RoleDetail)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<RoleTemplate>,
    noted: AuditNotes,
    Json(request): Json<RoleCreate>,
) -> Result<(StatusCode, axum::Json<RoleDetail>), Status> {
    let created = stored_role::create::<RoleTemplate>(&state, &caller, &request).await?;
    noted.about(&created.name_any());
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let detail = detail(&state, visibility, &created);
    Ok((StatusCode::CREATED, axum::Json(detail)))
}

/// Changes the rules of a role. Subjects of existing bindings get the new permissions within
/// seconds.
#[utoipa::path(put, path = "/v1/roles/{name}", tag = "access", request_body = RoleUpdate,
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 200, body = RoleDetail)))]
pub(crate) async fn update(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<RoleTemplate>,
    Name(name): Name,
    Json(request): Json<RoleUpdate>,
) -> Result<axum::Json<RoleDetail>, Status> {
    let written = stored_role::replace::<RoleTemplate>(&state, &caller, &name, &request).await?;
    let visibility = Visibility::of(state.hub.stores(), &caller);
    Ok(axum::Json(detail(&state, visibility, &written)))
}

/// Deletes a role. Subjects of its bindings lose its permissions within seconds.
#[utoipa::path(delete, path = "/v1/roles/{name}", tag = "access",
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 204)))]
pub(crate) async fn delete(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<RoleTemplate>,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    stored_role::delete::<RoleTemplate>(&state, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn detail(state: &RestState, visibility: Visibility, role: &RoleTemplate) -> RoleDetail {
    let visibility = RoleViews::of_one(state.hub.stores(), visibility, &role.name_any());
    visibility.template_detail(role)
}
