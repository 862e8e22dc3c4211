//! Fair queueing: a bounded number of requests runs at once, and those that wait are let in one
//! caller after another, so that a greedy caller delays nobody but itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::status::ApiError;

/// How much runs and waits at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Requests that run at once, watches aside.
    pub running: usize,
    /// Requests of one caller that wait.
    pub waiting: usize,
    /// Requests of all callers that wait.
    pub waiting_total: usize,
    /// Watches of one caller.
    pub watches: usize,
    /// Watches of all callers.
    pub watches_total: usize,
    /// How long a request waits before it is refused.
    pub patience: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            running: 64,
            waiting: 256,
            waiting_total: 8192,
            watches: 10_000,
            watches_total: 100_000,
            patience: Duration::from_secs(15),
        }
    }
}

/// The queues of all callers. Clones share them.
#[derive(Debug, Clone)]
pub struct Fair {
    bounds: Bounds,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    queues: BTreeMap<Arc<str>, VecDeque<oneshot::Sender<Seat>>>,
    /// Callers with waiting requests, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    watches: usize,
    watches_by: BTreeMap<Arc<str>, usize>,
}

/// A place among the running requests; freed when dropped.
#[derive(Debug)]
pub struct Seat(Option<Arc<Mutex<State>>>);

/// A place among the watches; freed when dropped.
#[derive(Debug)]
pub struct WatchSeat {
    state: Arc<Mutex<State>>,
    caller: Arc<str>,
}

/// What a refused caller is told (kube-apiserver's words and delay).
fn refused() -> ApiError {
    ApiError::too_many_requests("Too many requests, please try again later.", 1)
}

impl Fair {
    /// Empty queues.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            state: Arc::default(),
        }
    }

    /// Waits for this caller's turn.
    ///
    /// # Errors
    /// 429 if too many of its requests wait already, or after the patience.
    pub async fn enter(&self, caller: &str) -> Result<Seat, ApiError> {
        let turn = match self.seat_or_queue(caller)? {
            Entry::Seat(seat) => return Ok(seat),
            Entry::Turn(turn) => turn,
        };
        // A sender never goes without sending, but for the whole state's end.
        match tokio::time::timeout(self.bounds.patience, turn).await {
            Ok(Ok(seat)) => Ok(seat),
            Ok(Err(_)) | Err(_) => Err(refused()),
        }
    }

    fn seat_or_queue(&self, caller: &str) -> Result<Entry, ApiError> {
        let mut state = self.state.lock();
        if state.running < self.bounds.running {
            state.running += 1;
            return Ok(Entry::Seat(Seat(Some(Arc::clone(&self.state)))));
        }
        if state.is_full_for(caller, self.bounds) {
            state.forget_those_gone();
            if state.is_full_for(caller, self.bounds) {
                return Err(refused());
            }
        }
        let (sender, turn) = oneshot::channel();
        state.queue(caller, sender);
        Ok(Entry::Turn(turn))
    }

    /// Takes a place among the watches.
    ///
    /// # Errors
    /// 429 if this caller, or all together, have too many.
    pub fn watch(&self, caller: &str) -> Result<WatchSeat, ApiError> {
        let mut state = self.state.lock();
        let own = state.watches_by.get(caller).copied().unwrap_or(0);
        if own >= self.bounds.watches || state.watches >= self.bounds.watches_total {
            return Err(refused());
        }
        let caller: Arc<str> = caller.into();
        *state.watches_by.entry(Arc::clone(&caller)).or_default() += 1;
        state.watches += 1;
        Ok(WatchSeat {
            state: Arc::clone(&self.state),
            caller,
        })
    }

    /// Requests that run and that wait, and watches: for metrics.
    pub fn load(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.running, state.waiting, state.watches)
    }
}

enum Entry {
    Seat(Seat),
    Turn(oneshot::Receiver<Seat>),
}

impl State {
    fn is_full_for(&self, caller: &str, bounds: Bounds) -> bool {
        let own = self.queues.get(caller).map_or(0, VecDeque::len);
        own >= bounds.waiting || self.waiting >= bounds.waiting_total
    }

    fn queue(&mut self, caller: &str, sender: oneshot::Sender<Seat>) {
        self.waiting += 1;
        if let Some(queue) = self.queues.get_mut(caller) {
            queue.push_back(sender);
            return;
        }
        let caller: Arc<str> = caller.into();
        self.turns.push_back(Arc::clone(&caller));
        self.queues.insert(caller, VecDeque::from([sender]));
    }

    /// The longest waiting request of the caller whose turn it is.
    fn next(&mut self) -> Option<oneshot::Sender<Seat>> {
        let caller = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&caller)?;
        let sender = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        self.waiting -= usize::from(sender.is_some());
        sender
    }

    /// Requests whose client went away hold no place in a queue.
    fn forget_those_gone(&mut self) {
        let mut gone = 0;
        self.queues.retain(|_, queue| {
            let before = queue.len();
            queue.retain(|sender| !sender.is_closed());
            gone += before - queue.len();
            !queue.is_empty()
        });
        self.waiting -= gone;
        let queues = &self.queues;
        self.turns.retain(|caller| queues.contains_key(caller));
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(shared) = self.0.take() else { return };
        loop {
            let next = {
                let mut state = shared.lock();
                let next = state.next();
                state.running -= usize::from(next.is_none());
                next
            };
            let Some(next) = next else { return };
            match next.send(Self(Some(Arc::clone(&shared)))) {
                Ok(()) => return,
                // That one went away: its place is still this one's to pass on.
                Err(mut returned) => drop(returned.0.take()),
            }
        }
    }
}

impl Drop for WatchSeat {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        state.watches -= 1;
        if let Some(own) = state.watches_by.get_mut(&self.caller) {
            *own -= 1;
            if *own == 0 {
                state.watches_by.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fair(running: usize, waiting: usize) -> Fair {
        Fair::new(Bounds {
            running,
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
            let _seat = fair.enter(caller).await.unwrap();
            done.lock().push(caller);
        });
        tokio::task::yield_now().await;
        task
    }

    #[tokio::test(start_paused = true)]
    async fn callers_take_turns_however_many_requests_one_sends() {
        let fair = fair(1, 100);
        let done = Arc::default();
        let running = fair.enter("first").await.unwrap();
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
        let _running = fair.enter("first").await.unwrap();
        let done = Arc::default();
        let _one = start(&fair, "greedy", &done).await;
        let _two = start(&fair, "greedy", &done).await;
        let error = fair.enter("greedy").await.unwrap_err();
        assert_eq!(error.code, http::StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(error.details.unwrap().retry_after, Some(1));
        let _other = start(&fair, "modest", &done).await;
        assert_eq!(fair.load().1, 3);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_the_patience() {
        let fair = fair(1, 2);
        let _running = fair.enter("first").await.unwrap();
        assert!(fair.enter("second").await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_went_away_hold_no_place() {
        let fair = fair(1, 2);
        let running = fair.enter("first").await.unwrap();
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
}
