//! From a request's headers to an [`Identity`], in memory.

use std::net::IpAddr;
use std::sync::Arc;

use drover_access::account_token::AccountToken;
use drover_access::credential::{self, CredentialError, Presented};
use drover_access::grants::Who;
use drover_access::identity::{Identity, Principal, TokenLimits};
use drover_access::names::UserName;
use drover_access::same_origin::{self, Foreign, Head};
use drover_access::token::{TokenHash, UserToken};
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, TokenPurpose, User};
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

use super::accounts::Accounts;
use super::last_use::{LAG, LastUse};
use super::lookup::{Found, Lookup, LookupError};
use drover_http_edge::status::Status;
use drover_hub::stores::groups::groups_of;
use drover_hub::stores::identity_status;
use drover_hub::stores::identity_status::InvalidReason;
use drover_hub::{Hub, Stores, StoresHealth};

/// Why a request has no identity.
#[derive(Debug, Error)]
pub enum IdentifyError {
    /// There is no credential, or not exactly one well-formed.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// No such token, or the wrong secret; deliberately one case.
    #[error("the token is not valid: it may have been deleted; \"drover login\" gets a new one")]
    Unknown,
    /// Its time is over.
    #[error("the token has expired: \"drover login\" gets a new one")]
    Expired,
    /// A browser's session is over, or never was.
    #[error("the session has ended: sign in again")]
    NoSession,
    /// A page of somebody else's made a browser send the request.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// A token of a service account that the hub does not take.
    #[error(
        "the hub does not take this service account's token: it has expired or its account is \
         deleted; \"kubectl create token\" makes a new one"
    )]
    UnknownAccount,
    /// A token of a service account, for what only people may use.
    #[error(
        "this is a service account's token, which opens /k8s/clusters/local and nothing else: \
         \"drover login\" gets a person's"
    )]
    NoPerson,
    /// The person may not use Drover any more.
    #[error("the token's user is disabled or deleted: ask an administrator")]
    UserGone,
    /// What the token stands on at an identity provider does not count any more.
    #[error("the token does not count any more: {0}")]
    ProviderInvalid(#[from] InvalidReason),
    /// The hub has been out of reach for too long to trust what is in memory.
    #[error("the server's memory of the hub is too old to decide from")]
    Untrusted(StoresHealth),
    /// A token that is not in memory could not be looked up.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

impl From<IdentifyError> for Status {
    fn from(error: IdentifyError) -> Self {
        match error {
            IdentifyError::Credential(CredentialError::Several) => {
                Self::bad_request(error.to_string())
            }
            IdentifyError::Credential(_)
            | IdentifyError::Unknown
            | IdentifyError::NoSession
            | IdentifyError::UnknownAccount
            | IdentifyError::NoPerson
            | IdentifyError::Expired
            | IdentifyError::ProviderInvalid(_)
            | IdentifyError::UserGone => Self::unauthorized(error.to_string()),
            IdentifyError::Foreign(_) => Self::forbidden(error.to_string()),
            IdentifyError::Untrusted(health) => match health.check() {
                Err(status) => status,
                Ok(()) => Self::unavailable("try again", 1),
            },
            IdentifyError::Lookup(error) => error.into(),
        }
    }
}

/// Finds out who asks; cheap to clone.
#[derive(Clone, Debug)]
pub struct Authenticator {
    hub: Hub,
    lookup: Lookup,
    accounts: Accounts,
    last_use: LastUse,
}

impl Authenticator {
    /// Answers from the hub's stores; `last_use` learns of every token that was accepted.
    pub fn new(hub: Hub, last_use: LastUse) -> Self {
        Self {
            lookup: Lookup::new(hub.clone()),
            accounts: Accounts::new(hub.clone()),
            hub,
            last_use,
        }
    }

    /// What is known of the use of tokens.
    pub fn last_use(&self) -> &LastUse {
        &self.last_use
    }

    /// What is known of service accounts' tokens.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Who sends these headers, at present: a person, or nobody.
    ///
    /// The order: exactly one credential; its form; memory recent enough; the token by its id; its
    /// secret, in the same time whether the id exists or not; its time; its user. Only a token that
    /// is not in memory costs a read of the hub, shared by all who ask for it and limited in rate.
    pub async fn identify(&self, head: Head<'_>) -> Result<Identity, IdentifyError> {
        match self.person_or_other(head).await? {
            Claim::Person(identity) => Ok(*identity),
            Claim::Other(text) if AccountToken::parse(text.expose_secret()).is_some() => {
                Err(IdentifyError::NoPerson)
            }
            Claim::Other(_) => Err(IdentifyError::Unknown),
        }
    }

    /// Who sends these headers from there, at present: a person, or a service account of the hub.
    pub async fn principal(
        &self,
        head: Head<'_>,
        from: IpAddr,
    ) -> Result<Principal, IdentifyError> {
        let text = match self.person_or_other(head).await? {
            Claim::Person(identity) => return Ok(Principal::Person(*identity)),
            Claim::Other(text) => text,
        };
        let token = AccountToken::parse(text.expose_secret()).ok_or(IdentifyError::Unknown)?;
        self.check_memory()?;
        if Timestamp::now() >= token.expires_at() {
            return Err(IdentifyError::UnknownAccount);
        }
        // Boxed: the future of each request would have room for it.
        let account = Box::pin(self.accounts.identify(token, from)).await?;
        let account = account.ok_or(IdentifyError::UnknownAccount)?;
        Ok(Principal::Account(account))
    }

    /// The id of the session whose cookie is presented, as far as memory knows.
    ///
    /// Whoever shows its secret may end it; for anything else see [`Self::identify`].
    pub fn presented_session_id(&self, headers: &HeaderMap) -> Option<String> {
        let Ok(Presented::Cookie(cookie)) = credential::presented(headers) else {
            return None;
        };
        let held = UserToken::parse(cookie.expose_secret())?;
        let (token, _) = self.in_memory(held.id())?;
        let matches = held.matches(&TokenHash::stored(&token.spec.hash));
        matches.then(|| held.id().to_owned())
    }

    /// The token that is presented, whatever it is worth still: whoever shows its secret may end it.
    pub async fn presented_token(&self, head: Head<'_>) -> Result<Arc<Token>, IdentifyError> {
        let (shown, way) = match credential::presented(head.headers)? {
            Presented::Bearer(text) => (UserToken::parse(text.expose_secret()), Way::Bearer),
            Presented::Cookie(text) => {
                let shown = UserToken::parse(text.expose_secret());
                let shown = shown.ok_or(IdentifyError::NoSession)?;
                same_origin::check(head, &shown)?;
                (Some(shown), Way::Cookie)
            }
        };
        let shown = shown.ok_or(IdentifyError::Unknown)?;
        let found = self.matching(&shown).await?;
        let (token, _) = found
            .filter(|(token, _)| way.serves(token.spec.purpose))
            .ok_or(IdentifyError::Unknown)?;
        Ok(token)
    }

    /// The person whose token is presented, or the text of a bearer token that is no person's.
    async fn person_or_other(&self, head: Head<'_>) -> Result<Claim, IdentifyError> {
        let text = match credential::presented(head.headers)? {
            Presented::Bearer(text) => text,
            Presented::Cookie(text) => {
                let identity = self.identify_session(head, &text).await?;
                return Ok(Claim::Person(Box::new(identity)));
            }
        };
        match UserToken::parse(text.expose_secret()) {
            Some(bearer) => {
                let identity = self.identify_person(&bearer, Way::Bearer).await?;
                Ok(Claim::Person(Box::new(identity)))
            }
            None => Ok(Claim::Other(text)),
        }
    }

    /// Who is signed in, if it is their page that asks.
    async fn identify_session(
        &self,
        head: Head<'_>,
        cookie: &SecretString,
    ) -> Result<Identity, IdentifyError> {
        let token = UserToken::parse(cookie.expose_secret()).ok_or(IdentifyError::NoSession)?;
        same_origin::check(head, &token)?;
        let found = self.identify_person(&token, Way::Cookie).await;
        found.map_err(|error| match error {
            IdentifyError::Unknown | IdentifyError::Expired => IdentifyError::NoSession,
            other => other,
        })
    }

    async fn identify_person(
        &self,
        bearer: &UserToken,
        way: Way,
    ) -> Result<Identity, IdentifyError> {
        self.check_memory()?;
        let found = self.matching(bearer).await?;
        let (token, user) = found
            .filter(|(token, _)| way.serves(token.spec.purpose))
            .ok_or(IdentifyError::Unknown)?;
        let now = Timestamp::now();
        let identity = decide(&token, user.as_deref(), self.hub.stores(), now)?;
        if self.has_idled(&token, now) {
            return Err(IdentifyError::Expired);
        }
        self.last_use.note(&token);
        Ok(identity)
    }

    /// Whether a token is neither over nor has been idle for too long.
    pub fn is_live(&self, token: &Token, now: Timestamp) -> bool {
        token.spec.expires_at.0 > now && !self.has_idled(token, now)
    }

    fn has_idled(&self, token: &Token, now: Timestamp) -> bool {
        is_idle(token, now) && !self.last_use.is_noted(&token.name_any())
    }

    /// The token with this id and secret, in the same time whether the id exists or not.
    async fn matching(&self, shown: &UserToken) -> Result<Option<Found>, LookupError> {
        let found = match self.in_memory(shown.id()) {
            Some(found) => Some(found),
            None => Box::pin(self.lookup.read(shown.id())).await?,
        };
        let stored = found
            .as_ref()
            .map_or_else(TokenHash::of_nothing, |(token, _)| {
                TokenHash::stored(&token.spec.hash)
            });
        let matches = shown.matches(&stored);
        Ok(found.filter(|_| matches))
    }

    fn check_memory(&self) -> Result<(), IdentifyError> {
        let health = self.hub.stores().health();
        if health.is_trusted() {
            Ok(())
        } else {
            Err(IdentifyError::Untrusted(health))
        }
    }

    fn in_memory(&self, id: &str) -> Option<Found> {
        let stores = self.hub.stores();
        let token = stores.tokens.by_name(id)?;
        let user = stores.users.by_uid(token.spec.user_uid.as_str());
        Some((token, user))
    }
}

/// IdentityKey a credential is about.
enum Claim {
    Person(Box<Identity>),
    Other(SecretString),
}

/// How a token came.
#[derive(Clone, Copy, Debug)]
enum Way {
    Bearer,
    Cookie,
}

impl Way {
    /// A session's token is no bearer token: its limits stand on the browser. And no other becomes
    /// a session by being put into a cookie.
    fn serves(self, purpose: TokenPurpose) -> bool {
        match (self, purpose) {
            (_, TokenPurpose::PasswordChange) => true,
            (Self::Cookie, purpose) => purpose == TokenPurpose::Browser,
            (Self::Bearer, purpose) => purpose != TokenPurpose::Browser,
        }
    }
}

/// What a token with the right secret is worth now.
fn decide(
    token: &Token,
    user: Option<&User>,
    stores: &Stores,
    now: Timestamp,
) -> Result<Identity, IdentifyError> {
    if token.metadata.deletion_timestamp.is_some() {
        return Err(IdentifyError::Unknown);
    }
    if now >= token.spec.expires_at.0 {
        return Err(IdentifyError::Expired);
    }
    let user = user
        .filter(|user| user.metadata.uid.as_deref() == Some(token.spec.user_uid.as_str()))
        .filter(|user| user.spec.enabled && user.metadata.deletion_timestamp.is_none())
        .ok_or(IdentifyError::UserGone)?;
    identity_status::check_token(token, user, stores, now)?;
    let (name, groups) = (
        UserName::of(&token.spec.user_uid),
        groups_of(user, stores, now),
    );
    let who = Who {
        user: &name,
        groups: &groups,
    };
    Ok(Identity {
        user_uid: UserUid::new(token.spec.user_uid.as_str()),
        user_name: user.name_any(),
        display_name: user.spec.display_name.clone(),
        // What their User says holds before the grants have heard of it.
        administrator: user.spec.administrator || stores.grants.current().administers(who),
        groups,
        token: TokenLimits {
            id: token.name_any(),
            purpose: token.spec.purpose,
            cluster: token.spec.cluster.as_ref().map(|scope| scope.uid.clone()),
            provider: token.spec.provider.clone(),
            expires_at: token.spec.expires_at.0,
        },
    })
}

/// Whether nobody has used a token for as long as it may go unused, as far as that is recorded.
pub fn is_idle(token: &Token, now: Timestamp) -> bool {
    idle_deadline(token).is_some_and(|end| now > end)
}

/// When a token that may not go unused for ever ends, if nobody uses it until then. Its uses are
/// recorded late, so that this is some minutes later than what it was given.
pub fn idle_deadline(token: &Token) -> Option<Timestamp> {
    let idle = SignedDuration::from_secs(token.spec.idle_seconds?.into());
    let used = token
        .status
        .as_ref()
        .and_then(|status| status.last_used_at.as_ref());
    let made = token.metadata.creation_timestamp.as_ref();
    let last = used.or(made).map_or(Timestamp::MIN, |time| time.0);
    Some(last.saturating_add(idle + LAG).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
pub(super) mod tests;
