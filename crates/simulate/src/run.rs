//! The one task of a simulated cluster: observe, decide, act, and wait for the next thing.

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::act::{Act, act};
use crate::annotations::Pace;
use crate::clock::Clock;
use crate::decide::{Decision, decide};
use crate::pauses::Pauses;
use crate::watch;
use crate::world::World;

/// Changes taken in before the next decision.
const MOST_CHANGES: usize = 1000;
/// Things done at the same time; the store commits what waits together.
const AT_ONCE: usize = 16;
/// Longest that one of them may take.
const ACT_TIMEOUT: Duration = Duration::from_secs(30);

/// A cluster's controllers.
pub(crate) struct Simulation {
    pub(crate) client: Client,
    pub(crate) world: Arc<Mutex<World>>,
    pub(crate) pace: Pace,
    pub(crate) clock: Clock,
}

impl Simulation {
    /// Plays its part until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        // What it does when it is stopped can be left: the next start decides it again.
        let _ = stop.run_until_cancelled(self.play()).await;
    }

    async fn play(&self) {
        let mut changes = watch::all(&self.client);
        let mut wake = None;
        let mut pauses = Pauses::default();
        loop {
            if !self.rest(&mut changes, wake).await {
                return;
            }
            for _ in 0..MOST_CHANGES {
                let Some(Some(change)) = changes.next().now_or_never() else {
                    break;
                };
                change(&mut self.world.lock());
            }
            wake = self.go_on(&mut pauses).await;
        }
    }

    /// Takes changes in until it is time to decide: after the first of them, or, in a pause, when
    /// that is over. Most changes are its own doing: they must not end the pause that slows it
    /// down. False at the end of all changes.
    async fn rest<S>(&self, changes: &mut S, wake: Option<Wake>) -> bool
    where
        S: Stream<Item = watch::Change> + Unpin,
    {
        let over = self.wait(wake);
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                () = &mut over => return true,
                change = changes.next() => match change {
                    Some(change) => change(&mut self.world.lock()),
                    None => return false,
                },
            }
            if !matches!(wake, Some(Wake::After(_))) {
                return true;
            }
        }
    }

    async fn wait(&self, wake: Option<Wake>) {
        match wake {
            Some(Wake::At(at)) => self.clock.until(at).await,
            Some(Wake::After(pause) | Wake::Within(pause, None)) => {
                tokio::time::sleep(pause).await;
            }
            Some(Wake::Within(pause, Some(at))) => tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.clock.until(at) => {}
            },
            None => std::future::pending().await,
        }
    }

    /// Decides and does what is to be done; tells when to look again by oneself.
    async fn go_on(&self, pauses: &mut Pauses) -> Option<Wake> {
        let now = self.clock.now();
        let Decision { acts, wake } = {
            let world = self.world.lock();
            if !world.is_complete() {
                return None;
            }
            decide(&world, &self.pace, now)
        };
        let ready = pauses.ready(acts, Instant::now());
        if ready.is_empty() {
            return match pauses.quiet(Instant::now()) {
                Some(pause) => Some(Wake::Within(pause, wake)),
                None => wake.map(Wake::At),
            };
        }
        self.act_all(ready, now, pauses).await;
        Some(Wake::After(pauses.next()))
    }

    /// Does all of it, and notes what could not be done.
    async fn act_all(&self, acts: Vec<Act>, now: Timestamp, pauses: &mut Pauses) {
        let doing = stream::iter(acts).map(|one| async move {
            let (name, subject) = (one.name(), one.subject());
            let done = tokio::time::timeout(ACT_TIMEOUT, act(&self.client, one, now)).await;
            (name, subject, done)
        });
        let mut doing = doing.buffer_unordered(AT_ONCE);
        while let Some((name, subject, done)) = doing.next().await {
            match done {
                Ok(Ok(done)) => {
                    done.take(&mut self.world.lock());
                    pauses.done(&subject);
                    continue;
                }
                // Somebody else was faster, or its namespace is about to go; a watch tells what is
                // so now.
                Ok(Err(kube::Error::Api(error))) if matches!(error.code, 403 | 404 | 409) => {
                    let error = error.message;
                    tracing::debug!(error, act = name, "a simulated change came too late");
                }
                Ok(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, act = name, "a simulated change was refused");
                }
                Err(_) => {
                    tracing::warn!(act = name, "a simulated change took too long");
                }
            }
            pauses.failed(subject, Instant::now());
        }
    }
}

/// When to look again.
#[derive(Clone, Copy)]
enum Wake {
    /// At this time of the simulation.
    At(Timestamp),
    /// After this pause, whatever changes meanwhile.
    After(Duration),
    /// After this pause, which lets something be tried again, or at this time if that is sooner.
    Within(Duration, Option<Timestamp>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::LONGEST;

    /// So many changes at once, and then no more.
    fn changes(count: usize) -> impl Stream<Item = watch::Change> + Unpin {
        let change = || -> watch::Change { Box::new(|_: &mut World| {}) };
        let all: Vec<_> = std::iter::repeat_with(change).take(count).collect();
        stream::iter(all).chain(stream::pending())
    }

    #[tokio::test(start_paused = true)]
    async fn changes_do_not_end_a_pause_but_are_taken_in_meanwhile() {
        let service = tower::service_fn(|_| async {
            Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::empty()))
        });
        let simulation = Simulation {
            client: Client::new(service, "default"),
            world: Arc::default(),
            pace: Pace::default(),
            clock: Clock::default(),
        };
        let start = Instant::now();
        let mut some = changes(5);
        let pause = Some(Wake::After(LONGEST));
        assert!(simulation.rest(&mut some, pause).await);
        assert_eq!(start.elapsed(), LONGEST);
        assert!(some.next().now_or_never().is_none(), "all were taken in");
        let start = Instant::now();
        assert!(simulation.rest(&mut changes(5), None).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        // What failed waits, and nothing else.
        let again = Some(Wake::Within(LONGEST, None));
        assert!(simulation.rest(&mut changes(1), again).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(simulation.rest(&mut changes(0), again).await);
        assert_eq!(start.elapsed(), LONGEST);
        let mut ended = stream::empty::<watch::Change>();
        assert!(!simulation.rest(&mut ended, None).await);
    }
}
