//! Links and unlinks identities on request of an administrator. Linking moves an identity from one
//! user to another user, if both users belong to the same person. Unlinking removes an identity
//! from a user.
//!
//! Only linking assigns identities of two providers to one user. Linking moves the identity and its
//! provider tokens to the target user. Linking revokes all tokens of both users that depend on the
//! identity. Role bindings stay unchanged.

use std::sync::Arc;

use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{IdentityState, ProviderIdentity, User};
use drover_api::rest::MAX_CONFIRMATION_AGE;
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde_json::json;
use thiserror::Error;
use tokio::task::JoinError;
use tracing::Instrument as _;

use super::keyed_lock::KeyedLock;
use super::provider_tokens::{self, ProviderTokensError};
use super::users::{self, ProviderUserError};
use crate::passwords::read_hash;
use crate::tokens;
use crate::tokens::RevokeError;
use drover_http_edge::status::Status;
use drover_hub::stores::identity_status;
use drover_hub::stores::identity_status::InvalidReason;
use drover_hub::{Hub, HubError, call};

/// The error of linking or unlinking.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The user has no identity of the provider.
    #[error("the user {user:?} does not have this identity", user = .0)]
    NoSuch(String),
    /// The target user already has an identity of the provider.
    #[error(
        "the user {user:?} already has an identity of the provider {provider:?}; unlink this \
         identity first"
    )]
    Taken {
        /// The target user.
        user: String,
        /// The provider's name.
        provider: String,
    },
    /// The target user already has the identity that is to be moved.
    #[error(
        "cannot link the identity: the identity already belongs to this user; select a different \
         user"
    )]
    Same,
    /// The target user is disabled or being deleted.
    #[error(
        "cannot link an identity to the user {user:?}: the user is disabled or being deleted; \
         enable the user first",
        user = .0
    )]
    NotEnabled(String),
    /// The identity is not valid.
    #[error("cannot link the identity: {cause}", cause = .0)]
    Invalid(#[from] InvalidReason),
    /// The provider's last confirmation of the identity is too old.
    #[error(
        "cannot link the identity: the provider {provider:?} has not confirmed {login:?} for \
         {hours} h; ask the user to sign in with the provider, then link the identity",
        hours = MAX_CONFIRMATION_AGE.as_hours()
    )]
    Stale {
        /// The provider's name.
        provider: String,
        /// The user's login at the provider.
        login: String,
    },
    /// The server cannot write the identity.
    #[error(transparent)]
    People(#[from] ProviderUserError),
    /// The server cannot move the provider tokens.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// The server failed to revoke all tokens that depend on the identity.
    #[error(transparent)]
    Revoke(#[from] RevokeError),
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The task panicked or was aborted.
    #[error(
        "the link of the identity was interrupted; check the identities of both users and try \
         again"
    )]
    Broken(#[from] JoinError),
}

impl From<LinkError> for Status {
    fn from(error: LinkError) -> Self {
        let message = error.to_string();
        match error {
            LinkError::NoSuch(_) => Self::not_found("identity", "of this provider"),
            LinkError::Same => Self::invalid("from", message),
            LinkError::Taken { .. }
            | LinkError::NotEnabled(_)
            | LinkError::Invalid(_)
            | LinkError::Stale { .. } => Self::conflict(message),
            LinkError::Revoke(error) => error.into(),
            LinkError::Hub(error) => error.into(),
            LinkError::People(_) | LinkError::ProviderTokens(_) | LinkError::Broken(_) => {
                Self::unavailable(message, 1)
            }
        }
    }
}

/// The result of linking.
#[derive(Debug)]
pub struct Linked {
    /// The target user, who now has the identity.
    pub user: Arc<User>,
    /// The user who had the identity before the move. The server disabled this user if the user
    /// cannot sign in by any other method.
    pub former: Arc<User>,
}

/// The service that links and unlinks identities. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Links {
    hub: Hub,
    locks: KeyedLock,
}

impl Links {
    /// Creates the service. Provider logins use the same `locks`.
    pub fn new(hub: Hub, locks: KeyedLock) -> Self {
        Self { hub, locks }
    }

    /// Moves the identity of a provider from the user `from` to the user `to`. The move runs to
    /// completion even if the caller is dropped.
    pub async fn link(
        &self,
        from: Arc<User>,
        to: Arc<User>,
        provider: ProviderUid,
    ) -> Result<Linked, LinkError> {
        let links = self.clone();
        let linking = async move {
            let _linking = links.locks.lock_links().await;
            let id = identity(&from, &provider)?.id;
            let _alone = links.locks.lock_identity(&provider, &id).await;
            // Reads both users again under the lock.
            let (from, to) = (links.now(from), links.now(to));
            links.link_to_the_end(&from, &to, &provider).await
        };
        tokio::spawn(linking.in_current_span()).await?
    }

    /// Removes the identity of a provider from a user. The next login with the identity creates a
    /// new user.
    pub async fn unlink(
        &self,
        user: Arc<User>,
        provider: ProviderUid,
    ) -> Result<Arc<User>, LinkError> {
        let links = self.clone();
        let unlinking = async move {
            let _linking = links.locks.lock_links().await;
            let identity = identity(&user, &provider)?;
            let _alone = links.locks.lock_identity(&provider, &identity.id).await;
            let written = users::remove_identity(&links.hub, &user, &identity).await?;
            links.clear(&user, &provider).await;
            Ok(written)
        };
        tokio::spawn(unlinking.in_current_span()).await?
    }

    async fn link_to_the_end(
        &self,
        from: &User,
        to: &User,
        provider: &ProviderUid,
    ) -> Result<Linked, LinkError> {
        let moved = identity(from, provider)?;
        self.check(from, to, &moved)?;
        // Revokes tokens of an earlier identity, so that they do not become valid with this one.
        self.end(to, provider).await?;
        let tokens = provider_tokens::read(&self.hub, from, provider).await?;
        if !tokens.is_empty() {
            provider_tokens::write(&self.hub, to, provider, &tokens).await?;
        }
        // The identity is removed first, so that two users never have the same identity. Tokens
        // that depend on it are invalid from here on.
        let emptied = users::remove_identity(&self.hub, from, &moved).await?;
        let user = match users::write_identity(&self.hub, to, &moved).await {
            Ok(user) => user,
            Err(error) => {
                // The write may have succeeded without a response.
                let Some(user) = self.stored(to, provider).await? else {
                    users::write_identity(&self.hub, from, &moved).await?;
                    return Err(error.into());
                };
                user
            }
        };
        self.clear(from, provider).await;
        let former = self.close(emptied).await?;
        Ok(Linked { user, former })
    }

    /// Reads the user from the hub, if the user has an identity of this provider.
    async fn stored(
        &self,
        user: &User,
        provider: &ProviderUid,
    ) -> Result<Option<Arc<User>>, LinkError> {
        let (api, name) = (self.hub.users(), user.name_any());
        let stored = call("read a user", api.get(&name)).await?;
        let has =
            identity_status::identity(&stored, provider).is_some() && stored.uid() == user.uid();
        Ok(has.then(|| Arc::new(stored)))
    }

    /// Revokes the tokens and provider tokens of a removed identity. Logs errors without returning
    /// them, because the tokens are already invalid.
    async fn clear(&self, user: &User, provider: &ProviderUid) {
        let ended = self.end(user, provider).await;
        let forgotten = provider_tokens::forget(&self.hub, user, provider).await;
        let errors = [ended.err(), forgotten.err().map(LinkError::from)];
        for error in errors.iter().flatten() {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                user.name = user.name_any(),
                "failed to revoke tokens of an unlinked identity"
            );
        }
    }

    fn now(&self, user: Arc<User>) -> Arc<User> {
        let users = &self.hub.stores().users;
        let now = user.metadata.uid.as_ref().and_then(|uid| users.by_uid(uid));
        now.unwrap_or(user)
    }

    fn check(&self, from: &User, to: &User, moved: &ProviderIdentity) -> Result<(), LinkError> {
        if from.uid() == to.uid() {
            return Err(LinkError::Same);
        }
        if !to.spec.enabled || to.metadata.deletion_timestamp.is_some() {
            return Err(LinkError::NotEnabled(to.name_any()));
        }
        if identity_status::identity(to, &moved.provider_uid).is_some() {
            return Err(LinkError::Taken {
                user: to.name_any(),
                provider: moved.provider.clone(),
            });
        }
        let now = Timestamp::now();
        identity_status::check_identity(moved, self.hub.stores(), now)?;
        let fresh = now.duration_since(moved.confirmed_at.0) <= MAX_CONFIRMATION_AGE;
        if moved.state != IdentityState::Confirmed || !fresh {
            return Err(LinkError::Stale {
                provider: moved.provider.clone(),
                login: moved.login.clone(),
            });
        }
        Ok(())
    }

    /// Revokes the user's tokens of this provider.
    async fn end(&self, user: &User, provider: &ProviderUid) -> Result<(), LinkError> {
        let uid = UserUid::new(user.uid().unwrap_or_default());
        tokens::revoke_of_provider(&self.hub, &uid, provider).await?;
        Ok(())
    }

    /// Disables a user who has no method to sign in. Does not delete the user, because a deletion
    /// removes the role bindings and makes the user name available.
    async fn close(&self, user: Arc<User>) -> Result<Arc<User>, LinkError> {
        let others = user.status.as_ref().map_or(0, |s| s.identities.len());
        let uid = user.uid().unwrap_or_default();
        if others > 0 || read_hash(&self.hub, &uid).await?.phc.is_some() || !user.spec.enabled {
            return Ok(user);
        }
        let patch = json!({
            "metadata": { "uid": uid },
            "spec": { "enabled": false },
        });
        let writer = self.hub.writer::<User>();
        let name = user.name_any();
        let disabled = writer.patch("disable a user", &name, &patch).await?;
        Ok(Arc::new(disabled))
    }
}

fn identity(user: &User, provider: &ProviderUid) -> Result<ProviderIdentity, LinkError> {
    let identity = identity_status::identity(user, provider).cloned();
    identity.ok_or_else(|| LinkError::NoSuch(user.name_any()))
}

#[cfg(test)]
mod tests;
