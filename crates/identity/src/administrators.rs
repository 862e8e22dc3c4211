//! Who administers Drover, and that somebody does.

use drover_api::kinds::{User, UserSpec};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use thiserror::Error;

use drover_hub::{HubError, call};

/// Whether somebody can administer Drover at present.
pub fn is_administrator(user: &User) -> bool {
    user.spec.administrator && user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

/// Why nobody could be brought back.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// There is no such user, and no need for one.
    #[error(
        "the hub has no user {name:?}; name an administrator with --user: {}", administrators.join(", ")
    )]
    NoSuchUser {
        /// The name.
        name: String,
        /// Who administers Drover.
        administrators: Vec<String>,
    },
    /// The user is about to be deleted.
    #[error("the user {0:?} is being deleted; name another with --user")]
    BeingDeleted(String),
}

/// Somebody who is to be able to log in again.
#[derive(Debug)]
pub struct Candidate {
    /// The user as they are on the hub.
    pub user: User,
    /// Whether nobody else administers Drover, so that they have to.
    pub needed: bool,
}

/// The user of a name. Where nobody administers Drover there need be none: then one is made, who
/// has no password yet.
pub async fn find_or_create(client: &Client, name: &str) -> Result<Candidate, RecoverError> {
    let api: Api<User> = Api::all(client.clone());
    let all = call("list users", api.list(&ListParams::default())).await?;
    let user = all.items.iter().find(|user| user.name_any() == name);
    let administrators = all.items.iter().filter(|user| is_administrator(user));
    let administrators: Vec<_> = administrators.map(ResourceExt::name_any).collect();
    let needed = administrators.is_empty();
    let user = match user {
        Some(user) if user.metadata.deletion_timestamp.is_some() => {
            return Err(RecoverError::BeingDeleted(name.to_owned()));
        }
        Some(user) => user.clone(),
        None if needed => {
            let (params, new) = (PostParams::default(), administrator(name));
            call("create an administrator", api.create(&params, &new)).await?
        }
        None => {
            let name = name.to_owned();
            return Err(RecoverError::NoSuchUser {
                name,
                administrators,
            });
        }
    };
    Ok(Candidate { user, needed })
}

/// Makes the user an enabled administrator; call it when their old password is good no more, and
/// their tokens are gone.
pub async fn grant_administrator(client: &Client, user: &User) -> Result<(), HubError> {
    let api: Api<User> = Api::all(client.clone());
    let spec = json!({ "enabled": true, "administrator": true });
    // With the UID, a user of the same name made meanwhile is a conflict.
    let mut metadata = json!({ "uid": user.uid() });
    metadata["ownerReferences"] = NO_OWNERS;
    let patch = Patch::Merge(json!({ "metadata": metadata, "spec": spec }));
    let (name, params) = (user.name_any(), PatchParams::default());
    let patching = api.patch(&name, &params, &patch);
    call("make the user an administrator", patching).await?;
    Ok(())
}

/// In a merge patch: whoever administers Drover belongs to no other object, with which Kubernetes
/// would delete them.
pub const NO_OWNERS: serde_json::Value = serde_json::Value::Null;

fn administrator(name: &str) -> User {
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: true,
        must_change_password: true,
    };
    User::new(name, spec)
}
