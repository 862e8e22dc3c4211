//! One port forward.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use drover_access::permit;
use drover_api::ids::UserUid;
use drover_entropy::NoRandomness;
use drover_proxy::in_process::Credentials;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::connection::{IDLE_TIMEOUT, Traffic};
use crate::pool::Pool;
use crate::secret::{Secret, hex};
use crate::target::Target;

/// Time for which a ticket is valid.
pub(crate) const TICKET_LIFETIME: Duration = Duration::from_mins(1);
/// Maximum lifetime of a port forward.
const MAX_LIFETIME: SignedDuration = SignedDuration::from_hours(12);
/// Maximum number of connections of one port forward in use.
const MAX_CONNECTIONS: usize = 16;

/// The user and the token that created a port forward. The end of the token ends the port forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) user: UserUid,
    pub(crate) token: String,
    pub(crate) token_expires_at: Timestamp,
}

/// A port forward.
pub(crate) struct Forward {
    /// The first label of the host name.
    pub(crate) id: String,
    pub(crate) owner: Owner,
    pub(crate) target: Target,
    /// The address without a path: `https://<label>.<domain>:<port>`.
    pub(crate) origin: String,
    pub(crate) created: (Instant, Timestamp),
    pub(crate) expires_at: Timestamp,
    /// The cluster that the permit named at the first check. A new cluster with the same name has
    /// another UID.
    pub(crate) permitted: OnceLock<permit::Target>,
    pub(crate) credentials: Credentials,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) slots: Arc<Semaphore>,
    cookie: Secret,
    ticket: Mutex<Option<Secret>>,
}

/// Returns a random label of a host name.
pub(crate) fn new_label() -> Result<String, NoRandomness> {
    Ok(hex(&drover_entropy::random::<16>()?))
}

impl Forward {
    /// Creates a port forward. Returns the port forward and its ticket.
    pub(crate) fn new(
        id: String,
        owner: Owner,
        target: Target,
        origin: String,
        credentials: Credentials,
    ) -> Result<(Arc<Self>, Secret), NoRandomness> {
        let ticket = Secret::random()?;
        let now = Timestamp::now();
        let latest = now.saturating_add(MAX_LIFETIME).unwrap_or(Timestamp::MAX);
        let forward = Self {
            id,
            expires_at: latest.min(owner.token_expires_at),
            owner,
            target,
            origin,
            created: (Instant::now(), now),
            permitted: OnceLock::new(),
            credentials,
            traffic: Arc::default(),
            pool: Arc::default(),
            slots: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            cookie: Secret::random()?,
            ticket: Mutex::new(Some(ticket.clone())),
        };
        Ok((Arc::new(forward), ticket))
    }

    /// Returns the cookie if the ticket is valid. The ticket is not valid afterwards.
    pub(crate) fn redeem(&self, presented: &str) -> Option<&str> {
        let mut ticket = self.ticket.lock();
        if self.created.0.elapsed() >= TICKET_LIFETIME {
            *ticket = None;
        }
        if !ticket.as_ref()?.matches(presented) {
            return None;
        }
        *ticket = None;
        Some(self.cookie.expose())
    }

    /// Returns true for the cookie of this port forward.
    pub(crate) fn admits(&self, cookie: &str) -> bool {
        self.cookie.matches(cookie)
    }

    /// Returns true if the port forward was closed, was not used for too long, or has reached its
    /// maximum lifetime.
    pub(crate) fn has_ended(&self) -> bool {
        let (last_use, _) = self.traffic.last_use();
        self.traffic.is_closing()
            || last_use.elapsed() >= IDLE_TIMEOUT
            || Timestamp::now() >= self.expires_at
    }

    /// Ends the port forward and all its connections.
    pub(crate) fn close(&self) {
        self.traffic.close();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use http::Request;

    use super::*;

    /// Creates a port forward of a user.
    pub(crate) fn forward(user: &str) -> (Arc<Forward>, Secret) {
        let (head, ()) = Request::get("/").body(()).unwrap().into_parts();
        let owner = Owner {
            user: UserUid::new(user),
            token: "t".to_owned(),
            token_expires_at: Timestamp::MAX,
        };
        let target = Target {
            cluster: "east".to_owned(),
            namespace: "default".to_owned(),
            pod: "web".to_owned(),
            service: None,
            port: 8080,
        };
        let id = new_label().unwrap();
        let origin = format!("https://{id}.forwards.example");
        Forward::new(id, owner, target, origin, Credentials::of(&head)).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn ticket_is_valid_once_and_for_one_minute() {
        let (used, ticket) = forward("ann");
        assert!(used.redeem("").is_none());
        assert!(used.redeem(&"0".repeat(64)).is_none());
        let cookie = used.redeem(ticket.expose()).map(str::to_owned).unwrap();
        assert!(used.redeem(ticket.expose()).is_none());
        assert!(used.admits(&cookie) && !used.admits(ticket.expose()));
        let (late, ticket) = forward("ann");
        tokio::time::advance(TICKET_LIFETIME).await;
        assert!(late.redeem(ticket.expose()).is_none());
    }

    #[tokio::test]
    async fn cookie_of_another_port_forward_is_rejected() {
        let ((one, ticket), (other, _)) = (forward("ann"), forward("ann"));
        let cookie = one.redeem(ticket.expose()).unwrap();
        assert!(one.admits(cookie));
        assert!(!other.admits(cookie));
    }

    #[tokio::test(start_paused = true)]
    async fn unused_port_forward_ends_after_15_minutes() {
        let (forward, _) = forward("ann");
        tokio::time::advance(Duration::from_mins(14)).await;
        assert!(!forward.has_ended());
        forward.traffic.used();
        tokio::time::advance(Duration::from_mins(14)).await;
        assert!(!forward.has_ended());
        tokio::time::advance(Duration::from_mins(1)).await;
        assert!(forward.has_ended());
    }

    #[tokio::test]
    async fn port_forward_ends_with_its_token_or_after_12_hours() {
        let (forward, _) = forward("ann");
        let lifetime = forward.expires_at.duration_since(forward.created.1);
        assert_eq!(lifetime, MAX_LIFETIME);
        let owner = Owner {
            token_expires_at: forward.created.1,
            ..forward.owner.clone()
        };
        let (target, credentials) = (forward.target.clone(), forward.credentials.clone());
        let ended = Forward::new(String::new(), owner, target, String::new(), credentials);
        assert!(ended.unwrap().0.has_ended());
    }
}
