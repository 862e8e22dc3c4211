//! Routes of users.

use axum::extract::State;
use drover_access::identity::Identity;
use drover_api::ids::UserUid;
use drover_api::kinds::{ProviderIdentity, User, UserSpec};
use drover_api::rest::{IdentityView, List, PasswordReset, UserCreate, UserPatch, UserView};
use http::StatusCode;
use kube::ResourceExt;
use secrecy::SecretString;
use serde_json::json;

use crate::RestState;
use crate::access::user_rights;
use crate::authorized_writes::AuthorizedWriter;
use crate::caller::OnHub;
use crate::page::PageQuery;
use drover_audit::AuditNotes;
use drover_http_edge::body::{Json, Name, Query};
use drover_http_edge::status::Status;
use drover_hub::Stores;
use drover_hub::visibility::{Visibility, created_at};
use drover_identity::administrators::NO_OWNERS;
use drover_identity::caller::Administrator;
use drover_identity::providers::users as provider_users;
use drover_identity::tokens;

/// Maximum length of a display name, in characters.
const MAX_DISPLAY_NAME: usize = 256;

/// Returns the view of a user for the caller.
pub(crate) fn view(state: &RestState, caller: &Identity, user: &User) -> UserView {
    let visibility = Visibility::of(state.hub.stores(), caller);
    visible_view(&visibility, state.hub.stores(), user)
}

fn visible_view(visibility: &Visibility, stores: &Stores, user: &User) -> UserView {
    UserView {
        name: user.name_any(),
        uid: user.uid().unwrap_or_default(),
        display_name: user.spec.display_name.clone(),
        enabled: user.spec.enabled,
        administrator: user.spec.administrator,
        must_change_password: user.spec.must_change_password,
        created_at: created_at(user),
        last_login_at: user
            .status
            .as_ref()
            .and_then(|s| s.last_login_at.as_ref())
            .map(|t| t.0),
        identities: user
            .status
            .iter()
            .flat_map(|status| &status.identities)
            .map(identity)
            .collect(),
        rights: user_rights::of(visibility, stores, user),
    }
}

fn identity(identity: &ProviderIdentity) -> IdentityView {
    IdentityView {
        id: identity.provider_uid.to_string(),
        provider: identity.provider.clone(),
        login: identity.login.clone(),
        groups: identity.groups.clone(),
        groups_left_out: identity.groups_left_out,
        confirmed_at: identity.confirmed_at.0,
        state: identity.state,
        message: identity.message.clone(),
    }
}

/// Lists all users.
#[utoipa::path(get, path = "/v1/users", tag = "users", params(PageQuery),
    responses((status = 200, body = List<UserView>)))]
pub(crate) async fn list(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    Query(query): Query<PageQuery>,
) -> Result<axum::Json<List<UserView>>, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, &caller);
    query
        .of(
            &stores.users,
            |_| true,
            |user| visible_view(&visibility, stores, user),
        )
        .map(axum::Json)
}

/// Returns a user.
#[utoipa::path(get, path = "/v1/users/{name}", tag = "users",
    params(("name" = String, Path, description = "The user's name")),
    responses((status = 200, body = UserView)))]
pub(crate) async fn read(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    Name(name): Name,
) -> Result<axum::Json<UserView>, Status> {
    find(&state, &name).map(|user| axum::Json(view(&state, &caller, &user)))
}

/// Creates a local user. The user must set a new password at the first login.
#[utoipa::path(post, path = "/v1/users", tag = "users", request_body = UserCreate,
    responses((status = 201, body = UserView)))]
pub(crate) async fn create(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    noted: AuditNotes,
    Json(request): Json<UserCreate>,
) -> Result<(StatusCode, axum::Json<UserView>), Status> {
    check_name(&request.name)?;
    check_display_name(request.display_name.as_deref())?;
    let spec = UserSpec {
        display_name: request.display_name.filter(|name| !name.is_empty()),
        enabled: true,
        administrator: request.administrator,
        must_change_password: true,
    };
    let user = User::new(&request.name, spec);
    if !caller.administrator {
        let stores = state.hub.stores();
        let authorized = AuthorizedWriter::<User>::new(&state.hub, &caller);
        authorized.check_create(&user).await?;
        user_rights::check_defaults(&Visibility::of(stores, &caller), stores)?;
    }
    let password = SecretString::from(request.password.expose());
    let phc = state
        .logins
        .hash(password)
        .await
        .map_err(|error| error.into_status("password"))?;
    // The server waits for the store last, so that the user has roles and a password first.
    let writer = state.hub.writer().without_wait();
    let created = writer.create("create a user", &user).await;
    let created = created.map_err(|error| match error.code() {
        Some(409) => Status::already_exists("User", &request.name),
        _ => error.into(),
    })?;
    noted.about(&created.name_any());
    provider_users::grant_default_roles(&state.hub, &created).await?;
    // Store the password last: if this fails, the user cannot log in until an administrator sets a
    // password.
    state.logins.set_first_password(&created, &phc).await?;
    state.hub.stores().users.wait_for(&created).await;
    Ok((
        StatusCode::CREATED,
        axum::Json(view(&state, &caller, &created)),
    ))
}

/// Changes a user. The tokens and open streams of a disabled user end within seconds.
#[utoipa::path(patch, path = "/v1/users/{name}", tag = "users", request_body = UserPatch,
    params(("name" = String, Path, description = "The user's name")),
    responses((status = 200, body = UserView)))]
pub(crate) async fn patch(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    Name(name): Name,
    Json(request): Json<UserPatch>,
) -> Result<axum::Json<UserView>, Status> {
    let user = find(&state, &name)?;
    check_display_name(request.display_name.as_deref())?;
    if request.enabled == Some(false) {
        refuse_own_user(&caller, &user, "disable")?;
    }
    if request.administrator == Some(false) {
        refuse_own_user(&caller, &user, "remove the administrator permissions of")?;
    }
    let spec = serde_json::to_value(&request).unwrap_or_default();
    // The UID causes a conflict if the user was deleted and created again.
    let mut metadata = json!({ "uid": user.uid() });
    if !caller.administrator {
        check_patch(&state, &caller, &user, &request).await?;
        // The resource version ensures that the checked object is the changed object.
        metadata["resourceVersion"] = json!(user.resource_version());
    }
    if request.administrator == Some(true) {
        metadata["ownerReferences"] = NO_OWNERS;
    }
    let patch = json!({ "metadata": metadata, "spec": spec });
    let writer = state.hub.writer::<User>();
    let changed = writer.patch("change a user", &name, &patch).await?;
    Ok(axum::Json(view(&state, &caller, &changed)))
}

/// Deletes a user and the user's tokens.
#[utoipa::path(delete, path = "/v1/users/{name}", tag = "users",
    params(("name" = String, Path, description = "The user's name")),
    responses((status = 204)))]
pub(crate) async fn delete(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    let user = find(&state, &name)?;
    refuse_own_user(&caller, &user, "delete")?;
    if !caller.administrator {
        let authorized = AuthorizedWriter::<User>::new(&state.hub, &caller);
        authorized.delete(&user).await?;
        return Ok(StatusCode::NO_CONTENT);
    }
    let writer = state.hub.writer::<User>();
    writer.delete("delete a user", &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sets a user's password and revokes the user's tokens. The user must set a new password at the
/// next login.
#[utoipa::path(post, path = "/v1/users/{name}/password", tag = "users",
    params(("name" = String, Path, description = "The user's name")),
    request_body = PasswordReset, responses((status = 204)))]
pub(crate) async fn reset_password(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    Name(name): Name,
    Json(request): Json<PasswordReset>,
) -> Result<StatusCode, Status> {
    let stores = state.hub.stores();
    let visibility = Visibility::of(stores, &caller);
    let user = find(&state, &name)?;
    user_rights::check_password(&visibility, stores, &user)?;
    let new = SecretString::from(request.new.expose());
    if request.revoke_tokens {
        state
            .logins
            .reset_password_and_revoke_tokens(&user, new)
            .await?;
        revoke_provider_tokens(&state, &user);
    } else {
        state.logins.reset_password(&user, new).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes all tokens of a user, including sessions. Open streams end within seconds.
#[utoipa::path(delete, path = "/v1/users/{name}/tokens", tag = "users",
    params(("name" = String, Path, description = "The user's name")),
    responses((status = 204)))]
pub(crate) async fn revoke_tokens(
    State(state): State<RestState>,
    _caller: Administrator,
    Name(name): Name,
) -> Result<StatusCode, Status> {
    let user = find(&state, &name)?;
    let uid = UserUid::new(user.uid().unwrap_or_default());
    tokens::revoke_all(&state.hub, &uid).await?;
    revoke_provider_tokens(&state, &user);
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes the tokens that identity providers issued for a user, if the user has no Drover tokens.
fn revoke_provider_tokens(state: &RestState, user: &User) {
    let uid = UserUid::new(user.uid().unwrap_or_default());
    state.provider_logouts.revoke_provider_tokens(&uid);
}

/// Refreshes a user's identities and groups from the identity providers.
#[utoipa::path(post, path = "/v1/users/{name}/refresh", tag = "users",
    params(("name" = String, Path, description = "The user's name")),
    responses((status = 200, body = UserView)))]
pub(crate) async fn refresh(
    State(state): State<RestState>,
    OnHub { caller, .. }: OnHub<User>,
    Name(name): Name,
) -> Result<axum::Json<UserView>, Status> {
    let user = find(&state, &name)?;
    state.refresher.refresh_all(&user).await?;
    find(&state, &name).map(|user| axum::Json(view(&state, &caller, &user)))
}

/// Checks a change of a user against the admission rules that apply to the caller.
async fn check_patch(
    state: &RestState,
    caller: &Identity,
    user: &User,
    request: &UserPatch,
) -> Result<(), Status> {
    let mut changed = user.clone();
    let spec = &mut changed.spec;
    spec.enabled = request.enabled.unwrap_or(spec.enabled);
    spec.administrator = request.administrator.unwrap_or(spec.administrator);
    if let Some(name) = &request.display_name {
        spec.display_name = Some(name.clone());
    }
    let authorized = AuthorizedWriter::<User>::new(&state.hub, caller);
    authorized.check_replace(user, &changed).await
}

pub(crate) fn find(state: &RestState, name: &str) -> Result<std::sync::Arc<User>, Status> {
    let user = state.hub.stores().users.by_name(name);
    user.ok_or_else(|| Status::not_found("User", name))
}

/// Returns an error if the caller and the user to change are the same user. Administrators
/// therefore cannot lock themselves out.
pub(crate) fn refuse_own_user(caller: &Identity, user: &User, action: &str) -> Result<(), Status> {
    if user.metadata.uid.as_deref() == Some(caller.user_uid.as_str()) {
        return Err(Status::conflict(format!(
            "you cannot {action} yourself; ask another administrator"
        )));
    }
    Ok(())
}

/// Checks the name of a user against the rule of the CRD schema. The check runs before the password
/// is hashed.
fn check_name(name: &str) -> Result<(), Status> {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'-');
    let end = |b: Option<&u8>| b.is_some_and(|b| inner(*b) && !matches!(b, b'.' | b'-'));
    let bytes = name.as_bytes();
    let good = (1..=63).contains(&bytes.len())
        && bytes.iter().all(|b| inner(*b))
        && end(bytes.first())
        && end(bytes.last());
    if good {
        Ok(())
    } else {
        Err(Status::invalid(
            "name",
            "must have 1 to 63 characters: lower-case letters, digits, \".\" and \"-\", with a \
             letter or digit at both ends",
        ))
    }
}

fn check_display_name(name: Option<&str>) -> Result<(), Status> {
    match name {
        Some(name)
            if name.chars().count() > MAX_DISPLAY_NAME || name.chars().any(char::is_control) =>
        {
            Err(Status::invalid(
                "displayName",
                "must have at most 256 characters and no control characters",
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_name_validation_matches_the_crd_rule() {
        for (name, good) in [
            ("a", true),
            ("ann.lee-2", true),
            (&"a".repeat(63), true),
            (&"a".repeat(64), false),
            ("", false),
            ("-a", false),
            ("a.", false),
            ("Ann", false),
            ("a b", false),
            ("a/b", false),
            ("é", false),
        ] {
            assert_eq!(check_name(name).is_ok(), good, "{name:?}");
        }
    }
}
