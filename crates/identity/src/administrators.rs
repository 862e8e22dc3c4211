//! Finds and restores administrators.

use drover_api::kinds::{User, UserSpec};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use thiserror::Error;

use drover_hub::{HubError, Writer, call};

/// Reports whether the user is an enabled administrator and is not being deleted.
pub fn is_administrator(user: &User) -> bool {
    user.spec.administrator && user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

/// The error of `drover server recover` when it finds or creates the user.
#[derive(Debug, Error)]
pub enum RecoverError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The user does not exist, and other administrators exist.
    #[error(
        "the user {name:?} does not exist; set --user to one of the administrators: \
         {administrators}", administrators = administrators.join(", ")
    )]
    NoSuchUser {
        /// The requested name.
        name: String,
        /// The names of the administrators.
        administrators: Vec<String>,
    },
    /// The user is being deleted.
    #[error("the user {user:?} is being deleted; set --user to a different user", user = .0)]
    BeingDeleted(String),
}

/// The user whose login `drover server recover` restores.
#[derive(Debug)]
pub struct Candidate {
    /// The User object on the hub.
    pub user: User,
    /// True if no administrator exists, so that the command makes this user an administrator.
    pub needed: bool,
}

/// Finds the user by name. Creates an administrator without a password if no administrator exists.
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
            let new = administrator(name);
            // The command has no stores.
            let writer = Writer::without_store(api);
            writer.create("create an administrator", &new).await?
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

/// Makes the user an enabled administrator. Call the function after the revocation of the user's
/// previous password and tokens.
pub async fn grant_administrator(client: &Client, user: &User) -> Result<(), HubError> {
    // The command has no stores.
    let writer = Writer::<User>::without_store(Api::all(client.clone()));
    let spec = json!({ "enabled": true, "administrator": true });
    // With the UID, a recreated user of the same name causes a conflict.
    let mut metadata = json!({ "uid": user.uid() });
    metadata["ownerReferences"] = NO_OWNERS;
    let patch = json!({ "metadata": metadata, "spec": spec });
    let operation = "make the user an administrator";
    writer
        .patch(operation, &user.name_any(), &patch)
        .await
        .map(drop)
}

/// The value of `ownerReferences` in a merge patch of an administrator. The value removes all
/// owners, because Kubernetes deletes an object when its owner is deleted.
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
