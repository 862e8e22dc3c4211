//! Service accounts of the hub, by tokens that only the hub can judge (TokenReview).
//!
//! A verdict is remembered for [`FRESH`]. A token on which something open stands is shown to the
//! hub again and again, so that what was open ends soon after the hub has withdrawn it.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use drover_access::account_token::{AccountToken, TokenDigest};
use drover_access::identity::Account;
use drover_access::names::AccountName;
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt as _, StreamExt as _};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::lookup::LookupError;
use crate::hub::{Hub, HubError, call};

/// Reviews a second of tokens that the hub has not accepted before, all clients together.
const STRANGERS_PER_SECOND: NonZeroU32 = NonZeroU32::new(20).expect("20 is not zero");
/// Such reviews that may come at once after a quiet time.
const BURST: NonZeroU32 = NonZeroU32::new(50).expect("50 is not zero");
/// How long a verdict in favour counts without asking again.
const FRESH: Duration = Duration::from_secs(2);
/// How long a verdict against counts.
const REFUSED_FOR: Duration = Duration::from_secs(5);
/// How long something open may stand on the last verdict in favour when the hub gives no other.
const HELD_FOR: Duration = Duration::from_mins(10);
/// Tokens that are remembered at most; beyond it those are forgotten that nobody uses.
const REMEMBERED: usize = 8192;
/// A token that was not used for so long may be forgotten.
const UNUSED_FOR: Duration = Duration::from_secs(10);
/// Time between looks at what something open stands on.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Reviews of a look; when more are due, the next look goes on with those that wait longest.
const REVIEWS_A_LOOK: usize = 250;
/// Reviews of a look at one time.
const AT_ONCE: usize = 8;
/// The extra by which Kubernetes names a token (KEP-4193).
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

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
    strangers: DefaultDirectRateLimiter,
    known: Mutex<HashMap<TokenDigest, Known>>,
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
    token: Arc<AccountToken>,
    /// When the hub was asked.
    at: Instant,
    /// When a request or something open last stood on it.
    used: Instant,
    /// Something open has stood on it since the last look.
    open: bool,
    again: Option<Review>,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    pub(super) fn new(hub: Hub) -> Self {
        let quota = Quota::per_second(STRANGERS_PER_SECOND).allow_burst(BURST);
        Self {
            hub,
            shared: Arc::new(SharedState {
                strangers: RateLimiter::direct(quota),
                known: Mutex::default(),
            }),
        }
    }

    /// Whose token this is, as the hub says; `None` if it is nobody's.
    pub(super) async fn identify(
        &self,
        token: AccountToken,
    ) -> Result<Option<Account>, LookupError> {
        match self.known_or_asked(token)? {
            Answer::Known(account) => Ok(account),
            Answer::Asked(review) => review.await,
        }
    }

    /// What something open stands on that was begun with this token; from then on the hub is asked
    /// about it until nobody asks here any more.
    pub fn standing(&self, token: TokenDigest) -> Standing {
        let mut known = self.shared.known.lock();
        let Some(Known::Accepted(accepted)) = known.get_mut(&token) else {
            return Standing::Withdrawn;
        };
        accepted.used = Instant::now();
        accepted.open = true;
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
                let reviews = futures::stream::iter(self.due());
                // A hub that does not answer is asked again at the next look; until then what it
                // said last holds.
                reviews
                    .for_each_concurrent(AT_ONCE, async |review| drop(review.await))
                    .await;
            }
        };
        stop.run_until_cancelled(reviewing).await;
    }

    fn known_or_asked(&self, token: AccountToken) -> Result<Answer, LookupError> {
        let digest = token.digest();
        let mut known = self.shared.known.lock();
        match known.get_mut(&digest) {
            Some(Known::Asked(review)) => return Ok(Answer::Asked(review.clone())),
            Some(Known::Refused(at)) if at.elapsed() < REFUSED_FOR => {
                return Ok(Answer::Known(None));
            }
            Some(Known::Accepted(accepted)) => {
                accepted.used = Instant::now();
                if accepted.at.elapsed() < FRESH {
                    return Ok(Answer::Known(Some(accepted.account.clone())));
                }
                return Ok(Answer::Asked(self.again(accepted)));
            }
            Some(Known::Refused(_)) | None => {}
        }
        let strangers = &self.shared.strangers;
        strangers.check().map_err(|_| LookupError::TooMany)?;
        if known.len() >= REMEMBERED {
            known.retain(|_, known| known.is_needed());
        }
        if known.len() >= REMEMBERED {
            return Err(LookupError::TooMany);
        }
        let review = self.begin(Arc::new(token));
        known.insert(digest, Known::Asked(review.clone()));
        Ok(Answer::Asked(review))
    }

    /// Reviews that are to be made now: of tokens with something open, the longest waiting first.
    fn due(&self) -> Vec<Review> {
        let mut known = self.shared.known.lock();
        known.retain(|_, known| known.is_needed());
        let mut due: Vec<_> = known
            .values_mut()
            .filter_map(|known| match known {
                Known::Accepted(accepted) => Some(accepted),
                Known::Asked(_) | Known::Refused(_) => None,
            })
            .filter(|accepted| accepted.open && accepted.at.elapsed() >= FRESH)
            .collect();
        due.sort_by_key(|accepted| accepted.at);
        due.truncate(REVIEWS_A_LOOK);
        due.into_iter()
            .map(|accepted| {
                accepted.open = false;
                self.again(accepted)
            })
            .collect()
    }

    fn again(&self, accepted: &mut Accepted) -> Review {
        let begin = || self.begin(Arc::clone(&accepted.token));
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
        let at = Instant::now();
        let result = review(&self.hub, &token).await;
        let mut known = self.shared.known.lock();
        let digest = token.digest();
        match &result {
            Ok(Some(account)) => {
                let before = match known.remove(&digest) {
                    Some(Known::Accepted(accepted)) => Some((accepted.used, accepted.open)),
                    _ => None,
                };
                let (used, open) = before.unwrap_or((at, false));
                let accepted = Accepted {
                    account: account.clone(),
                    token,
                    at,
                    used,
                    open,
                    again: None,
                };
                known.insert(digest, Known::Accepted(Box::new(accepted)));
            }
            Ok(None) => {
                known.insert(digest, Known::Refused(Instant::now()));
            }
            Err(_) => match known.get_mut(&digest) {
                Some(Known::Accepted(accepted)) => accepted.again = None,
                _ => {
                    known.remove(&digest);
                }
            },
        }
        result.map_err(|error| LookupError::Hub(Arc::new(error)))
    }
}

enum Answer {
    Known(Option<Account>),
    Asked(Review),
}

impl Known {
    fn is_needed(&self) -> bool {
        match self {
            Self::Asked(_) => true,
            Self::Refused(at) => at.elapsed() < REFUSED_FOR,
            Self::Accepted(accepted) => {
                accepted.again.is_some() || accepted.used.elapsed() < UNUSED_FOR
            }
        }
    }
}

async fn review(hub: &Hub, token: &AccountToken) -> Result<Option<Account>, HubError> {
    let reviews: Api<TokenReview> = Api::all(hub.client());
    let question = TokenReview {
        spec: TokenReviewSpec {
            token: token.expose().to_owned(),
            audiences: None,
        },
        ..TokenReview::default()
    };
    let params = PostParams::default();
    let answer = call("review a token", reviews.create(&params, &question)).await?;
    let Some(account) = account(token, answer) else {
        return Ok(None);
    };
    // kube-apiserver remembers a token that it took for 10 s, and so takes a deleted account's.
    let (namespace, name) = account.name.object();
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client(), namespace);
    let object = call("read a service account", accounts.get_opt(name)).await?;
    let same = object.is_some_and(|object| {
        object.uid().as_deref() == Some(&*account.uid)
            && object.metadata.deletion_timestamp.is_none()
    });
    Ok(same.then_some(account))
}

/// Whom the hub takes the token for, if that is a service account.
fn account(token: &AccountToken, answer: TokenReview) -> Option<Account> {
    let status = answer.status?;
    let user = status.user.filter(|_| status.authenticated == Some(true))?;
    let mut extra = user.extra.unwrap_or_default();
    let mut ids = extra.remove(CREDENTIAL_ID).unwrap_or_default();
    Some(Account {
        name: AccountName::parse(&user.username?)?,
        uid: user.uid.unwrap_or_default(),
        token: token.digest(),
        token_id: ids.pop(),
        expires_at: token.expires_at(),
    })
}

#[cfg(test)]
mod tests;
