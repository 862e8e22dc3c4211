//! Who has a role in a cluster or a project.

mod binding;
pub(crate) mod given;

use std::sync::Arc;

use axum::extract::State;
use drover_access::identity::Identity;
use drover_api::kinds::{
    BindingSubject, ClusterRoleTemplateBinding, ProjectRoleTemplateBinding, RoleReference,
};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;
use kube::{Api, ResourceExt as _};

use self::binding::Placed;
use self::given::{Given, Logins, PREFIX, called, view, wished};
use crate::RestState;
use crate::authorized_writes::AuthorizedWriter;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Names, Query};
use drover_http_edge::status::Status;
use drover_hub::Writer;
use drover_hub::visibility::Visibility;
use drover_identity::caller::Caller;

pub(crate) type InCluster = ClusterRoleTemplateBinding;
pub(crate) type InProject = ProjectRoleTemplateBinding;

/// Everybody who has a role in a cluster, by a binding there.
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

/// Gives somebody a role in a cluster.
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

/// Takes a role in a cluster away; what it opened ends within seconds.
#[utoipa::path(delete, path = "/v1/clusters/{name}/members/{id}", tag = "access",
    params(("name" = String, Path, description = "The cluster's name"),
        ("id" = String, Path, description = "The member's id")),
    responses((status = 204)))]
pub(crate) async fn remove_from_cluster(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Names(name, id): Names,
) -> Result<StatusCode, Status> {
    remove::<InCluster>(&state, &caller, &noted, (&name, &id)).await
}

/// Everybody who has a role in a project, by a binding there.
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

/// Gives somebody a role in a project.
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

/// Takes a role in a project away; what it opened ends within seconds.
#[utoipa::path(delete, path = "/v1/projects/{name}/members/{id}", tag = "access",
    params(("name" = String, Path, description = "The project's name"),
        ("id" = String, Path, description = "The member's id")),
    responses((status = 204)))]
pub(crate) async fn remove_from_project(
    State(state): State<RestState>,
    Caller(caller): Caller,
    noted: AuditNotes,
    Names(name, id): Names,
) -> Result<StatusCode, Status> {
    remove::<InProject>(&state, &caller, &noted, (&name, &id)).await
}

/// A place that the caller knows of, and where their roles let them `verb` its members.
pub(crate) fn place<B: Placed>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    verb: &str,
) -> Result<Arc<B::At>, Status> {
    let visibility = Visibility::of(state.hub.stores(), caller);
    let (at, place) = B::find(&visibility, name)?;
    visibility.require(verb, &B::plural(&()), &place)?;
    Ok(at)
}

fn list<B: Placed>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    query: &PageQuery,
) -> Result<axum::Json<List<MemberView>>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, caller);
    let (at, place) = B::find(&visibility, name)?;
    visibility.require("list", &B::plural(&()), &place)?;
    let logins = Logins::at::<B>(&visibility, &place);
    let here = |binding: &B| binding.is_at(&at);
    query
        .of(B::store(stores), here, |it| view(stores, it, logins))
        .map(axum::Json)
}

fn note_cluster<B: Placed>(noted: &AuditNotes, at: &B::At) {
    let cluster = B::cluster(at);
    noted.in_cluster(&cluster.name, cluster.uid);
}

async fn add<B: Placed>(
    state: &RestState,
    caller: &Identity,
    noted: &AuditNotes,
    name: &str,
    request: MemberCreate,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    let at = place::<B>(state, caller, name, "create")?;
    note_cluster::<B>(noted, &at);
    let (role, subject) = wished(request)?;
    let binding = pinned::<B>(state, &at, &role, &subject);
    let said = B::bind(&binding.name_any(), (at.name_any(), None), role, subject);
    let writer = AuthorizedWriter::new(&state.hub, caller, B::store(state.hub.stores()));
    let made = writer
        .create_with_derived_name(&said, &binding, PREFIX)
        .await?;
    noted.about(&called(&made));
    Ok((
        StatusCode::CREATED,
        axum::Json(view(state.hub.stores(), &made, Logins::Told)),
    ))
}

async fn remove<B: Placed>(
    state: &RestState,
    caller: &Identity,
    noted: &AuditNotes,
    (name, id): (&str, &str),
) -> Result<StatusCode, Status> {
    let at = place::<B>(state, caller, name, "delete")?;
    note_cluster::<B>(noted, &at);
    let store = B::store(state.hub.stores());
    let binding = store
        .by_name(id)
        .filter(|binding| binding.is_at(&at))
        .ok_or_else(|| Status::not_found("member", id))?;
    noted.about(&called(&*binding));
    AuthorizedWriter::new(&state.hub, caller, store)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes whoever made a place its owner: nobody else could give them a role there.
pub(crate) async fn make_owner<B: Placed>(
    state: &RestState,
    caller: &Identity,
    at: &B::At,
) -> Result<(), Status> {
    let (role, subject) = B::owner(caller);
    let binding = pinned::<B>(state, at, &role, &subject);
    let writer = Writer::new(Api::all(state.hub.client()), B::store(state.hub.stores()));
    writer.create("make the creator an owner", &binding).await?;
    Ok(())
}

/// A binding as it is written.
fn pinned<B: Placed>(
    state: &RestState,
    at: &B::At,
    role: &RoleReference,
    subject: &BindingSubject,
) -> B {
    let uid = at.uid();
    let given = Given::pinned::<B>(state.hub.stores(), role, subject);
    let id = given.id(uid.as_deref());
    B::bind(&id, (at.name_any(), uid), given.role, given.subject)
}
