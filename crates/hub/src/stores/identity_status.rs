//! Decides whether a user's identity at a provider is valid. The groups, tokens and open streams of
//! the user depend on this decision.

use drover_access::setting::Setting;
use drover_api::ids::ProviderUid;
use drover_api::kinds::{IdentityState, ProviderIdentity, Token, TokenProvider, User};
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::Stores;

/// The reason why an identity is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidReason {
    /// The provider was deleted. A new provider may have the same name.
    #[error(
        "the identity provider of the token is deleted: sign in with a different provider, or \
         ask an administrator"
    )]
    ProviderDeleted,
    /// An administrator disabled the provider.
    #[error("the identity provider of the token is disabled: ask an administrator")]
    ProviderDisabled,
    /// The user has no identity of the provider.
    #[error(
        "the user is no longer linked to the identity provider of the token: ask an administrator"
    )]
    Unlinked,
    /// The provider rejects the user, or its list of allowed users does not contain the user.
    #[error(
        "the identity provider of the token rejects the user: sign in again, or ask an \
         administrator"
    )]
    Refused,
    /// The provider's last successful response about the user is older than the grace period.
    #[error(
        "the identity provider of the token has not confirmed the user for too long: sign in again"
    )]
    GracePeriodExpired,
}

/// Returns the time for which an identity stays valid after the last confirmation by its provider
/// (setting `provider-grace`).
pub fn grace(stores: &Stores) -> SignedDuration {
    let grace = stores.duration(Setting::ProviderGrace);
    SignedDuration::try_from(grace).unwrap_or(SignedDuration::MAX)
}

/// Checks whether an identity is valid at `now`.
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

/// Checks whether the provider identity with which the user created a token is still valid. A token
/// without a provider is always valid.
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

/// Checks whether the user has an identity at this provider, and whether the identity is valid.
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

/// Returns a time until which the checks of a user's identities have the same results as at `now`,
/// unless the user, a provider or a setting changes. Identities become invalid when their grace
/// period ends.
pub fn unchanged_until(user: &User, stores: &Stores, now: Timestamp) -> Timestamp {
    let grace = grace(stores);
    let identities = user.status.iter().flat_map(|status| &status.identities);
    identities
        .map(|identity| identity.confirmed_at.0.saturating_add(grace))
        .map(|end| end.unwrap_or(Timestamp::MAX))
        .filter(|end| *end >= now)
        .min()
        .unwrap_or(Timestamp::MAX)
}

/// Returns the user's identity of the provider with this UID.
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
