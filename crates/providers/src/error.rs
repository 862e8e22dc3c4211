//! Errors of requests to identity providers.

use std::error::Error;

use thiserror::Error;

/// Error of a request to an identity provider. The variant determines whether the server ends
/// existing sessions of the user.
#[derive(Debug, Error)]
pub enum ProviderError {
    /// The provider rejects the user: wrong password, disabled or deleted account, or revoked
    /// consent. Existing sessions of the user end immediately.
    #[error("{0}")]
    Refused(Refusal),
    /// The provider is unreachable or temporarily fails. Existing sessions stay valid for a limited
    /// time after the last successful refresh.
    #[error("{provider} is unavailable: cannot {action}")]
    Unavailable {
        /// Display name of the provider: a URL without credentials.
        provider: String,
        /// The failed action as an infinitive that completes "cannot …", such as `fetch the signing
        /// keys`.
        action: String,
        /// The error of the HTTP or LDAP client.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The provider's configuration is invalid. An administrator must correct the configuration.
    /// Existing sessions stay valid as in [`Self::Unavailable`].
    #[error("{field}: {problem}")]
    Misconfigured {
        /// Path of the field in the AuthProvider's spec, such as `oidc.issuer`.
        field: &'static str,
        /// Description of the problem and its fix.
        problem: String,
    },
    /// The provider's response violates the protocol or describes a different user. Drover discards
    /// the response. Existing sessions stay valid as in [`Self::Unavailable`].
    #[error("invalid response from {provider}: {problem}")]
    InvalidResponse {
        /// Display name of the provider: a URL without credentials.
        provider: String,
        /// Description of the problem. Contains no secret text of the response.
        problem: String,
    },
}

/// Reason for which a provider rejects a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The login name or the password is wrong. The provider does not report which value is wrong.
    #[error("wrong user name or password")]
    Credentials,
    /// The account is disabled, locked or expired at the provider.
    #[error("the account is disabled at the provider")]
    Disabled,
    /// The account does not exist at the provider, or was deleted.
    #[error("the account does not exist at the provider")]
    Gone,
    /// The user or an administrator of the provider revoked Drover's access.
    #[error("the provider revoked the sign-in: sign in again")]
    Withdrawn,
    /// The user denied consent at the provider.
    #[error("the user denied the sign-in at the provider")]
    Denied,
}
