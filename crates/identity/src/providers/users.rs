//! Finds and creates the Drover users of provider identities.

use std::sync::Arc;

use drover_api::ids::{ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, GlobalRole, GlobalRoleBinding, GlobalRoleBindingSpec, ProviderIdentity,
    RoleReference, User, UserReference, UserSpec,
};
use drover_providers::ProviderUser;
use kube::api::ListParams;
use kube::{Resource as _, ResourceExt as _};
use serde_json::json;
use thiserror::Error;

use super::mapping;
use drover_entropy::{NoRandomness, random};
use drover_hub::stores::identity_status;
use drover_hub::{Hub, HubError, call};

/// The page size of lists of users.
const PAGE_SIZE: u32 = 500;
/// The number of names with a numeric suffix that the server tries before a random name.
const MAX_NUMBERED_NAMES: usize = 20;
/// The maximum length of a display name in characters.
const MAX_DISPLAY_NAME: usize = 256;

/// The error of finding or creating a user.
#[derive(Debug, Error)]
pub enum ProviderUserError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The random generator failed.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// Existing users have all names that the server tried.
    #[error(
        "cannot create a user: the name {name:?} and all names derived from it are in use; ask an \
         administrator to link your identity to a user",
        name = .0
    )]
    NoName(String),
    /// The writes to the user fail with conflicts, because other clients change the user
    /// continuously.
    #[error("cannot update the user: concurrent requests change the user; try again")]
    Changing,
}

/// Finds the user of an identity in the stores.
pub fn find_in_store(hub: &Hub, provider: &ProviderUid, id: &str) -> Option<Arc<User>> {
    let users = hub.stores().users.all();
    users.into_iter().find(|user| is(user, provider, id))
}

/// Finds the user of an identity. If the stores do not contain the user, the function lists the
/// users on the hub. The server therefore never creates two users for one identity.
pub async fn find(
    hub: &Hub,
    provider: &ProviderUid,
    id: &str,
) -> Result<Option<Arc<User>>, HubError> {
    if let Some(user) = find_in_store(hub, provider, id) {
        return Ok(Some(user));
    }
    let mut params = ListParams::default().limit(PAGE_SIZE);
    loop {
        let page = call("list users", hub.users().list(&params)).await?;
        if let Some(user) = page.items.into_iter().find(|user| is(user, provider, id)) {
            return Ok(Some(Arc::new(user)));
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(None),
        }
    }
}

fn is(user: &User, provider: &ProviderUid, id: &str) -> bool {
    identity_status::identity(user, provider).is_some_and(|identity| identity.id == id)
}

/// Creates the user of a new identity, and binds the default roles.
pub async fn create_with_roles(
    hub: &Hub,
    person: &ProviderUser,
    identity: &ProviderIdentity,
) -> Result<Arc<User>, ProviderUserError> {
    let created = create(hub, person).await?;
    let finished = finish(hub, &created, identity).await;
    if finished.is_err() {
        // A user without identity could never be found again.
        delete_unfinished(hub, &created).await;
    }
    finished
}

/// Binds the default roles of a created user, and then writes the identity.
///
/// This order is safe if the server crashes between the two steps. At the next login, only a user
/// without an identity receives the default roles.
async fn finish(
    hub: &Hub,
    created: &User,
    identity: &ProviderIdentity,
) -> Result<Arc<User>, ProviderUserError> {
    grant_default_roles(hub, created).await?;
    write_identity(hub, created, identity).await
}

/// Binds the default roles to a new user. The bindings are in effect when the function returns.
pub async fn grant_default_roles(hub: &Hub, user: &User) -> Result<(), HubError> {
    for role in hub.stores().global_roles.all() {
        if role.spec.new_user_default && role.metadata.deletion_timestamp.is_none() {
            bind_role(hub, user, &role).await?;
        }
    }
    Ok(())
}

async fn create(hub: &Hub, person: &ProviderUser) -> Result<User, ProviderUserError> {
    let shown = person.display_name.as_ref();
    let spec = UserSpec {
        display_name: shown.map(|name| name.chars().take(MAX_DISPLAY_NAME).collect()),
        enabled: true,
        administrator: false,
        must_change_password: false,
    };
    // `write_identity` waits for a later version of the user.
    let writer = hub.writer().without_wait();
    for number in 0..MAX_NUMBERED_NAMES {
        let user = User::new(&mapping::name(&person.login, number), spec.clone());
        match writer.create("create a user", &user).await {
            // The name is taken.
            Err(error) if error.is_conflict() => {}
            answer => return Ok(answer?),
        }
    }
    let drawn = usize::from(u16::from_be_bytes(random()?)) + MAX_NUMBERED_NAMES;
    let user = User::new(&mapping::name(&person.login, drawn), spec);
    match writer.create("create a user", &user).await {
        Err(error) if error.is_conflict() => Err(ProviderUserError::NoName(user.name_any())),
        answer => Ok(answer?),
    }
}

async fn delete_unfinished(hub: &Hub, user: &User) {
    // The login returns the error of the creation without a wait.
    let writer = hub.writer().without_wait();
    if let Err(error) = writer.delete("delete a user", user).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            user.name = user.name_any(),
            "failed to delete a user whose creation failed"
        );
    }
}

/// Binds a default role to a new user. The hub deletes the binding together with the user.
async fn bind_role(hub: &Hub, user: &User, role: &GlobalRole) -> Result<(), HubError> {
    let (uid, role_uid) = (
        user.uid().unwrap_or_default(),
        role.uid().unwrap_or_default(),
    );
    let spec = GlobalRoleBindingSpec {
        role: RoleReference {
            name: role.name_any(),
            uid: Some(RoleUid::new(role_uid)),
        },
        subject: BindingSubject {
            user: Some(UserReference {
                name: user.name_any(),
                uid: Some(UserUid::new(uid.clone())),
            }),
            group: None,
        },
    };
    let mut binding = GlobalRoleBinding::new(&format!("new-user-{}-{uid}", role.name_any()), spec);
    binding.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    let writer = hub.writer();
    match writer.create("give a new user a role", &binding).await {
        Err(error) if !error.is_conflict() => Err(error),
        _ => Ok(()),
    }
}

/// Adds or replaces an identity of a user. The stores contain the change when the function returns.
pub async fn write_identity(
    hub: &Hub,
    user: &User,
    identity: &ProviderIdentity,
) -> Result<Arc<User>, ProviderUserError> {
    let put = |identities: &mut Vec<ProviderIdentity>| {
        let place = identities.iter_mut().find(|one| is_same(one, identity));
        match place {
            Some(place) => *place = identity.clone(),
            None => identities.push(identity.clone()),
        }
    };
    change(hub, user, put).await
}

/// Removes an identity of a user. The stores contain the change when the function returns.
pub async fn remove_identity(
    hub: &Hub,
    user: &User,
    identity: &ProviderIdentity,
) -> Result<Arc<User>, ProviderUserError> {
    change(hub, user, |identities| {
        identities.retain(|one| !is_same(one, identity));
    })
    .await
}

fn is_same(one: &ProviderIdentity, other: &ProviderIdentity) -> bool {
    one.provider_uid == other.provider_uid && one.id == other.id
}

async fn change(
    hub: &Hub,
    user: &User,
    change: impl Fn(&mut Vec<ProviderIdentity>),
) -> Result<Arc<User>, ProviderUserError> {
    let (name, uid) = (user.name_any(), user.uid());
    let writer = hub.writer();
    let patch = |current: &User| {
        let status = current.status.clone().unwrap_or_default();
        let mut identities = status.identities;
        change(&mut identities);
        json!({
            "metadata": { "uid": uid, "resourceVersion": current.resource_version() },
            "status": { "identities": identities },
        })
    };
    let written = writer.update_status("write a user's identities", &name, patch);
    match written.await {
        Err(error) if error.is_conflict() => Err(ProviderUserError::Changing),
        answer => Ok(Arc::new(answer?)),
    }
}

#[cfg(test)]
mod tests;
