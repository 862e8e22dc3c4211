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
    /// Of these, how many may be one caller's.
    pub running_of_one: usize,
    /// How many more may run for callers that everything stands on, when the others take all.
    pub reserve: usize,
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
            running_of_one: 48,
            reserve: 16,
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
    /// Running requests of each caller.
    running_by: BTreeMap<Arc<str>, usize>,
    waiting: usize,
    queues: BTreeMap<Arc<str>, VecDeque<oneshot::Sender<Seat>>>,
    /// Callers with waiting requests, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    watches: usize,
    watches_by: BTreeMap<Arc<str>, usize>,
}

/// A place among the running requests; freed when dropped, and given to who waits.
#[derive(Debug)]
pub struct Seat {
    /// Nothing once the place was given back.
    fair: Option<Fair>,
    caller: Arc<str>,
}

/// Whether a caller may take of the reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// As everybody.
    Usual,
    /// What everything stands on: it is let in when others take all there is.
    Reserved,
}

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
    pub async fn enter(&self, caller: &str, standing: Standing) -> Result<Seat, ApiError> {
        let turn = match self.seat_or_queue(caller, standing)? {
            Entry::Seat(seat) => return Ok(seat),
            Entry::Turn(turn) => turn,
        };
        // A sender never goes without sending, but for the whole state's end.
        match tokio::time::timeout(self.bounds.patience, turn).await {
            Ok(Ok(seat)) => Ok(seat),
            Ok(Err(_)) | Err(_) => Err(refused()),
        }
    }

    fn seat_or_queue(&self, caller: &str, standing: Standing) -> Result<Entry, ApiError> {
        let mut state = self.state.lock();
        let room = match standing {
            Standing::Usual => self.bounds.running,
            Standing::Reserved => self.bounds.running + self.bounds.reserve,
        };
        if state.running < room && state.may_run(caller, self.bounds) {
            return Ok(Entry::Seat(self.seat(&mut state, caller.into())));
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

    fn seat(&self, state: &mut State, caller: Arc<str>) -> Seat {
        state.running += 1;
        *state.running_by.entry(Arc::clone(&caller)).or_default() += 1;
        Seat {
            fair: Some(self.clone()),
            caller,
        }
    }

    /// Lets in who waits, as long as there is room.
    fn let_in(&self) {
        loop {
            let (seat, next) = {
                let mut state = self.state.lock();
                if state.running >= self.bounds.running {
                    return;
                }
                let Some((caller, next)) = state.next(self.bounds) else {
                    return;
                };
                (self.seat(&mut state, caller), next)
            };
            if let Err(mut unused) = next.send(seat) {
                // That one went away: its place is given back here, and offered again.
                if let Some(fair) = unused.fair.take() {
                    fair.state.lock().leave(&unused.caller);
                }
            }
        }
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

    /// Whether one more request of this caller may run.
    fn may_run(&self, caller: &str, bounds: Bounds) -> bool {
        self.running_by.get(caller).copied().unwrap_or(0) < bounds.running_of_one
    }

    fn leave(&mut self, caller: &Arc<str>) {
        self.running -= 1;
        let Some(own) = self.running_by.get_mut(caller) else {
            return;
        };
        *own -= 1;
        if *own == 0 {
            self.running_by.remove(caller);
        }
    }

    /// The longest waiting request of the caller whose turn it is, among those who may run more.
    fn next(&mut self, bounds: Bounds) -> Option<(Arc<str>, oneshot::Sender<Seat>)> {
        let turn = self
            .turns
            .iter()
            .position(|caller| self.may_run(caller, bounds))?;
        let caller = self.turns.remove(turn)?;
        let queue = self.queues.get_mut(&caller)?;
        let sender = queue.pop_front()?;
        self.waiting -= 1;
        if queue.is_empty() {
            self.queues.remove(&caller);
        } else {
            self.turns.push_back(Arc::clone(&caller));
        }
        Some((caller, sender))
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
        let Some(fair) = self.fair.take() else { return };
        fair.state.lock().leave(&self.caller);
        fair.let_in();
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
mod tests;
