//! What is remembered of tokens.

use std::collections::HashMap;
use std::sync::Arc;

use drover_access::account_token::{AccountToken, TokenDigest};
use drover_access::identity::Account;
use tokio::time::Instant;

use super::watched_objects::{Bound, BoundState, WatchedObjects};
use super::{KNOWN_FOR, LOOKS, REFUSED_FOR, REMEMBERED, ROOM, Review};

pub(super) enum Known {
    /// The hub is asked for the first time.
    Asked(Review),
    /// The hub did not take it.
    Refused(Instant),
    Accepted(Box<Accepted>),
}

pub(super) struct Accepted {
    pub(super) account: Account,
    /// When the hub was asked.
    pub(super) at: Instant,
    /// Until when the hub, or the objects that the token is bound to, proved it.
    pub(super) held: Instant,
    /// When a request or something open last stood on it.
    pub(super) used: Instant,
    /// The token itself, as long as something may be open that stands on it.
    pub(super) token: Option<Arc<AccountToken>>,
    /// The objects whose deletion ends the token; empty if it has to be polled.
    pub(super) bound: Vec<Bound>,
    /// Something open has stood on it during the last looks.
    pub(super) open: bool,
    /// Looks since something open or a request stood on it.
    pub(super) unused: u8,
    /// It waits for a review because something is open.
    pub(super) queued: bool,
    pub(super) again: Option<Review>,
}

impl Accepted {
    pub(super) fn new(account: &Account, token: &Arc<AccountToken>, at: Instant) -> Self {
        let bound = token.bound_objects();
        // Another issuer's token may be good for the hub, too; its claims prove nothing.
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
            again: None,
        }
    }

    /// Whether the objects that the token is bound to are still there.
    pub(super) fn check_bound_objects(&mut self, watched: &WatchedObjects) -> BoundState {
        let (state, since) = watched.state(&mut self.bound, self.at);
        if let (BoundState::Present, Some(since)) = (state, since) {
            self.held = self.held.max(since);
        }
        state
    }

    /// Counts a look, and forgets the token after some for which nothing stood on it.
    pub(super) fn count_unused_check(&mut self) {
        self.unused = self.unused.saturating_add(1);
        if self.unused > LOOKS && !self.queued {
            (self.open, self.token) = (false, None);
        }
    }
}

/// Forgets what is of no use, and if that is not enough the accepted tokens used longest ago on
/// which nothing open stands.
pub(super) fn evict(known: &mut HashMap<TokenDigest, Known>) {
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
