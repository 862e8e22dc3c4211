//! Tests of controllers in virtual time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::*;

mod properties;

const SECOND: Duration = Duration::from_secs(1);

/// The scripted behavior of one call to the reconciler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behavior {
    Succeed,
    Requeue(Duration),
    Fail,
    Panic,
}

#[derive(Debug, thiserror::Error)]
#[error("refused")]
struct Refused;

/// One recorded call, with the sequence numbers of its start and end among all recorded events.
#[derive(Clone, Debug)]
struct Call {
    key: u8,
    start: usize,
    end: Option<usize>,
    at: Instant,
    attempt: Attempt,
}

#[derive(Default)]
struct Record {
    events: usize,
    calls: Vec<Call>,
    running: usize,
    most_running: usize,
    script: HashMap<u8, Vec<Behavior>>,
    duration: Duration,
}

/// A reconciler that follows a script and records its calls.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Record>>);

/// Guard that records the end of a call when it is dropped. An aborted call is also recorded.
struct Running<'a>(&'a Mutex<Record>, usize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut record = self.0.lock();
        record.running -= 1;
        record.events += 1;
        let event = record.events;
        record.calls[self.1].end = Some(event);
    }
}

impl Scripted {
    fn then(self, key: u8, script: &[Behavior]) -> Self {
        self.0.lock().script.insert(key, script.to_vec());
        self
    }

    fn taking(self, duration: Duration) -> Self {
        self.0.lock().duration = duration;
        self
    }

    fn calls(&self) -> Vec<Call> {
        self.0.lock().calls.clone()
    }

    /// Returns the seconds between the starts of consecutive calls.
    fn pauses(&self) -> Vec<f64> {
        let calls = self.calls();
        let pairs = calls.windows(2);
        pairs
            .map(|pair| (pair[1].at - pair[0].at).as_secs_f64())
            .collect()
    }
}

impl Reconciler for Scripted {
    type Key = u8;
    type Error = Refused;

    async fn reconcile(&self, key: &u8, attempt: &Attempt) -> Result<Action, Refused> {
        let (behavior, duration, index) = {
            let mut record = self.0.lock();
            record.running += 1;
            record.events += 1;
            record.most_running = record.most_running.max(record.running);
            let call = Call {
                key: *key,
                start: record.events,
                end: None,
                at: Instant::now(),
                attempt: attempt.clone(),
            };
            record.calls.push(call);
            let script = record.script.entry(*key).or_default();
            let behavior = if script.is_empty() {
                Behavior::Succeed
            } else {
                script.remove(0)
            };
            (behavior, record.duration, record.calls.len() - 1)
        };
        let _running = Running(&self.0, index);
        sleep(duration).await;
        match behavior {
            Behavior::Succeed => Ok(Action::await_change()),
            Behavior::Requeue(after) => Ok(Action::requeue(after)),
            Behavior::Fail => Err(Refused),
            Behavior::Panic => panic!("scripted panic"),
        }
    }
}

/// Runs a controller until the guard is dropped.
fn run(
    options: Options,
    reconciler: &Scripted,
    leader: LeaderGate,
) -> (Trigger<u8>, CancellationToken, DropGuard) {
    let trigger = Trigger::new(options, &Metrics::default());
    let controller = Controller::new(trigger.clone(), reconciler.clone());
    let stop = CancellationToken::new();
    tokio::spawn(controller.run(leader, stop.clone()));
    (trigger, stop.clone(), stop.drop_guard())
}

fn start(options: Options, reconciler: &Scripted) -> (Trigger<u8>, CancellationToken, DropGuard) {
    run(options, reconciler, LeaderGate::always_open())
}

#[tokio::test(start_paused = true)]
async fn trigger_during_a_reconcile_call_causes_one_more_call() {
    let reconciler = Scripted::default().taking(SECOND);
    let (trigger, _, _guard) = start(Options::new("test"), &reconciler);
    trigger.enqueue(1);
    sleep(SECOND / 2).await;
    for _ in 0..3 {
        trigger.enqueue(1);
    }
    sleep(SECOND * 10).await;
    let calls = reconciler.calls();
    assert_eq!(calls.len(), 2);
    assert!(calls[1].start > calls[0].end.unwrap());
}

#[tokio::test(start_paused = true)]
async fn backoff_grows_to_its_cap_and_resets_on_success() {
    use Behavior::{Fail, Succeed};
    let script = [Fail, Fail, Fail, Fail, Fail, Succeed, Fail, Succeed];
    let reconciler = Scripted::default().then(1, &script);
    let mut options = Options::new("test");
    options.backoff = Backoff::new(SECOND, SECOND * 4);
    let (trigger, _, _guard) = start(options, &reconciler);
    trigger.enqueue(1);
    sleep(SECOND * 100).await;
    trigger.enqueue(1);
    sleep(SECOND * 100).await;
    let calls = reconciler.calls();
    assert_eq!(calls.len(), 8);
    for (pause, bound) in reconciler.pauses().iter().zip([1.0, 2.0, 4.0, 4.0, 4.0]) {
        assert!(
            (bound / 2.0 - 0.01..=bound + 0.01).contains(pause),
            "{pause} {bound}"
        );
    }
    let failures: Vec<u32> = calls.iter().map(|call| call.attempt.failures).collect();
    assert_eq!(failures, [0, 1, 2, 3, 4, 5, 0, 1]);
    let first_again = *reconciler.pauses().last().unwrap();
    assert!(first_again <= 1.01, "{first_again}");
}

#[tokio::test(start_paused = true)]
async fn reconciler_receives_the_last_failure_and_the_next_retry() {
    let reconciler = Scripted::default().then(1, &[Behavior::Fail, Behavior::Panic]);
    let (trigger, _, _guard) = start(Options::new("test"), &reconciler);
    trigger.enqueue(1);
    sleep(SECOND * 10).await;
    let calls = reconciler.calls();
    let reasons = calls.iter().map(|call| call.attempt.last_failure.clone());
    let reasons: Vec<_> = reasons.map(Option::unwrap_or_default).collect();
    let [none, refused, panicked] = reasons.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!((&**none, &**refused), ("", "refused"));
    assert_eq!(&**panicked, "panic: scripted panic");
    for pair in calls.windows(2) {
        let pause = pair[1].at - pair[0].at;
        let reported = pair[0].attempt.retry_in;
        assert!(
            pause.abs_diff(reported) < Duration::from_millis(5),
            "{pause:?} {reported:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn panicking_reconcile_call_is_retried_and_does_not_affect_other_keys() {
    let reconciler = Scripted::default().then(1, &[Behavior::Panic]);
    let (trigger, _, _guard) = start(Options::new("test"), &reconciler);
    trigger.enqueue(1);
    trigger.enqueue(2);
    sleep(SECOND * 10).await;
    let keys: Vec<u8> = reconciler.calls().iter().map(|call| call.key).collect();
    assert_eq!(keys, [1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn reconcile_call_is_aborted_at_its_timeout_and_retried() {
    let reconciler = Scripted::default().taking(SECOND * 600);
    let mut options = Options::new("test");
    options.timeout = Some(SECOND * 5);
    let (trigger, _, _guard) = start(options, &reconciler);
    trigger.enqueue(1);
    sleep(SECOND * 7).await;
    let calls = reconciler.calls();
    assert_eq!(calls.len(), 2);
    let reason = calls[1].attempt.last_failure.clone().unwrap();
    assert_eq!(&*reason, "reconciliation took longer than 5 s");
}

#[tokio::test(start_paused = true)]
async fn trigger_shortens_a_backoff_to_its_first_delay() {
    let reconciler = Scripted::default().then(1, &[Behavior::Fail; 4]);
    let mut options = Options::new("test");
    options.backoff = Backoff::new(SECOND * 2, SECOND * 600);
    let (trigger, _, _guard) = start(options, &reconciler);
    trigger.enqueue(1);
    sleep(SECOND * 60).await;
    let before = reconciler.calls().len();
    trigger.enqueue(1);
    trigger.enqueue(1);
    sleep(SECOND / 10).await;
    assert_eq!(reconciler.calls().len(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn changes_within_the_debounce_time_cause_one_reconcile_call() {
    let reconciler = Scripted::default();
    let mut options = Options::new("test");
    options.debounce = SECOND;
    let (trigger, _, _guard) = start(options, &reconciler);
    let begun = Instant::now();
    for _ in 0..9 {
        trigger.enqueue(1);
        sleep(SECOND / 10).await;
    }
    sleep(SECOND * 5).await;
    let calls = reconciler.calls();
    assert_eq!(calls.len(), 1);
    assert!((calls[0].at - begun).abs_diff(SECOND) < SECOND / 20);
}

#[tokio::test(start_paused = true)]
async fn cooldown_delays_only_repeated_calls_of_a_key() {
    let reconciler = Scripted::default();
    let mut options = Options::new("test");
    options.cooldown = SECOND;
    let (trigger, _, _guard) = start(options, &reconciler);
    let begun = Instant::now();
    for _ in 0..30 {
        trigger.enqueue(1);
        sleep(SECOND / 10).await;
    }
    let calls = reconciler.calls();
    assert!(calls[0].at - begun < SECOND / 20);
    assert_eq!(calls.len(), 3);
    sleep(SECOND * 5).await;
    assert_eq!(trigger.queue.len(), 0, "the queue drops idle keys");
}

#[tokio::test(start_paused = true)]
async fn trigger_before_a_scheduled_requeue_cancels_the_requeue() {
    let reconciler = Scripted::default().then(1, &[Behavior::Requeue(SECOND * 60)]);
    let (trigger, _, _guard) = start(Options::new("test"), &reconciler);
    trigger.enqueue(1);
    sleep(SECOND).await;
    trigger.enqueue(1);
    sleep(SECOND * 300).await;
    assert_eq!(reconciler.calls().len(), 2);
    assert_eq!(trigger.queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn controller_without_leadership_does_not_call_its_reconciler() {
    let reconciler = Scripted::default().taking(SECOND);
    let leads = watch::Sender::new(false);
    let gate = LeaderGate::watching(leads.subscribe(), |leads| *leads);
    let (trigger, _, _guard) = run(Options::new("test"), &reconciler, gate);
    trigger.enqueue(1);
    sleep(SECOND * 10).await;
    assert!(reconciler.calls().is_empty());
    leads.send_replace(true);
    sleep(SECOND / 2).await;
    assert_eq!(reconciler.calls().len(), 1);
    leads.send_replace(false);
    sleep(SECOND / 10).await;
    assert!(reconciler.calls()[0].end.is_some(), "the call is aborted");
    trigger.enqueue(2);
    sleep(SECOND * 10).await;
    assert_eq!(reconciler.calls().len(), 1);
    leads.send_replace(true);
    sleep(SECOND * 10).await;
    let keys: Vec<u8> = reconciler.calls().iter().map(|call| call.key).collect();
    assert_eq!(keys.len(), 3, "the aborted call is repeated: {keys:?}");
}

#[tokio::test(start_paused = true)]
async fn initial_keys_are_enqueued_when_leadership_begins() {
    let reconciler = Scripted::default();
    let leads = watch::Sender::new(true);
    let gate = LeaderGate::watching(leads.subscribe(), |leads| *leads);
    let trigger = Trigger::new(Options::new("test"), &Metrics::default());
    let controller = Controller::new(trigger, reconciler.clone()).at_start(|| vec![7]);
    let stop = CancellationToken::new();
    tokio::spawn(controller.run(gate, stop));
    for (leads_now, calls) in [(true, 1), (false, 1), (true, 2)] {
        leads.send_replace(leads_now);
        sleep(SECOND).await;
        assert_eq!(reconciler.calls().len(), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn streams_added_to_a_running_controller_trigger_reconcile_calls() {
    let reconciler = Scripted::default();
    let (first, second) = (watch::Sender::new(0_u64), watch::Sender::new(0_u64));
    let trigger = Trigger::new(Options::new("test"), &Metrics::default());
    let controller = Controller::new(trigger.clone(), reconciler.clone())
        .on(on_change_of(first.subscribe(), || [1, 2]));
    tokio::spawn(controller.run(LeaderGate::always_open(), CancellationToken::new()));
    sleep(SECOND).await;
    first.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    trigger.follow(on_change(second.subscribe(), 3));
    sleep(SECOND).await;
    second.send_modify(|count| *count += 1);
    sleep(SECOND).await;
    drop((first, second));
    sleep(SECOND).await;
    trigger.enqueue(4);
    sleep(SECOND).await;
    let keys: Vec<u8> = reconciler.calls().iter().map(|call| call.key).collect();
    assert_eq!(keys, [1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn controller_stop_aborts_or_awaits_running_calls() {
    for (shutdown, waited) in [
        (Shutdown::Abort, Duration::ZERO),
        (Shutdown::Finish, SECOND * 3),
    ] {
        let reconciler = Scripted::default().taking(SECOND * 4);
        let mut options = Options::new("test");
        options.shutdown = shutdown;
        let trigger = Trigger::new(options, &Metrics::default());
        let controller = Controller::new(trigger.clone(), reconciler.clone());
        let stop = CancellationToken::new();
        let running = tokio::spawn(controller.run(LeaderGate::always_open(), stop.clone()));
        trigger.enqueue(1);
        trigger.enqueue(2);
        sleep(SECOND).await;
        stop.cancel();
        let stopped = Instant::now();
        running.await.unwrap();
        assert!(
            stopped.elapsed().abs_diff(waited) < SECOND / 10,
            "{shutdown:?}"
        );
        assert_eq!(reconciler.calls().len(), 1, "no call begins after the stop");
    }
}

#[tokio::test(start_paused = true)]
async fn full_controller_queue_blocks_its_trigger_stream() {
    let mut options = Options::new("test");
    options.capacity = 1;
    let trigger = Trigger::<u8>::new(options, &Metrics::default());
    trigger.enqueue_when_room(1).await;
    trigger.enqueue_when_room(1).await;
    let full = tokio::time::timeout(SECOND, trigger.enqueue_when_room(2)).await;
    assert!(full.is_err());
    trigger.enqueue(3);
    assert_eq!(trigger.queue.take().await.0, 1);
    assert_eq!(trigger.queue.take().await.0, 3);
    trigger.enqueue_when_room(2).await;
    assert_eq!(trigger.queue.take().await.0, 2);
}

#[tokio::test(start_paused = true)]
async fn controller_metrics_report_queue_depth_duration_errors_and_retries() {
    let metrics = Metrics::default();
    let mut registry = prometheus_client::registry::Registry::with_prefix("t");
    metrics.register(&mut registry);
    let reconciler = Scripted::default().then(1, &[Behavior::Fail]);
    let trigger = Trigger::new(Options::new("pods"), &metrics);
    trigger.enqueue(1);
    trigger.enqueue(2);
    let text = || {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    };
    let depth = |depth| format!("t_reconcile_queue_depth{{controller=\"pods\"}} {depth}\n");
    assert!(text().contains(&depth(2)), "{}", text());
    let controller = Controller::new(trigger, reconciler);
    tokio::spawn(controller.run(LeaderGate::always_open(), CancellationToken::new()));
    sleep(SECOND * 10).await;
    let text = text();
    assert!(text.contains(&depth(0)), "{text}");
    for line in [
        "t_reconcile_duration_seconds_count{controller=\"pods\"} 3\n",
        "t_reconcile_errors_total{controller=\"pods\"} 1\n",
        "t_reconcile_retries_total{controller=\"pods\"} 1\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
