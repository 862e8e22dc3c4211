//! Service accounts of the hub, by tokens that only the hub can judge (TokenReview).
//!
//! The hub is asked about a token once. From then on the server follows the objects that the token
//! is bound to (the account, a Secret, a Pod, a Node), and the token is withdrawn when one of them
//! is deleted. Open streams cost no reviews: a followed token is reviewed again every
//! `REVIEW_EVERY`, all tokens together at most ten times a second.
//!
//! A token whose objects cannot be watched (its claims do not name them, or the hub does not let the
//! server list them) is polled: a verdict counts for `FRESH`, and a token with open streams is
//! reviewed again after that, all polled tokens together at most a hundred times a second.

mod known;
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

use self::known::{Accepted, Known, evict};
use self::review::review;
pub use self::watched_objects::WatchableKinds;
use self::watched_objects::{BoundState, WatchedObjects};
use super::lookup::LookupError;
use drover_http_edge::networks;
use drover_http_edge::networks::{Rates, network};
use drover_hub::{Hub, HubError};

/// Reviews a second of tokens that the hub has not accepted before, for one network, wider ones, and for all
/// together; as many as of two, and of five, seconds may come at once after a quiet time.
const OF_A_NETWORK: [networks::Quota; 3] = [
    networks::Quota::per_second(30).burst(60),
    networks::Quota::per_second(60).burst(250),
    networks::Quota::per_second(100).burst(500),
];
const OF_ALL: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");
const BURST_OF_ALL: NonZeroU32 = NonZeroU32::new(1000).expect("1000 is not zero");
/// Networks that are counted before those are forgotten that have been quiet.
const NETWORKS: usize = 20_000;
/// How long a verdict in favour of a polled token counts without asking again.
const FRESH: Duration = Duration::from_secs(2);
/// How long a verdict in favour of a followed token counts without asking again.
const REVIEW_EVERY: Duration = Duration::from_mins(10);
/// How long a verdict against counts.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// How long something open may stand on the last verdict in favour when the hub gives no other.
const HELD_FOR: Duration = Duration::from_mins(10);
/// Tokens that are remembered at most; then those make room that were used longest ago.
const REMEMBERED: usize = 16_384;
/// How many make room at once.
const ROOM: usize = REMEMBERED / 8;
/// An accepted token that was not used for so long is a stranger's again.
const KNOWN_FOR: Duration = Duration::from_hours(24);
/// How long a hub that does not take a token it took before is left alone before it is asked once
/// more.
const DOUBT: Duration = Duration::from_millis(500);
/// Looks for which nothing open has stood on a token, after which its text is forgotten.
const LOOKS: u8 = 10;
/// Time between looks at what something open stands on.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Reviews of a look, of polled tokens and of followed tokens; when more are due, the next look goes
/// on with those that wait longest.
const POLLED_A_LOOK: usize = 50;
const FOLLOWED_A_LOOK: usize = 5;
/// Reviews at one time of what something open stands on.
const AT_ONCE: usize = 8;

/// What memory says of a token that the hub accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenValidity {
    /// It was still good when the hub was last asked.
    Valid,
    /// The hub does not take it any more.
    Revoked,
    /// The hub has not answered for too long.
    Unknown,
}

type Review = Shared<BoxFuture<'static, Result<Option<Account>, LookupError>>>;

/// Shows tokens to the hub: one review a token at a time, and a bounded rate of strangers' ones.
#[derive(Clone)]
pub struct Accounts {
    hub: Hub,
    shared: Arc<SharedState>,
}

struct SharedState {
    strangers: Rates,
    all_strangers: DefaultDirectRateLimiter,
    /// Networks from which the hub has accepted a token, and when it last did.
    proven: Mutex<HashMap<IpAddr, Instant>>,
    known: Mutex<HashMap<TokenDigest, Known>>,
    watched: WatchedObjects,
    places: Semaphore,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    pub(super) fn new(hub: Hub) -> Self {
        let of_all = Quota::per_second(OF_ALL).allow_burst(BURST_OF_ALL);
        Self {
            hub,
            shared: Arc::new(SharedState {
                strangers: Rates::new(OF_A_NETWORK),
                all_strangers: RateLimiter::direct(of_all),
                proven: Mutex::default(),
                known: Mutex::default(),
                watched: WatchedObjects::default(),
                places: Semaphore::new(AT_ONCE),
            }),
        }
    }

    /// Whose token this is, as the hub says; `None` if it is nobody's.
    ///
    /// Tokens that the hub has not accepted before are limited by where they come from.
    pub(super) async fn identify(
        &self,
        token: AccountToken,
        from: IpAddr,
    ) -> Result<Option<Account>, LookupError> {
        let network = network(from);
        let review = match self.known_or_asked(token, network)? {
            Answer::Known(account) => return Ok(account),
            Answer::Asked(review) => review,
        };
        let account = review.await?;
        if account.is_some() {
            self.prove(network);
        }
        Ok(account)
    }

    /// What something open stands on that was begun with this token; from then on the token is
    /// looked after until nobody asks here any more.
    pub fn validity(&self, token: TokenDigest) -> TokenValidity {
        let mut known = self.shared.known.lock();
        let Some(Known::Accepted(accepted)) = known.get_mut(&token) else {
            return TokenValidity::Revoked;
        };
        accepted.used = Instant::now();
        (accepted.open, accepted.unused) = (true, 0);
        if accepted.held.elapsed() < HELD_FOR {
            TokenValidity::Valid
        } else {
            TokenValidity::Unknown
        }
    }

    /// Reviews the tokens of open requests: watches the objects that they are bound to, and shows
    /// the hub those again that are due.
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

    fn known_or_asked(&self, token: AccountToken, network: IpAddr) -> Result<Answer, LookupError> {
        let digest = token.digest();
        let token = Arc::new(token);
        let mut known = self.shared.known.lock();
        match known.get_mut(&digest) {
            Some(Known::Asked(review)) => return Ok(Answer::Asked(review.clone())),
            Some(Known::Refused(at)) if at.elapsed() < REFUSED_FOR => {
                return Ok(Answer::Known(None));
            }
            Some(Known::Accepted(accepted)) if accepted.used.elapsed() < KNOWN_FOR => {
                accepted.used = Instant::now();
                accepted.unused = 0;
                accepted.token.get_or_insert_with(|| Arc::clone(&token));
                let state = accepted.check_bound_objects(&self.shared.watched);
                if state == BoundState::Deleted {
                    known.insert(digest, Known::Refused(Instant::now()));
                    return Ok(Answer::Known(None));
                }
                if accepted.at.elapsed() < fresh(state) {
                    return Ok(Answer::Known(Some(accepted.account.clone())));
                }
                return Ok(Answer::Asked(self.again(accepted, &token)));
            }
            Some(Known::Refused(_) | Known::Accepted(_)) | None => {}
        }
        self.admit_stranger(network)?;
        if known.len() >= REMEMBERED {
            evict(&mut known);
        }
        let review = self.begin(token);
        known.insert(digest, Known::Asked(review.clone()));
        Ok(Answer::Asked(review))
    }

    fn admit_stranger(&self, network: IpAddr) -> Result<(), LookupError> {
        let shared = &*self.shared;
        let limited = shared.strangers.check(&(), network);
        limited.map_err(|_| LookupError::TooMany)?;
        let proven = shared.proven.lock().get(&network).copied();
        if proven.is_some_and(|at| at.elapsed() < KNOWN_FOR) {
            return Ok(());
        }
        let limited = shared.all_strangers.check();
        limited.map_err(|_| LookupError::TooMany)
    }

    /// Where accounts come from, new tokens come from, too: those are not kept out by others'.
    fn prove(&self, network: IpAddr) {
        let mut proven = self.shared.proven.lock();
        if proven.len() >= NETWORKS {
            proven.retain(|_, at| at.elapsed() < KNOWN_FOR);
        }
        if proven.len() < NETWORKS || proven.contains_key(&network) {
            proven.insert(network, Instant::now());
        }
    }

    /// Tokens to be reviewed now: those with something open, the longest waiting first.
    fn due(&self) -> Vec<Arc<AccountToken>> {
        let mut known = self.shared.known.lock();
        let (mut polled, mut watched, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for (digest, known) in known.iter_mut() {
            let Known::Accepted(accepted) = known else {
                continue;
            };
            accepted.count_unused_check();
            if !accepted.open && !accepted.queued {
                continue;
            }
            let state = accepted.check_bound_objects(&self.shared.watched);
            let due = !accepted.queued && accepted.at.elapsed() >= fresh(state);
            match state {
                BoundState::Deleted => gone.push(*digest),
                BoundState::Present if due => watched.push(&mut **accepted),
                BoundState::Unknown if due => polled.push(&mut **accepted),
                BoundState::Present | BoundState::Unknown => {}
            }
        }
        let mut due = first(polled, POLLED_A_LOOK);
        due.extend(first(watched, FOLLOWED_A_LOOK));
        for digest in gone {
            known.insert(digest, Known::Refused(Instant::now()));
        }
        due
    }

    async fn review_in_turn(self, token: Arc<AccountToken>) {
        let Ok(_place) = self.shared.places.acquire().await else {
            return;
        };
        let review = match self.shared.known.lock().get_mut(&token.digest()) {
            Some(Known::Accepted(accepted)) => self.again(accepted, &token),
            _ => return,
        };
        // A hub that does not answer is asked again at a later look; until then what it said last
        // holds.
        let _ = review.await;
    }

    fn again(&self, accepted: &mut Accepted, token: &Arc<AccountToken>) -> Review {
        let begin = || self.begin(Arc::clone(token));
        accepted.again.get_or_insert_with(begin).clone()
    }

    /// A task of its own: it ends and is remembered even when all who wait for it go away.
    fn begin(&self, token: Arc<AccountToken>) -> Review {
        tokio::spawn(self.clone().review_and_remember(token))
            .map(|done| done.unwrap_or(Err(LookupError::Interrupted)))
            .boxed()
            .shared()
    }

    async fn review_and_remember(
        self,
        token: Arc<AccountToken>,
    ) -> Result<Option<Account>, LookupError> {
        let mut at = Instant::now();
        let mut result = review(&self.hub, &token).await;
        if matches!(result, Ok(None)) && self.was_accepted(token.digest()) {
            // A hub says of a failure of its own what it says of a token that is not good.
            tokio::time::sleep(DOUBT).await;
            at = Instant::now();
            result = review(&self.hub, &token).await;
        }
        self.remember(&token, at, &result);
        result.map_err(|error| LookupError::Hub(Arc::new(error)))
    }

    fn was_accepted(&self, token: TokenDigest) -> bool {
        matches!(
            self.shared.known.lock().get(&token),
            Some(Known::Accepted(_))
        )
    }

    fn remember(
        &self,
        token: &Arc<AccountToken>,
        at: Instant,
        result: &Result<Option<Account>, HubError>,
    ) {
        let digest = token.digest();
        let mut known = self.shared.known.lock();
        match (result, known.get_mut(&digest)) {
            (Ok(Some(account)), Some(Known::Accepted(accepted))) => {
                accepted.account = account.clone();
                (accepted.at, accepted.held) = (at, at);
                (accepted.again, accepted.queued) = (None, false);
            }
            (Ok(Some(account)), _) => {
                let accepted = Accepted::new(account, token, at);
                self.shared.watched.want(&accepted.bound);
                known.insert(digest, Known::Accepted(Box::new(accepted)));
            }
            (Ok(None), _) => {
                known.insert(digest, Known::Refused(Instant::now()));
            }
            (Err(_), Some(Known::Accepted(accepted))) => {
                (accepted.again, accepted.queued) = (None, false);
            }
            (Err(_), _) => {
                known.remove(&digest);
            }
        }
    }
}

/// How long a verdict in favour counts.
fn fresh(state: BoundState) -> Duration {
    match state {
        BoundState::Present => REVIEW_EVERY,
        BoundState::Deleted | BoundState::Unknown => FRESH,
    }
}

/// Queues those that wait longest for a review, at most `limit`.
fn first(mut due: Vec<&mut Accepted>, limit: usize) -> Vec<Arc<AccountToken>> {
    due.sort_by_key(|accepted| accepted.at);
    due.truncate(limit);
    let queue = |accepted: &mut Accepted| {
        let token = accepted.token.clone()?;
        (accepted.open, accepted.queued) = (false, true);
        Some(token)
    };
    due.into_iter().filter_map(queue).collect()
}

enum Answer {
    Known(Option<Account>),
    Asked(Review),
}

/// Begins the reviews that are due.
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
            tokio::spawn(accounts.clone().review_in_turn(token));
        }
        Ok(Action::requeue(LOOK_EVERY))
    }
}

#[cfg(test)]
mod tests;
