//! Routes of role bindings in clusters and projects.

mod binding;
pub(crate) mod member;

use std::sync::Arc;

use axum::extract::State;
use drover_access::identity::Identity;
use drover_api::kinds::{
    BindingSubject, ClusterRoleTemplateBinding, ProjectRoleTemplateBinding, RoleReference,
};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;
use kube::ResourceExt as _;

use self::binding::ScopedBinding;
use self::member::{Logins, PREFIX, References, description, parse_request, view};
use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Names, Query};
use drover_http_edge::status::Status;
use drover_hub::visibility::Visibility;
use drover_identity::caller::Caller;

pub(crate) type InCluster = ClusterRoleTemplateBinding;
pub(crate) type InProject = ProjectRoleTemplateBinding;

/// Lists the role bindings of a cluster.
#[utoipa::path(get, path = "/v1/clusters/{name}/members", tag = "access",
    params(("name" = String, Path, description = "The cluster's name"), PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list_of_cluster(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<MemberView>>, Status> {
    list::<InCluster>(&state, &caller, &name, &query)
}

/// Creates a role binding in a cluster.
#[utoipa::path(post, path = "/v1/clusters/{name}/members", tag = "access",
    request_body = MemberCreate,
    params(("name" = String, Path, description = "The cluster's name")),
    responses((status = 201, body = MemberView)))]
pub(crate) async fn add_to_cluster(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Name(name): Name,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    add::<InCluster>(&state, &caller, &noted, &name, request).await
}

/// Deletes a role binding of a cluster. The subject loses the role's permissions within seconds.
#[utoipa::path(delete, path = "/v1/clusters/{name}/members/{id}", tag = "access",
    params(("name" = String, Path, description = "The cluster's name"),
        ("id" = String, Path, description = "The member's ID")),
    responses((status = 204)))]
pub(crate) async fn remove_from_cluster(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Names(name, id): Names,
) -> Result<StatusCode, Status> {
    remove::<InCluster>(&state, &caller, &noted, (&name, &id)).await
}

/// Lists the role bindings of a project.
#[utoipa::path(get, path = "/v1/projects/{name}/members", tag = "access",
    params(("name" = String, Path, description = "The project's name"), PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(crate) async fn list_of_project(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<MemberView>>, Status> {
    list::<InProject>(&state, &caller, &name, &query)
}

/// Creates a role binding in a project.
#[utoipa::path(post, path = "/v1/projects/{name}/members", tag = "access",
    request_body = MemberCreate,
    params(("name" = String, Path, description = "The project's name")),
    responses((status = 201, body = MemberView)))]
pub(crate) async fn add_to_project(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Name(name): Name,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    add::<InProject>(&state, &caller, &noted, &name, request).await
}

/// Deletes a role binding of a project. The subject loses the role's permissions within seconds.
#[utoipa::path(delete, path = "/v1/projects/{name}/members/{id}", tag = "access",
    params(("name" = String, Path, description = "The project's name"),
        ("id" = String, Path, description = "The member's ID")),
    responses((status = 204)))]
pub(crate) async fn remove_from_project(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Names(name, id): Names,
) -> Result<StatusCode, Status> {
    remove::<InProject>(&state, &caller, &noted, (&name, &id)).await
}

/// Returns the cluster or project with this name. Returns an error unless the object is visible to
/// the caller and the caller has permission for `verb` on its bindings.
pub(crate) fn authorized_target<B: ScopedBinding>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    verb: &str,
) -> Result<Arc<B::Target>, Status> {
    let visibility = Visibility::of(state.hub.stores(), caller);
    let (at, scope) = B::find(&visibility, name)?;
    visibility.require(verb, &B::plural(&()), &scope)?;
    Ok(at)
}

fn list<B: ScopedBinding>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    query: &PageQuery,
) -> Result<axum::Json<List<MemberView>>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, caller);
    let (at, scope) = B::find(&visibility, name)?;
    visibility.require("list", &B::plural(&()), &scope)?;
    let logins = Logins::at::<B>(&visibility, &scope);
    let here = |binding: &B| binding.is_at(&at);
    query
        .of(B::store(stores), here, |it| view(stores, it, logins))
        .map(axum::Json)
}

fn note_cluster<B: ScopedBinding>(noted: &AuditNotes, at: &B::Target) {
    let cluster = B::cluster(at);
    noted.in_cluster(&cluster.name, cluster.uid);
}

async fn add<B: ScopedBinding>(
    state: &RestState,
    caller: &Identity,
    noted: &AuditNotes,
    name: &str,
    request: MemberCreate,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    let at = authorized_target::<B>(state, caller, name, "create")?;
    note_cluster::<B>(noted, &at);
    let (role, subject) = parse_request(request)?;
    let binding = pinned::<B>(state, &at, &role, &subject);
    let requested = B::bind(&binding.name_any(), (at.name_any(), None), role, subject);
    let writer = AuthorizedWriter::<B>::new(&state.hub, caller);
    let created = writer
        .create_with_derived_name(&requested, &binding, PREFIX)
        .await?;
    noted.about(&description(&created));
    Ok((
        StatusCode::CREATED,
        axum::Json(view(state.hub.stores(), &created, Logins::Visible)),
    ))
}

async fn remove<B: ScopedBinding>(
    state: &RestState,
    caller: &Identity,
    noted: &AuditNotes,
    (name, id): (&str, &str),
) -> Result<StatusCode, Status> {
    let at = authorized_target::<B>(state, caller, name, "delete")?;
    note_cluster::<B>(noted, &at);
    let store = B::store(state.hub.stores());
    let binding = store
        .by_name(id)
        .filter(|binding| binding.is_at(&at))
        .ok_or_else(|| Status::not_found("member", id))?;
    noted.about(&description(&*binding));
    AuthorizedWriter::<B>::new(&state.hub, caller)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Binds the owner role to the creator of a cluster or project. Without this binding, the creator
/// cannot bind roles in the new object.
pub(crate) async fn make_owner<B: ScopedBinding>(
    state: &RestState,
    caller: &Identity,
    at: &B::Target,
) -> Result<(), Status> {
    let (role, subject) = B::owner(caller);
    let binding = pinned::<B>(state, at, &role, &subject);
    let writer = state.hub.writer();
    writer
        .create("bind the owner role to the creator", &binding)
        .await?;
    Ok(())
}

/// Creates a binding with the UIDs of its cluster or project, role and subject.
fn pinned<B: ScopedBinding>(
    state: &RestState,
    at: &B::Target,
    role: &RoleReference,
    subject: &BindingSubject,
) -> B {
    let uid = at.uid();
    let references = References::pin::<B>(state.hub.stores(), role, subject);
    let id = references.binding_name(uid.as_deref());
    B::bind(
        &id,
        (at.name_any(), uid),
        references.role,
        references.subject,
    )
}
