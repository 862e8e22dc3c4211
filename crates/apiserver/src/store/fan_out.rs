//! One round of the feed in a single thread. The suite `instructions` counts its instructions.

use std::sync::Arc;

use super::event::Event;
use super::feed::{Feed, Subscription, WatchMemoryLimits};
use super::stored::Stored;

const PREFIX: &str = "/core/pods/";

/// Events and watchers of one feed.
#[doc(hidden)]
#[derive(Debug)]
pub struct FanOut {
    feed: Feed,
    events: Vec<Event>,
    watchers: Vec<Subscription>,
}

impl FanOut {
    /// Prepares `count` events for this number of watchers. One of ten watchers watches a namespace,
    /// and the other watchers watch all namespaces.
    pub fn new(watchers: usize, count: u64) -> Self {
        let limits = WatchMemoryLimits {
            ring_events: 4096,
            ring_bytes: 16 << 20,
            queue_events: 4096,
            queue_bytes: 16 << 20,
            waiting_bytes: 64 << 20,
        };
        let feed = Feed::new(limits, 0);
        let prefix = |n: usize| -> Arc<str> {
            match n % 10 {
                0 => format!("{PREFIX}namespace-{}/", n / 10 % 10).into(),
                _ => PREFIX.into(),
            }
        };
        Self {
            watchers: (0..watchers)
                .filter_map(|n| feed.subscribe(&prefix(n)))
                .collect(),
            events: (1..=count).filter_map(event).collect(),
            feed,
        }
    }

    /// Distributes the events. Returns the number of bytes that the watchers receive.
    pub fn run(self) -> usize {
        let last = self.events.last().map_or(0, Event::revision);
        self.feed.publish(self.events, last);
        self.feed.close();
        self.feed.dispatch();
        let mut bytes = 0;
        for mut watcher in self.watchers {
            while let Ok(round) = watcher.waiting() {
                bytes += round.lines().len();
            }
        }
        bytes
    }
}

/// Returns an event of a pod with a status of realistic size.
fn event(revision: u64) -> Option<Event> {
    let namespace = format!("namespace-{}", revision % 10);
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{revision}","namespace":"{namespace}"}},"spec":{{"nodeName":"node-1"}},"status":{{"phase":"Running","message":"{}"}}}}"#,
        "x".repeat(2_000)
    );
    let key = format!("{PREFIX}{namespace}/pod-{revision}");
    let stored = Stored::new(key.into(), revision, pod.into()).ok()?;
    Some(Event::Put {
        stored,
        previous: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_watcher_receives_the_events_of_its_prefix() {
        let received = |watchers| FanOut::new(watchers, 20).run();
        let namespace = received(1);
        let all = received(2) - namespace;
        // Watcher 0 watches one of the ten namespaces.
        assert!(
            (all / 11..=all / 9).contains(&namespace),
            "{namespace} {all}"
        );
        assert_eq!(received(10), namespace + 9 * all);
    }
}
