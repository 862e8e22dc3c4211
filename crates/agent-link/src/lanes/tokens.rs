//! Short-lived tokens of the lanes' service accounts. The agent stores the tokens only in memory.

use std::sync::Arc;
use std::time::Duration;

use drover_api::agent::Lane;
use drover_api::client_error::ClientError;
use drover_api::group::DEPLOYER_ACCOUNT;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

/// Requested token lifetime, in seconds.
const LIFETIME_S: i64 = 3600;
/// Timeout of a token request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between attempts to renew a token that is still valid.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// The reason why a lane has no token.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The token request failed.
    #[error("cannot get a token for service account {account}: {source}")]
    Request {
        /// Name of the service account.
        account: &'static str,
        /// Error of the API server.
        #[source]
        source: ClientError,
    },
    /// The API server did not respond in time.
    #[error(
        "the API server did not issue a token for service account {account} within {seconds} s",
        seconds = TIMEOUT.as_secs()
    )]
    Timeout {
        /// Name of the service account.
        account: &'static str,
    },
    /// The response has no token, or a token that is not valid in a header.
    #[error("the API server issued an invalid token for service account {account}")]
    Malformed {
        /// Name of the service account.
        account: &'static str,
    },
}

/// A service account in the agent's namespace for which the agent requests tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The account of a lane.
    Lane(Lane),
    /// The account that deploys bundles. No tunnelled request uses this account.
    Deployer,
}

impl Account {
    /// Number of accounts.
    const COUNT: usize = Lane::ALL.len() + 1;

    const fn name(self) -> &'static str {
        match self {
            Self::Lane(lane) => lane.service_account(),
            Self::Deployer => DEPLOYER_ACCOUNT,
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Lane(Lane::User) => 0,
            Self::Lane(Lane::Controller) => 1,
            Self::Lane(Lane::Report) => 2,
            Self::Deployer => 3,
        }
    }
}

impl From<Lane> for Account {
    fn from(lane: Lane) -> Self {
        Self::Lane(lane)
    }
}

/// The tokens of the accounts. The agent requests a token for the first request of an account, and
/// renews the token before the token expires. Clones share the tokens.
#[derive(Clone)]
pub struct LaneTokens {
    accounts: Api<ServiceAccount>,
    slots: Arc<[Slot; Account::COUNT]>,
}

#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    /// Locked during a token request, so that concurrent callers wait for the same token request.
    requesting: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    failure: Option<Failure>,
}

#[derive(Clone)]
struct Token {
    authorization: HeaderValue,
    refresh_at: Timestamp,
    expires_at: Timestamp,
}

/// The error and the time of the last failed token request.
#[derive(Clone)]
struct Failure {
    at: Instant,
    error: Arc<TokenError>,
}

/// The stored token of a lane.
enum Lookup {
    /// A valid token. `stale` is true when the token is due for renewal.
    Valid { header: HeaderValue, stale: bool },
    /// The lane has no valid token.
    Missing,
}

impl std::fmt::Debug for LaneTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LaneTokens(hidden)")
    }
}

impl LaneTokens {
    /// Creates tokens for the service accounts in the agent's namespace.
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self {
            accounts: Api::namespaced(client, namespace),
            slots: Arc::new(std::array::from_fn(|_| Slot::default())),
        }
    }

    /// Returns the `Authorization` header of a lane, marked as sensitive.
    ///
    /// Waits only if the lane has no valid token. If the token is about to expire, renews the token
    /// in the background.
    pub async fn authorization(
        &self,
        account: impl Into<Account>,
    ) -> Result<HeaderValue, Arc<TokenError>> {
        let account = account.into();
        let slot = self.slot(account);
        let begin = Instant::now();
        match slot.lookup(Timestamp::now()) {
            Lookup::Valid { header, stale } => {
                if stale {
                    self.renew(account);
                }
                Ok(header)
            }
            Lookup::Missing => {
                let _guard = slot.requesting.lock().await;
                if let Lookup::Valid { header, .. } = slot.lookup(Timestamp::now()) {
                    return Ok(header);
                }
                // A token request that finished while this caller waited also applies to this
                // caller.
                match slot.failure_since(begin) {
                    Some(error) => Err(error),
                    None => Box::pin(self.request_and_store(account)).await,
                }
            }
        }
    }

    /// Discards a token that the API server refused. The next request on the lane then waits for a
    /// new token.
    pub fn discard(&self, account: impl Into<Account>, refused: &HeaderValue) {
        let token = &mut self.slot(account.into()).state.lock().token;
        if token
            .as_ref()
            .is_some_and(|token| token.authorization == refused)
        {
            *token = None;
        }
    }

    /// Requests a token in the background. Does not send a request if a token request is in
    /// progress or failed recently.
    fn renew(&self, account: Account) {
        let slot = self.slot(account);
        let too_soon = Instant::now().checked_sub(RETRY_INTERVAL);
        if too_soon.is_some_and(|then| slot.failure_since(then).is_some()) {
            return;
        }
        let Ok(guard) = Arc::clone(&slot.requesting).try_lock_owned() else {
            return;
        };
        let tokens = self.clone();
        tokio::spawn(async move {
            if let Err(error) = tokens.request_and_store(account).await {
                tracing::warn!(%error, "cannot renew the token of a lane; the current token is \
                                        still valid");
            }
            drop(guard);
        });
    }

    /// Requests a token and stores the result. The caller holds the lock `requesting`.
    async fn request_and_store(&self, account: Account) -> Result<HeaderValue, Arc<TokenError>> {
        let result = self.request(account).await;
        let mut state = self.slot(account).state.lock();
        match result {
            Ok(token) => {
                let header = token.authorization.clone();
                *state = State {
                    token: Some(token),
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

    fn slot(&self, account: Account) -> &Slot {
        &self.slots[account.index()]
    }

    async fn request(&self, account: Account) -> Result<Token, TokenError> {
        let account = account.name();
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(LIFETIME_S),
                ..Default::default()
            }),
            ..Default::default()
        };
        let params = PostParams::default();
        let response = self
            .accounts
            .create_token_request(account, &params, &request);
        let status = tokio::time::timeout(TIMEOUT, response)
            .await
            .map_err(|_| TokenError::Timeout { account })?
            .map_err(|source| TokenError::Request {
                account,
                source: source.into(),
            })?
            .status
            .unwrap_or_default();
        let (Some(token), Some(expiry)) = (status.token, status.expiration_timestamp) else {
            return Err(TokenError::Malformed { account });
        };
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| TokenError::Malformed { account })?;
        authorization.set_sensitive(true);
        Ok(Token::new(authorization, Timestamp::now(), expiry.0))
    }
}

impl Token {
    /// Limits a token's lifetime to the requested lifetime, because some API servers issue tokens
    /// with a longer lifetime.
    fn new(authorization: HeaderValue, now: Timestamp, issued_until: Timestamp) -> Self {
        let expires_at = issued_until.min(now + SignedDuration::from_secs(LIFETIME_S));
        let lifetime = expires_at.duration_since(now);
        Self {
            authorization,
            refresh_at: now + lifetime * 3 / 4,
            expires_at,
        }
    }
}

impl Slot {
    fn lookup(&self, now: Timestamp) -> Lookup {
        match &self.state.lock().token {
            Some(token) if now < token.expires_at => Lookup::Valid {
                header: token.authorization.clone(),
                stale: now >= token.refresh_at,
            },
            _ => Lookup::Missing,
        }
    }

    fn failure_since(&self, since: Instant) -> Option<Arc<TokenError>> {
        let state = self.state.lock();
        let failure = state.failure.as_ref().filter(|failure| failure.at > since);
        failure.map(|failure| Arc::clone(&failure.error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use drover_tunnel::BoxError;

    use super::*;

    #[test]
    fn token_is_renewed_before_expiry_and_at_least_hourly() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let second = SignedDuration::from_secs;
        let header = || HeaderValue::from_static("Bearer x");
        for (issued, refresh, expiry) in [(3600, 2700, 3600), (86_400, 2700, 3600), (600, 450, 600)]
        {
            let token = Token::new(header(), now, now + second(issued));
            assert_eq!(token.refresh_at, now + second(refresh), "{issued}");
            assert_eq!(token.expires_at, now + second(expiry), "{issued}");
        }
    }

    /// Returns the tokens of a client whose API server does not respond, and a counter of the
    /// requests to this API server.
    fn unresponsive() -> (LaneTokens, Arc<AtomicUsize>) {
        let request_count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&request_count);
        let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            counted.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<Result<http::Response<kube::client::Body>, BoxError>>()
        });
        let client = kube::Client::new(service, "drover-agent");
        (LaneTokens::new(client, "drover-agent"), request_count)
    }

    fn store(tokens: &LaneTokens, expires_in: i64) {
        let now = Timestamp::now();
        let second = SignedDuration::from_secs;
        let began = now - second(LIFETIME_S - expires_in);
        let token = Token::new(
            HeaderValue::from_static("Bearer x"),
            began,
            now + second(expires_in),
        );
        tokens.slot(Lane::User.into()).state.lock().token = Some(token);
    }

    #[tokio::test(start_paused = true)]
    async fn stale_token_remains_usable_during_its_background_renewal() {
        let (tokens, request_count) = unresponsive();
        store(&tokens, 800);
        let begin = Instant::now();
        for _ in 0..100 {
            tokens.authorization(Lane::User).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(
            begin.elapsed(),
            Duration::ZERO,
            "the request does not wait for a token"
        );
        assert_eq!(
            request_count.load(Ordering::SeqCst),
            1,
            "all callers share one token request"
        );
        for (later, times) in [(20, 1), (19, 1), (2, 2)] {
            tokio::time::sleep(Duration::from_secs(later)).await;
            tokens.authorization(Lane::User).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(request_count.load(Ordering::SeqCst), times, "{later}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_requests_for_a_missing_token_share_one_failed_token_request() {
        let (tokens, request_count) = unresponsive();
        store(&tokens, -1);
        let begin = Instant::now();
        let waiting = (0..100).map(|_| tokens.authorization(Lane::User));
        for answer in futures::future::join_all(waiting).await {
            assert!(matches!(*answer.unwrap_err(), TokenError::Timeout { .. }));
        }
        assert_eq!(begin.elapsed(), TIMEOUT);
        assert_eq!(request_count.load(Ordering::SeqCst), 1);
        assert!(tokens.authorization(Lane::User).await.is_err());
        assert_eq!(
            request_count.load(Ordering::SeqCst),
            2,
            "the next request retries"
        );
    }

    #[test]
    fn token_is_stale_in_last_quarter_of_its_lifetime_and_missing_after_expiry() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let second = SignedDuration::from_secs;
        let slot = Slot::default();
        slot.state.lock().token = Some(Token::new(
            HeaderValue::from_static("Bearer x"),
            now,
            now + second(3600),
        ));
        for (at, expected) in [
            (0, Some(false)),
            (2699, Some(false)),
            (2700, Some(true)),
            (3600, None),
        ] {
            let stale = match slot.lookup(now + second(at)) {
                Lookup::Valid { stale, .. } => Some(stale),
                Lookup::Missing => None,
            };
            assert_eq!(stale, expected, "{at}");
        }
    }
}
