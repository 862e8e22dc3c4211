//! Who administers Drover, and that somebody does.

use drover_api::kinds::{User, UserSpec};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use thiserror::Error;

use crate::hub::{HubError, call};

/// Whether somebody can administer Drover at present.
pub fn is_administrator(user: &User) -> bool {
    user.spec.administrator && user.spec.enabled && user.metadata.deletion_timestamp.is_none()
}

/// Why nobody was brought back.
#[derive(Debug, Error)]
pub enum BringBackError {
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
    Leaving(String),
}

/// A user, and what was done so that somebody administers Drover.
#[derive(Debug)]
pub struct BroughtBack {
    /// The user as they are now.
    pub user: User,
    /// Whether they are an enabled administrator only now, because nobody else was one.
    pub made: bool,
}

/// The user of a name; an enabled administrator if nobody else is one.
pub async fn bring_back(client: &Client, name: &str) -> Result<BroughtBack, BringBackError> {
    let api: Api<User> = Api::all(client.clone());
    let all = call("list users", api.list(&ListParams::default())).await?;
    let user = all.items.iter().find(|user| user.name_any() == name);
    let administrators: Vec<_> = all
        .items
        .iter()
        .filter(|user| is_administrator(user))
        .collect();
    let names = || administrators.iter().map(|user| user.name_any()).collect();
    let made = administrators.is_empty();
    let user = match (user, made) {
        (Some(user), _) if user.metadata.deletion_timestamp.is_some() => {
            return Err(BringBackError::Leaving(name.to_owned()));
        }
        (Some(user), false) => user.clone(),
        (Some(user), true) => {
            // With the UID, a user of the same name made meanwhile is a conflict.
            let spec = json!({ "enabled": true, "administrator": true });
            let patch = Patch::Merge(json!({ "metadata": { "uid": user.uid() }, "spec": spec }));
            let params = PatchParams::default();
            let patching = api.patch(name, &params, &patch);
            call("make the user an administrator", patching).await?
        }
        (None, true) => {
            let (params, new) = (PostParams::default(), administrator(name));
            call("create an administrator", api.create(&params, &new)).await?
        }
        (None, false) => {
            return Err(BringBackError::NoSuchUser {
                name: name.to_owned(),
                administrators: names(),
            });
        }
    };
    Ok(BroughtBack { user, made })
}

fn administrator(name: &str) -> User {
    let spec = UserSpec {
        display_name: None,
        enabled: true,
        administrator: true,
        must_change_password: true,
    };
    User::new(name, spec)
}
