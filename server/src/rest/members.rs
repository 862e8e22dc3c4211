//! Who has a role in a cluster or a project.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::State;
use drover_access::grants::Place;
use drover_access::identity::Identity;
use drover_access::names::GroupName;
use drover_api::ids::{ClusterUid, ProjectUid, ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, Cluster, ClusterReference, ClusterRoleTemplateBinding,
    ClusterRoleTemplateBindingSpec, GroupReference, Project, ProjectReference,
    ProjectRoleTemplateBinding, ProjectRoleTemplateBindingSpec, RoleReference, UserReference,
};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt};

use super::RestState;
use super::body::{Json, Name, Names, Query};
use super::caller::Caller;
use super::page::PageQuery;
use super::projects::visible_project;
use super::sight::{Sight, place_of, place_of_cluster};
use super::tokens::visible_cluster;
use super::written::Written;
use crate::hub::call;
use crate::status::Status;

/// Longest to wait until memory shows what was written.
const VISIBLE_WITHIN: Duration = Duration::from_secs(2);
/// Role of who imports a cluster.
const OWNER: &str = "cluster-owner";
/// Role of who makes a project.
const PROJECT_OWNER: &str = "project-owner";
/// What the id of a member begins with.
const PREFIX: &str = "m-";
const IN_CLUSTERS: &str = "clusterroletemplatebindings";
const IN_PROJECTS: &str = "projectroletemplatebindings";

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
    let cluster = visible_cluster(&state, &caller, &name)?;
    let sight = Sight::of(state.hub.stores(), &caller);
    sight.must("list", IN_CLUSTERS, &place_of_cluster(&cluster))?;
    let stores = state.hub.stores();
    let here = |binding: &ClusterRoleTemplateBinding| is_of_cluster(binding, &cluster);
    query
        .of(&stores.cluster_role_template_bindings, here, |binding| {
            let status = binding.status.as_ref();
            let conditions = status.map(|status| status.conditions.as_slice());
            let (role, subject) = (&binding.spec.role, &binding.spec.subject);
            view(&state, &binding.metadata, role, subject, conditions)
        })
        .map(axum::Json)
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
    let cluster = visible_cluster(&state, &caller, &name)?;
    let sight = Sight::of(state.hub.stores(), &caller);
    sight.must("create", IN_CLUSTERS, &place_of_cluster(&cluster))?;
    let (said, binding) = in_cluster(&state, &cluster, wished(request)?);
    let mirror = &state.hub.stores().cluster_role_template_bindings;
    let written = Written::new(&state.hub, &caller, mirror);
    let made = written.create_drawn(&said, &binding, PREFIX).await?;
    let (role, subject) = (&made.spec.role, &made.spec.subject);
    let view = view(&state, &made.metadata, role, subject, None);
    Ok((StatusCode::CREATED, axum::Json(view)))
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
    let cluster = visible_cluster(&state, &caller, &name)?;
    let sight = Sight::of(state.hub.stores(), &caller);
    sight.must("delete", IN_CLUSTERS, &place_of_cluster(&cluster))?;
    let mirror = &state.hub.stores().cluster_role_template_bindings;
    let binding = mirror
        .by_name(&id)
        .filter(|binding| is_of_cluster(binding, &cluster))
        .ok_or_else(|| Status::not_found("member", &id))?;
    Written::new(&state.hub, &caller, mirror)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes whoever imports a cluster its owner: nobody else could give them a role there.
pub(super) async fn make_owner(
    state: &RestState,
    caller: &Identity,
    cluster: &Cluster,
) -> Result<(), Status> {
    let (_, binding) = in_cluster(state, cluster, own(caller, OWNER));
    let mirror = &state.hub.stores().cluster_role_template_bindings;
    let api = Api::all(state.hub.client());
    let params = PostParams::default();
    let made = call(
        "make an owner of who imports",
        api.create(&params, &binding),
    )
    .await?;
    mirror.wait_for(&made, VISIBLE_WITHIN).await;
    Ok(())
}

/// Makes whoever makes a project its owner, unless they may change it anyway.
pub(super) async fn make_project_owner(
    state: &RestState,
    caller: &Identity,
    project: &Project,
) -> Result<(), Status> {
    let (_, binding) = in_project(state, project, own(caller, PROJECT_OWNER));
    let mirror = &state.hub.stores().project_role_template_bindings;
    let api = Api::all(state.hub.client());
    let params = PostParams::default();
    let making = api.create(&params, &binding);
    let made = call("make an owner of who makes a project", making).await?;
    mirror.wait_for(&made, VISIBLE_WITHIN).await;
    Ok(())
}

/// A role for the caller themselves.
fn own(caller: &Identity, role: &str) -> (RoleReference, BindingSubject) {
    let role = RoleReference {
        name: role.to_owned(),
        uid: None,
    };
    let subject = BindingSubject {
        user: Some(UserReference {
            name: caller.user_name.clone(),
            uid: None,
        }),
        group: None,
    };
    (role, subject)
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
    let (project, place) = placed(&state, &caller, &name)?;
    Sight::of(state.hub.stores(), &caller).must("list", IN_PROJECTS, &place)?;
    let stores = state.hub.stores();
    let here = |binding: &ProjectRoleTemplateBinding| is_of_project(binding, &project);
    query
        .of(&stores.project_role_template_bindings, here, |binding| {
            let status = binding.status.as_ref();
            let conditions = status.map(|status| status.conditions.as_slice());
            let (role, subject) = (&binding.spec.role, &binding.spec.subject);
            view(&state, &binding.metadata, role, subject, conditions)
        })
        .map(axum::Json)
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
    let (project, place) = placed(&state, &caller, &name)?;
    Sight::of(state.hub.stores(), &caller).must("create", IN_PROJECTS, &place)?;
    let (said, binding) = in_project(&state, &project, wished(request)?);
    let mirror = &state.hub.stores().project_role_template_bindings;
    let written = Written::new(&state.hub, &caller, mirror);
    let made = written.create_drawn(&said, &binding, PREFIX).await?;
    let (role, subject) = (&made.spec.role, &made.spec.subject);
    let view = view(&state, &made.metadata, role, subject, None);
    Ok((StatusCode::CREATED, axum::Json(view)))
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
    let (project, place) = placed(&state, &caller, &name)?;
    Sight::of(state.hub.stores(), &caller).must("delete", IN_PROJECTS, &place)?;
    let mirror = &state.hub.stores().project_role_template_bindings;
    let binding = mirror
        .by_name(&id)
        .filter(|binding| is_of_project(binding, &project))
        .ok_or_else(|| Status::not_found("member", &id))?;
    Written::new(&state.hub, &caller, mirror)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn placed(
    state: &RestState,
    caller: &Identity,
    name: &str,
) -> Result<(Arc<Project>, Place), Status> {
    let project = visible_project(state, caller, name)?;
    let place = place_of(&project);
    let place = place.ok_or_else(|| {
        Status::unavailable("the server has not yet seen to this project; try again", 1)
    })?;
    Ok((project, place))
}

/// By UID once the server has written it; a name alone may mean one that was there before.
fn is_of_cluster(binding: &ClusterRoleTemplateBinding, cluster: &Cluster) -> bool {
    let reference = &binding.spec.cluster;
    let pinned = reference.uid.as_ref().map(ClusterUid::as_str);
    reference.name == cluster.name_any()
        && pinned.is_none_or(|uid| Some(uid) == cluster.uid().as_deref())
}

fn is_of_project(binding: &ProjectRoleTemplateBinding, project: &Project) -> bool {
    let reference = &binding.spec.project;
    let pinned = reference.uid.as_ref().map(ProjectUid::as_str);
    reference.name == project.name_any()
        && pinned.is_none_or(|uid| Some(uid) == project.uid().as_deref())
}

fn wished(request: MemberCreate) -> Result<(RoleReference, BindingSubject), Status> {
    let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if said(&request.user) == said(&request.group) {
        return Err(Status::invalid(
            "user",
            "name either a user, or a group as \"drover:<provider>:<id>\"",
        ));
    }
    let role = RoleReference {
        name: request.role,
        uid: None,
    };
    let user = request.user.filter(|name| !name.is_empty());
    let group = request.group.filter(|name| !name.is_empty());
    let subject = BindingSubject {
        user: user.map(|name| UserReference { name, uid: None }),
        group: group.map(|name| GroupReference {
            name,
            provider_uid: None,
        }),
    };
    Ok((role, subject))
}

/// A binding as the caller says it, and as it is written, with the UID beside each name: what the
/// caller was judged by is what they mean.
fn in_cluster(
    state: &RestState,
    cluster: &Cluster,
    (role, subject): (RoleReference, BindingSubject),
) -> (ClusterRoleTemplateBinding, ClusterRoleTemplateBinding) {
    let uid = cluster.uid().map(ClusterUid::new);
    let (pinned_role, pinned_subject) = pinned(state, &role, &subject);
    let id = id(cluster.uid().as_deref(), &pinned_role, &pinned_subject);
    let name = cluster.name_any();
    let binding = |uid, role, subject| {
        let name = name.clone();
        let spec = ClusterRoleTemplateBindingSpec {
            cluster: ClusterReference { name, uid },
            role,
            subject,
        };
        ClusterRoleTemplateBinding::new(&id, spec)
    };
    let said = binding(None, role, subject);
    (said, binding(uid, pinned_role, pinned_subject))
}

/// The same in a project.
fn in_project(
    state: &RestState,
    project: &Project,
    (role, subject): (RoleReference, BindingSubject),
) -> (ProjectRoleTemplateBinding, ProjectRoleTemplateBinding) {
    let uid = project.uid().map(ProjectUid::new);
    let (pinned_role, pinned_subject) = pinned(state, &role, &subject);
    let id = id(project.uid().as_deref(), &pinned_role, &pinned_subject);
    let name = project.name_any();
    let binding = |uid, role, subject| {
        let name = name.clone();
        let spec = ProjectRoleTemplateBindingSpec {
            project: ProjectReference { name, uid },
            role,
            subject,
        };
        ProjectRoleTemplateBinding::new(&id, spec)
    };
    let said = binding(None, role, subject);
    (said, binding(uid, pinned_role, pinned_subject))
}

/// With the UIDs of what is there under these names now; what is not there is refused later.
fn pinned(
    state: &RestState,
    role: &RoleReference,
    subject: &BindingSubject,
) -> (RoleReference, BindingSubject) {
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
    (role, subject)
}

/// The same role for the same subject at the same place is one binding; a role or person that is
/// made again under its name is another, and so is the binding.
fn id(place: Option<&str>, role: &RoleReference, subject: &BindingSubject) -> String {
    let parts = serde_json::json!([place, role, subject]);
    let hash = digest(&SHA256, parts.to_string().as_bytes());
    let short = hash.as_ref().first_chunk().copied().unwrap_or_default();
    format!("{PREFIX}{:032x}", u128::from_be_bytes(short))
}

fn view(
    state: &RestState,
    meta: &ObjectMeta,
    role: &RoleReference,
    subject: &BindingSubject,
    conditions: Option<&[Condition]>,
) -> MemberView {
    let users = &state.hub.stores().users;
    // Another person may have that name by now.
    let person = subject.user.as_ref().and_then(|user| match &user.uid {
        Some(uid) => users.by_uid(uid.as_str()),
        None => users.by_name(&user.name),
    });
    let user = subject.user.as_ref().map(|user| user.name.clone());
    let created = meta.creation_timestamp.as_ref();
    MemberView {
        id: meta.name.clone().unwrap_or_default(),
        role: role.name.clone(),
        display_name: person.and_then(|person| person.spec.display_name.clone()),
        user,
        group: subject.group.as_ref().map(|group| group.name.clone()),
        created_at: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        conditions: conditions.unwrap_or_default().to_vec(),
    }
}
