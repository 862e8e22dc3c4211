//! What the conditions of Users, Tokens and ClusterRegistrationTokens say. Pure.

use drover_api::conditions::Verdict;
use drover_api::kinds::{
    Cluster, ClusterRegistrationToken, IdentityState, ProviderIdentity, Token, TokenPurpose, User,
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::status_writer::{condition_false, condition_true};
use drover_hub::stores::identity_status::InvalidReason;
use drover_identity::authenticator::is_idle;

/// `Ready` of a User: whether the person can work; `fallen` tells of each of their identities why it
/// does not count, if it does not.
pub(crate) fn user(user: &User, fallen: &[(&ProviderIdentity, Option<InvalidReason>)]) -> Verdict {
    let name = user.name_any();
    if !user.spec.enabled {
        return condition_false(
            "Disabled",
            format!(
                "logging in and every token of the user are refused; \"drover user enable {name}\" \
                 allows them again"
            ),
        );
    }
    if user.spec.must_change_password {
        return condition_false(
            "PasswordChangeRequired",
            "the next login can do nothing but set a new password: \"drover login\" asks for it"
                .to_owned(),
        );
    }
    if let Some((identity, Some(why))) = fallen.first()
        && fallen.iter().all(|(_, fallen)| fallen.is_some())
    {
        return condition_false("ProviderInvalid", of_provider(identity, &why.to_string()));
    }
    let silent =
        |(identity, _): &&(&ProviderIdentity, _)| identity.state == IdentityState::Unreachable;
    if let Some((identity, _)) = fallen.iter().find(silent) {
        let what = "it does not say who the user is; what it said last counts for the setting \
                    provider-grace";
        return condition_true("ProviderUnreachable", of_provider(identity, what));
    }
    condition_true("Enabled", "the user can log in")
}

/// A sentence about what an identity provider said, with what is known of it.
fn of_provider(identity: &ProviderIdentity, what: &str) -> String {
    let provider = &identity.provider;
    let confirmed = identity.confirmed_at.0;
    match &identity.message {
        Some(message) => {
            format!("{provider}: {what} (last confirmed at {confirmed}; {message})")
        }
        None => format!("{provider}: {what} (last confirmed at {confirmed})"),
    }
}

/// `Valid` of a Token: whether it is accepted; `user` and `cluster` are those with its UIDs, and
/// `fallen` is why its identity provider's word does not count.
///
/// In the order in which a request is refused.
pub(crate) fn token(
    token: &Token,
    user: Option<&User>,
    cluster: Option<&Cluster>,
    fallen: Option<InvalidReason>,
    now: Timestamp,
) -> Verdict {
    if now >= token.spec.expires_at.0 {
        return condition_false(
            "Expired",
            "its time is over, and it will be deleted; \"drover login\" gets a new one".to_owned(),
        );
    }
    if is_idle(token, now) {
        return condition_false(
            "Idle",
            "nobody has used it for longer than the setting session-idle-ttl allowed when it was \
             made; whoever comes back signs in again"
                .to_owned(),
        );
    }
    let Some(user) = user.filter(|user| user.metadata.deletion_timestamp.is_none()) else {
        let name = &token.spec.user_name;
        return condition_false(
            "UserGone",
            format!("its user {name:?} was deleted; a user of the same name needs new tokens"),
        );
    };
    if !user.spec.enabled {
        let name = user.name_any();
        return condition_false(
            "UserDisabled",
            format!("its user is disabled; \"drover user enable {name}\" makes it work again"),
        );
    }
    if let Some(fallen) = fallen {
        return condition_false("ProviderInvalid", fallen.to_string());
    }
    if let (Some(scope), None) = (&token.spec.cluster, cluster) {
        return condition_false(
            "ClusterGone",
            format!(
                "it works on cluster {:?} only, which was deleted; a cluster of the same name \
                 needs a new token",
                scope.name
            ),
        );
    }
    match token.spec.purpose {
        TokenPurpose::PasswordChange => {
            condition_true("Active", "it is accepted, to set a password only")
        }
        TokenPurpose::Session
        | TokenPurpose::Browser
        | TokenPurpose::Api
        | TokenPurpose::Kubeconfig
        | TokenPurpose::Credential => condition_true("Active", "it is accepted"),
    }
}

/// `Usable` of a ClusterRegistrationToken; `cluster` is the one with its UID.
///
/// `registration_tokens` deletes within a minute what is not usable, but a token of a Cluster that
/// registered with another one: that stays until it expires.
pub(crate) fn registration_token(
    token: &ClusterRegistrationToken,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> Verdict {
    let name = &token.spec.cluster_name;
    let Some(cluster) = cluster.filter(|held| held.metadata.deletion_timestamp.is_none()) else {
        return condition_false(
            "ClusterGone",
            format!("cluster {name:?} was deleted; \"drover cluster import {name}\" starts over"),
        );
    };
    let status = cluster.status.as_ref();
    if let Some(registration) = status.and_then(|status| status.registration.as_ref()) {
        let reason = if registration.token_id == token.name_any() {
            "Used"
        } else {
            "ClusterRegistered"
        };
        return condition_false(
            reason,
            format!("cluster {name:?} is registered, and no token can register it again"),
        );
    }
    if now >= token.spec.expires_at.0 {
        return condition_false(
            "Expired",
            format!(
                "its time is over; \"drover cluster import {name}\" prints a manifest with a new one"
            ),
        );
    }
    condition_true("Waiting", "the cluster's agent can register with it, once")
}

#[cfg(test)]
pub(super) mod tests;
