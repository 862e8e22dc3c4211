//! Measures the throughput of watch events with a thousand watchers.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::stage::{Side, WATCHED};
use crate::load::{Connection, ExchangeError};

const WATCHERS: u64 = 1000;

/// Counts the events of all watchers.
#[derive(Default)]
pub(super) struct EventCount {
    events: AtomicU64,
    wanted: AtomicU64,
    enough: Notify,
}

impl EventCount {
    pub(super) fn add(&self, events: u64) {
        let all = self.events.fetch_add(events, Ordering::Relaxed) + events;
        if all >= self.wanted.load(Ordering::Relaxed) {
            self.enough.notify_one();
        }
    }
}

/// The tasks that read watches. A task ends only with an error.
pub(super) type Watching = JoinSet<Result<Infallible, ExchangeError>>;

/// Returns the number of events per second that all watchers together receive. A round changes each
/// object once, and ends when all watchers have received the events of the round. Each watcher
/// therefore receives every event before the next round.
pub(super) async fn rate(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    let received = Arc::new(EventCount::default());
    let mut watching = Watching::new();
    for _ in 0..WATCHERS {
        let mut connection = Connection::open(&side.watching).await?;
        let received = Arc::clone(&received);
        watching.spawn(async move { connection.lines(|events| received.add(events)).await });
    }
    let round = WATCHERS * u64::from(WATCHED);
    // Each watch begins with the existing objects, so expect one event for each of them.
    let expected = round;
    until(&received, expected, &mut watching).await?;
    let opening = (0..WATCHED).map(|_| Connection::open(&side.changing));
    let mut writers = try_join_all(opening).await?;
    let rounds = Rounds {
        received: &received,
        expected,
        events: round,
    };
    rounds.run(&mut writers, &mut watching, duration).await
}

/// Rounds of writes. In a round, each writer sends a request.
pub(super) struct Rounds<'a> {
    pub(super) received: &'a EventCount,
    /// The number of events before the first round.
    pub(super) expected: u64,
    /// The number of events of one round.
    pub(super) events: u64,
}

impl Rounds<'_> {
    /// Runs rounds for a duration. A round ends when the watchers have received its events. Returns
    /// the number of events per second.
    pub(super) async fn run(
        self,
        writers: &mut [Connection],
        watching: &mut Watching,
        duration: Duration,
    ) -> Result<f64, ExchangeError> {
        let start = Instant::now();
        let mut expected = self.expected;
        while start.elapsed() < duration {
            expected += self.events;
            let patches = try_join_all(writers.iter_mut().map(Connection::exchange));
            let (sent, reported) = tokio::join!(patches, until(self.received, expected, watching));
            sent?;
            reported?;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "counts of one run stay far below 2^52"
        )]
        let events = (expected - self.expected) as f64;
        Ok(events / start.elapsed().as_secs_f64())
    }
}

/// Waits for a number of events. Returns an error if a watch ends.
pub(super) async fn until(
    received: &EventCount,
    expected: u64,
    watching: &mut Watching,
) -> Result<(), ExchangeError> {
    received.wanted.store(expected, Ordering::Relaxed);
    while received.events.load(Ordering::Relaxed) < expected {
        tokio::select! {
            () = received.enough.notified() => {}
            Some(ended) = watching.join_next() => {
                let Err(error) = ended.expect("a watcher neither panics nor is aborted");
                return Err(error);
            }
        }
    }
    Ok(())
}
