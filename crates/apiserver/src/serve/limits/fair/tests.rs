use proptest::prelude::*;

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
    start_as(fair, caller, Standing::Usual, done).await
}

async fn start_as(
    fair: &Fair,
    caller: &'static str,
    standing: Standing,
    done: &Arc<Mutex<Vec<&'static str>>>,
) -> tokio::task::JoinHandle<()> {
    let (fair, done) = (fair.clone(), Arc::clone(done));
    let task = tokio::spawn(async move {
        let _seat = fair.enter(caller, standing).await.unwrap();
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

#[tokio::test(start_paused = true)]
async fn queued_reserved_request_gets_the_next_reserved_seat() {
    let fair = fair(2, 2);
    let _usual = [
        fair.enter("a", Standing::Usual).await.unwrap(),
        fair.enter("b", Standing::Usual).await.unwrap(),
    ];
    let reserved = fair.enter("server", Standing::Reserved).await.unwrap();
    let done = Arc::default();
    let usual = start(&fair, "c", &done).await;
    let next = start_as(&fair, "server", Standing::Reserved, &done).await;
    drop(reserved);
    next.await.unwrap();
    assert_eq!(*done.lock(), ["server"]);
    assert!(
        !usual.is_finished(),
        "the reserve is not for usual requests"
    );
}

#[tokio::test(start_paused = true)]
async fn usual_requests_that_wait_do_not_refuse_a_reserved_one() {
    let fair = fair(1, 1);
    let running = fair.enter("a", Standing::Usual).await.unwrap();
    let reserved = fair.enter("server", Standing::Reserved).await.unwrap();
    let done = Arc::default();
    let mut tasks = vec![
        start(&fair, "b", &done).await,
        start(&fair, "server", &done).await,
    ];
    assert!(fair.enter("c", Standing::Usual).await.is_err());
    tasks.push(start_as(&fair, "server", Standing::Reserved, &done).await);
    drop(reserved);
    drop(running);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(fair.load(), (0, 0, 0));
}

/// One step of a history: a request comes, or the request of this number ends or goes away.
#[derive(Debug, Clone, Copy)]
enum Step {
    Enter(u8, Standing),
    End(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let standing = prop_oneof![Just(Standing::Usual), Just(Standing::Reserved)];
    let step = prop_oneof![
        3 => (0..4_u8, standing).prop_map(|(caller, standing)| Step::Enter(caller, standing)),
        2 => any::<prop::sample::Index>().prop_map(|index| Step::End(index.index(64))),
    ];
    prop::collection::vec(step, 1..80)
}

/// Requests by number: what runs holds a seat, what waits a receiver.
type Requests = Vec<(Turn, Entry)>;

/// Takes the seats that were given to waiting requests.
fn take_seats(requests: &mut Requests) {
    for (_, entry) in requests {
        if let Entry::Turn(turn) = entry
            && let Ok(seat) = turn.try_recv()
        {
            *entry = Entry::Seat(seat);
        }
    }
}

fn count(requests: &Requests, which: impl Fn(&Turn, bool) -> bool) -> usize {
    let runs = |entry: &Entry| matches!(entry, Entry::Seat(_));
    let counted = requests.iter();
    counted
        .filter(|(turn, entry)| which(turn, runs(entry)))
        .count()
}

fn check(requests: &Requests, bounds: Bounds) {
    let running = count(requests, |_, runs| runs);
    assert!(running <= bounds.running + bounds.reserve);
    for (turn, entry) in requests {
        let own = count(requests, |other, runs| runs && other.caller == turn.caller);
        assert!(own <= bounds.running_of_one);
        if matches!(entry, Entry::Turn(_)) && own < bounds.running_of_one {
            let room = turn.standing.room(bounds);
            assert!(running >= room, "{turn:?} waits with {running} of {room}");
        }
    }
}

proptest! {
    #[test]
    fn no_request_waits_while_a_seat_of_its_class_is_free(steps in steps()) {
        let bounds = Bounds { running: 3, running_of_one: 2, reserve: 2, ..fair(1, 100).bounds };
        let fair = Fair::new(bounds);
        let mut requests = Requests::new();
        for step in steps {
            match step {
                Step::Enter(caller, standing) => {
                    let name = caller.to_string();
                    let entry = fair.seat_or_queue(&name, standing).unwrap();
                    requests.push((Turn { standing, caller: name.into() }, entry));
                }
                Step::End(number) if !requests.is_empty() => {
                    requests.swap_remove(number % requests.len());
                }
                Step::End(_) => {}
            }
            take_seats(&mut requests);
            check(&requests, bounds);
        }
        requests.clear();
        prop_assert_eq!(fair.load().0, 0);
    }
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
