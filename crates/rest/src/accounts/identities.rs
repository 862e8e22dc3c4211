//! Which identities of providers are one user, for administrators.

use axum::extract::State;
use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{BindingSubject, User};
use drover_api::rest::{HeldRole, UserLink, UserLinked, UserView};
use kube::ResourceExt as _;

use super::users::{find, refuse_oneself, view};
use crate::RestState;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Names};
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_identity::caller::Administrator;
use drover_identity::providers::link::Links;

/// Moves an identity of a provider to a user from the one who has it: they are one person.
///
/// What stood on it ends for both. Roles stay with the user they were given to; who can sign in as
/// nobody any more is disabled.
#[utoipa::path(post, path = "/v1/users/{name}/identities", tag = "users",
    params(("name" = String, Path, description = "Name of the user who gets it")),
    request_body = UserLink, responses((status = 200, body = UserLinked)))]
pub(crate) async fn link(
    State(state): State<RestState>,
    Administrator(caller): Administrator,
    noted: AuditNotes,
    Name(name): Name,
    Json(request): Json<UserLink>,
) -> Result<axum::Json<UserLinked>, Status> {
    let to = find(&state, &name)?;
    noted.about(&name);
    let from = state.hub.stores().users.by_name(&request.from);
    let from = from.ok_or_else(|| Status::invalid("from", "there is no user of this name"))?;
    refuse_oneself(&caller, &from, "take an identity from")?;
    let provider = which(&from, request.provider.as_deref())?;
    let whose = format!("{name}, from {}", request.from);
    let linked = links(&state).link(from, to, provider).await?;
    noted.about(&whose);
    Ok(axum::Json(UserLinked {
        roles_left: roles_of(state.hub.stores(), &linked.former),
        user: view(&state, &caller, &linked.user),
        former: view(&state, &caller, &linked.former),
    }))
}

/// Takes an identity of a provider from a user; what stood on it ends. Whoever signs in with it then
/// is a new user.
#[utoipa::path(delete, path = "/v1/users/{name}/identities/{id}", tag = "users",
    params(("name" = String, Path, description = "The user's name"),
        ("id" = String, Path, description = "The identity's id")),
    responses((status = 200, body = UserView)))]
pub(crate) async fn unlink(
    State(state): State<RestState>,
    Administrator(caller): Administrator,
    noted: AuditNotes,
    Names(name, id): Names,
) -> Result<axum::Json<UserView>, Status> {
    let user = find(&state, &name)?;
    noted.about(&name);
    refuse_oneself(&caller, &user, "take an identity from")?;
    let user = links(&state).unlink(user, ProviderUid::new(id)).await?;
    Ok(axum::Json(view(&state, &caller, &user)))
}

fn links(state: &RestState) -> Links {
    Links::new(state.hub.clone(), state.provider_logins.locks().clone())
}

/// The provider of this name whose identity a user has, or of the only one.
fn which(user: &User, provider: Option<&str>) -> Result<ProviderUid, Status> {
    let identities = user.status.iter().flat_map(|status| &status.identities);
    let mut meant = identities.filter(|one| provider.is_none_or(|name| one.provider == name));
    match (meant.next(), meant.next(), provider) {
        (Some(one), None, _) => Ok(one.provider_uid.clone()),
        (Some(_), Some(_), None) => Err(Status::invalid(
            "provider",
            "must name one, as this user has identities of several",
        )),
        // Nobody knows which is meant.
        (Some(_), Some(_), Some(_)) => Err(Status::invalid(
            "provider",
            "the user has an identity of a deleted provider of this name as well; unlink that first",
        )),
        (None, ..) => Err(Status::invalid(
            "from",
            "this user has no such identity; a local user has none to move",
        )),
    }
}

/// Roles that a user was given by name.
fn roles_of(stores: &Stores, user: &User) -> Vec<HeldRole> {
    let uid = user.uid();
    let is_theirs = |subject: &BindingSubject| {
        let named = subject.user.as_ref().and_then(|user| user.uid.as_ref());
        named.is_some() && named.map(UserUid::as_str) == uid.as_deref()
    };
    let held = |role: &str, cluster: Option<&str>, project: Option<&str>| HeldRole {
        role: role.to_owned(),
        cluster: cluster.map(str::to_owned),
        project: project.map(str::to_owned),
    };
    let global = stores.global_role_bindings.all().into_iter();
    let global = global
        .filter(|binding| is_theirs(&binding.spec.subject))
        .map(|binding| held(&binding.spec.role.name, None, None));
    let cluster = stores.cluster_role_template_bindings.all().into_iter();
    let cluster = cluster
        .filter(|binding| is_theirs(&binding.spec.subject))
        .map(|binding| {
            let spec = &binding.spec;
            held(&spec.role.name, Some(&spec.cluster.name), None)
        });
    let project = stores.project_role_template_bindings.all().into_iter();
    let project = project
        .filter(|binding| is_theirs(&binding.spec.subject))
        .map(|binding| {
            let spec = &binding.spec;
            held(&spec.role.name, None, Some(&spec.project.name))
        });
    global.chain(cluster).chain(project).collect()
}
