//! Who has a global role.

use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::State;
use drover_access::names::GroupName;
use drover_api::ids::{ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, GlobalRoleBinding, GlobalRoleBindingSpec, GroupReference, RoleReference,
    UserReference,
};
use drover_api::rest::{List, MemberCreate, MemberView};
use http::StatusCode;
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::RestState;
use super::body::{Json, Name, Query};
use super::caller::OnHub;
use super::page::PageQuery;
use super::written::Written;
use crate::hub::Stores;
use crate::status::Status;

/// What the id of a member begins with.
const PREFIX: &str = "m-";

/// Everybody who has a global role, by a binding.
#[utoipa::path(get, path = "/v1/global-members", tag = "access", params(PageQuery),
    responses((status = 200, body = List<MemberView>)))]
pub(super) async fn list(
    State(state): State<RestState>,
    _caller: OnHub<GlobalRoleBinding>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<MemberView>>, Status> {
    let stores = state.hub.stores();
    let all = |_: &GlobalRoleBinding| true;
    query
        .of(&stores.global_role_bindings, all, |it| view(stores, it))
        .map(axum::Json)
}

/// Gives somebody a global role; whoever does has all of it themselves.
#[utoipa::path(post, path = "/v1/global-members", tag = "access", request_body = MemberCreate,
    responses((status = 201, body = MemberView)))]
pub(super) async fn add(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    Json(request): Json<MemberCreate>,
) -> Result<(StatusCode, axum::Json<MemberView>), Status> {
    let stores = state.hub.stores();
    let said = wished(request)?;
    let pinned = pinned(stores, &said);
    let id = id(&pinned);
    let written = Written::new(&state.hub, &caller, &stores.global_role_bindings);
    let (said, binding) = (
        GlobalRoleBinding::new(&id, said),
        GlobalRoleBinding::new(&id, pinned),
    );
    let made = written.create_drawn(&said, &binding, PREFIX).await?;
    Ok((StatusCode::CREATED, axum::Json(view(stores, &made))))
}

/// Takes a global role away; what it opened ends within seconds.
#[utoipa::path(delete, path = "/v1/global-members/{id}", tag = "access",
    params(("id" = String, Path, description = "The member's id")),
    responses((status = 204)))]
pub(super) async fn remove(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<GlobalRoleBinding>,
    Name(id): Name,
) -> Result<StatusCode, Status> {
    let mirror = &state.hub.stores().global_role_bindings;
    let binding = mirror.by_name(&id);
    let binding = binding.ok_or_else(|| Status::not_found("member", &id))?;
    Written::new(&state.hub, &caller, mirror)
        .delete(&binding)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A binding as the caller says it.
fn wished(request: MemberCreate) -> Result<GlobalRoleBindingSpec, Status> {
    let user = request.user.filter(|name| !name.is_empty());
    let group = request.group.filter(|name| !name.is_empty());
    if user.is_some() == group.is_some() {
        return Err(Status::invalid(
            "user",
            "name either a user, or a group as \"drover:<provider>:<id>\"",
        ));
    }
    Ok(GlobalRoleBindingSpec {
        role: RoleReference {
            name: request.role,
            uid: None,
        },
        subject: BindingSubject {
            user: user.map(|name| UserReference { name, uid: None }),
            group: group.map(|name| GroupReference {
                name,
                provider_uid: None,
            }),
        },
    })
}

/// The same as it is written, with the UIDs of what is there under these names now: what the caller
/// was judged by is what they mean. What is not there is refused later.
fn pinned(stores: &Stores, said: &GlobalRoleBindingSpec) -> GlobalRoleBindingSpec {
    let mut pinned = said.clone();
    let role = stores.global_roles.by_name(&said.role.name);
    pinned.role.uid = role.and_then(|role| role.uid()).map(RoleUid::new);
    if let Some(reference) = &mut pinned.subject.user {
        let user = stores.users.by_name(&reference.name);
        reference.uid = user.and_then(|user| user.uid()).map(UserUid::new);
    }
    if let Some(reference) = &mut pinned.subject.group {
        let name = GroupName::parse(&reference.name);
        let provider = name.and_then(|name| stores.auth_providers.by_name(name.provider()));
        let uid = provider.and_then(|provider| provider.uid());
        reference.provider_uid = uid.map(ProviderUid::new);
    }
    pinned
}

/// The same role for the same subject is one binding; a role or person that is made again under its
/// name is another, and so is the binding.
fn id(spec: &GlobalRoleBindingSpec) -> String {
    let parts = serde_json::json!(["global", spec.role, spec.subject]);
    let hash = digest(&SHA256, parts.to_string().as_bytes());
    let short = hash.as_ref().first_chunk().copied().unwrap_or_default();
    format!("{PREFIX}{:032x}", u128::from_be_bytes(short))
}

fn view(stores: &Stores, binding: &GlobalRoleBinding) -> MemberView {
    let (role, subject) = (&binding.spec.role, &binding.spec.subject);
    // Another person may have that name by now.
    let person = subject.user.as_ref().and_then(|user| match &user.uid {
        Some(uid) => stores.users.by_uid(uid.as_str()),
        None => stores.users.by_name(&user.name),
    });
    let created = binding.metadata.creation_timestamp.as_ref();
    let status = binding.status.clone().unwrap_or_default();
    MemberView {
        id: binding.name_any(),
        role: role.name.clone(),
        display_name: person.and_then(|person| person.spec.display_name.clone()),
        user: subject.user.as_ref().map(|user| user.name.clone()),
        group: subject.group.as_ref().map(|group| group.name.clone()),
        created_at: created.map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        conditions: status.conditions,
    }
}
