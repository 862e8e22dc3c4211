//! Watches of the store: past events from memory or the log, then live events.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::error::WatchEnd;
use super::event::{Batch, Round};
use super::feed::{Feed, NoRound, Subscription};
use super::pins::Pin;
use super::readers::Lane;
use super::replay::replay;

/// A watch of the keys below a prefix. The watch delivers all events in order and without
/// duplicates.
#[derive(Debug)]
pub struct Watch {
    prefix: Arc<str>,
    feed: Arc<Feed>,
    scans: Arc<Lane>,
    subscription: Subscription,
    /// The revision up to which all changes are delivered.
    delivered: u64,
    /// The pin that retains the history after the revision `delivered`.
    pin: Option<Pin>,
    progress_every: Duration,
    next_progress: Instant,
}

impl Watch {
    pub(super) fn begin(
        prefix: Arc<str>,
        from: u64,
        feed: Arc<Feed>,
        scans: Arc<Lane>,
        progress_every: Duration,
        pin: Option<Pin>,
    ) -> Option<Self> {
        let subscription = feed.subscribe(&prefix)?;
        Some(Self {
            prefix,
            feed,
            scans,
            subscription,
            delivered: from,
            pin,
            progress_every,
            next_progress: Instant::now() + progress_every,
        })
    }

    /// Returns the revision up to which all changes are delivered. A new watch from this revision
    /// continues this watch.
    pub fn revision(&self) -> u64 {
        self.delivered
    }

    /// Waits for events. Does not report progress: the revision of an idle watch stays unchanged
    /// until [`Self::progress`]. Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WatchEnd`]; the error ends the watch.
    pub async fn changes(&mut self) -> Result<Batch, WatchEnd> {
        if let Some(batch) = self.all_past().await? {
            return Ok(batch);
        }
        loop {
            let Some(round) = self.subscription.next().await else {
                return Err(self.end());
            };
            if let Some(batch) = self.take(round) {
                return Ok(batch);
            }
        }
    }

    /// Waits for events. On an idle watch, returns the progress and no events. Cancel-safe.
    ///
    /// # Errors
    ///
    /// See [`WatchEnd`]; the error ends the watch.
    pub async fn next(&mut self) -> Result<Batch, WatchEnd> {
        if let Some(batch) = self.all_past().await? {
            return Ok(batch);
        }
        loop {
            let idle = sleep_until(self.next_progress);
            tokio::select! {
                biased;
                batch = self.changes() => {
                    self.next_progress = Instant::now() + self.progress_every;
                    return batch;
                }
                () = idle => {}
            }
            if let Some(batch) = self.progress() {
                return Ok(batch);
            }
        }
    }

    /// Returns the available events or progress without waiting. The caller sends the result as the
    /// last bookmark of the watch. Returns `None` if there is no progress, or if the watch has not
    /// read all past events yet.
    pub fn progress(&mut self) -> Option<Batch> {
        if self.delivered < self.subscription.from {
            return None;
        }
        self.next_progress = Instant::now() + self.progress_every;
        // The revision is read first: all events distributed up to it are in the queue.
        let dispatched = self.feed.dispatched();
        match self.subscription.waiting() {
            Ok(round) => self.take(round),
            Err(NoRound::Pending) if dispatched > self.delivered => {
                self.record_delivered(dispatched);
                Some(Batch {
                    events: Arc::default(),
                    revision: dispatched,
                })
            }
            Err(_) => None,
        }
    }

    /// Returns events like [`Self::next`], without waiting for a change; `None` if all changes are
    /// delivered.
    ///
    /// # Errors
    ///
    /// See [`WatchEnd`]; the error ends the watch.
    pub async fn pending(&mut self) -> Result<Option<Batch>, WatchEnd> {
        if let Some(batch) = self.all_past().await? {
            return Ok(Some(batch));
        }
        match self.progress() {
            None if self.subscription.lagged() => Err(WatchEnd::Lagged),
            batch => Ok(batch),
        }
    }

    fn record_delivered(&mut self, revision: u64) {
        self.delivered = revision;
        if let Some(pin) = &self.pin {
            pin.raise(revision);
        }
    }

    /// Reads past events until events are found. Returns `None` if all past events are delivered.
    async fn all_past(&mut self) -> Result<Option<Batch>, WatchEnd> {
        while self.delivered < self.subscription.from {
            if let Some(batch) = self.past().await? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Reads past events, which are older than the subscription. Returns `None` if this read finds
    /// no events.
    async fn past(&mut self) -> Result<Option<Batch>, WatchEnd> {
        let until = self.subscription.from;
        let recent = self.feed.recent(&self.prefix, self.delivered, until);
        let (events, until) = if let Some(events) = recent {
            (events, until)
        } else {
            let (prefix, range) = (Arc::clone(&self.prefix), self.delivered..=until);
            let counted = self.feed.counted();
            let replayed = self
                .scans
                .read(move |conn| replay(conn, &prefix, range, &counted))
                .await?;
            (replayed.events, replayed.until)
        };
        self.record_delivered(until);
        Ok((!events.is_empty()).then(|| Batch {
            events: Arc::new(Round::new(events)),
            revision: until,
        }))
    }

    fn take(&mut self, round: Arc<Round>) -> Option<Batch> {
        let revision = round.last()?.revision();
        if revision <= self.delivered {
            return None;
        }
        let delivered = self.delivered;
        self.record_delivered(revision);
        // A watch may start at a revision that is durable but not distributed yet.
        let first_new = round.partition_point(|event| event.revision() <= delivered);
        let events = match first_new {
            0 => round,
            _ => Arc::new(Round::new(round[first_new..].to_vec())),
        };
        Some(Batch { events, revision })
    }

    fn end(&self) -> WatchEnd {
        if self.subscription.lagged() {
            WatchEnd::Lagged
        } else {
            WatchEnd::Closed
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.feed.unsubscribe(&self.prefix, self.subscription.id);
    }
}
