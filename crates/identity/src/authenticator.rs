//! Maps a request's headers to an [`Identity`] with the in-memory stores.

mod recent;

use std::net::IpAddr;
use std::sync::Arc;

use drover_access::account_token::AccountToken;
use drover_access::credential::{self, CredentialError, Presented};
use drover_access::grants::RightsHolder;
use drover_access::identity::{Identity, Principal, TokenLimits};
use drover_access::names::UserName;
use drover_access::same_origin::{self, CrossOrigin, Head};
use drover_access::token::{TokenHash, UserToken};
use drover_api::ids::UserUid;
use drover_api::kinds::{Token, TokenPurpose, User};
use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;

use self::recent::RecentIdentities;
use super::accounts::Accounts;
use super::last_use::{LastUse, MAX_LAG};
use super::lookup::{Lookup, LookupError, TokenAndUser};
use drover_http_edge::status::Status;
use drover_hub::stores::groups::groups_of;
use drover_hub::stores::identity_status;
use drover_hub::stores::identity_status::InvalidReason;
use drover_hub::{Hub, Stores, StoresHealth};

/// The error of authentication.
#[derive(Debug, Error)]
pub enum IdentifyError {
    /// The request does not have exactly one well-formed credential.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The token does not exist, or its secret is wrong. Both cases have the same error, so that a
    /// client cannot detect existing token IDs.
    #[error("the token is invalid or was deleted: create a new token with \"drover login\"")]
    Unknown,
    /// The token has expired.
    #[error("the token has expired: create a new token with \"drover login\"")]
    Expired,
    /// The session of the cookie has ended or never existed.
    #[error("the session has ended: sign in again")]
    NoSession,
    /// The request comes from a page of a different origin.
    #[error(transparent)]
    CrossOrigin(#[from] CrossOrigin),
    /// The hub rejects the service account token.
    #[error(
        "the hub rejects the service account token: the token has expired, or the service \
         account is deleted; create a new token with \"kubectl create token\""
    )]
    UnknownAccount,
    /// The route accepts only users, and the request has a service account token.
    #[error(
        "a service account token is valid only for /k8s/clusters/local: get a user token with \
         \"drover login\""
    )]
    NoPerson,
    /// The token's user is disabled or deleted.
    #[error("the token's user is disabled or deleted: ask an administrator")]
    UserGone,
    /// The provider identity that the token depends on is not valid.
    #[error("the token is invalid: {cause}", cause = .0)]
    ProviderInvalid(#[from] InvalidReason),
    /// The stores are too old or not synced.
    #[error(
        "cannot authorize the request: the server's copy of the hub's objects is outdated; try \
         again"
    )]
    Untrusted(StoresHealth),
    /// The lookup of an unknown token failed.
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
            IdentifyError::CrossOrigin(_) => Self::forbidden(error.to_string()),
            IdentifyError::Untrusted(health) => match health.check() {
                Err(status) => status,
                Ok(()) => Self::unavailable("try again", 1),
            },
            IdentifyError::Lookup(error) => error.into(),
        }
    }
}

/// The service that authenticates requests. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Authenticator {
    hub: Hub,
    lookup: Lookup,
    accounts: Accounts,
    last_use: LastUse,
    recent: Arc<RecentIdentities>,
}

impl Authenticator {
    /// Creates an authenticator that uses the hub's stores. `last_use` records each use of a valid
    /// token.
    pub fn new(hub: Hub, last_use: LastUse) -> Self {
        Self {
            lookup: Lookup::new(hub.clone()),
            accounts: Accounts::new(hub.clone()),
            hub,
            last_use,
            recent: Arc::default(),
        }
    }

    /// Returns the recorded last uses of tokens.
    pub fn last_use(&self) -> &LastUse {
        &self.last_use
    }

    /// Returns the authenticator of service accounts.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Authenticates a user.
    ///
    /// The function checks in this order: the number of credentials (exactly one), the format, the
    /// age of the stores, the token's ID, the secret, the expiry, and the user. The secret is
    /// compared in constant time even for an unknown ID. The function reads the hub only for a
    /// token that is not in the stores. Concurrent requests for the same token share the read, and
    /// a rate limit applies.
    pub async fn identify(&self, head: Head<'_>) -> Result<Identity, IdentifyError> {
        match self.person_or_other(head).await? {
            Claim::User(identity) => Ok(Arc::unwrap_or_clone(identity)),
            Claim::Other(text) if AccountToken::parse(text.expose_secret()).is_some() => {
                Err(IdentifyError::NoPerson)
            }
            Claim::Other(_) => Err(IdentifyError::Unknown),
        }
    }

    /// Authenticates a user or a service account of the hub.
    pub async fn principal(
        &self,
        head: Head<'_>,
        from: IpAddr,
    ) -> Result<Principal, IdentifyError> {
        let text = match self.person_or_other(head).await? {
            Claim::User(identity) => return Ok(Principal::User(identity)),
            Claim::Other(text) => text,
        };
        let token = AccountToken::parse(text.expose_secret()).ok_or(IdentifyError::Unknown)?;
        self.check_memory()?;
        if Timestamp::now() >= token.expires_at() {
            return Err(IdentifyError::UnknownAccount);
        }
        // Boxed to keep the future of each request small.
        let account = Box::pin(self.accounts.identify(token, from)).await?;
        let account = account.ok_or(IdentifyError::UnknownAccount)?;
        Ok(Principal::Account(account))
    }

    /// Returns the ID of the session in the cookie, if the stores contain the session.
    ///
    /// The function checks only the secret. Use the result only to end the session. For all other
    /// purposes use [`Self::identify`].
    pub fn presented_session_id(&self, headers: &HeaderMap) -> Option<String> {
        let Ok(Presented::Cookie(cookie)) = credential::presented(headers) else {
            return None;
        };
        let user_token = UserToken::parse(cookie.expose_secret())?;
        let (token, _) = self.in_memory(user_token.id())?;
        let matches = user_token.matches(&TokenHash::stored(&token.spec.hash));
        matches.then(|| user_token.id().to_owned())
    }

    /// Returns the presented token if its secret matches, even if the token has expired. A client
    /// with the secret may revoke the token.
    pub async fn presented_token(&self, head: Head<'_>) -> Result<Arc<Token>, IdentifyError> {
        let (shown, transport) = match credential::presented(head.headers)? {
            Presented::Bearer(text) => (
                UserToken::parse(text.expose_secret()),
                TokenTransport::Bearer,
            ),
            Presented::Cookie(text) => {
                let shown = UserToken::parse(text.expose_secret());
                let shown = shown.ok_or(IdentifyError::NoSession)?;
                same_origin::check(head, &shown)?;
                (Some(shown), TokenTransport::Cookie)
            }
        };
        let shown = shown.ok_or(IdentifyError::Unknown)?;
        let found = self.matching(&shown).await?;
        let (token, _) = found
            .filter(|(token, _)| transport.allows(token.spec.purpose))
            .ok_or(IdentifyError::Unknown)?;
        Ok(token)
    }

    /// Authenticates a Drover token. Returns the text of a bearer token that is not a Drover token.
    async fn person_or_other(&self, head: Head<'_>) -> Result<Claim, IdentifyError> {
        let text = match credential::presented(head.headers)? {
            Presented::Bearer(text) => text,
            Presented::Cookie(text) => {
                let identity = self.identify_session(head, &text).await?;
                return Ok(Claim::User(identity));
            }
        };
        match UserToken::parse(text.expose_secret()) {
            Some(bearer) => {
                let identity = self
                    .identify_person(&bearer, TokenTransport::Bearer)
                    .await?;
                Ok(Claim::User(identity))
            }
            None => Ok(Claim::Other(text)),
        }
    }

    /// Authenticates a session cookie after the same-origin check.
    async fn identify_session(
        &self,
        head: Head<'_>,
        cookie: &SecretString,
    ) -> Result<Arc<Identity>, IdentifyError> {
        let token = UserToken::parse(cookie.expose_secret()).ok_or(IdentifyError::NoSession)?;
        same_origin::check(head, &token)?;
        let found = self.identify_person(&token, TokenTransport::Cookie).await;
        found.map_err(|error| match error {
            IdentifyError::Unknown | IdentifyError::Expired => IdentifyError::NoSession,
            other => other,
        })
    }

    async fn identify_person(
        &self,
        bearer: &UserToken,
        transport: TokenTransport,
    ) -> Result<Arc<Identity>, IdentifyError> {
        self.check_memory()?;
        let found = self.matching(bearer).await?;
        let (token, user) = found
            .filter(|(token, _)| transport.allows(token.spec.purpose))
            .ok_or(IdentifyError::Unknown)?;
        let now = Timestamp::now();
        let stores = self.hub.stores();
        let identity = self.recent.identity(&token, user.as_ref(), stores, now)?;
        if self.is_idle_now(&token, now) {
            return Err(IdentifyError::Expired);
        }
        self.last_use.record(&token, now);
        Ok(identity)
    }

    /// Returns the current identity of a token that the server has authenticated before. The call is
    /// no use of the token. Returns `None` if the token is not valid, if the stores do not contain
    /// the token, or if the stores are too old.
    pub fn current_identity(&self, token_id: &str, user: &UserUid) -> Option<Arc<Identity>> {
        let (stores, now) = (self.hub.stores(), Timestamp::now());
        let (token, owner) = self.in_memory(token_id)?;
        let is_same = token.spec.user_uid == *user && stores.health().is_trusted();
        if !is_same || self.is_idle_now(&token, now) {
            return None;
        }
        let identity = self.recent.identity(&token, owner.as_ref(), stores, now);
        identity.ok()
    }

    /// Reports whether a token has not expired and was used within its idle limit.
    pub fn is_live(&self, token: &Token, now: Timestamp) -> bool {
        token.spec.expires_at.0 > now && !self.is_idle_now(token, now)
    }

    fn is_idle_now(&self, token: &Token, now: Timestamp) -> bool {
        is_idle(token, now) && !self.last_use.is_pending_write(&token.name_any())
    }

    /// Finds the token with this ID and secret, in constant time even for an unknown ID.
    async fn matching(&self, shown: &UserToken) -> Result<Option<TokenAndUser>, LookupError> {
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

    fn in_memory(&self, id: &str) -> Option<TokenAndUser> {
        let stores = self.hub.stores();
        let token = stores.tokens.by_name(id)?;
        let user = stores.users.by_uid(token.spec.user_uid.as_str());
        Some((token, user))
    }
}

/// The result of parsing a credential.
enum Claim {
    User(Arc<Identity>),
    Other(SecretString),
}

/// The location of a token in a request.
#[derive(Clone, Copy, Debug)]
enum TokenTransport {
    Bearer,
    Cookie,
}

impl TokenTransport {
    /// Reports whether this transport is allowed for a token of this purpose. The token of a
    /// browser session is valid only as a cookie. All other tokens are valid only as bearer tokens.
    fn allows(self, purpose: TokenPurpose) -> bool {
        match (self, purpose) {
            (_, TokenPurpose::PasswordChange) => true,
            (Self::Cookie, purpose) => purpose == TokenPurpose::Browser,
            (Self::Bearer, purpose) => purpose != TokenPurpose::Browser,
        }
    }
}

/// Computes the identity of a token with a matching secret.
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
    let holder = RightsHolder {
        user: &name,
        groups: &groups,
    };
    Ok(Identity {
        user_uid: UserUid::new(token.spec.user_uid.as_str()),
        user_name: user.name_any(),
        display_name: user.spec.display_name.clone(),
        // The User's flag applies before the grants contain it.
        administrator: user.spec.administrator || stores.grants.current().administers(holder),
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

/// Computes the identity of a token for the authorized endpoint, which checks the secret. Returns the
/// time until which the identity stays the same, unless an object on the hub changes.
pub fn token_identity(
    token: &Token,
    stores: &Stores,
    now: Timestamp,
) -> Result<(Identity, Timestamp), IdentifyError> {
    let user = stores.users.by_uid(token.spec.user_uid.as_str());
    let identity = decide(token, user.as_deref(), stores, now)?;
    let confirmed = user.map_or(Timestamp::MAX, |user| {
        identity_status::unchanged_until(&user, stores, now)
    });
    if is_idle(token, now) {
        return Err(IdentifyError::Expired);
    }
    let idle = idle_deadline(token).unwrap_or(Timestamp::MAX);
    Ok((identity, confirmed.min(idle)))
}

/// Reports whether the time since the recorded last use of a token exceeds the token's idle limit.
pub fn is_idle(token: &Token, now: Timestamp) -> bool {
    idle_deadline(token).is_some_and(|end| now > end)
}

/// Returns the time when an idle token becomes invalid. The server records uses with a delay, so
/// this time is some minutes after the idle limit.
pub fn idle_deadline(token: &Token) -> Option<Timestamp> {
    let idle = SignedDuration::from_secs(token.spec.idle_seconds?.into());
    let used = token
        .status
        .as_ref()
        .and_then(|status| status.last_used_at.as_ref());
    let created_at = token.metadata.creation_timestamp.as_ref();
    let last = used.or(created_at).map_or(Timestamp::MIN, |time| time.0);
    Some(
        last.saturating_add(idle + MAX_LAG)
            .unwrap_or(Timestamp::MAX),
    )
}

#[cfg(test)]
pub(super) mod tests;
