//! Authenticates service accounts of the hub by their tokens (TokenReview).
//!
//! After the first review of a token, the server watches the objects that the token is bound to
//! (the account, a Secret, a Pod, a Node). The server revokes the token when one of these objects
//! is deleted. If all these objects are watched, the server repeats the review of the token every
//! `WATCHED_REVIEW_TTL`. The server repeats at most ten such reviews a second. Open streams cause
//! no additional reviews of these tokens.
//!
//! The server polls a token if it cannot watch the objects of the token. Either the claims do not
//! name the objects, or the server has no permission to list the objects. A positive review of a
//! polled token is valid for `POLLED_REVIEW_TTL`. Then the server repeats the review if the token
//! has open streams. The server reviews at most a hundred polled tokens a second.

mod cache;
mod review;
mod watched_objects;

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use drover_access::account_token::{AccountToken, TokenDigest};
use drover_access::identity::Account;
use drover_reconcile::{Action, Attempt, Options, Reconciler, Runtime};
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::cache::{Accepted, CacheEntry, evict};
use self::review::review;
pub use self::watched_objects::WatchableKinds;
use self::watched_objects::{BoundState, WatchedObjects};
use super::lookup::LookupError;
use drover_http_edge::networks;
use drover_http_edge::networks::{Rates, network};
use drover_hub::{Hub, HubError};

/// The rate limits for reviews of unknown tokens: reviews per second and burst, for each network
/// and its two enclosing networks.
const NETWORK_RATES: [networks::Quota; 3] = [
    networks::Quota::per_second(30).burst(60),
    networks::Quota::per_second(60).burst(250),
    networks::Quota::per_second(100).burst(500),
];
const TOTAL_RATE: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");
const TOTAL_BURST: NonZeroU32 = NonZeroU32::new(1000).expect("1000 is not zero");
/// The number of stored networks above which the server removes networks without a recent valid
/// token.
const MAX_NETWORKS: usize = 20_000;
/// The duration for which a positive review of a polled token is valid.
const POLLED_REVIEW_TTL: Duration = Duration::from_secs(2);
/// The duration for which a positive review of a token with watched objects is valid.
const WATCHED_REVIEW_TTL: Duration = Duration::from_mins(10);
/// The duration for which a negative review is valid.
const REJECTION_TTL: Duration = Duration::from_secs(5);
/// The maximum time that a stream stays open after the last positive review while the hub does not
/// respond.
const MAX_UNCONFIRMED: Duration = Duration::from_mins(10);
/// The maximum number of cached tokens. The server removes the least recently used tokens first.
const MAX_TOKENS: usize = 16_384;
/// The number of tokens that an eviction removes.
const EVICTED: usize = MAX_TOKENS / 8;
/// The time after the last use of an accepted token at which the server forgets the token. The rate
/// limit for unknown tokens then applies to the token.
const MAX_UNUSED: Duration = Duration::from_hours(24);
/// The delay before a second review when the hub rejects a token that it has accepted before.
const RECHECK_DELAY: Duration = Duration::from_millis(500);
/// The maximum number of consecutive checks in which a token has no open stream. The server then
/// removes the token's text from memory.
const MAX_UNUSED_CHECKS: u8 = 10;
/// The interval between checks of tokens with open streams.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// The maximum number of reviews of polled tokens per check. `MAX_WATCHED_PER_CHECK` is the maximum
/// for tokens with watched objects. The next check queues the remaining tokens.
const MAX_POLLED_PER_CHECK: usize = 50;
const MAX_WATCHED_PER_CHECK: usize = 5;
/// The maximum number of concurrent reviews for open streams.
const MAX_CONCURRENT: usize = 8;

/// The validity of a token that the hub accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenValidity {
    /// The token was valid at the last review.
    Valid,
    /// The hub rejects the token.
    Revoked,
    /// The hub has not responded for 10 minutes.
    Unknown,
}

type Review = Shared<BoxFuture<'static, Result<Option<Account>, LookupError>>>;

/// The service that reviews service account tokens on the hub. Each token has at most one
/// concurrent review. Rate limits apply to unknown tokens.
#[derive(Clone)]
pub struct Accounts {
    hub: Hub,
    shared: Arc<SharedState>,
}

struct SharedState {
    unknown: Rates,
    all_unknown: DefaultDirectRateLimiter,
    /// Networks from which a client sent a valid token, with the time of the last valid token.
    proven: Mutex<HashMap<IpAddr, Instant>>,
    cached: Mutex<HashMap<TokenDigest, CacheEntry>>,
    watched: WatchedObjects,
    review_permits: Semaphore,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    pub(super) fn new(hub: Hub) -> Self {
        let of_all = Quota::per_second(TOTAL_RATE).allow_burst(TOTAL_BURST);
        Self {
            hub,
            shared: Arc::new(SharedState {
                unknown: Rates::new(NETWORK_RATES),
                all_unknown: RateLimiter::direct(of_all),
                proven: Mutex::default(),
                cached: Mutex::default(),
                watched: WatchedObjects::default(),
                review_permits: Semaphore::new(MAX_CONCURRENT),
            }),
        }
    }

    /// Returns the account of the token. Returns `None` if the hub rejects the token. A rate limit
    /// per network applies to unknown tokens.
    pub(super) async fn identify(
        &self,
        token: AccountToken,
        from: IpAddr,
    ) -> Result<Option<Account>, LookupError> {
        let network = network(from);
        let review = match self.find_or_review(token, network)? {
            AccountLookup::Decided(account) => return Ok(account),
            AccountLookup::InReview(review) => review,
        };
        let account = review.await?;
        if account.is_some() {
            self.mark_proven(network);
        }
        Ok(account)
    }

    /// Returns the validity of a token with an open stream. The server repeats the review of the
    /// token only as long as callers regularly call this function.
    pub fn validity(&self, token: TokenDigest) -> TokenValidity {
        let mut cached = self.shared.cached.lock();
        let Some(CacheEntry::Accepted(accepted)) = cached.get_mut(&token) else {
            return TokenValidity::Revoked;
        };
        accepted.used = Instant::now();
        (accepted.open, accepted.unused) = (true, 0);
        if accepted.held.elapsed() < MAX_UNCONFIRMED {
            TokenValidity::Valid
        } else {
            TokenValidity::Unknown
        }
    }

    /// Runs the controller that watches bound objects and reviews the tokens of open streams.
    pub async fn run(self, watchable_kinds: WatchableKinds, runtime: Runtime) {
        let reconciler = TokenReviews {
            accounts: self,
            watchable_kinds,
            stop: runtime.stop.clone(),
        };
        let runtime = runtime.in_every_replica();
        let options = Options::new("token-reviews");
        runtime.run_single(options, reconciler, []).await;
    }

    fn find_or_review(
        &self,
        token: AccountToken,
        network: IpAddr,
    ) -> Result<AccountLookup, LookupError> {
        let digest = token.digest();
        let token = Arc::new(token);
        let mut cached = self.shared.cached.lock();
        match cached.get_mut(&digest) {
            Some(CacheEntry::InReview(review)) => {
                return Ok(AccountLookup::InReview(review.clone()));
            }
            Some(CacheEntry::Refused(at)) if at.elapsed() < REJECTION_TTL => {
                return Ok(AccountLookup::Decided(None));
            }
            Some(CacheEntry::Accepted(accepted)) if accepted.used.elapsed() < MAX_UNUSED => {
                accepted.used = Instant::now();
                accepted.unused = 0;
                accepted.token.get_or_insert_with(|| Arc::clone(&token));
                let state = accepted.check_bound_objects(&self.shared.watched);
                if state == BoundState::Deleted {
                    cached.insert(digest, CacheEntry::Refused(Instant::now()));
                    return Ok(AccountLookup::Decided(None));
                }
                if accepted.at.elapsed() < review_ttl(state) {
                    return Ok(AccountLookup::Decided(Some(accepted.account.clone())));
                }
                return Ok(AccountLookup::InReview(
                    self.repeat_review(accepted, &token),
                ));
            }
            Some(CacheEntry::Refused(_) | CacheEntry::Accepted(_)) | None => {}
        }
        self.check_rate_limits(network)?;
        if cached.len() >= MAX_TOKENS {
            evict(&mut cached);
        }
        let review = self.begin(token);
        cached.insert(digest, CacheEntry::InReview(review.clone()));
        Ok(AccountLookup::InReview(review))
    }

    fn check_rate_limits(&self, network: IpAddr) -> Result<(), LookupError> {
        let shared = &*self.shared;
        let limited = shared.unknown.check(&(), network);
        limited.map_err(|_| LookupError::TooMany)?;
        let proven = shared.proven.lock().get(&network).copied();
        if proven.is_some_and(|at| at.elapsed() < MAX_UNUSED) {
            return Ok(());
        }
        let limited = shared.all_unknown.check();
        limited.map_err(|_| LookupError::TooMany)
    }

    /// Exempts a network with a valid token from the global limit. Unknown tokens of other clients
    /// therefore do not delay new tokens of this network.
    fn mark_proven(&self, network: IpAddr) {
        let mut proven = self.shared.proven.lock();
        if proven.len() >= MAX_NETWORKS {
            proven.retain(|_, at| at.elapsed() < MAX_UNUSED);
        }
        if proven.len() < MAX_NETWORKS || proven.contains_key(&network) {
            proven.insert(network, Instant::now());
        }
    }

    /// Returns the tokens with open streams that are due for a review. The token with the longest
    /// wait is first.
    fn due(&self) -> Vec<Arc<AccountToken>> {
        let mut cached = self.shared.cached.lock();
        let (mut polled, mut watched, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for (digest, cached) in cached.iter_mut() {
            let CacheEntry::Accepted(accepted) = cached else {
                continue;
            };
            accepted.count_unused_check();
            if !accepted.open && !accepted.queued {
                continue;
            }
            let state = accepted.check_bound_objects(&self.shared.watched);
            let due = !accepted.queued && accepted.at.elapsed() >= review_ttl(state);
            match state {
                BoundState::Deleted => gone.push(*digest),
                BoundState::Present if due => watched.push(&mut **accepted),
                BoundState::Unknown if due => polled.push(&mut **accepted),
                BoundState::Present | BoundState::Unknown => {}
            }
        }
        let mut due = take_longest_waiting(polled, MAX_POLLED_PER_CHECK);
        due.extend(take_longest_waiting(watched, MAX_WATCHED_PER_CHECK));
        for digest in gone {
            cached.insert(digest, CacheEntry::Refused(Instant::now()));
        }
        due
    }

    async fn review_queued(self, token: Arc<AccountToken>) {
        let Ok(_permit) = self.shared.review_permits.acquire().await else {
            return;
        };
        let review = match self.shared.cached.lock().get_mut(&token.digest()) {
            Some(CacheEntry::Accepted(accepted)) => self.repeat_review(accepted, &token),
            _ => return,
        };
        // If the hub does not respond, a later check repeats the review, and the last result stays
        // valid.
        let _ = review.await;
    }

    fn repeat_review(&self, accepted: &mut Accepted, token: &Arc<AccountToken>) -> Review {
        let begin = || self.begin(Arc::clone(token));
        accepted.repeat_review.get_or_insert_with(begin).clone()
    }

    /// Starts the review in a separate task. The review completes even if all waiting callers are
    /// dropped.
    fn begin(&self, token: Arc<AccountToken>) -> Review {
        tokio::spawn(self.clone().review_and_cache(token))
            .map(|done| done.unwrap_or(Err(LookupError::Interrupted)))
            .boxed()
            .shared()
    }

    async fn review_and_cache(
        self,
        token: Arc<AccountToken>,
    ) -> Result<Option<Account>, LookupError> {
        let mut at = Instant::now();
        let mut result = review(&self.hub, &token).await;
        if matches!(result, Ok(None)) && self.is_accepted(token.digest()) {
            // The hub reports an internal failure like an invalid token, so the review is repeated
            // once.
            tokio::time::sleep(RECHECK_DELAY).await;
            at = Instant::now();
            result = review(&self.hub, &token).await;
        }
        self.cache_result(&token, at, &result);
        result.map_err(|error| LookupError::Hub(Arc::new(error)))
    }

    fn is_accepted(&self, token: TokenDigest) -> bool {
        matches!(
            self.shared.cached.lock().get(&token),
            Some(CacheEntry::Accepted(_))
        )
    }

    fn cache_result(
        &self,
        token: &Arc<AccountToken>,
        at: Instant,
        result: &Result<Option<Account>, HubError>,
    ) {
        let digest = token.digest();
        let mut cached = self.shared.cached.lock();
        match (result, cached.get_mut(&digest)) {
            (Ok(Some(account)), Some(CacheEntry::Accepted(accepted))) => {
                accepted.account = account.clone();
                (accepted.at, accepted.held) = (at, at);
                (accepted.repeat_review, accepted.queued) = (None, false);
            }
            (Ok(Some(account)), _) => {
                let accepted = Accepted::new(account, token, at);
                self.shared.watched.request(&accepted.bound);
                cached.insert(digest, CacheEntry::Accepted(Box::new(accepted)));
            }
            (Ok(None), _) => {
                cached.insert(digest, CacheEntry::Refused(Instant::now()));
            }
            (Err(_), Some(CacheEntry::Accepted(accepted))) => {
                (accepted.repeat_review, accepted.queued) = (None, false);
            }
            (Err(_), _) => {
                cached.remove(&digest);
            }
        }
    }
}

/// Returns the duration for which a positive review is valid.
fn review_ttl(state: BoundState) -> Duration {
    match state {
        BoundState::Present => WATCHED_REVIEW_TTL,
        BoundState::Deleted | BoundState::Unknown => POLLED_REVIEW_TTL,
    }
}

/// Queues at most `limit` tokens for a review, in descending order of their waiting time.
fn take_longest_waiting(mut due: Vec<&mut Accepted>, limit: usize) -> Vec<Arc<AccountToken>> {
    due.sort_by_key(|accepted| accepted.at);
    due.truncate(limit);
    let queue = |accepted: &mut Accepted| {
        let token = accepted.token.clone()?;
        (accepted.open, accepted.queued) = (false, true);
        Some(token)
    };
    due.into_iter().filter_map(queue).collect()
}

enum AccountLookup {
    Decided(Option<Account>),
    InReview(Review),
}

/// The reconciler that starts the reviews of tokens with open streams.
struct TokenReviews {
    accounts: Accounts,
    watchable_kinds: WatchableKinds,
    stop: CancellationToken,
}

impl Reconciler for TokenReviews {
    type Key = ();
    type Error = Infallible;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, Infallible> {
        let accounts = &self.accounts;
        let watched = &accounts.shared.watched;
        watched.begin(&accounts.hub, self.watchable_kinds, &self.stop);
        for token in accounts.due() {
            tokio::spawn(accounts.clone().review_queued(token));
        }
        Ok(Action::requeue(CHECK_INTERVAL))
    }
}

#[cfg(test)]
mod tests;
