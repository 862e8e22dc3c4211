//! Changes that a thousand watchers are told.

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

/// What all watchers together have heard.
#[derive(Default)]
struct Heard {
    events: AtomicU64,
    wanted: AtomicU64,
    enough: Notify,
}

impl Heard {
    fn add(&self, events: u64) {
        let all = self.events.fetch_add(events, Ordering::Relaxed) + events;
        if all >= self.wanted.load(Ordering::Relaxed) {
            self.enough.notify_one();
        }
    }
}

type Watching = JoinSet<Result<Infallible, ExchangeError>>;

/// Events a second, all watchers together: in rounds, so that no watcher can fall behind and be
/// ended. A round changes each object once, and ends when every watcher has heard of all of them.
pub(super) async fn rate(side: &Side, duration: Duration) -> Result<f64, ExchangeError> {
    let heard = Arc::new(Heard::default());
    let mut watching = Watching::new();
    for _ in 0..WATCHERS {
        let mut connection = Connection::open(&side.watching).await?;
        let heard = Arc::clone(&heard);
        watching.spawn(async move { connection.lines(|events| heard.add(events)).await });
    }
    let round = WATCHERS * u64::from(WATCHED);
    // Each begins with what there is.
    let mut wanted = round;
    until(&heard, wanted, &mut watching).await?;
    let opening = (0..WATCHED).map(|_| Connection::open(&side.changing));
    let mut writers = try_join_all(opening).await?;
    let start = Instant::now();
    while start.elapsed() < duration {
        wanted += round;
        let patches = try_join_all(writers.iter_mut().map(Connection::exchange));
        let (sent, told) = tokio::join!(patches, until(&heard, wanted, &mut watching));
        sent?;
        told?;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of one run stay far below 2^52"
    )]
    let events = (wanted - round) as f64;
    Ok(events / start.elapsed().as_secs_f64())
}

/// Waits until so many events were heard; fails when a watch ends.
async fn until(heard: &Heard, wanted: u64, watching: &mut Watching) -> Result<(), ExchangeError> {
    heard.wanted.store(wanted, Ordering::Relaxed);
    while heard.events.load(Ordering::Relaxed) < wanted {
        tokio::select! {
            () = heard.enough.notified() => {}
            Some(ended) = watching.join_next() => {
                let Err(error) = ended.expect("a watcher neither panics nor is aborted");
                return Err(error);
            }
        }
    }
    Ok(())
}
