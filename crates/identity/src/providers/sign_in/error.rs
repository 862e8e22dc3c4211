//! The errors of a provider login. Each error has a text for the user and a text for
//! administrators.

use std::fmt::Display;

use drover_providers::ProviderError;
use drover_providers::allowed::NotAllowed;
use thiserror::Error;
use tokio::task::JoinError;

use crate::limits::RetryAfter;
use crate::providers::configured::UseError;
use crate::providers::provider_tokens::ProviderTokensError;
use crate::providers::users::ProviderUserError;
use crate::tokens::TokenError;
use drover_entropy::NoRandomness;
use drover_http_edge::status::Status;
use drover_hub::HubError;

/// The error of a provider login.
#[derive(Debug, Error)]
pub enum SignInError {
    /// The provider with this name does not exist or is disabled.
    #[error(
        "cannot sign in with the identity provider {name:?}: the provider does not exist or is \
         disabled",
        name = .0
    )]
    NoSuch(String),
    /// The provider does not support the login method (redirect or password) of the request.
    #[error("this provider requires {login_method}", login_method = .0)]
    OtherWay(&'static str),
    /// The client or the user exceeded a rate limit, or too many logins run concurrently.
    #[error("too many attempts to sign in; wait {seconds} s and try again", seconds = .0.seconds())]
    TooMany(RetryAfter),
    /// The browser sent no login cookie, or the cookie has expired.
    #[error("this browser has not started the sign-in, or the sign-in has expired: sign in again")]
    NotBegunHere,
    /// The callback is for a login other than the login in the browser's cookie.
    #[error("the provider's response does not match this sign-in: sign in again")]
    OtherSignIn,
    /// The login has already finished.
    #[error("this sign-in is already complete: start a new sign-in")]
    EndedBefore,
    /// The provider rejected the user or sent an invalid response.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The list of allowed users does not contain the user.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The user is disabled.
    #[error("the user is disabled; ask an administrator")]
    Disabled,
    /// The lookup or the creation of the Drover user failed.
    #[error(transparent)]
    People(#[from] ProviderUserError),
    /// The write of the provider tokens failed.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// The creation of the Drover token failed.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The random generator failed.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The task panicked or was aborted.
    #[error("the sign-in was interrupted: try again")]
    Broken(#[from] JoinError),
}

impl SignInError {
    /// Returns the status for the user, with a message of one sentence. The log contains the cause
    /// for administrators.
    pub fn into_status(self, title: &str) -> Status {
        let failed = |reason: &dyn Display| format!("cannot sign in with {title}: {reason}");
        let unauthorized = |reason: &dyn Display| Status::unauthorized(failed(reason));
        match self {
            Self::NoSuch(name) => Status::not_found("AuthProvider", &name),
            Self::OtherWay(_) => Status::bad_request(failed(&self)),
            Self::TooMany(after) => Status::too_many_requests(self.to_string(), after.seconds()),
            Self::NotBegunHere | Self::OtherSignIn | Self::EndedBefore => unauthorized(&self),
            Self::Provider(ProviderError::Refused(refusal)) => unauthorized(&refusal),
            Self::Provider(ProviderError::InvalidResponse { .. }) => unauthorized(&ASK),
            Self::Provider(_) | Self::People(_) | Self::ProviderTokens(_) | Self::Hub(_) => {
                Status::unavailable(failed(&ASK), 5)
            }
            Self::NotAllowed(_) => Status::forbidden(failed(
                &"you are not allowed to sign in; ask an administrator",
            )),
            Self::Disabled => Status::forbidden(failed(&self)),
            Self::Token(error) => error.into(),
            Self::Random(error) => Status::internal(error.to_string()),
            Self::Broken(_) => Status::internal(failed(&self)),
        }
    }

    /// Returns the reason for the audit log. Returns `None` if the status code is sufficient.
    pub fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotBegunHere => "NotBegunHere",
            Self::OtherSignIn => "OtherSignIn",
            Self::EndedBefore => "EndedBefore",
            Self::Provider(ProviderError::Refused(_)) => "ProviderRefused",
            Self::Provider(ProviderError::Unavailable { .. }) => "ProviderUnavailable",
            Self::Provider(ProviderError::Misconfigured { .. }) => "ProviderMisconfigured",
            Self::Provider(ProviderError::InvalidResponse { .. }) => "ProviderUnbelievable",
            Self::NotAllowed(_) => "NotAllowed",
            Self::Disabled => "UserDisabled",
            Self::People(_) | Self::ProviderTokens(_) | Self::Hub(_) => "HubFailed",
            Self::NoSuch(_)
            | Self::OtherWay(_)
            | Self::TooMany(_)
            | Self::Token(_)
            | Self::Broken(_)
            | Self::Random(_) => return None,
        })
    }

    /// Reports whether the login has finished. The browser may retry an unfinished login.
    pub fn is_final(&self) -> bool {
        match self {
            Self::TooMany(_)
            | Self::NotBegunHere
            | Self::OtherSignIn
            | Self::Provider(ProviderError::Unavailable { .. })
            | Self::People(_)
            | Self::ProviderTokens(_)
            | Self::Hub(_) => false,
            Self::NoSuch(_)
            | Self::OtherWay(_)
            | Self::EndedBefore
            | Self::Provider(_)
            | Self::NotAllowed(_)
            | Self::Disabled
            | Self::Token(_)
            | Self::Random(_)
            | Self::Broken(_) => true,
        }
    }
}

/// The message for errors whose cause unauthenticated users must not see. The message refers to the
/// server's log.
const ASK: &str =
    "try again; if the error persists, an administrator finds the cause in the server's log";

impl From<UseError> for SignInError {
    fn from(error: UseError) -> Self {
        match error {
            UseError::NoSuch(name) => Self::NoSuch(name),
            UseError::Provider(error) => Self::Provider(error),
            UseError::Hub(error) => Self::Hub(error),
        }
    }
}
