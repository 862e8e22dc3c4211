//! Whether what a provider said of somebody still counts: for their groups, for the tokens that
//! stand on it, and for what these have open. Everything else asks here.

use drover_access::setting::Setting;
use drover_api::ids::ProviderUid;
use drover_api::kinds::{IdentityState, ProviderIdentity, Token, TokenProvider, User};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::Stores;

/// Why it does not count any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidReason {
    /// There is no such provider, or another of its name.
    #[error("its identity provider is deleted: sign in with another, or ask an administrator")]
    ProviderDeleted,
    /// An administrator switched it off.
    #[error("its identity provider is disabled: ask an administrator")]
    ProviderDisabled,
    /// The user is not that provider's any more.
    #[error("its user is not linked to the identity provider any more: ask an administrator")]
    Unlinked,
    /// The provider, or its list of who is allowed, says no.
    #[error("the identity provider refuses its user: sign in again, or ask an administrator")]
    Refused,
    /// Nothing was heard of the provider for too long.
    #[error("the identity provider has not confirmed its user for too long: sign in again")]
    GracePeriodExpired,
}

/// How long a provider's word counts while it says nothing.
pub fn grace(stores: &Stores) -> SignedDuration {
    let grace = stores.duration(Setting::ProviderGrace);
    SignedDuration::try_from(grace).unwrap_or(SignedDuration::MAX)
}

/// Whether what a provider said of somebody counts now.
pub fn check_identity(
    identity: &ProviderIdentity,
    stores: &Stores,
    now: Timestamp,
) -> Result<(), InvalidReason> {
    check_provider(&identity.provider_uid, stores)?;
    if identity.state == IdentityState::Refused {
        return Err(InvalidReason::Refused);
    }
    if now.duration_since(identity.confirmed_at.0) > grace(stores) {
        return Err(InvalidReason::GracePeriodExpired);
    }
    Ok(())
}

/// Whether a token's user may use it, as far as identity providers are concerned.
pub fn check_token(
    token: &Token,
    user: &User,
    stores: &Stores,
    now: Timestamp,
) -> Result<(), InvalidReason> {
    match &token.spec.provider {
        None => Ok(()),
        Some(provider) => check_link(provider, user, stores, now),
    }
}

/// Whether somebody may use what stands on this provider.
pub fn check_link(
    provider: &TokenProvider,
    user: &User,
    stores: &Stores,
    now: Timestamp,
) -> Result<(), InvalidReason> {
    check_provider(&provider.uid, stores)?;
    let identity = identity(user, &provider.uid).ok_or(InvalidReason::Unlinked)?;
    check_identity(identity, stores, now)
}

/// Who a user is to the provider with this UID.
pub fn identity<'a>(user: &'a User, provider: &ProviderUid) -> Option<&'a ProviderIdentity> {
    let mut identities = user.status.iter().flat_map(|status| &status.identities);
    identities.find(|identity| identity.provider_uid == *provider)
}

fn check_provider(uid: &ProviderUid, stores: &Stores) -> Result<(), InvalidReason> {
    let provider = stores.auth_providers.by_uid(uid.as_str());
    let provider = provider
        .filter(|provider| provider.metadata.deletion_timestamp.is_none())
        .ok_or(InvalidReason::ProviderDeleted)?;
    if provider.spec.enabled {
        Ok(())
    } else {
        Err(InvalidReason::ProviderDisabled)
    }
}

#[cfg(test)]
pub(crate) mod tests;
