//! The cached state of service account tokens.

use std::collections::HashMap;
use std::sync::Arc;

use drover_access::account_token::{AccountToken, TokenDigest};
use drover_access::identity::Account;
use tokio::time::Instant;

use super::watched_objects::{Bound, BoundState, WatchedObjects};
use super::{EVICTED, MAX_TOKENS, MAX_UNUSED, MAX_UNUSED_CHECKS, REJECTION_TTL, Review};

pub(super) enum CacheEntry {
    /// The first review is running.
    InReview(Review),
    /// The hub rejected the token at this time.
    Refused(Instant),
    Accepted(Box<Accepted>),
}

pub(super) struct Accepted {
    pub(super) account: Account,
    /// The time of the last review that accepted the token.
    pub(super) at: Instant,
    /// The last time at which a review or the watched objects confirmed the token.
    pub(super) held: Instant,
    /// The time of the last use by a request or an open stream.
    pub(super) used: Instant,
    /// The secret text of the token. `None` after several checks without an open stream.
    pub(super) token: Option<Arc<AccountToken>>,
    /// The objects whose deletion revokes the token. Empty if the server polls the token.
    pub(super) bound: Vec<Bound>,
    /// True if a stream with this token was open during the last checks.
    pub(super) open: bool,
    /// The number of checks since the last use of the token.
    pub(super) unused: u8,
    /// True while the token waits for a review.
    pub(super) queued: bool,
    pub(super) repeat_review: Option<Review>,
}

impl Accepted {
    pub(super) fn new(account: &Account, token: &Arc<AccountToken>, at: Instant) -> Self {
        let bound = token.bound_objects();
        // The hub may accept tokens of another issuer, whose claims prove nothing.
        let named = bound.first().and_then(|account| account.uid.as_ref());
        let bound = match named {
            Some(uid) if *uid == account.uid => bound.iter().map(Bound::from).collect(),
            Some(_) | None => Vec::new(),
        };
        Self {
            account: account.clone(),
            at,
            held: at,
            used: at,
            token: Some(Arc::clone(token)),
            bound,
            open: false,
            unused: 0,
            queued: false,
            repeat_review: None,
        }
    }

    /// Returns the state of the objects that the token is bound to.
    pub(super) fn check_bound_objects(&mut self, watched: &WatchedObjects) -> BoundState {
        let (state, since) = watched.state(&mut self.bound, self.at);
        if let (BoundState::Present, Some(since)) = (state, since) {
            self.held = self.held.max(since);
        }
        state
    }

    /// Counts a check, and removes the token's text after several checks without use.
    pub(super) fn count_unused_check(&mut self) {
        self.unused = self.unused.saturating_add(1);
        if self.unused > MAX_UNUSED_CHECKS && !self.queued {
            (self.open, self.token) = (false, None);
        }
    }
}

/// Removes expired entries. If too many entries remain, removes the least recently used tokens.
pub(super) fn evict(cached: &mut HashMap<TokenDigest, CacheEntry>) {
    cached.retain(|_, cached| match cached {
        CacheEntry::InReview(_) => true,
        CacheEntry::Refused(at) => at.elapsed() < REJECTION_TTL,
        CacheEntry::Accepted(accepted) => accepted.used.elapsed() < MAX_UNUSED,
    });
    if cached.len() + EVICTED <= MAX_TOKENS {
        return;
    }
    let mut old: Vec<_> = cached
        .iter()
        .map(|(digest, cached)| match cached {
            CacheEntry::InReview(_) => (Instant::now(), *digest),
            CacheEntry::Refused(at) => (*at, *digest),
            CacheEntry::Accepted(accepted) => (accepted.used, *digest),
        })
        .collect();
    old.sort_by_key(|(used, _)| *used);
    for (_, digest) in old.into_iter().take(EVICTED) {
        cached.remove(&digest);
    }
}
