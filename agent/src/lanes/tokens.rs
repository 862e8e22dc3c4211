//! Short-lived tokens of the lanes' service accounts, held in memory only.

use std::sync::Arc;
use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::client_error::ClientError;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

/// Life asked for, in seconds.
const LIFE: i64 = 3600;
/// Most time for the API server to issue one.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Between attempts to renew a token that still serves.
const RENEW_AGAIN_AFTER: Duration = Duration::from_secs(30);

/// Why a lane has no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The API server refused or did not answer.
    #[error("the agent got no token for service account {account}: {source}")]
    Request {
        /// The lane's account.
        account: &'static str,
        /// What the API server said.
        #[source]
        source: ClientError,
    },
    /// The API server took too long.
    #[error("the API server did not issue a token for service account {account} within {} s", TIMEOUT.as_secs())]
    Timeout {
        /// The lane's account.
        account: &'static str,
    },
    /// The answer holds no token, or one that cannot stand in a header.
    #[error("the API server's token for service account {account} cannot be used")]
    Malformed {
        /// The lane's account.
        account: &'static str,
    },
}

/// The lanes' tokens; each is asked for when first needed and again well before it ends. Clones
/// share them.
#[derive(Clone)]
pub struct LaneTokens {
    accounts: Api<ServiceAccount>,
    slots: Arc<[Slot; Lane::ALL.len()]>,
}

#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    /// Held while asking, so that a burst of requests asks once.
    asking: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    failure: Option<Failure>,
}

#[derive(Clone)]
struct Held {
    authorization: HeaderValue,
    refresh_at: Timestamp,
    expires_at: Timestamp,
}

/// The last answer that was no token.
#[derive(Clone)]
struct Failure {
    at: Instant,
    error: Arc<TokenError>,
}

/// What a lane's slot says to a request.
enum Answer {
    /// A token; whether it is time to ask for its successor.
    Token { header: HeaderValue, stale: bool },
    /// None: it has to be asked for.
    Nothing,
}

impl std::fmt::Debug for LaneTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LaneTokens(hidden)")
    }
}

impl LaneTokens {
    /// Tokens of the service accounts in the agent's namespace.
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self {
            accounts: Api::namespaced(client, namespace),
            slots: Arc::new(std::array::from_fn(|_| Slot::default())),
        }
    }

    /// The `Authorization` header of a lane, marked sensitive.
    ///
    /// Waits only where there is no valid token; one that is about to end is renewed meanwhile.
    pub async fn authorization(&self, lane: Lane) -> Result<HeaderValue, Arc<TokenError>> {
        let slot = self.slot(lane);
        let begin = Instant::now();
        match slot.answer(Timestamp::now()) {
            Answer::Token { header, stale } => {
                if stale {
                    self.renew(lane);
                }
                Ok(header)
            }
            Answer::Nothing => {
                let _turn = slot.asking.lock().await;
                if let Answer::Token { header, .. } = slot.answer(Timestamp::now()) {
                    return Ok(header);
                }
                // Whoever asked while this one waited for its turn asked for it, too.
                match slot.failure_since(begin) {
                    Some(error) => Err(error),
                    None => Box::pin(self.ask(lane)).await,
                }
            }
        }
    }

    /// Drops a token that the API server refused, so that the next request asks for another.
    pub fn forget(&self, lane: Lane, refused: &HeaderValue) {
        let held = &mut self.slot(lane).state.lock().held;
        if held
            .as_ref()
            .is_some_and(|held| held.authorization == refused)
        {
            *held = None;
        }
    }

    /// Asks for a token beside everything else, unless somebody does or one just failed to.
    fn renew(&self, lane: Lane) {
        let slot = self.slot(lane);
        let too_soon = Instant::now().checked_sub(RENEW_AGAIN_AFTER);
        if too_soon.is_some_and(|then| slot.failure_since(then).is_some()) {
            return;
        }
        let Ok(turn) = Arc::clone(&slot.asking).try_lock_owned() else {
            return;
        };
        let tokens = self.clone();
        tokio::spawn(async move {
            if let Err(error) = tokens.ask(lane).await {
                tracing::warn!(%error, "a lane's token was not renewed; the present one still serves");
            }
            drop(turn);
        });
    }

    /// Asks, in one's turn, and notes what came.
    async fn ask(&self, lane: Lane) -> Result<HeaderValue, Arc<TokenError>> {
        let asked = self.request(lane).await;
        let mut state = self.slot(lane).state.lock();
        match asked {
            Ok(held) => {
                let header = held.authorization.clone();
                *state = State {
                    held: Some(held),
                    failure: None,
                };
                Ok(header)
            }
            Err(error) => {
                let error = Arc::new(error);
                state.failure = Some(Failure {
                    at: Instant::now(),
                    error: Arc::clone(&error),
                });
                Err(error)
            }
        }
    }

    fn slot(&self, lane: Lane) -> &Slot {
        &self.slots[index(lane)]
    }

    async fn request(&self, lane: Lane) -> Result<Held, TokenError> {
        let account = lane.service_account();
        let wanted = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(LIFE),
                ..Default::default()
            }),
            ..Default::default()
        };
        let params = PostParams::default();
        let asked = self
            .accounts
            .create_token_request(account, &params, &wanted);
        let status = tokio::time::timeout(TIMEOUT, asked)
            .await
            .map_err(|_| TokenError::Timeout { account })?
            .map_err(|source| TokenError::Request {
                account,
                source: source.into(),
            })?
            .status
            .unwrap_or_default();
        let (Some(token), Some(says)) = (status.token, status.expiration_timestamp) else {
            return Err(TokenError::Malformed { account });
        };
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| TokenError::Malformed { account })?;
        authorization.set_sensitive(true);
        Ok(held(authorization, Timestamp::now(), says.0))
    }
}

/// Some API servers extend a token's life beyond what was asked; the agent does not use that.
fn held(authorization: HeaderValue, now: Timestamp, says: Timestamp) -> Held {
    let expires_at = says.min(now + SignedDuration::from_secs(LIFE));
    let life = expires_at.duration_since(now);
    Held {
        authorization,
        refresh_at: now + life * 3 / 4,
        expires_at,
    }
}

impl Slot {
    fn answer(&self, now: Timestamp) -> Answer {
        match &self.state.lock().held {
            Some(held) if now < held.expires_at => Answer::Token {
                header: held.authorization.clone(),
                stale: now >= held.refresh_at,
            },
            _ => Answer::Nothing,
        }
    }

    fn failure_since(&self, since: Instant) -> Option<Arc<TokenError>> {
        let state = self.state.lock();
        let failure = state.failure.as_ref().filter(|failure| failure.at > since);
        failure.map(|failure| Arc::clone(&failure.error))
    }
}

const fn index(lane: Lane) -> usize {
    match lane {
        Lane::User => 0,
        Lane::Controller => 1,
        Lane::Report => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use drover_tunnel::BoxError;

    use super::*;

    #[test]
    fn a_token_is_renewed_before_it_ends_and_used_an_hour_at_most() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let second = SignedDuration::from_secs;
        let header = || HeaderValue::from_static("Bearer x");
        for (says, refresh, expiry) in [(3600, 2700, 3600), (86_400, 2700, 3600), (600, 450, 600)] {
            let held = held(header(), now, now + second(says));
            assert_eq!(held.refresh_at, now + second(refresh), "{says}");
            assert_eq!(held.expires_at, now + second(expiry), "{says}");
        }
    }

    /// Tokens of an API server that issues none, slowly; and how often it was asked.
    fn unissued() -> (LaneTokens, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<Result<http::Response<kube::client::Body>, BoxError>>()
        });
        let client = kube::Client::new(service, "drover-agent");
        (LaneTokens::new(client, "drover-agent"), asked)
    }

    fn hold(tokens: &LaneTokens, expires_in: i64) {
        let now = Timestamp::now();
        let second = SignedDuration::from_secs;
        let began = now - second(LIFE - expires_in);
        let held = held(
            HeaderValue::from_static("Bearer x"),
            began,
            now + second(expires_in),
        );
        tokens.slot(Lane::User).state.lock().held = Some(held);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stale_token_serves_at_once_while_its_successor_is_asked_for_now_and_then() {
        let (tokens, asked) = unissued();
        hold(&tokens, 800);
        let begin = Instant::now();
        for _ in 0..100 {
            tokens.authorization(Lane::User).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(begin.elapsed(), Duration::ZERO, "nobody waits");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "one asks for all");
        for (later, times) in [(20, 1), (19, 1), (2, 2)] {
            tokio::time::sleep(Duration::from_secs(later)).await;
            tokens.authorization(Lane::User).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(asked.load(Ordering::SeqCst), times, "{later}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_without_a_token_fail_together_and_not_one_after_the_other() {
        let (tokens, asked) = unissued();
        hold(&tokens, -1);
        let begin = Instant::now();
        let waiting = (0..100).map(|_| tokens.authorization(Lane::User));
        for answer in futures::future::join_all(waiting).await {
            assert!(matches!(*answer.unwrap_err(), TokenError::Timeout { .. }));
        }
        assert_eq!(begin.elapsed(), TIMEOUT);
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        assert!(tokens.authorization(Lane::User).await.is_err());
        assert_eq!(asked.load(Ordering::SeqCst), 2, "the next one asks again");
    }

    #[test]
    fn a_token_is_stale_for_its_last_quarter_and_nothing_afterwards() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let second = SignedDuration::from_secs;
        let slot = Slot::default();
        slot.state.lock().held = Some(held(
            HeaderValue::from_static("Bearer x"),
            now,
            now + second(3600),
        ));
        for (at, wanted) in [
            (0, Some(false)),
            (2699, Some(false)),
            (2700, Some(true)),
            (3600, None),
        ] {
            let stale = match slot.answer(now + second(at)) {
                Answer::Token { stale, .. } => Some(stale),
                Answer::Nothing => None,
            };
            assert_eq!(stale, wanted, "{at}");
        }
    }
}
