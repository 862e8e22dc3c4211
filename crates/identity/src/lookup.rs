//! Reads from the hub the tokens that the stores do not contain, for example new tokens.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use drover_api::kinds::{Token, User};
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use kube::ResourceExt;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use drover_http_edge::status::Status;
use drover_hub::{Hub, HubError, call};

/// The maximum number of token reads from the hub per second, for all clients together.
const READS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");
/// The maximum burst of token reads.
const BURST: NonZeroU32 = NonZeroU32::new(50).expect("50 is not zero");
/// The duration for which the server remembers that the hub has no token with an ID.
const ABSENT_TTL: Duration = Duration::from_secs(5);
/// The maximum number of cached IDs. The server removes expired IDs first.
const MAX_IDS: usize = 4096;

/// The error of a lookup.
#[derive(Clone, Debug, Error)]
pub enum LookupError {
    /// Too many requests contain unknown tokens.
    #[error("too many requests with unknown tokens; try again in a second")]
    TooMany,
    /// A call to the hub failed.
    #[error("cannot look up the token on the hub")]
    Hub(#[source] Arc<HubError>),
    /// The server is shutting down.
    #[error("the lookup of the token was interrupted; try again")]
    Interrupted,
}

impl From<LookupError> for Status {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Interrupted => Self::unavailable(error.to_string(), 1),
            LookupError::TooMany => Self::too_many_requests(error.to_string(), 1),
            LookupError::Hub(source) => {
                // Unauthenticated clients do not see the hub's error.
                tracing::warn!(
                    error = &*source as &dyn std::error::Error,
                    "failed to look up a token on the hub"
                );
                let advice = "try again; if the error persists, an administrator finds the cause in the server's log";
                Self::unavailable(format!("cannot look up the token on the hub; {advice}"), 5)
            }
        }
    }
}

/// A token and its user, if the user exists.
pub(super) type TokenAndUser = (Arc<Token>, Option<Arc<User>>);

type Read = Shared<BoxFuture<'static, Result<Option<TokenAndUser>, LookupError>>>;

/// The service that reads tokens from the hub. Each token ID has at most one concurrent read. A
/// rate limit applies.
#[derive(Clone)]
pub(super) struct Lookup {
    hub: Hub,
    shared: Arc<SharedState>,
}

struct SharedState {
    limiter: DefaultDirectRateLimiter,
    known: Mutex<HashMap<String, CacheEntry>>,
}

enum CacheEntry {
    Reading(Read),
    Absent(Instant),
}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup").finish_non_exhaustive()
    }
}

impl Lookup {
    pub(super) fn new(hub: Hub) -> Self {
        let quota = Quota::per_second(READS_PER_SECOND).allow_burst(BURST);
        let state = SharedState {
            limiter: RateLimiter::direct(quota),
            known: Mutex::new(HashMap::new()),
        };
        Self {
            hub,
            shared: Arc::new(state),
        }
    }

    /// Reads the token with this ID, and the token's user.
    pub(super) async fn read(&self, id: &str) -> Result<Option<TokenAndUser>, LookupError> {
        match self.join_or_begin(id)? {
            Some(read) => read.await,
            None => Ok(None),
        }
    }

    /// Joins the running read of this ID, or starts a read. Returns `None` if the cache contains
    /// the ID as absent.
    fn join_or_begin(&self, id: &str) -> Result<Option<Read>, LookupError> {
        let mut known = self.shared.known.lock();
        match known.get(id) {
            Some(CacheEntry::Reading(read)) => return Ok(Some(read.clone())),
            Some(CacheEntry::Absent(since)) if since.elapsed() < ABSENT_TTL => return Ok(None),
            _ => {}
        }
        self.shared
            .limiter
            .check()
            .map_err(|_| LookupError::TooMany)?;
        if known.len() >= MAX_IDS {
            known.retain(|_, entry| match entry {
                CacheEntry::Reading(_) => true,
                CacheEntry::Absent(since) => since.elapsed() < ABSENT_TTL,
            });
        }
        // A separate task, so that the read completes even if all waiting callers are dropped.
        let task = tokio::spawn(self.clone().find_and_cache(id.to_owned()));
        let read = task
            .map(|done| done.unwrap_or(Err(LookupError::Interrupted)))
            .boxed()
            .shared();
        known.insert(id.to_owned(), CacheEntry::Reading(read.clone()));
        Ok(Some(read))
    }

    async fn find_and_cache(self, id: String) -> Result<Option<TokenAndUser>, LookupError> {
        let result = find(&self.hub, &id).await;
        let mut known = self.shared.known.lock();
        if let Ok(None) = result {
            known.insert(id, CacheEntry::Absent(Instant::now()));
        } else {
            known.remove(&id);
        }
        result
    }
}

async fn find(hub: &Hub, id: &str) -> Result<Option<TokenAndUser>, LookupError> {
    let failed = |error| LookupError::Hub(Arc::new(error));
    let token = call("read a token", hub.tokens().get_opt(id))
        .await
        .map_err(failed)?;
    let Some(token) = token else {
        return Ok(None);
    };
    let user = user_of(hub, &token).await.map_err(failed)?;
    Ok(Some((Arc::new(token), user)))
}

async fn user_of(hub: &Hub, token: &Token) -> Result<Option<Arc<User>>, HubError> {
    let uid = token.spec.user_uid.as_str();
    if let Some(user) = hub.stores().users.by_uid(uid) {
        return Ok(Some(user));
    }
    let user = call("read a user", hub.users().get_opt(&token.spec.user_name)).await?;
    Ok(user
        .filter(|user| user.uid().as_deref() == Some(uid))
        .map(Arc::new))
}
