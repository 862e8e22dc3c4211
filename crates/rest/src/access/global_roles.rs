//! Routes of GlobalRoles: roles on the hub and in every cluster.

use axum::extract::State;
use drover_access::identity::Identity;
use drover_api::kinds::GlobalRole;
use drover_api::rest::{GlobalRoleDetail, GlobalRoleView, List, RoleCreate, RoleUpdate};
use http::StatusCode;
use kube::ResourceExt as _;

use super::role_views::RoleViews;
use super::stored_role;
use crate::RestState;
use crate::caller::OnHub;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;

/// Lists global roles, with the caller's permissions on each role.
#[utoipa::path(get, path = "/v1/global-roles", tag = "access", params(PageQuery),
    responses((status = 200, body = List<GlobalRoleView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRole>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<GlobalRoleView>>, Status> {
    let stores = state.hub.stores();
    let visibility = RoleViews::of(stores, Visibility::of(stores, &caller), None);
    query
        .of(
            &stores.global_roles,
            |_| true,
            |role| visibility.global(role),
        )
        .map(axum::Json)
}

/// Returns a global role with its rules and its permissions in every cluster.
#[utoipa::path(get, path = "/v1/global-roles/{name}", tag = "access",
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 200, body = GlobalRoleDetail)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRole>,
    Name(name): Name,
) -> Result<axum::Json<GlobalRoleDetail>, Status> {
    let role = stored_role::find::<GlobalRole>(&state, &name)?;
    Ok(axum::Json(detail(&state, &caller, &role)))
}

/// Creates a global role. The caller must have all permissions of the role.
#[utoipa::path(post, path = "/v1/global-roles", tag = "access", request_body = RoleCreate,
    responses((status = 201, body = GlobalRoleDetail)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRole>,
    noted: AuditNotes,
    Json(request): Json<RoleCreate>,
) -> Result<(StatusCode, axum::Json<GlobalRoleDetail>), Status> {
    let created = stored_role::create::<GlobalRole>(&state, &caller, &request).await?;
    noted.about(&created.name_any());
    let detail = detail(&state, &caller, &created);
    Ok((StatusCode::CREATED, axum::Json(detail)))
}

/// Changes the rules of a global role. Subjects of existing bindings get the new permissions within
/// seconds.
#[utoipa::path(put, path = "/v1/global-roles/{name}", tag = "access", request_body = RoleUpdate,
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 200, body = GlobalRoleDetail)))]
pub(crate) async fn update(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRole>,
    Name(name): Name,
    Json(request): Json<RoleUpdate>,
) -> Result<axum::Json<GlobalRoleDetail>, Status> {
    let written = stored_role::replace::<GlobalRole>(&state, &caller, &name, &request).await?;
    Ok(axum::Json(detail(&state, &caller, &written)))
}

/// Deletes a global role. Subjects of its bindings lose its permissions within seconds.
#[utoipa::path(delete, path = "/v1/global-roles/{name}", tag = "access",
    params(("name" = String, Path, description = "The role's name")),
    responses((status = 204)))]
pub(crate) async fn delete(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRole>,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    stored_role::delete::<GlobalRole>(&state, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn detail(state: &RestState, caller: &Identity, role: &GlobalRole) -> GlobalRoleDetail {
    let stores = state.hub.stores();
    let visibility = RoleViews::of_one(stores, Visibility::of(stores, caller), &role.name_any());
    visibility.global_detail(role)
}
