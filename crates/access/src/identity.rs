//! The authenticated identity of a request.

use std::sync::Arc;

use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::{TokenProvider, TokenPurpose};
use jiff::Timestamp;

use crate::account_token::TokenDigest;
use crate::names::{
    AccountName, EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, GroupName, KubernetesIdentity, UserName,
};

/// Key of the extra in which Kubernetes stores a token's ID.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The identity of a proxied request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// A Drover user.
    User(Arc<Identity>),
    /// A service account of the hub.
    Account(Account),
}

impl Principal {
    /// Reports whether a browser session authenticated the request.
    pub fn is_session(&self) -> bool {
        match self {
            Self::User(person) => person.token.purpose == TokenPurpose::Browser,
            Self::Account(_) => false,
        }
    }
}

/// A user who presented a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// UID of the User object. The user's name in clusters contains this UID.
    pub user_uid: UserUid,
    /// Name of the User object.
    pub user_name: String,
    /// Display name of the user, if the User object has one.
    pub display_name: Option<String>,
    /// True if the user is an administrator of the hub and all clusters.
    pub administrator: bool,
    /// Names of the user's groups in clusters: `drover:<provider>:<id>`.
    pub groups: Vec<GroupName>,
    /// Limits of the presented token.
    pub token: TokenLimits,
}

/// Limits of the presented token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimits {
    /// ID of the token: the name of the Token object.
    pub id: String,
    /// Purpose of the token. The purpose limits the routes that accept the token.
    pub purpose: TokenPurpose,
    /// The only cluster for which the token is valid. `None` for all clusters.
    pub cluster: Option<ClusterUid>,
    /// The identity provider on which the token's validity depends. Tokens that a user creates in a
    /// session depend on the provider of the session.
    pub provider: Option<TokenProvider>,
    /// Expiry of the token.
    pub expires_at: Timestamp,
}

/// A service account of the hub, whose token the hub reviewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Name of the account on the hub.
    pub name: AccountName,
    /// UID of the ServiceAccount.
    pub uid: String,
    /// Digest of the reviewed token.
    pub token: TokenDigest,
    /// The `extra` fields of the TokenReview, such as token ID, pod and node. The map keys are those
    /// of the TokenReview, such as `authentication.kubernetes.io/pod-name`.
    pub extras: Vec<(String, String)>,
    /// Expiry of the token.
    pub expires_at: Timestamp,
}

impl Account {
    /// Returns the ID that the hub has assigned to the token (KEP-4193), or `None` if the token has
    /// no ID.
    pub fn token_id(&self) -> Option<&str> {
        let mut extras = self.extras.iter();
        let (_, id) = extras.find(|(key, _)| key == CREDENTIAL_ID)?;
        Some(id)
    }
}

impl Identity {
    /// Returns the user's identity for requests to a cluster. The identity contains only the groups
    /// `groups`.
    pub fn with_groups(&self, groups: Vec<GroupName>) -> KubernetesIdentity {
        let identity = KubernetesIdentity::new(UserName::of(&self.user_uid), groups)
            .with_extra(EXTRA_TOKEN_ID, self.token.id.clone());
        match &self.display_name {
            Some(name) => identity.with_extra(EXTRA_DISPLAY_NAME, name.clone()),
            None => identity,
        }
    }
}
