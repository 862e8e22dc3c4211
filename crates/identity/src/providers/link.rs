//! Linking: an administrator says that two users are one person, and takes that back.
//!
//! Nothing but this makes people of two providers one user. What moves is the identity alone, with
//! what its provider gave for asking again; whatever stood on it ends, for both users, so that
//! nobody goes on as who they were. Roles stay with the user they were given to.

use std::sync::Arc;

use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{IdentityState, ProviderIdentity, User};
use drover_api::rest::LINKED_WITHIN;
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
use drover_hub::{Hub, HubError, Writer, call};

/// Why two users were not linked, or one was not unlinked.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The user is not that provider's.
    #[error("the user {0:?} has no such identity")]
    NoSuch(String),
    /// One identity of each provider.
    #[error("the user {user:?} has an identity of {provider:?} already; unlink that first")]
    Taken {
        /// Who has one.
        user: String,
        /// Of which provider.
        provider: String,
    },
    /// It is one user.
    #[error("an identity is linked to another user than the one who has it")]
    Same,
    /// Nobody is given a way in who has none.
    #[error("the user {0:?} is disabled or being deleted; enable them first")]
    NotEnabled(String),
    /// What the provider said does not count.
    #[error("the identity cannot be linked: {0}")]
    Invalid(#[from] InvalidReason),
    /// The provider said it too long ago.
    #[error(
        "{provider:?} has not said for {} h who {login:?} is; let them sign in with it, then link",
        LINKED_WITHIN.as_hours()
    )]
    Stale {
        /// The provider.
        provider: String,
        /// The login there.
        login: String,
    },
    /// An identity could not be written.
    #[error(transparent)]
    People(#[from] ProviderUserError),
    /// What its provider gave could not be moved.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// What stood on it may not have ended.
    #[error(transparent)]
    Revoke(#[from] RevokeError),
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// It ended before it was done.
    #[error("linking broke off; look at both users and try again")]
    Broken(#[from] JoinError),
}

impl From<LinkError> for Status {
    fn from(error: LinkError) -> Self {
        let said = error.to_string();
        match error {
            LinkError::NoSuch(_) => Self::not_found("identity", "of this provider"),
            LinkError::Same => Self::invalid("from", said),
            LinkError::Taken { .. }
            | LinkError::NotEnabled(_)
            | LinkError::Invalid(_)
            | LinkError::Stale { .. } => Self::conflict(said),
            LinkError::Revoke(error) => error.into(),
            LinkError::Hub(error) => error.into(),
            LinkError::People(_) | LinkError::ProviderTokens(_) | LinkError::Broken(_) => {
                Self::unavailable(said, 1)
            }
        }
    }
}

/// What came of linking.
#[derive(Debug)]
pub struct Linked {
    /// Who has the identity now.
    pub user: Arc<User>,
    /// Who had it; disabled if nobody can sign in as them any more.
    pub former: Arc<User>,
}

/// Links and unlinks; cheap to clone.
#[derive(Clone, Debug)]
pub struct Links {
    hub: Hub,
    locks: KeyedLock,
}

impl Links {
    /// On a hub; `people` is shared with sign-ins.
    pub fn new(hub: Hub, locks: KeyedLock) -> Self {
        Self { hub, locks }
    }

    /// Moves the identity of a provider from one user to another; goes on to the end when nobody
    /// waits for it any more, so that it is nobody's by half.
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
            // As they are now, when nobody else is at this person.
            let (from, to) = (links.now(from), links.now(to));
            links.link_to_the_end(&from, &to, &provider).await
        };
        tokio::spawn(linking.in_current_span()).await?
    }

    /// Takes the identity of a provider from a user; whoever signs in with it then is a new user.
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
        // What an identity of theirs that is gone left behind does not come to life with this one.
        self.end(to, provider).await?;
        let kept = provider_tokens::read(&self.hub, from, provider).await?;
        if !kept.is_empty() {
            provider_tokens::write(&self.hub, to, provider, &kept).await?;
        }
        // Taken first: at no time are two users one person of a provider. What stood on it counts
        // no more from here on, whatever fails below.
        let emptied = users::remove_identity(&self.hub, from, &moved).await?;
        let user = match users::write_identity(&self.hub, to, &moved).await {
            Ok(user) => user,
            Err(error) => {
                // It may be there though no answer came.
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

    /// The user as the hub has them, if they have an identity of this provider.
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

    /// Clears away what an identity that was taken from somebody left. It opens nothing any more, so
    /// that what cannot be cleared is told, and undoes nothing.
    async fn clear(&self, user: &User, provider: &ProviderUid) {
        let ended = self.end(user, provider).await;
        let forgotten = provider_tokens::forget(&self.hub, user, provider).await;
        let errors = [ended.err(), forgotten.err().map(LinkError::from)];
        for error in errors.iter().flatten() {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                user.name = user.name_any(),
                "what stood on an identity was not all cleared away"
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
        let fresh = now.duration_since(moved.confirmed_at.0) <= LINKED_WITHIN;
        if moved.state != IdentityState::Confirmed || !fresh {
            return Err(LinkError::Stale {
                provider: moved.provider.clone(),
                login: moved.login.clone(),
            });
        }
        Ok(())
    }

    /// Ends what stands on a provider's word of this user.
    async fn end(&self, user: &User, provider: &ProviderUid) -> Result<(), LinkError> {
        let uid = UserUid::new(user.uid().unwrap_or_default());
        tokens::revoke_of_provider(&self.hub, &uid, provider).await?;
        Ok(())
    }

    /// Disables a user whom nobody can sign in as any more. They are not deleted: their name would
    /// be free for a stranger, and their roles would go without a word.
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
        let writer = Writer::new(self.hub.users(), &self.hub.stores().users);
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
