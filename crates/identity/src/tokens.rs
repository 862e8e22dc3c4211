//! Creates, deletes and purges tokens of users.

use std::time::Duration;

use drover_access::token::{ForUsers, issue};
use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{ClusterScope, Token, TokenProvider, TokenPurpose, TokenSpec, User};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use futures::TryStreamExt as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ListParams;
use kube::{Resource as _, ResourceExt};
use secrecy::SecretString;
use thiserror::Error;

use super::authenticator::is_idle;
use drover_entropy::{NoRandomness, random};
use drover_http_edge::status::Status;
use drover_hub::{Hub, HubError, call};

/// The interval between purges of expired tokens.
const PURGE_EVERY: Duration = Duration::from_mins(30);
/// The timeout of one purge.
const PURGE_TIMEOUT: Duration = Duration::from_mins(10);
/// The maximum number of rounds in which the server deletes a user's tokens while clients create
/// new tokens.
const MAX_ROUNDS: u32 = 10;
/// The duration for which expired tokens stay on the hub.
const KEEP_EXPIRED: SignedDuration = SignedDuration::from_hours(1);
/// The page size of lists of tokens.
const LIST_PAGE: u32 = 500;
const MAX_CONCURRENT: usize = 8;
/// The maximum number of tokens that a purge deletes.
const MAX_PURGED: usize = 1000;

/// The error of creating or deleting a token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The random generator failed.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// The error of revoking a user's tokens.
#[derive(Debug, Error)]
pub enum RevokeError {
    /// A call to the hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The user still has tokens after the maximum number of rounds, because clients create new
    /// tokens continuously.
    #[error(
        "cannot revoke all tokens: new tokens of this user appear continuously; disable the user, or \
         stop Drover's server, and try again"
    )]
    TokensRemain,
}

impl From<RevokeError> for Status {
    fn from(error: RevokeError) -> Self {
        match error {
            RevokeError::Hub(error) => error.into(),
            RevokeError::TokensRemain => Self::unavailable(error.to_string(), 1),
        }
    }
}

impl From<TokenError> for Status {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Hub(error) => error.into(),
            TokenError::Random(error) => Self::internal(error.to_string()),
        }
    }
}

/// The properties of a new token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// The purpose of the token. The purpose limits the use of the token.
    pub purpose: TokenPurpose,
    /// The only cluster that accepts the token. `None` for all clusters.
    pub cluster: Option<ClusterScope>,
    /// The identity provider on which the token depends. The token is valid only while the user's
    /// identity of this provider is valid.
    pub provider: Option<TokenProvider>,
    /// A free text that describes the token.
    pub description: Option<String>,
    /// The time at which the token expires.
    pub expires_at: Timestamp,
    /// The maximum time without use. `None` for an unlimited time.
    pub idle: Option<Duration>,
}

/// Creates a token for a user. The stores contain the token when the function returns.
pub async fn create(
    hub: &Hub,
    user: &User,
    new_token: NewToken,
) -> Result<(SecretString, Token), TokenError> {
    let issued = issue::<ForUsers>(&random()?);
    let spec = TokenSpec {
        user_name: user.name_any(),
        user_uid: UserUid::new(user.uid().unwrap_or_default()),
        purpose: new_token.purpose,
        hash: issued.hash.as_str().to_owned(),
        cluster: new_token.cluster,
        provider: new_token.provider,
        description: new_token.description,
        expires_at: Time(new_token.expires_at),
        idle_seconds: new_token
            .idle
            .map(|idle| u32::try_from(idle.as_secs()).unwrap_or(u32::MAX)),
    };
    let mut token = Token::new(&issued.id, spec);
    // The user owns the token, so the hub's garbage collector deletes it with the user.
    token.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    let created = hub.writer().create("create a token", &token).await?;
    Ok((issued.token, created))
}

/// Deletes the token with this ID, even if the stores do not contain the token yet.
pub async fn delete_by_id(hub: &Hub, id: &str) -> Result<(), HubError> {
    if let Some(token) = hub.stores().tokens.by_name(id) {
        return delete(hub, &token).await;
    }
    let writer = hub.writer::<Token>();
    match writer.delete_by_name("delete a token", id).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Deletes a token. After the function returns, the server rejects requests with the token.
pub async fn delete(hub: &Hub, token: &Token) -> Result<(), HubError> {
    let writer = hub.writer();
    writer.delete_if_present("delete a token", token).await
}

/// Revokes the user's sessions, and the credentials that these sessions created. Does not revoke
/// the token `keep`.
///
/// The server calls the function after a password change. The function lists the tokens on the hub,
/// because the stores may not contain a token that a different server created.
pub async fn revoke_sessions(
    hub: &Hub,
    user: &UserUid,
    keep: Option<&str>,
) -> Result<(), RevokeError> {
    let ends = |token: &Token| {
        ends_with_password(token.spec.purpose) && token.metadata.name.as_deref() != keep
    };
    delete_until_none_left(hub, user, ends).await
}

/// Deletes tokens in rounds, because during a round, a client can create a new token with a token
/// that is still valid.
async fn delete_until_none_left(
    hub: &Hub,
    user: &UserUid,
    ends: impl Fn(&Token) -> bool + Copy,
) -> Result<(), RevokeError> {
    for _ in 0..MAX_ROUNDS {
        if end(hub, user, ends).await? == 0 {
            return Ok(());
        }
    }
    Err(RevokeError::TokensRemain)
}

/// Deletes all tokens of a user, of any purpose.
pub async fn revoke_all(hub: &Hub, user: &UserUid) -> Result<(), RevokeError> {
    delete_until_none_left(hub, user, |_| true).await
}

/// Deletes a user's tokens that depend on this provider, of any purpose.
pub async fn revoke_of_provider(
    hub: &Hub,
    user: &UserUid,
    provider: &ProviderUid,
) -> Result<(), RevokeError> {
    let stands = |token: &Token| {
        let on = token.spec.provider.as_ref();
        on.is_some_and(|on| on.uid == *provider)
    };
    delete_until_none_left(hub, user, stands).await
}

/// Deletes the selected tokens of a user, and returns the number of deleted tokens.
async fn end(
    hub: &Hub,
    user: &UserUid,
    ends: impl Fn(&Token) -> bool + Copy,
) -> Result<usize, HubError> {
    let mut params = ListParams::default().limit(LIST_PAGE);
    let mut count = 0;
    loop {
        let page = call("list tokens", hub.tokens().list(&params)).await?;
        let tokens = page.items.into_iter();
        let ended: Vec<_> = tokens
            .filter(|token| token.spec.user_uid == *user && ends(token))
            .collect();
        count += ended.len();
        futures::stream::iter(ended.into_iter().map(Ok))
            .try_for_each_concurrent(MAX_CONCURRENT, async |token| delete(hub, &token).await)
            .await?;
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(count),
        }
    }
}

/// Reports whether a password change revokes tokens of this purpose.
fn ends_with_password(purpose: TokenPurpose) -> bool {
    match purpose {
        TokenPurpose::Session
        | TokenPurpose::Browser
        | TokenPurpose::PasswordChange
        | TokenPurpose::Credential => true,
        TokenPurpose::Api | TokenPurpose::Kubeconfig => false,
    }
}

/// The reconciler that deletes expired tokens.
struct ExpiredTokens {
    hub: Hub,
}

impl Reconciler for ExpiredTokens {
    type Key = ();
    type Error = HubError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, HubError> {
        purge(&self.hub).await?;
        Ok(Action::requeue(PURGE_EVERY))
    }
}

/// Runs the controller of expired tokens.
pub async fn run_purge(hub: Hub, runtime: Runtime) {
    let options = Options {
        timeout: Some(PURGE_TIMEOUT),
        ..Options::new("expired-tokens")
    };
    runtime.run_single(options, ExpiredTokens { hub }, []).await;
}

async fn purge(hub: &Hub) -> Result<(), HubError> {
    let now = Timestamp::now();
    let (expired, _) = hub.stores().tokens.page(None, MAX_PURGED, |token| {
        now.duration_since(token.spec.expires_at.0) > KEEP_EXPIRED
            || is_idle(token, now - KEEP_EXPIRED)
    });
    for token in expired {
        delete(hub, &token).await?;
    }
    Ok(())
}
