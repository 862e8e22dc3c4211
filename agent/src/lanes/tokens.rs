//! Short-lived tokens of the lanes' service accounts, held in memory only.

use std::time::Duration;

use drover_api::agent::Lane;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use thiserror::Error;

/// Life asked for, in seconds.
const LIFE: i64 = 3600;
/// Most time for the API server to issue one.
const TIMEOUT: Duration = Duration::from_secs(10);

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
        source: Box<kube::Error>,
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

/// The lanes' tokens; each is asked for when first needed and again well before it ends.
pub struct LaneTokens {
    accounts: Api<ServiceAccount>,
    slots: [Slot; Lane::ALL.len()],
}

#[derive(Default)]
struct Slot {
    held: Mutex<Option<Held>>,
    /// Held while asking, so that a burst of requests asks once.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Held {
    authorization: HeaderValue,
    refresh_at: Timestamp,
    expires_at: Timestamp,
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
            slots: std::array::from_fn(|_| Slot::default()),
        }
    }

    /// The `Authorization` header of a lane, marked sensitive.
    pub async fn authorization(&self, lane: Lane) -> Result<HeaderValue, TokenError> {
        let slot = &self.slots[index(lane)];
        if let Some(fresh) = slot.fresh(Timestamp::now()) {
            return Ok(fresh);
        }
        let _turn = slot.asking.lock().await;
        if let Some(fresh) = slot.fresh(Timestamp::now()) {
            return Ok(fresh);
        }
        match self.request(lane).await {
            Ok(held) => {
                let authorization = held.authorization.clone();
                *slot.held.lock() = Some(held);
                Ok(authorization)
            }
            // Refreshed early, so the old one serves while the API server cannot issue.
            Err(error) => slot.unexpired(Timestamp::now()).ok_or(error),
        }
    }

    /// Drops a token that the API server refused, so that the next request asks for another.
    pub fn forget(&self, lane: Lane, refused: &HeaderValue) {
        let mut held = self.slots[index(lane)].held.lock();
        if held
            .as_ref()
            .is_some_and(|held| held.authorization == refused)
        {
            *held = None;
        }
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
                source: Box::new(source),
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
    fn fresh(&self, now: Timestamp) -> Option<HeaderValue> {
        self.held
            .lock()
            .as_ref()
            .filter(|held| now < held.refresh_at)
            .map(Held::header)
    }

    fn unexpired(&self, now: Timestamp) -> Option<HeaderValue> {
        self.held
            .lock()
            .as_ref()
            .filter(|held| now < held.expires_at)
            .map(Held::header)
    }
}

impl Held {
    fn header(&self) -> HeaderValue {
        self.authorization.clone()
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

    #[test]
    fn a_stale_token_serves_until_it_expires_and_no_longer() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let second = SignedDuration::from_secs;
        let slot = Slot::default();
        *slot.held.lock() = Some(held(
            HeaderValue::from_static("Bearer x"),
            now,
            now + second(3600),
        ));
        for (at, fresh, unexpired) in [
            (0, true, true),
            (2699, true, true),
            (2700, false, true),
            (3600, false, false),
        ] {
            assert_eq!(slot.fresh(now + second(at)).is_some(), fresh, "{at}");
            assert_eq!(
                slot.unexpired(now + second(at)).is_some(),
                unexpired,
                "{at}"
            );
        }
    }
}
