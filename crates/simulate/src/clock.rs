//! The time that a simulation goes by: the machine's, or one that a test moves.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// A clock; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// None for the machine's.
    moved: Option<Arc<watch::Sender<Timestamp>>>,
}

impl Clock {
    /// A clock that stands still until it is moved.
    pub fn still(at: Timestamp) -> Self {
        Self {
            moved: Some(Arc::new(watch::Sender::new(at))),
        }
    }

    /// Moves a still clock forward; the machine's goes by itself.
    pub fn forward(&self, by: SignedDuration) {
        if let Some(moved) = &self.moved {
            moved.send_modify(|now| *now += by);
        }
    }

    /// What it shows.
    pub fn now(&self) -> Timestamp {
        match &self.moved {
            None => Timestamp::now(),
            Some(moved) => *moved.borrow(),
        }
    }

    /// Waits until it shows this time.
    pub async fn until(&self, at: Timestamp) {
        match &self.moved {
            None => {
                let left = at.duration_since(Timestamp::now());
                tokio::time::sleep(left.unsigned_abs_if_positive()).await;
            }
            Some(moved) => {
                // The sender lives in this clock, so the wait can only end with the time.
                let _ = moved.subscribe().wait_for(|now| *now >= at).await;
            }
        }
    }
}

/// Nothing for the past.
trait UnsignedIfPositive {
    fn unsigned_abs_if_positive(self) -> std::time::Duration;
}

impl UnsignedIfPositive for SignedDuration {
    fn unsigned_abs_if_positive(self) -> std::time::Duration {
        std::time::Duration::try_from(self).unwrap_or_default()
    }
}
