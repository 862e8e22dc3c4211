//! The clock of a simulation: the system clock, or a manual clock in tests.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// A clock. Clones share the time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The time of a manual clock. `None` for the system clock.
    manual: Option<Arc<watch::Sender<Timestamp>>>,
}

impl Clock {
    /// Creates a manual clock.
    pub fn manual(at: Timestamp) -> Self {
        Self {
            manual: Some(Arc::new(watch::Sender::new(at))),
        }
    }

    /// Advances a manual clock. Has no effect on the system clock.
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

    /// Returns the remaining duration until `at`. For a manual clock, returns `None` before `at`,
    /// because only [`Clock::advance`] ends the wait.
    pub fn left(&self, at: Timestamp) -> Option<Duration> {
        if self.manual.is_some() {
            return (at <= self.now()).then_some(Duration::ZERO);
        }
        let remaining = at.duration_since(Timestamp::now());
        Some(remaining.unsigned_abs_if_positive())
    }

    /// Returns a stream that yields after each [`Clock::advance`].
    pub fn advances(&self) -> BoxStream<'static, ()> {
        let Some(manual) = &self.manual else {
            return stream::pending().boxed();
        };
        let advances = stream::unfold(manual.subscribe(), |mut manual| async {
            manual.changed().await.ok()?;
            Some(((), manual))
        });
        advances.boxed()
    }

    /// Waits until the clock reaches the time `at`.
    pub async fn until(&self, at: Timestamp) {
        match &self.manual {
            None => {
                let remaining = at.duration_since(Timestamp::now());
                tokio::time::sleep(remaining.unsigned_abs_if_positive()).await;
            }
            Some(manual) => {
                // `self` contains the sender, so the channel is open.
                let _ = manual.subscribe().wait_for(|now| *now >= at).await;
            }
        }
    }
}

/// Converts a signed duration to an unsigned duration. A negative duration becomes zero.
trait UnsignedIfPositive {
    fn unsigned_abs_if_positive(self) -> Duration;
}

impl UnsignedIfPositive for SignedDuration {
    fn unsigned_abs_if_positive(self) -> Duration {
        Duration::try_from(self).unwrap_or_default()
    }
}
