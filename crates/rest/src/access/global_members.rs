//! Routes of bindings of global roles.

use axum::extract::State;
use drover_access::grants::Scope;
use drover_api::kinds::{GlobalRoleBinding, GlobalRoleBindingSpec};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;

use super::members::member::{Logins, PREFIX, References, description, parse_request, view};
use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::caller::OnHub;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;

/// Lists the bindings of global roles.
#[utoipa::path(get, path = "/v1/global-members", tag = "access", params(PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<MemberView>>, Status> {
    let stores = state.hub.stores();
    let all = |_: &GlobalRoleBinding| true;
    let logins = Logins::at::<GlobalRoleBinding>(&Visibility::of(stores, &caller), &Scope::Hub);
    query
        .of(&stores.global_role_bindings, all, |it| {
            view(stores, it, logins)
        })
        .map(axum::Json)
}

/// Creates a binding of a global role. The caller must have all permissions of the role.
#[utoipa::path(post, path = "/v1/global-members", tag = "access", request_body = MemberCreate,
    responses((status = 201, body = MemberView)))]
pub(crate) async fn add(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    noted: AuditNotes,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    let stores = state.hub.stores();
    let (role, subject) = parse_request(request)?;
    let references = References::pin::<GlobalRoleBinding>(stores, &role, &subject);
    let id = references.binding_name(None);
    let bind = |role, subject| GlobalRoleBinding::new(&id, GlobalRoleBindingSpec { role, subject });
    let writer = AuthorizedWriter::<GlobalRoleBinding>::new(&state.hub, &caller);
    let requested = bind(role, subject);
    let binding = bind(references.role, references.subject);
    let created = writer
        .create_with_derived_name(&requested, &binding, PREFIX)
        .await?;
    noted.about(&description(&created));
    Ok((
        StatusCode::CREATED,
        axum::Json(view(stores, &created, Logins::Visible)),
    ))
}

/// Deletes a binding of a global role. The subject loses the role's permissions within seconds.
#[utoipa::path(delete, path = "/v1/global-members/{id}", tag = "access",
    params(("id" = String, Path, description = "The member's ID")),
    responses((status = 204)))]
pub(crate) async fn remove(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    noted: AuditNotes,
    Name(id): Name,
) -> Result<StatusCode, Status> {
    let store = &state.hub.stores().global_role_bindings;
    let binding = store.by_name(&id);
    let binding = binding.ok_or_else(|| Status::not_found("member", &id))?;
    noted.about(&description(&*binding));
    AuthorizedWriter::<GlobalRoleBinding>::new(&state.hub, &caller)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
