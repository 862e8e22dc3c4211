//! Waiting until somebody touched what the server applied in a cluster, by the word of the agent there.

use std::time::Duration;

use tokio::time::Instant;

use super::cluster::heard::Heard;
use super::keeper::Shared;

/// Least time between a look and the next because somebody touched something.
const SETTLED_AFTER: Duration = Duration::from_secs(1);
/// The same, for somebody who does it again and again.
const SETTLED_AT_MOST: Duration = Duration::from_secs(30);
/// Looks after which it is as long as it gets.
const MOST: u32 = 5;

/// One of the digests that an agent tells, as it was when the last look began. Whoever touches what it
/// is of again and again is answered more and more slowly.
pub(super) struct Touched {
    digest: fn(&Heard) -> &Option<String>,
    before: Option<String>,
    begun: Instant,
    restless: u32,
}

impl Touched {
    /// Of this digest.
    pub(super) fn new(digest: fn(&Heard) -> &Option<String>) -> Self {
        Self {
            digest,
            before: None,
            begun: Instant::now(),
            restless: 0,
        }
    }

    /// A look begins: what is told from here on is for the next.
    pub(super) fn look(&mut self, shared: &Shared) {
        self.before = shared.heard_digest(self.digest);
        self.begun = Instant::now();
    }

    /// Resolves when the agent tells of others than there were. What the look wrote is among that, so
    /// that each change is followed by one look that finds nothing.
    pub(super) async fn told(&self, shared: &Shared) {
        let settled = (SETTLED_AFTER * (1 << self.restless)).min(SETTLED_AT_MOST);
        tokio::time::sleep(settled).await;
        let mut told = shared.changed();
        while shared.heard_digest(self.digest) == self.before {
            // The sender lives in `shared`, so this cannot fail.
            let _ = told.changed().await;
        }
    }

    /// The wait has ended, by [`Touched::told`] or otherwise; what was quiet for long enough is quiet.
    pub(super) fn waited(&mut self, by_this: bool) {
        if by_this {
            self.restless = (self.restless + 1).min(MOST);
        } else if self.begun.elapsed() > SETTLED_AT_MOST {
            self.restless = 0;
        }
    }
}
