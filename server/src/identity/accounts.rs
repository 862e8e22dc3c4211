//! Service accounts of the hub, by tokens that only the hub can judge (TokenReview).
//!
//! A verdict is remembered for `FRESH`. A token on which something open stands is shown to the
//! hub again and again, so that what was open ends soon after the hub has withdrawn it: within five
//! seconds as long as at most a thousand tokens have something open.

mod review;

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use drover_access::account_token::{AccountToken, TokenDigest};
use drover_access::identity::Account;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::review::review;
use super::lookup::LookupError;
use crate::hub::{Hub, HubError};
use crate::networks::network;

/// Reviews a second of tokens that the hub has not accepted before, for one network and for all
/// together; as many as of two, and of five, seconds may come at once after a quiet time.
const OF_A_NETWORK: NonZeroU32 = NonZeroU32::new(30).expect("30 is not zero");
const OF_ALL: NonZeroU32 = NonZeroU32::new(200).expect("200 is not zero");
const BURST_OF_A_NETWORK: NonZeroU32 = NonZeroU32::new(60).expect("60 is not zero");
const BURST_OF_ALL: NonZeroU32 = NonZeroU32::new(1000).expect("1000 is not zero");
/// Networks that are counted before those are forgotten that have been quiet.
const NETWORKS: usize = 20_000;
/// How long a verdict in favour counts without asking again.
const FRESH: Duration = Duration::from_secs(2);
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
/// Reviews of a look; when more are due, the next look goes on with those that wait longest.
const REVIEWS_A_LOOK: usize = 250;
/// Reviews at one time of what something open stands on.
const AT_ONCE: usize = 8;

/// What memory says of a token that the hub accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was still good when the hub was last asked.
    Good,
    /// The hub does not take it any more.
    Withdrawn,
    /// The hub has not answered for too long.
    Unsure,
}

type Review = Shared<BoxFuture<'static, Result<Option<Account>, LookupError>>>;

/// Shows tokens to the hub: one review a token at a time, and a bounded rate of strangers' ones.
#[derive(Clone)]
pub struct Accounts {
    hub: Hub,
    shared: Arc<SharedState>,
}

struct SharedState {
    strangers: DefaultKeyedRateLimiter<IpAddr>,
    all_strangers: DefaultDirectRateLimiter,
    /// Networks from which the hub has accepted a token, and when it last did.
    proven: Mutex<HashMap<IpAddr, Instant>>,
    known: Mutex<HashMap<TokenDigest, Known>>,
    places: Semaphore,
}

enum Known {
    /// The hub is asked for the first time.
    Asked(Review),
    /// The hub did not take it.
    Refused(Instant),
    Accepted(Box<Accepted>),
}

struct Accepted {
    account: Account,
    /// When the hub was asked.
    at: Instant,
    /// When a request or something open last stood on it.
    used: Instant,
    /// The token itself, as long as something may be open that stands on it.
    token: Option<Arc<AccountToken>>,
    /// Something open has stood on it since the last look.
    open: bool,
    /// Looks since something open or a request stood on it.
    unused: u8,
    /// It waits for a review because something is open.
    queued: bool,
    again: Option<Review>,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    pub(super) fn new(hub: Hub) -> Self {
        let of_a_network = Quota::per_second(OF_A_NETWORK).allow_burst(BURST_OF_A_NETWORK);
        let of_all = Quota::per_second(OF_ALL).allow_burst(BURST_OF_ALL);
        Self {
            hub,
            shared: Arc::new(SharedState {
                strangers: RateLimiter::keyed(of_a_network),
                all_strangers: RateLimiter::direct(of_all),
                proven: Mutex::default(),
                known: Mutex::default(),
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

    /// What something open stands on that was begun with this token; from then on the hub is asked
    /// about it until nobody asks here any more.
    pub fn standing(&self, token: TokenDigest) -> Standing {
        let mut known = self.shared.known.lock();
        let Some(Known::Accepted(accepted)) = known.get_mut(&token) else {
            return Standing::Withdrawn;
        };
        accepted.used = Instant::now();
        (accepted.open, accepted.unused) = (true, 0);
        if accepted.at.elapsed() < HELD_FOR {
            Standing::Good
        } else {
            Standing::Unsure
        }
    }

    /// Shows the hub again, until `stop`, the tokens that something open stands on.
    pub async fn review_regularly(self, stop: CancellationToken) {
        let reviewing = async {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                for token in self.due() {
                    tokio::spawn(self.clone().review_in_turn(token));
                }
            }
        };
        stop.run_until_cancelled(reviewing).await;
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
                if accepted.at.elapsed() < FRESH {
                    return Ok(Answer::Known(Some(accepted.account.clone())));
                }
                return Ok(Answer::Asked(self.again(accepted, &token)));
            }
            Some(Known::Refused(_) | Known::Accepted(_)) | None => {}
        }
        self.admit_stranger(network)?;
        if known.len() >= REMEMBERED {
            make_room(&mut known);
        }
        let review = self.begin(token);
        known.insert(digest, Known::Asked(review.clone()));
        Ok(Answer::Asked(review))
    }

    fn admit_stranger(&self, network: IpAddr) -> Result<(), LookupError> {
        let shared = &*self.shared;
        if shared.strangers.len() > NETWORKS {
            shared.strangers.retain_recent();
        }
        let too_many = |_| LookupError::TooMany;
        shared.strangers.check_key(&network).map_err(too_many)?;
        let proven = shared.proven.lock().get(&network).copied();
        if proven.is_some_and(|at| at.elapsed() < KNOWN_FOR) {
            return Ok(());
        }
        shared.all_strangers.check().map_err(too_many)
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
        let accepted = known.values_mut().filter_map(|known| match known {
            Known::Accepted(accepted) => Some(accepted),
            Known::Asked(_) | Known::Refused(_) => None,
        });
        let mut due = Vec::new();
        for accepted in accepted {
            accepted.unused = accepted.unused.saturating_add(1);
            let forgotten = accepted.unused > LOOKS && !accepted.open && !accepted.queued;
            accepted.token.take_if(|_| forgotten);
            if accepted.open
                && !accepted.queued
                && accepted.at.elapsed() >= FRESH
                && let Some(token) = accepted.token.clone()
            {
                due.push((token, accepted));
            }
        }
        due.sort_by_key(|(_, accepted)| accepted.at);
        due.truncate(REVIEWS_A_LOOK);
        due.into_iter()
            .map(|(token, accepted)| {
                (accepted.open, accepted.queued) = (false, true);
                token
            })
            .collect()
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
                accepted.at = at;
                (accepted.again, accepted.queued) = (None, false);
            }
            (Ok(Some(account)), _) => {
                known.insert(digest, Known::accepted(account, token, at));
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

impl Known {
    fn accepted(account: &Account, token: &Arc<AccountToken>, at: Instant) -> Self {
        Self::Accepted(Box::new(Accepted {
            account: account.clone(),
            at,
            used: at,
            token: Some(Arc::clone(token)),
            open: false,
            unused: 0,
            queued: false,
            again: None,
        }))
    }
}

/// Forgets what is of no use, and if that is not enough the accepted tokens used longest ago on
/// which nothing open stands.
fn make_room(known: &mut HashMap<TokenDigest, Known>) {
    known.retain(|_, known| match known {
        Known::Asked(_) => true,
        Known::Refused(at) => at.elapsed() < REFUSED_FOR,
        Known::Accepted(accepted) => accepted.used.elapsed() < KNOWN_FOR,
    });
    if known.len() + ROOM <= REMEMBERED {
        return;
    }
    let mut old: Vec<_> = known
        .iter()
        .map(|(digest, known)| match known {
            Known::Asked(_) => (Instant::now(), *digest),
            Known::Refused(at) => (*at, *digest),
            Known::Accepted(accepted) => (accepted.used, *digest),
        })
        .collect();
    old.sort_by_key(|(used, _)| *used);
    for (_, digest) in old.into_iter().take(ROOM) {
        known.remove(&digest);
    }
}

enum Answer {
    Known(Option<Account>),
    Asked(Review),
}

#[cfg(test)]
mod tests;
