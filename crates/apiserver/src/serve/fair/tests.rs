use super::*;

fn fair(running: usize, waiting: usize) -> Fair {
    Fair::new(Bounds {
        running,
        running_of_one: running,
        reserve: 1,
        waiting,
        waiting_total: 2 * waiting,
        watches: 1,
        watches_total: 2,
        patience: Duration::from_secs(1),
    })
}

/// Starts a request that notes its end; it has queued once this returns.
async fn start(
    fair: &Fair,
    caller: &'static str,
    done: &Arc<Mutex<Vec<&'static str>>>,
) -> tokio::task::JoinHandle<()> {
    let (fair, done) = (fair.clone(), Arc::clone(done));
    let task = tokio::spawn(async move {
        let _seat = fair.enter(caller, Standing::Usual).await.unwrap();
        done.lock().push(caller);
    });
    tokio::task::yield_now().await;
    task
}

#[tokio::test(start_paused = true)]
async fn callers_take_turns_however_many_requests_one_sends() {
    let fair = fair(1, 100);
    let done = Arc::default();
    let running = fair.enter("first", Standing::Usual).await.unwrap();
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
async fn a_full_queue_refuses_its_caller_and_no_other() {
    let fair = fair(1, 2);
    let _running = fair.enter("first", Standing::Usual).await.unwrap();
    let done = Arc::default();
    let _one = start(&fair, "greedy", &done).await;
    let _two = start(&fair, "greedy", &done).await;
    let error = fair.enter("greedy", Standing::Usual).await.unwrap_err();
    assert_eq!(error.code, http::StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(error.details.unwrap().retry_after, Some(1));
    let _other = start(&fair, "modest", &done).await;
    assert_eq!(fair.load().1, 3);
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_the_patience() {
    let fair = fair(1, 2);
    let _running = fair.enter("first", Standing::Usual).await.unwrap();
    assert!(fair.enter("second", Standing::Usual).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn those_who_went_away_hold_no_place() {
    let fair = fair(1, 2);
    let running = fair.enter("first", Standing::Usual).await.unwrap();
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
async fn one_caller_leaves_room_for_others_however_slow_its_requests_are() {
    let fair = Fair::new(Bounds {
        running_of_one: 3,
        ..fair(4, 2).bounds
    });
    let mut slow = Vec::new();
    for _ in 0..3 {
        slow.push(fair.enter("greedy", Standing::Usual).await.unwrap());
    }
    assert!(fair.enter("greedy", Standing::Usual).await.is_err());
    let other = fair.enter("modest", Standing::Usual).await.unwrap();
    assert_eq!(fair.load().0, 4);
    // Its own end lets the next of the same caller in, and nobody else's does.
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
async fn what_everything_stands_on_runs_when_others_take_all_there_is() {
    let fair = fair(1, 2);
    let running = fair.enter("anybody", Standing::Usual).await.unwrap();
    let reserved = fair.enter("server", Standing::Reserved).await.unwrap();
    assert!(fair.enter("server", Standing::Reserved).await.is_err());
    drop(running);
    // What is above the usual room is nobody's to pass on.
    assert!(fair.enter("other", Standing::Usual).await.is_err());
    drop(reserved);
    assert!(fair.enter("other", Standing::Usual).await.is_ok());
}

#[test]
fn watches_are_bounded_by_caller_and_in_all() {
    let fair = fair(1, 1);
    let one = fair.watch("a").unwrap();
    assert!(fair.watch("a").is_err());
    let _two = fair.watch("b").unwrap();
    assert!(fair.watch("c").is_err());
    drop(one);
    assert!(fair.watch("c").is_ok());
}
