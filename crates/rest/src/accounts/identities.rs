//! Routes that link and unlink users' identities at identity providers.

use axum::extract::State;
use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{BindingSubject, User};
use drover_api::rest::{HeldRole, UserLink, UserLinked, UserView};
use kube::ResourceExt as _;

use super::users::{find, refuse_own_user, view};
use crate::RestState;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Names};
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_identity::caller::Administrator;
use drover_identity::providers::link::Links;

/// Moves an identity to a different user account of the same person. Sessions and tokens that
/// depend on the identity end for both users. Role bindings do not move. The server disables the
/// former user if the user has no other way to sign in.
#[utoipa::path(post, path = "/v1/users/{name}/identities", tag = "users",
    params(("name" = String, Path, description = "Name of the user who receives the identity")),
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
    let from = from.ok_or_else(|| Status::invalid("from", "no user has this name"))?;
    refuse_own_user(&caller, &from, "remove an identity from")?;
    let provider = find_provider(&from, request.provider.as_deref())?;
    let description = format!("{name}, from {}", request.from);
    let linked = links(&state).link(from, to, provider).await?;
    noted.about(&description);
    Ok(axum::Json(UserLinked {
        roles_left: roles_of(state.hub.stores(), &linked.former),
        user: view(&state, &caller, &linked.user),
        former: view(&state, &caller, &linked.former),
    }))
}

/// Removes an identity from a user. Sessions and tokens that depend on the identity end. The next
/// login with the identity creates a new user.
#[utoipa::path(delete, path = "/v1/users/{name}/identities/{id}", tag = "users",
    params(("name" = String, Path, description = "The user's name"),
        ("id" = String, Path, description = "The identity's ID")),
    responses((status = 200, body = UserView)))]
pub(crate) async fn unlink(
    State(state): State<RestState>,
    Administrator(caller): Administrator,
    noted: AuditNotes,
    Names(name, id): Names,
) -> Result<axum::Json<UserView>, Status> {
    let user = find(&state, &name)?;
    noted.about(&name);
    refuse_own_user(&caller, &user, "remove an identity from")?;
    let user = links(&state).unlink(user, ProviderUid::new(id)).await?;
    Ok(axum::Json(view(&state, &caller, &user)))
}

fn links(state: &RestState) -> Links {
    Links::new(state.hub.clone(), state.provider_logins.locks().clone())
}

/// Returns the provider `provider` if the user has an identity at this provider. Without a name,
/// returns the provider of the user's only identity.
fn find_provider(user: &User, provider: Option<&str>) -> Result<ProviderUid, Status> {
    let identities = user.status.iter().flat_map(|status| &status.identities);
    let mut matching = identities.filter(|one| provider.is_none_or(|name| one.provider == name));
    match (matching.next(), matching.next(), provider) {
        (Some(one), None, _) => Ok(one.provider_uid.clone()),
        (Some(_), Some(_), None) => Err(Status::invalid(
            "provider",
            "is required, because the user has identities at several providers",
        )),
        // Two providers with this name existed, so the name is ambiguous.
        (Some(_), Some(_), Some(_)) => Err(Status::invalid(
            "provider",
            "is ambiguous, because the user has a second identity of a deleted provider with \
             this name; unlink the identity of the deleted provider first",
        )),
        (None, ..) => Err(Status::invalid(
            "from",
            "has no identity at this provider; local users have no identities",
        )),
    }
}

/// Lists the roles in bindings whose subject is the user.
fn roles_of(stores: &Stores, user: &User) -> Vec<HeldRole> {
    let uid = user.uid();
    let is_user = |subject: &BindingSubject| {
        let named = subject.user.as_ref().and_then(|user| user.uid.as_ref());
        named.is_some() && named.map(UserUid::as_str) == uid.as_deref()
    };
    let held_role = |role: &str, cluster: Option<&str>, project: Option<&str>| HeldRole {
        role: role.to_owned(),
        cluster: cluster.map(str::to_owned),
        project: project.map(str::to_owned),
    };
    let global = stores.global_role_bindings.all().into_iter();
    let global = global
        .filter(|binding| is_user(&binding.spec.subject))
        .map(|binding| held_role(&binding.spec.role.name, None, None));
    let cluster = stores.cluster_role_template_bindings.all().into_iter();
    let cluster = cluster
        .filter(|binding| is_user(&binding.spec.subject))
        .map(|binding| {
            let spec = &binding.spec;
            held_role(&spec.role.name, Some(&spec.cluster.name), None)
        });
    let project = stores.project_role_template_bindings.all().into_iter();
    let project = project
        .filter(|binding| is_user(&binding.spec.subject))
        .map(|binding| {
            let spec = &binding.spec;
            held_role(&spec.role.name, None, Some(&spec.project.name))
        });
    global.chain(cluster).chain(project).collect()
}
