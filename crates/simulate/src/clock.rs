//! The clock of a simulation: the system clock, or a manual one in tests.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// A clock; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The manual time; `None` for the system clock.
    manual: Option<Arc<watch::Sender<Timestamp>>>,
}

impl Clock {
    /// Creates a manual clock.
    pub fn manual(at: Timestamp) -> Self {
        Self {
            manual: Some(Arc::new(watch::Sender::new(at))),
        }
    }

    /// Advances a manual clock; no effect on the system clock.
    pub fn advance(&self, by: SignedDuration) {
        if let Some(manual) = &self.manual {
            manual.send_modify(|now| *now += by);
        }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        match &self.manual {
            None => Timestamp::now(),
            Some(manual) => *manual.borrow(),
        }
    }

    /// Waits until this time.
    pub async fn until(&self, at: Timestamp) {
        match &self.manual {
            None => {
                let left = at.duration_since(Timestamp::now());
                tokio::time::sleep(left.unsigned_abs_if_positive()).await;
            }
            Some(manual) => {
                // `self` holds the sender, so that the channel stays open.
                let _ = manual.subscribe().wait_for(|now| *now >= at).await;
            }
        }
    }
}

/// Returns zero for a negative duration.
trait UnsignedIfPositive {
    fn unsigned_abs_if_positive(self) -> std::time::Duration;
}

impl UnsignedIfPositive for SignedDuration {
    fn unsigned_abs_if_positive(self) -> std::time::Duration {
        std::time::Duration::try_from(self).unwrap_or_default()
    }
}
