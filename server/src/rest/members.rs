//! Who has a role in a cluster or a project.

mod binding;

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::State;
use drover_access::identity::Identity;
use drover_access::names::GroupName;
use drover_api::ids::{ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, ClusterRoleTemplateBinding, ProjectRoleTemplateBinding, RoleReference,
};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;
use jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};

use self::binding::Binding;
use super::RestState;
use super::body::{Json, Name, Names, Query};
use super::caller::Caller;
use super::page::PageQuery;
use super::sight::Sight;
use super::written::Written;
use crate::hub::call;
use crate::status::Status;

/// Longest to wait until memory shows what was written.
const VISIBLE_WITHIN: Duration = Duration::from_secs(2);
/// What the id of a member begins with.
const PREFIX: &str = "m-";

pub(super) type InCluster = ClusterRoleTemplateBinding;
pub(super) type InProject = ProjectRoleTemplateBinding;

/// Everybody who has a role in a cluster, by a binding there.
#[utoipa::path(get, path = "/v1/clusters/{name}/members", tag = "access",
    params(("name" = String, Path, description = "The cluster's name"), PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(super) async fn list_of_cluster(
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
pub(super) async fn add_to_cluster(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    add::<InCluster>(&state, &caller, &name, request).await
}

/// Takes a role in a cluster away; what it opened ends within seconds.
#[utoipa::path(delete, path = "/v1/clusters/{name}/members/{id}", tag = "access",
    params(("name" = String, Path, description = "The cluster's name"),
        ("id" = String, Path, description = "The member's id")),
    responses((status = 204)))]
pub(super) async fn remove_from_cluster(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Names(name, id): Names,
) -> Result<StatusCode, Status> {
    remove::<InCluster>(&state, &caller, &name, &id).await
}

/// Everybody who has a role in a project, by a binding there.
#[utoipa::path(get, path = "/v1/projects/{name}/members", tag = "access",
    params(("name" = String, Path, description = "The project's name"), PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(super) async fn list_of_project(
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
pub(super) async fn add_to_project(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Name(name): Name,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    add::<InProject>(&state, &caller, &name, request).await
}

/// Takes a role in a project away; what it opened ends within seconds.
#[utoipa::path(delete, path = "/v1/projects/{name}/members/{id}", tag = "access",
    params(("name" = String, Path, description = "The project's name"),
        ("id" = String, Path, description = "The member's id")),
    responses((status = 204)))]
pub(super) async fn remove_from_project(
    State(state): State<RestState>,
    Caller(caller): Caller,
    Names(name, id): Names,
) -> Result<StatusCode, Status> {
    remove::<InProject>(&state, &caller, &name, &id).await
}

/// A place that the caller knows of, and where their roles let them `verb` its members.
fn place<B: Binding>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    verb: &str,
) -> Result<Arc<B::At>, Status> {
    let sight = Sight::of(state.hub.stores(), caller);
    let (at, place) = B::find(&sight, name)?;
    sight.must(verb, &B::plural(&()), &place)?;
    Ok(at)
}

fn list<B: Binding>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    query: &PageQuery,
) -> Result<axum::Json<List<MemberView>>, Status> {
    let at = place::<B>(state, caller, name, "list")?;
    let here = |binding: &B| binding.said().is_at(&*at);
    let mirror = B::mirror(state.hub.stores());
    query
        .of(mirror, here, |binding| view(state, binding))
        .map(axum::Json)
}

async fn add<B: Binding>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    request: MemberCreate,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    let at = place::<B>(state, caller, name, "create")?;
    let (role, subject) = wished(request)?;
    let binding = pinned::<B>(state, &*at, &role, &subject);
    let said = B::bind(&binding.name_any(), (at.name_any(), None), role, subject);
    let written = Written::new(&state.hub, caller, B::mirror(state.hub.stores()));
    let made = written.create_drawn(&said, &binding, PREFIX).await?;
    Ok((StatusCode::CREATED, axum::Json(view(state, &made))))
}

async fn remove<B: Binding>(
    state: &RestState,
    caller: &Identity,
    name: &str,
    id: &str,
) -> Result<StatusCode, Status> {
    let at = place::<B>(state, caller, name, "delete")?;
    let mirror = B::mirror(state.hub.stores());
    let binding = mirror
        .by_name(id)
        .filter(|binding| binding.said().is_at(&*at))
        .ok_or_else(|| Status::not_found("member", id))?;
    Written::new(&state.hub, caller, mirror)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes whoever made a place its owner: nobody else could give them a role there.
pub(super) async fn make_owner<B: Binding>(
    state: &RestState,
    caller: &Identity,
    at: &B::At,
) -> Result<(), Status> {
    let (role, subject) = B::owner(caller);
    let binding = pinned::<B>(state, at, &role, &subject);
    let api: Api<B> = Api::all(state.hub.client());
    let params = PostParams::default();
    let made = call(
        "make an owner of who made it",
        api.create(&params, &binding),
    )
    .await?;
    let mirror = B::mirror(state.hub.stores());
    mirror.wait_for(&made, VISIBLE_WITHIN).await;
    Ok(())
}

fn wished(request: MemberCreate) -> Result<(RoleReference, BindingSubject), Status> {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let subject = match (said(request.user), said(request.group)) {
        (Some(user), None) => BindingSubject::user(&user),
        (None, Some(group)) => BindingSubject::group(&group),
        _ => {
            return Err(Status::invalid(
                "user",
                "name either a user, or a group as \"drover:<provider>:<id>\"",
            ));
        }
    };
    let role = RoleReference {
        name: request.role,
        uid: None,
    };
    Ok((role, subject))
}

/// A binding as it is written, with the UID beside each name: what the caller was judged by is what
/// they mean. What is not there is refused later.
fn pinned<B: Binding>(
    state: &RestState,
    at: &B::At,
    role: &RoleReference,
    subject: &BindingSubject,
) -> B {
    let stores = state.hub.stores();
    let (mut role, mut subject) = (role.clone(), subject.clone());
    let template = stores.role_templates.by_name(&role.name);
    role.uid = template.and_then(|role| role.uid()).map(RoleUid::new);
    if let Some(reference) = &mut subject.user {
        let user = stores.users.by_name(&reference.name);
        reference.uid = user.and_then(|user| user.uid()).map(UserUid::new);
    }
    if let Some(reference) = &mut subject.group {
        let name = GroupName::parse(&reference.name);
        let provider = name.and_then(|name| stores.auth_providers.by_name(name.provider()));
        let uid = provider.and_then(|provider| provider.uid());
        reference.provider_uid = uid.map(ProviderUid::new);
    }
    let uid = at.uid();
    let id = id(uid.as_deref(), &role, &subject);
    B::bind(&id, (at.name_any(), uid), role, subject)
}

/// The same role for the same subject at the same place is one binding; a role or person that is
/// made again under its name is another, and so is the binding.
fn id(place: Option<&str>, role: &RoleReference, subject: &BindingSubject) -> String {
    let parts = serde_json::json!([place, role, subject]);
    let hash = digest(&SHA256, parts.to_string().as_bytes());
    let short = hash.as_ref().first_chunk().copied().unwrap_or_default();
    format!("{PREFIX}{:032x}", u128::from_be_bytes(short))
}

fn view<B: Binding>(state: &RestState, binding: &B) -> MemberView {
    let said = binding.said();
    let users = &state.hub.stores().users;
    // Another person may have that name by now.
    let person = said.subject.user.as_ref().and_then(|user| match &user.uid {
        Some(uid) => users.by_uid(uid.as_str()),
        None => users.by_name(&user.name),
    });
    let user = said.subject.user.as_ref().map(|user| user.name.clone());
    let group = said.subject.group.as_ref().map(|group| group.name.clone());
    let conditions = said.status.map(|status| status.conditions.clone());
    let created = binding.meta().creation_timestamp.as_ref();
    MemberView {
        id: binding.name_any(),
        role: said.role.name.clone(),
        display_name: person.and_then(|person| person.spec.display_name.clone()),
        user,
        group,
        created_at: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        conditions: conditions.unwrap_or_default(),
    }
}
