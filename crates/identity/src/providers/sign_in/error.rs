//! Why somebody did not get in: what they are told, and what administrators find.

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

/// Why somebody did not get in.
#[derive(Debug, Error)]
pub enum SignInError {
    /// There is no such provider.
    #[error("there is no identity provider {0:?} to sign in with")]
    NoSuch(String),
    /// It is not signed in with that way.
    #[error("the provider is signed in with {0}")]
    OtherWay(&'static str),
    /// Too many attempts, or too many at once.
    #[error("too many attempts to sign in; wait {} s and try again", .0.seconds())]
    TooMany(RetryAfter),
    /// This browser has begun no sign-in with this provider, or its cookie is too old.
    #[error("this browser has not begun it, or too long ago: sign in again")]
    NotBegunHere,
    /// What the browser brought back belongs to another sign-in.
    #[error("what came back belongs to another sign-in: sign in again")]
    OtherSignIn,
    /// What was begun has ended.
    #[error("it has ended before: sign in again")]
    EndedBefore,
    /// The provider said no, or nothing that can be believed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// They are somebody, but not among those who may sign in.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// Their user may not use Drover.
    #[error("the user is disabled; ask an administrator")]
    Disabled,
    /// There is no user for them.
    #[error(transparent)]
    People(#[from] ProviderUserError),
    /// What is needed to ask again could not be kept.
    #[error(transparent)]
    ProviderTokens(#[from] ProviderTokensError),
    /// No token could be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The system gave no randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// It ended before there was an answer.
    #[error("the sign-in broke off: try again")]
    Broken(#[from] JoinError),
}

impl SignInError {
    /// What whoever tried is told: one sentence; the cause is for administrators.
    pub fn into_status(self, title: &str) -> Status {
        let failed = |why: &dyn Display| format!("signing in with {title} did not work: {why}");
        let unauthorized = |why: &dyn Display| Status::unauthorized(failed(why));
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
                &"you are not among those who may sign in here; ask an administrator",
            )),
            Self::Disabled => Status::forbidden(failed(&self)),
            Self::Token(error) => error.into(),
            Self::Random(error) => Status::internal(error.to_string()),
            Self::Broken(_) => Status::internal(failed(&self)),
        }
    }

    /// Why, in one word for the audit log; `None` where the answer's code says it.
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

    /// Whether what was begun is over: otherwise the browser may come back with the right answer, or
    /// later.
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

/// What strangers are told of a cause that is not theirs to know.
const ASK: &str = "try again, and if it lasts, an administrator finds why in the server's log";

impl From<UseError> for SignInError {
    fn from(error: UseError) -> Self {
        match error {
            UseError::NoSuch(name) => Self::NoSuch(name),
            UseError::Provider(error) => Self::Provider(error),
            UseError::Hub(error) => Self::Hub(error),
        }
    }
}
