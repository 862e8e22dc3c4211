//! Roles that people can be given in clusters and projects: RoleTemplates.

use axum::extract::State;
use drover_api::kinds::{RoleContext, RoleTemplate};
use drover_api::rest::{List, RoleCreate, RoleDetail, RoleUpdate, RoleView};
use http::StatusCode;
use kube::ResourceExt as _;
use serde::Deserialize;

use super::role_sight::{GivenAt, RoleSight};
use super::stored_role;
use crate::RestState;
use crate::caller::OnHub;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::{Visibility, cluster_scope, require_project_scope};
use drover_identity::caller::Caller;

/// Which roles, and where somebody would be given one.
#[derive(Clone, Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct RoleQuery {
    /// Says of each role whether the caller may give it in this cluster.
    cluster: Option<String>,
    /// Says of each role whether the caller may give it in this project.
    project: Option<String>,
    /// Items on the page: 1 to 500, 500 if absent.
    limit: Option<usize>,
    /// `continue` of the page before.
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

impl RoleQuery {
    fn given_at(&self, visibility: &Visibility) -> Result<Option<GivenAt>, Status> {
        match (&self.cluster, &self.project) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Status::invalid(
                "project",
                "a role is given in a cluster or in a project: name one of them",
            )),
            (Some(cluster), None) => {
                let cluster = visibility.cluster(cluster)?;
                Ok(Some(GivenAt {
                    context: RoleContext::Cluster,
                    place: cluster_scope(&cluster),
                }))
            }
            (None, Some(project)) => {
                let project = visibility.project(project)?;
                Ok(Some(GivenAt {
                    context: RoleContext::Project,
                    place: require_project_scope(&project)?,
                }))
            }
        }
    }
}

/// Roles in clusters and projects: what they are called and are for, and what the caller may do with
/// them.
#[utoipa::path(get, path = "/v1/roles", tag = "access", params(RoleQuery),
    responses((status = 200, body = List<RoleView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Query(query): Query<RoleQuery>,
) -> Result<axum::Json<List<RoleView>>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, &caller);
    let at = query.given_at(&visibility)?;
    let visibility = RoleSight::of(stores, visibility, at);
    PageQuery::new(query.limit, query.continue_token)
        .of(
            &stores.role_templates,
            |_| true,
            |role| visibility.template(role),
        )
        .map(axum::Json)
}

/// One role, with what it says and what it allows with all that it inherits.
#[utoipa::path(get, path = "/v1/roles/{name}", tag = "access",
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 200, body = RoleDetail)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
) -> Result<axum::Json<RoleDetail>, Status> {
    // What roles say tells what is worth having: for those who have one.
    let visibility = Visibility::of(state.hub.stores(), &caller);
    if !visibility.has_any_role() {
        return Err(Status::not_found("RoleTemplate", &name));
    }
    let role = stored_role::find::<RoleTemplate>(&state, &name)?;
    Ok(axum::Json(detail(&state, visibility, &role)))
}

/// Makes a role; whoever does has all of it in every cluster.
#[utoipa::path(post, path = "/v1/roles", tag = "access", request_body = RoleCreate,
    responses((status = 201, body = RoleDetail)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<RoleTemplate>,
    noted: AuditNotes,
    Json(request): Json<RoleCreate>,
) -> Result<(StatusCode, axum::Json<RoleDetail>), Status> {
    let made = stored_role::create::<RoleTemplate>(&state, &caller, &request).await?;
    noted.about(&made.name_any());
    let visibility = Visibility::of(state.hub.stores(), &caller);
    let detail = detail(&state, visibility, &made);
    Ok((StatusCode::CREATED, axum::Json(detail)))
}

/// Changes what a role says; whoever has it has that within seconds.
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

/// Deletes a role; whoever has it by a binding loses it within seconds.
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
    let visibility = RoleSight::of_one(state.hub.stores(), visibility, &role.name_any());
    visibility.template_in_full(role)
}
