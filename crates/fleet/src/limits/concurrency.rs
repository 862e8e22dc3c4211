//! ConcurrencyLimits of namespaces in the concurrent polls of a controller.
//!
//! A poll waits for a server that a tenant chooses. Without limits, slow servers of one namespace would
//! delay the polls of all namespaces.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::mirror::Key;

/// The polls of a namespace.
#[derive(Default)]
struct Polls {
    running: usize,
    /// Keys that wait for the end of a poll, in their order.
    waiting: VecDeque<Key>,
}

struct Inner {
    limit: usize,
    enqueue: Box<dyn Fn(Key) + Send + Sync>,
    namespaces: Mutex<BTreeMap<String, Polls>>,
}

/// The limits of all namespaces. Clones share the state.
#[derive(Clone)]
pub(crate) struct ConcurrencyLimits(Arc<Inner>);

impl ConcurrencyLimits {
    /// Creates limits with a maximum number of concurrent polls for each namespace. `enqueue` adds a key
    /// to the queue of the controller.
    pub(crate) fn new(limit: usize, enqueue: impl Fn(Key) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            limit,
            enqueue: Box::new(enqueue),
            namespaces: Mutex::default(),
        }))
    }

    /// Starts a poll. Returns `None` if the namespace has no free poll: the end of a poll then enqueues
    /// the key. An enqueued key must call this function again, because the end of its poll enqueues the
    /// next key.
    pub(crate) fn start(&self, key: &Key) -> Option<Permit> {
        let mut namespaces = self.0.namespaces.lock();
        let polls = namespaces.entry(key.namespace.clone()).or_default();
        polls.waiting.retain(|waiting| waiting != key);
        if polls.running >= self.0.limit {
            polls.waiting.push_back(key.clone());
            return None;
        }
        polls.running += 1;
        Some(Permit {
            limits: self.clone(),
            namespace: key.namespace.clone(),
        })
    }
}

/// A running poll. Dropping the value ends the poll.
pub(crate) struct Permit {
    limits: ConcurrencyLimits,
    namespace: String,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = {
            let mut namespaces = self.limits.0.namespaces.lock();
            let Some(polls) = namespaces.get_mut(&self.namespace) else {
                return;
            };
            polls.running -= 1;
            let next = polls.waiting.pop_front();
            if next.is_none() && polls.running == 0 {
                namespaces.remove(&self.namespace);
            }
            next
        };
        if let Some(next) = next {
            (self.limits.0.enqueue)(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use drover_reconcile::{
        Action, Attempt, Controller, LeaderGate, Metrics, Options, Reconciler, Trigger,
    };
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;

    /// Polls slow servers in all namespaces except `fast`.
    struct Poller {
        limits: ConcurrencyLimits,
        ended: Arc<Mutex<Vec<(Key, Instant)>>>,
    }

    impl Reconciler for Poller {
        type Key = Key;
        type Error = Infallible;

        async fn reconcile(&self, key: &Key, _: &Attempt) -> Result<Action, Infallible> {
            let Some(_permit) = self.limits.start(key) else {
                return Ok(Action::await_change());
            };
            if key.namespace != "fast" {
                tokio::time::sleep(Duration::from_mins(1)).await;
            }
            self.ended.lock().push((key.clone(), Instant::now()));
            Ok(Action::await_change())
        }
    }

    #[tokio::test(start_paused = true, flavor = "current_thread")]
    async fn slow_servers_of_a_namespace_do_not_delay_other_namespaces() {
        let options = Options {
            concurrency: 4,
            ..Options::new("polls")
        };
        let trigger = Trigger::new(options, &Metrics::default());
        let enqueue = trigger.clone();
        let poller = Poller {
            limits: ConcurrencyLimits::new(2, move |key| enqueue.enqueue(key)),
            ended: Arc::default(),
        };
        let ended = Arc::clone(&poller.ended);
        for number in 0..30 {
            trigger.enqueue(Key::new("slow", number.to_string()));
        }
        let stop = CancellationToken::new();
        let _guard = stop.clone().drop_guard();
        let controller = Controller::new(trigger.clone(), poller);
        tokio::spawn(controller.run(LeaderGate::always_open(), stop));
        let start = Instant::now();
        tokio::time::sleep(Duration::from_secs(1)).await;
        trigger.enqueue(Key::new("fast", "a"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let fast: Vec<_> = ended.lock().iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(fast, [Key::new("fast", "a")]);
        // Two polls at a time: each key is polled, in the order of the queue.
        tokio::time::sleep(Duration::from_mins(16)).await;
        let ended = ended.lock();
        assert_eq!(ended.len(), 31);
        let last = ended.last().map(|(_, at)| (*at - start).as_secs());
        assert_eq!(last, Some(15 * 60));
    }

    #[test]
    fn waiting_key_is_enqueued_once_at_the_end_of_a_poll() {
        let enqueued = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&enqueued);
        let limits = ConcurrencyLimits::new(1, move |key: Key| seen.lock().push(key.name));
        let key = |name: &str| Key::new("a", name);
        let permit = limits.start(&key("1"));
        assert!(permit.is_some());
        for name in ["2", "3", "2"] {
            assert!(limits.start(&key(name)).is_none());
        }
        assert!(limits.start(&Key::new("b", "1")).is_some());
        drop(permit);
        assert_eq!(*enqueued.lock(), ["3"]);
        drop(limits.start(&key("3")));
        assert_eq!(*enqueued.lock(), ["3", "2"]);
        drop(limits.start(&key("2")));
        assert!(limits.0.namespaces.lock().is_empty());
    }
}
