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
    /// Requests of all callers that wait; reserved ones may exceed it by `waiting`.
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
    queues: BTreeMap<Turn, VecDeque<oneshot::Sender<Seat>>>,
    /// Callers with waiting requests, in the order of their turns.
    turns: VecDeque<Turn>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// As everybody.
    Usual,
    /// What everything stands on: it is let in when others take all there is.
    Reserved,
}

impl Standing {
    /// How many requests may run before one of this class has to wait.
    const fn room(self, bounds: Bounds) -> usize {
        match self {
            Self::Usual => bounds.running,
            Self::Reserved => bounds.running + bounds.reserve,
        }
    }

    /// How many requests may wait before one of this class is refused.
    const fn waiting(self, bounds: Bounds) -> usize {
        match self {
            Self::Usual => bounds.waiting_total,
            Self::Reserved => bounds.waiting_total + bounds.waiting,
        }
    }
}

/// A queue: requests of one caller and class. The same name may send both classes. The order of
/// the fields puts reserved queues last in a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    standing: Standing,
    caller: Arc<str>,
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
        let turn = Turn {
            standing,
            caller: caller.into(),
        };
        if state.may_run(&turn, self.bounds) {
            return Ok(Entry::Seat(self.seat(&mut state, turn.caller)));
        }
        if state.is_full_for(&turn, self.bounds) {
            state.forget_those_gone();
            if state.is_full_for(&turn, self.bounds) {
                return Err(refused());
            }
        }
        let (sender, seat) = oneshot::channel();
        state.queue(turn, sender);
        Ok(Entry::Turn(seat))
    }

    fn seat(&self, state: &mut State, caller: Arc<str>) -> Seat {
        state.running += 1;
        *state.running_by.entry(Arc::clone(&caller)).or_default() += 1;
        Seat {
            fair: Some(self.clone()),
            caller,
        }
    }

    /// Gives each free seat to the next waiting request of a class that may use it.
    fn let_in(&self) {
        loop {
            let (seat, next) = {
                let mut state = self.state.lock();
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
    fn is_full_for(&self, turn: &Turn, bounds: Bounds) -> bool {
        let own = self.queues.get(turn).map_or(0, VecDeque::len);
        own >= bounds.waiting || self.waiting >= turn.standing.waiting(bounds)
    }

    fn queue(&mut self, turn: Turn, sender: oneshot::Sender<Seat>) {
        self.waiting += 1;
        if let Some(queue) = self.queues.get_mut(&turn) {
            queue.push_back(sender);
            return;
        }
        self.turns.push_back(turn.clone());
        self.queues.insert(turn, VecDeque::from([sender]));
    }

    /// Whether one more request of this caller and class may run.
    fn may_run(&self, turn: &Turn, bounds: Bounds) -> bool {
        let own = self.running_by.get(&turn.caller).copied().unwrap_or(0);
        self.running < turn.standing.room(bounds) && own < bounds.running_of_one
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

    /// The longest waiting request of the caller whose turn it is, among those that may run now.
    fn next(&mut self, bounds: Bounds) -> Option<(Arc<str>, oneshot::Sender<Seat>)> {
        // Do not search thousands of turns when no seat is free for any of them.
        let (last, _) = self.queues.last_key_value()?;
        if self.running >= last.standing.room(bounds) {
            return None;
        }
        let position = self
            .turns
            .iter()
            .position(|turn| self.may_run(turn, bounds))?;
        let turn = self.turns.remove(position)?;
        let queue = self.queues.get_mut(&turn)?;
        let sender = queue.pop_front()?;
        self.waiting -= 1;
        if queue.is_empty() {
            self.queues.remove(&turn);
        } else {
            self.turns.push_back(turn.clone());
        }
        Some((turn.caller, sender))
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
        self.turns.retain(|turn| queues.contains_key(turn));
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
