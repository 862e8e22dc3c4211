//! Tokens of people: made, deleted, and cleared away when their time is over.

use std::time::Duration;

use drover_access::token::{ForUsers, issue};
use drover_api::ids::{ProviderUid, UserUid};
use drover_api::kinds::{ClusterScope, Token, TokenProvider, TokenPurpose, TokenSpec, User};
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use futures::TryStreamExt as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, ListParams};
use kube::{Resource as _, ResourceExt};
use secrecy::SecretString;
use thiserror::Error;

use super::authenticator::is_idle;
use drover_entropy::{NoRandomness, random};
use drover_http_edge::status::Status;
use drover_hub::{Hub, HubError, Writer, call};

/// Between two purges of expired tokens.
const PURGE_EVERY: Duration = Duration::from_mins(30);
/// Longest time of one purge.
const PURGE_WITHIN: Duration = Duration::from_mins(10);
/// How often a user's tokens are deleted, while somebody makes others with them.
const ROUNDS: u32 = 10;
/// Expired tokens stay visible for so long.
const KEEP_EXPIRED: SignedDuration = SignedDuration::from_hours(1);
/// Tokens a page when all are listed, and deletions at once.
const LIST_PAGE: u32 = 500;
const AT_ONCE: usize = 8;
/// Tokens deleted in one go.
const PURGE_AT_MOST: usize = 1000;

/// Why a token was not made or deleted.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The system gave no randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
}

/// Why a user may have tokens still.
#[derive(Debug, Error)]
pub enum RevokeError {
    /// The hub failed.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// Somebody makes new tokens as fast as the old ones are deleted.
    #[error(
        "somebody makes new tokens of this user all the time; disable the user, or stop Drover's \
         server, and try again"
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

/// What a new token shall be.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// What it is made for.
    pub purpose: TokenPurpose,
    /// The one cluster it shall work on.
    pub cluster: Option<ClusterScope>,
    /// The identity provider that it stands on.
    pub provider: Option<TokenProvider>,
    /// Free text.
    pub description: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
    /// How long it may go unused.
    pub idle: Option<Duration>,
}

/// Makes a token for a user; it works as soon as this returns.
pub async fn create(
    hub: &Hub,
    user: &User,
    wish: NewToken,
) -> Result<(SecretString, Token), TokenError> {
    let issued = issue::<ForUsers>(&random()?);
    let spec = TokenSpec {
        user_name: user.name_any(),
        user_uid: UserUid::new(user.uid().unwrap_or_default()),
        purpose: wish.purpose,
        hash: issued.hash.as_str().to_owned(),
        cluster: wish.cluster,
        provider: wish.provider,
        description: wish.description,
        expires_at: Time(wish.expires_at),
        idle_seconds: wish
            .idle
            .map(|idle| u32::try_from(idle.as_secs()).unwrap_or(u32::MAX)),
    };
    let mut token = Token::new(&issued.id, spec);
    // The token goes with its user: the hub's garbage collector sees to it.
    token.metadata.owner_references = user.owner_ref(&()).map(|owner| vec![owner]);
    let writer = Writer::new(hub.tokens(), &hub.stores().tokens);
    let created = writer.create("create a token", &token).await?;
    Ok((issued.token, created))
}

/// Deletes the token of this id, whether memory knows it yet or not.
pub async fn delete_by_id(hub: &Hub, id: &str) -> Result<(), HubError> {
    match hub.stores().tokens.by_name(id) {
        Some(token) => delete(hub, &token).await,
        None => remove(hub, id, &DeleteParams::default()).await,
    }
}

/// Deletes a token; it is refused as soon as this returns.
pub async fn delete(hub: &Hub, token: &Token) -> Result<(), HubError> {
    let writer = Writer::new(hub.tokens(), &hub.stores().tokens);
    writer.delete_if_present("delete a token", token).await
}

/// Takes a token from the hub; one that is gone already is gone.
async fn remove(hub: &Hub, id: &str, params: &DeleteParams) -> Result<(), HubError> {
    match call("delete a token", hub.tokens().delete(id, params)).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Deletes what a changed password has to end: the user's log-ins and what they handed out,
/// except the token `keep`.
///
/// Asks the hub and not memory: a token made a moment ago by another server counts as well.
pub async fn revoke_sessions(
    hub: &Hub,
    user: &UserUid,
    keep: Option<&str>,
) -> Result<(), RevokeError> {
    let ends = |token: &Token| {
        ends_with_password(token.spec.purpose) && token.metadata.name.as_deref() != keep
    };
    until_none_is_left(hub, user, ends).await
}

/// Ends in rounds, since what made another token while one ran may have been there to do so.
async fn until_none_is_left(
    hub: &Hub,
    user: &UserUid,
    ends: impl Fn(&Token) -> bool + Copy,
) -> Result<(), RevokeError> {
    for _ in 0..ROUNDS {
        if end(hub, user, ends).await? == 0 {
            return Ok(());
        }
    }
    Err(RevokeError::TokensRemain)
}

/// Deletes all tokens of a user, whatever they were made for.
pub async fn revoke_all(hub: &Hub, user: &UserUid) -> Result<(), RevokeError> {
    until_none_is_left(hub, user, |_| true).await
}

/// Deletes a user's tokens that stand on this provider's word, whatever they were made for.
pub async fn revoke_of_provider(
    hub: &Hub,
    user: &UserUid,
    provider: &ProviderUid,
) -> Result<(), RevokeError> {
    let stands = |token: &Token| {
        let on = token.spec.provider.as_ref();
        on.is_some_and(|on| on.uid == *provider)
    };
    until_none_is_left(hub, user, stands).await
}

/// Deletes those of a user's tokens that are to end; returns how many.
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
            .try_for_each_concurrent(AT_ONCE, async |token| delete(hub, &token).await)
            .await?;
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(count),
        }
    }
}

/// Tokens that stand on a password; the others were made to outlive a session.
fn ends_with_password(purpose: TokenPurpose) -> bool {
    match purpose {
        TokenPurpose::Session
        | TokenPurpose::Browser
        | TokenPurpose::PasswordChange
        | TokenPurpose::Credential => true,
        TokenPurpose::Api | TokenPurpose::Kubeconfig => false,
    }
}

/// Deletes expired tokens.
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
        timeout: Some(PURGE_WITHIN),
        ..Options::new("expired-tokens")
    };
    runtime.run_single(options, ExpiredTokens { hub }, []).await;
}

async fn purge(hub: &Hub) -> Result<(), HubError> {
    let now = Timestamp::now();
    let (expired, _) = hub.stores().tokens.page(None, PURGE_AT_MOST, |token| {
        now.duration_since(token.spec.expires_at.0) > KEEP_EXPIRED
            || is_idle(token, now - KEEP_EXPIRED)
    });
    for token in expired {
        delete(hub, &token).await?;
    }
    Ok(())
}
