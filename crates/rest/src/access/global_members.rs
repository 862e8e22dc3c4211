//! Who has a global role.

use axum::extract::State;
use drover_access::grants::Place;
use drover_api::kinds::{GlobalRoleBinding, GlobalRoleBindingSpec};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;

use super::members::given::{Given, Logins, PREFIX, called, view, wished};
use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::caller::OnHub;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;

/// Everybody who has a global role, by a binding.
#[utoipa::path(get, path = "/v1/global-members", tag = "access", params(PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<MemberView>>, Status> {
    let stores = state.hub.stores();
    let all = |_: &GlobalRoleBinding| true;
    let logins = Logins::at::<GlobalRoleBinding>(&Visibility::of(stores, &caller), &Place::Hub);
    query
        .of(&stores.global_role_bindings, all, |it| {
            view(stores, it, logins)
        })
        .map(axum::Json)
}

/// Gives somebody a global role; whoever does has all of it themselves.
#[utoipa::path(post, path = "/v1/global-members", tag = "access", request_body = MemberCreate,
    responses((status = 201, body = MemberView)))]
pub(crate) async fn add(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    noted: AuditNotes,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    let stores = state.hub.stores();
    let (role, subject) = wished(request)?;
    let given = Given::pinned::<GlobalRoleBinding>(stores, &role, &subject);
    let id = given.id(None);
    let bind = |role, subject| GlobalRoleBinding::new(&id, GlobalRoleBindingSpec { role, subject });
    let writer = AuthorizedWriter::new(&state.hub, &caller, &stores.global_role_bindings);
    let said = bind(role, subject);
    let binding = bind(given.role, given.subject);
    let made = writer
        .create_with_derived_name(&said, &binding, PREFIX)
        .await?;
    noted.about(&called(&made));
    Ok((
        StatusCode::CREATED,
        axum::Json(view(stores, &made, Logins::Told)),
    ))
}

/// Takes a global role away; what it opened ends within seconds.
#[utoipa::path(delete, path = "/v1/global-members/{id}", tag = "access",
    params(("id" = String, Path, description = "The member's id")),
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
    noted.about(&called(&*binding));
    AuthorizedWriter::new(&state.hub, &caller, store)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
