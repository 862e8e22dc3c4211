//! Pure functions that decide the conditions of Users, Tokens and ClusterRegistrationTokens.

use drover_api::conditions::ConditionValue;
use drover_api::kinds::{
    Cluster, ClusterRegistrationToken, IdentityState, ProviderIdentity, Token, TokenPurpose, User,
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::changes::{condition_false, condition_true};
use drover_hub::stores::identity_status::InvalidReason;
use drover_identity::authenticator::is_idle;

/// Decides condition `Ready` of a User. `invalid` lists each identity of the user, with the reason
/// if the identity is invalid.
pub(crate) fn user(
    user: &User,
    invalid: &[(&ProviderIdentity, Option<InvalidReason>)],
) -> ConditionValue {
    let name = user.name_any();
    if !user.spec.enabled {
        return condition_false(
            "Disabled",
            format!(
                "the user cannot sign in, and all tokens of the user are rejected; \"drover user \
                 enable {name}\" enables the user"
            ),
        );
    }
    if user.spec.must_change_password {
        return condition_false(
            "PasswordChangeRequired",
            "the user must set a new password at the next sign-in, or with \"drover login\""
                .to_owned(),
        );
    }
    if let Some((identity, Some(reason))) = invalid.first()
        && invalid.iter().all(|(_, invalid)| invalid.is_some())
    {
        return condition_false("ProviderFallen", of_provider(identity, &reason.to_string()));
    }
    let silent =
        |(identity, _): &&(&ProviderIdentity, _)| identity.state == IdentityState::Unreachable;
    if let Some((identity, _)) = invalid.iter().find(silent) {
        let problem = "the provider does not respond; the last response stays valid for the duration \
         of the setting provider-grace";
        return condition_true("ProviderUnreachable", of_provider(identity, problem));
    }
    condition_true("Enabled", "the user can sign in")
}

/// Returns a sentence that describes a provider's response.
fn of_provider(identity: &ProviderIdentity, problem: &str) -> String {
    let provider = &identity.provider;
    let confirmed = identity.confirmed_at.0;
    match &identity.message {
        Some(message) => {
            format!("{provider}: {problem} (last confirmed at {confirmed}; {message})")
        }
        None => format!("{provider}: {problem} (last confirmed at {confirmed})"),
    }
}

/// Decides condition `Valid` of a Token. `user` and `cluster` are the objects whose UIDs the token
/// contains. `invalid` is the reason why the token's provider identity is invalid.
///
/// The order of the checks is the order in which the server checks the token of a request.
pub(crate) fn token(
    token: &Token,
    user: Option<&User>,
    cluster: Option<&Cluster>,
    invalid: Option<InvalidReason>,
    now: Timestamp,
) -> ConditionValue {
    if now >= token.spec.expires_at.0 {
        return condition_false(
            "Expired",
            "the token has expired, and the server will delete it; \"drover login\" creates a \
            new token"
                .to_owned(),
        );
    }
    if is_idle(token, now) {
        return condition_false(
            "Idle",
            "the session was idle for longer than the setting session-idle-ttl at the time of \
             the sign-in; sign in again"
                .to_owned(),
        );
    }
    let Some(user) = user.filter(|user| user.metadata.deletion_timestamp.is_none()) else {
        let name = &token.spec.user_name;
        return condition_false(
            "UserGone",
            format!(
                "the user {name:?} was deleted; a new user with the same name needs new tokens"
            ),
        );
    };
    if !user.spec.enabled {
        let name = user.name_any();
        return condition_false(
            "UserDisabled",
            format!(
                "the user is disabled; \"drover user enable {name}\" makes the token valid \
                again"
            ),
        );
    }
    if let Some(invalid) = invalid {
        return condition_false("ProviderFallen", invalid.to_string());
    }
    if let (Some(scope), None) = (&token.spec.cluster, cluster) {
        return condition_false(
            "ClusterGone",
            format!(
                "the token is limited to cluster {:?}, which was deleted; a new cluster with the \
                 same name needs a new token",
                scope.name
            ),
        );
    }
    match token.spec.purpose {
        TokenPurpose::PasswordChange => {
            condition_true("Active", "the token is valid only for setting a password")
        }
        TokenPurpose::Session
        | TokenPurpose::Browser
        | TokenPurpose::Api
        | TokenPurpose::Kubeconfig
        | TokenPurpose::Credential => condition_true("Active", "the token is valid"),
    }
}

/// Decides condition `Usable` of a ClusterRegistrationToken. `cluster` is the Cluster whose UID the
/// token contains.
///
/// The controller `registration_tokens` deletes unusable tokens within a minute. Unused tokens of a
/// registered Cluster stay until they expire.
pub(crate) fn registration_token(
    token: &ClusterRegistrationToken,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> ConditionValue {
    let name = &token.spec.cluster_name;
    let Some(cluster) =
        cluster.filter(|cluster_object| cluster_object.metadata.deletion_timestamp.is_none())
    else {
        return condition_false(
            "ClusterGone",
            format!(
                "cluster {name:?} was deleted; \"drover cluster import {name}\" imports the \
                cluster again"
            ),
        );
    };
    let status = cluster.status.as_ref();
    if let Some(registration) = status.and_then(|status| status.registration.as_ref()) {
        let reason = if registration.token_id == token.name_any() {
            "Used"
        } else {
            "ClusterRegistered"
        };
        return condition_false(reason, format!("cluster {name:?} is already registered"));
    }
    if now >= token.spec.expires_at.0 {
        return condition_false(
            "Expired",
            format!(
                "the token has expired; \"drover cluster import {name}\" prints a manifest with \
                a new token"
            ),
        );
    }
    condition_true(
        "Waiting",
        "the cluster's agent can register once with this token",
    )
}

#[cfg(test)]
pub(super) mod tests;
