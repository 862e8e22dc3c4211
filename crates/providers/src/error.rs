//! Why a provider did not say who somebody is.

use std::error::Error;

use thiserror::Error;

/// Why a provider did not say who somebody is; decides what becomes of what they had before.
#[derive(Debug, Error)]
pub enum ProviderError {
    /// It says no: a wrong password, an account that is disabled or gone, an access that was
    /// withdrawn. What they had ends at once.
    #[error("{0}")]
    Refused(Refusal),
    /// It does not answer, or not now. What they had stays for a bounded time, from the last time
    /// that it said who they are.
    #[error("{provider} cannot be asked: could not {what}")]
    Unavailable {
        /// Which one, for people: a URL without credentials.
        provider: String,
        /// Completes "could not …".
        what: String,
        /// What the client said.
        source: Box<dyn Error + Send + Sync>,
    },
    /// An administrator must put its configuration right. What they had stays as long as if it did
    /// not answer.
    #[error("{field}: {problem}")]
    Misconfigured {
        /// Of the AuthProvider's spec, such as `oidc.issuer`.
        field: &'static str,
        /// What is wrong and what to do.
        problem: String,
    },
    /// Its answer breaks the protocol, or is about somebody else: nothing of it is believed, and what
    /// they had stays as long as if it did not answer.
    #[error("what {provider} answered is not to be believed: {problem}")]
    InvalidResponse {
        /// Which one, for people: a URL without credentials.
        provider: String,
        /// What is wrong with it; never a part of the answer that could be a secret.
        problem: String,
    },
}

/// What a provider said no to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Name or password; which of them is not said.
    #[error("the name or the password is wrong")]
    Credentials,
    /// The account is disabled, locked or expired there.
    #[error("the account is disabled at the provider")]
    Disabled,
    /// There is no such account, or not any more.
    #[error("the provider does not know the account any more")]
    Gone,
    /// The person, or an administrator there, withdrew what they had allowed Drover.
    #[error("the provider takes the sign-in no more: sign in again")]
    Withdrawn,
    /// They said no when they were asked whether Drover may know who they are.
    #[error("the sign-in was not allowed at the provider")]
    Denied,
}
