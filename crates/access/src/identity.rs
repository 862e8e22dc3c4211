//! Who asks, as far as the server has proved it.

use drover_api::ids::{ClusterUid, UserUid};
use drover_api::kinds::{TokenProvider, TokenPurpose};
use jiff::Timestamp;

use crate::account_token::TokenDigest;
use crate::names::{
    AccountName, EXTRA_DISPLAY_NAME, EXTRA_TOKEN_ID, GroupName, KubernetesIdentity, UserName,
};

/// Extra by which Kubernetes names a token.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Whoever asks on the road.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Principal {
    /// One of Drover's people.
    Person(Identity),
    /// A program with an account on the hub.
    Account(Account),
}

impl Principal {
    /// Whether a browser's session proved it.
    pub fn is_session(&self) -> bool {
        match self {
            Self::Person(person) => person.token.purpose == TokenPurpose::Browser,
            Self::Account(_) => false,
        }
    }
}

/// A person, proved by a token that was valid when this was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// UID of the User.
    pub user_uid: UserUid,
    /// Name of the User, for people.
    pub user_name: String,
    /// What others see.
    pub display_name: Option<String>,
    /// Whether they may do everything on the hub and in every cluster.
    pub administrator: bool,
    /// Groups, by their names in clusters.
    pub groups: Vec<GroupName>,
    /// What the presented token is limited to.
    pub token: TokenLimits,
}

/// What the presented token is limited to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenLimits {
    /// Id of the token.
    pub id: String,
    /// What it was made for.
    pub purpose: TokenPurpose,
    /// The one cluster it works on, if so limited.
    pub cluster: Option<ClusterUid>,
    /// The identity provider that it stands on; what is made with it does, too.
    pub provider: Option<TokenProvider>,
    /// From then on it is refused.
    pub expires_at: Timestamp,
}

/// A service account of the hub, proved by a token that the hub judged to be its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name on the hub.
    pub name: AccountName,
    /// UID of the ServiceAccount.
    pub uid: String,
    /// The token that was judged.
    pub token: TokenDigest,
    /// What else the hub says of it: which token, pod and node. Keys are Kubernetes' own.
    pub extras: Vec<(String, String)>,
    /// From then on the token is refused.
    pub expires_at: Timestamp,
}

impl Account {
    /// What the hub calls the token, if it has a name for it (KEP-4193).
    pub fn token_id(&self) -> Option<&str> {
        let mut extras = self.extras.iter();
        let (_, id) = extras.find(|(key, _)| key == CREDENTIAL_ID)?;
        Some(id)
    }
}

impl Identity {
    /// How this person appears where these of their groups count.
    pub fn with_groups(&self, groups: Vec<GroupName>) -> KubernetesIdentity {
        let identity = KubernetesIdentity::new(UserName::of(&self.user_uid), groups)
            .with_extra(EXTRA_TOKEN_ID, self.token.id.clone());
        match &self.display_name {
            Some(name) => identity.with_extra(EXTRA_DISPLAY_NAME, name.clone()),
            None => identity,
        }
    }
}
