//! Users of people who come from providers: found by the provider's UID and the id there, or made.

use std::sync::Arc;

use drover_api::ids::{ProviderUid, RoleUid, UserUid};
use drover_api::kinds::{
    BindingSubject, GlobalRole, GlobalRoleBinding, GlobalRoleBindingSpec, ProviderIdentity,
    RoleReference, User, UserReference, UserSpec,
};
use drover_providers::Person;
use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource as _, ResourceExt as _};
use serde_json::json;
use thiserror::Error;

use super::mapping;
use drover_entropy::{NoRandomness, random};
use drover_hub::stores::identity_status;
use drover_hub::{Hub, HubError, Writer, call, only};

/// Users a page when all are listed.
const PAGE: u32 = 500;
/// Names that are tried one after another; then one is drawn.
const NAMES: usize = 20;
/// Longest display name of a User, in characters.
const DISPLAY_NAME: usize = 256;

/// Why there is no user for somebody.
#[derive(Debug, Error)]
pub enum ProviderUserError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The system gave no randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// No name is free.
    #[error("no name is free for a new user like {0:?}")]
    NoName(String),
    /// Another server changes the user all the time.
    #[error("the user changes all the time: try again")]
    Changing,
}

/// The user of a provider's person, if memory has one.
pub fn find_in_store(hub: &Hub, provider: &ProviderUid, id: &str) -> Option<Arc<User>> {
    let users = hub.stores().users.all();
    users.into_iter().find(|user| is(user, provider, id))
}

/// The user of a provider's person, if there is one: asks the hub, for one that was made a moment
/// ago must not be made twice.
pub async fn find(
    hub: &Hub,
    provider: &ProviderUid,
    id: &str,
) -> Result<Option<Arc<User>>, HubError> {
    if let Some(user) = find_in_store(hub, provider, id) {
        return Ok(Some(user));
    }
    let mut params = ListParams::default().limit(PAGE);
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

/// Makes the user of somebody who was never here, with the roles that everybody new is given.
pub async fn create_with_roles(
    hub: &Hub,
    person: &Person,
    identity: &ProviderIdentity,
) -> Result<Arc<User>, ProviderUserError> {
    let made = create(hub, person).await?;
    let finished = finish(hub, &made, identity).await;
    if finished.is_err() {
        // One that cannot be found again would stay without its person.
        delete_unfinished(hub, &made).await;
    }
    finished
}

/// The roles come first: whoever is found by their identity is not given them any more.
async fn finish(
    hub: &Hub,
    made: &User,
    identity: &ProviderIdentity,
) -> Result<Arc<User>, ProviderUserError> {
    grant_default_roles(hub, made).await?;
    write_identity(hub, made, identity).await
}

/// Gives a new user the roles that everybody new is given; they hold as soon as this returns.
pub async fn grant_default_roles(hub: &Hub, user: &User) -> Result<(), HubError> {
    for role in hub.stores().global_roles.all() {
        if role.spec.new_user_default && role.metadata.deletion_timestamp.is_none() {
            bind_role(hub, user, &role).await?;
        }
    }
    Ok(())
}

async fn create(hub: &Hub, person: &Person) -> Result<User, ProviderUserError> {
    let shown = person.display_name.as_ref();
    let spec = UserSpec {
        display_name: shown.map(|name| name.chars().take(DISPLAY_NAME).collect()),
        enabled: true,
        administrator: false,
        must_change_password: false,
    };
    let (api, params) = (hub.users(), PostParams::default());
    for number in 0..NAMES {
        let user = User::new(&mapping::name(&person.login, number), spec.clone());
        match call("create a user", api.create(&params, &user)).await {
            // Somebody's, whoever that is.
            Err(error) if error.is_conflict() => {}
            answer => return Ok(answer?),
        }
    }
    let drawn = usize::from(u16::from_be_bytes(random()?)) + NAMES;
    let user = User::new(&mapping::name(&person.login, drawn), spec);
    match call("create a user", api.create(&params, &user)).await {
        Err(error) if error.is_conflict() => Err(ProviderUserError::NoName(user.name_any())),
        answer => Ok(answer?),
    }
}

async fn delete_unfinished(hub: &Hub, user: &User) {
    let params = only(user.uid());
    let name = user.name_any();
    if let Err(error) = call("delete a user", hub.users().delete(&name, &params)).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, user.name = name, "a user was made for nobody");
    }
}

/// Gives a role that everybody new is given; the binding goes with the user.
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
    let bindings = &hub.stores().global_role_bindings;
    let writer = Writer::new(Api::all(hub.client()), bindings);
    match writer.create("give a new user a role", &binding).await {
        Err(error) if !error.is_conflict() => Err(error),
        _ => Ok(()),
    }
}

/// Writes who a user is to a provider in place of what was known before; counts as soon as this
/// returns.
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

/// Takes it from them; counts as soon as this returns.
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
    let writer = Writer::new(hub.users(), &hub.stores().users);
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

/// Records a sign-in, for people's eyes only: a failure is no reason to keep anybody out.
pub async fn record_login(hub: &Hub, user: &User) {
    let patch = Patch::Merge(json!({ "status": { "lastLoginAt": Timestamp::now() } }));
    let (api, params) = (hub.users(), PatchParams::default());
    let name = user.name_any();
    if let Err(error) = call("record a login", api.patch_status(&name, &params, &patch)).await {
        let error = &error as &dyn std::error::Error;
        tracing::debug!(error, "login not recorded");
    }
}

#[cfg(test)]
mod tests;
