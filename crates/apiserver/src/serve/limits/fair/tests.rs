use proptest::prelude::*;

use super::*;

fn fair(running: usize, waiting: usize) -> Fair {
    Fair::new(ConcurrencyLimits {
        running,
        running_of_one: running,
        reserve: 1,
        waiting,
        waiting_total: 2 * waiting,
        watches: 1,
        watches_total: 2,
        max_wait: Duration::from_secs(1),
    })
}

/// Starts a request that records its end. Returns when the request is queued.
async fn start(
    fair: &Fair,
    caller: &'static str,
    done: &Arc<Mutex<Vec<&'static str>>>,
) -> tokio::task::JoinHandle<()> {
    start_as(fair, caller, Priority::Usual, done).await
}

async fn start_as(
    fair: &Fair,
    caller: &'static str,
    priority: Priority,
    done: &Arc<Mutex<Vec<&'static str>>>,
) -> tokio::task::JoinHandle<()> {
    let (fair, done) = (fair.clone(), Arc::clone(done));
    let task = tokio::spawn(async move {
        let _seat = fair.enter(caller, priority).await.unwrap();
        done.lock().push(caller);
    });
    tokio::task::yield_now().await;
    task
}

#[tokio::test(start_paused = true)]
async fn request_slots_alternate_between_callers() {
    let fair = fair(1, 100);
    let done = Arc::default();
    let running = fair.enter("first", Priority::Usual).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..50 {
        tasks.push(start(&fair, "greedy", &done).await);
    }
    tasks.push(start(&fair, "modest", &done).await);
    tasks.push(start(&fair, "shy", &done).await);
    drop(running);
    for task in tasks {
        task.await.unwrap();
    }
    let done = done.lock();
    assert_eq!(done[..4], ["greedy", "modest", "shy", "greedy"]);
    assert_eq!(done.len(), 52);
    assert_eq!(fair.load(), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn full_queue_of_a_caller_rejects_only_requests_of_that_caller() {
    let fair = fair(1, 2);
    let _running = fair.enter("first", Priority::Usual).await.unwrap();
    let done = Arc::default();
    let _one = start(&fair, "greedy", &done).await;
    let _two = start(&fair, "greedy", &done).await;
    let error = fair.enter("greedy", Priority::Usual).await.unwrap_err();
    assert_eq!(error.code, http::StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(error.details.unwrap().retry_after, Some(1));
    let _other = start(&fair, "modest", &done).await;
    assert_eq!(fair.load().1, 3);
}

#[tokio::test(start_paused = true)]
async fn waiting_request_is_rejected_after_the_timeout() {
    let fair = fair(1, 2);
    let _running = fair.enter("first", Priority::Usual).await.unwrap();
    assert!(fair.enter("second", Priority::Usual).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn requests_of_disconnected_clients_are_removed_from_the_queue() {
    let fair = fair(1, 2);
    let running = fair.enter("first", Priority::Usual).await.unwrap();
    let done = Arc::default();
    for _ in 0..2 {
        let task = start(&fair, "greedy", &done).await;
        task.abort();
        assert!(task.await.is_err());
    }
    let next = start(&fair, "greedy", &done).await;
    drop(running);
    next.await.unwrap();
    assert_eq!(*done.lock(), ["greedy"]);
    assert_eq!(fair.load(), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn slow_requests_of_a_caller_leave_slots_for_other_callers() {
    let fair = Fair::new(ConcurrencyLimits {
        running_of_one: 3,
        ..fair(4, 2).bounds
    });
    let mut slow = Vec::new();
    for _ in 0..3 {
        slow.push(fair.enter("greedy", Priority::Usual).await.unwrap());
    }
    assert!(fair.enter("greedy", Priority::Usual).await.is_err());
    let other = fair.enter("modest", Priority::Usual).await.unwrap();
    assert_eq!(fair.load().0, 4);
    // The end of the caller's own request admits its next request; ends of other callers' requests
    // do not.
    let done = Arc::default();
    let next = start(&fair, "greedy", &done).await;
    drop(other);
    tokio::task::yield_now().await;
    assert!(done.lock().is_empty());
    slow.pop();
    next.await.unwrap();
    assert_eq!(*done.lock(), ["greedy"]);
    drop(slow);
    assert_eq!(fair.load(), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn reserved_slots_remain_free_when_all_other_slots_are_in_use() {
    let fair = fair(1, 2);
    let running = fair.enter("anybody", Priority::Usual).await.unwrap();
    let reserved = fair.enter("server", Priority::Reserved).await.unwrap();
    assert!(fair.enter("server", Priority::Reserved).await.is_err());
    drop(running);
    // Reserved slots are not passed to ordinary requests.
    assert!(fair.enter("other", Priority::Usual).await.is_err());
    drop(reserved);
    assert!(fair.enter("other", Priority::Usual).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn queued_privileged_request_receives_the_next_reserved_slot() {
    let fair = fair(2, 2);
    let _usual = [
        fair.enter("a", Priority::Usual).await.unwrap(),
        fair.enter("b", Priority::Usual).await.unwrap(),
    ];
    let reserved = fair.enter("server", Priority::Reserved).await.unwrap();
    let done = Arc::default();
    let usual = start(&fair, "c", &done).await;
    let next = start_as(&fair, "server", Priority::Reserved, &done).await;
    drop(reserved);
    next.await.unwrap();
    assert_eq!(*done.lock(), ["server"]);
    assert!(
        !usual.is_finished(),
        "an ordinary request received a reserved slot"
    );
}

#[tokio::test(start_paused = true)]
async fn waiting_ordinary_requests_do_not_cause_rejection_of_privileged_request() {
    let fair = fair(1, 1);
    let running = fair.enter("a", Priority::Usual).await.unwrap();
    let reserved = fair.enter("server", Priority::Reserved).await.unwrap();
    let done = Arc::default();
    let mut tasks = vec![
        start(&fair, "b", &done).await,
        start(&fair, "server", &done).await,
    ];
    assert!(fair.enter("c", Priority::Usual).await.is_err());
    tasks.push(start_as(&fair, "server", Priority::Reserved, &done).await);
    drop(reserved);
    drop(running);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fair.load(), (0, 0, 0));
}

/// A step of a generated history: a request arrives, ends, or disconnects.
#[derive(Debug, Clone, Copy)]
enum Step {
    Enter(u8, Priority),
    End(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let priority = prop_oneof![Just(Priority::Usual), Just(Priority::Reserved)];
    let step = prop_oneof![
        3 => (0..4_u8, priority).prop_map(|(caller, priority)| Step::Enter(caller, priority)),
        2 => any::<prop::sample::Index>().prop_map(|index| Step::End(index.index(64))),
    ];
    prop::collection::vec(step, 1..80)
}

/// The generated requests by number. A running request has a slot, and a waiting request has a
/// receiver for a slot.
type Requests = Vec<(QueueKey, Entry)>;

/// Receives the slots of admitted requests.
fn take_slots(requests: &mut Requests) {
    for (_, entry) in requests {
        if let Entry::Waiting(turn) = entry
            && let Ok(slot) = turn.try_recv()
        {
            *entry = Entry::Slot(slot);
        }
    }
}

fn count(requests: &Requests, which: impl Fn(&QueueKey, bool) -> bool) -> usize {
    let runs = |entry: &Entry| matches!(entry, Entry::Slot(_));
    let counted = requests.iter();
    counted
        .filter(|(turn, entry)| which(turn, runs(entry)))
        .count()
}

fn check(requests: &Requests, bounds: ConcurrencyLimits) {
    let running = count(requests, |_, runs| runs);
    assert!(running <= bounds.running + bounds.reserve);
    for (turn, entry) in requests {
        let own = count(requests, |other, runs| runs && other.caller == turn.caller);
        assert!(own <= bounds.running_of_one);
        if matches!(entry, Entry::Waiting(_)) && own < bounds.running_of_one {
            let room = turn.priority.room(bounds);
            assert!(
                running >= room,
                "{turn:?} waits although only {running} of {room} slots are in use"
            );
        }
    }
}

proptest! {
    #[test]
    fn requests_wait_only_while_all_slots_of_their_class_are_in_use(steps in steps()) {
        let bounds = ConcurrencyLimits { running: 3, running_of_one: 2, reserve: 2, ..fair(1, 100).bounds };
        let fair = Fair::new(bounds);
        let mut requests = Requests::new();
        for step in steps {
            match step {
                Step::Enter(caller, priority) => {
                    let name = caller.to_string();
                    let entry = fair.slot_or_queue(&name, priority).unwrap();
                    requests.push((QueueKey { priority, caller: name.into() }, entry));
                }
                Step::End(number) if !requests.is_empty() => {
                    requests.swap_remove(number % requests.len());
                }
                Step::End(_) => {}
            }
            take_slots(&mut requests);
            check(&requests, bounds);
        }
        requests.clear();
        prop_assert_eq!(fair.load().0, 0);
    }
}

#[test]
fn watches_are_limited_per_caller_and_in_total() {
    let fair = fair(1, 1);
    let one = fair.watch("a").unwrap();
    assert!(fair.watch("a").is_err());
    let _two = fair.watch("b").unwrap();
    assert!(fair.watch("c").is_err());
    drop(one);
    assert!(fair.watch("c").is_ok());
}
