//! Fair queueing: limits concurrent requests, and admits the waiting requests of all callers in
//! round-robin order. A caller with many requests therefore delays only its own requests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::status::ApiError;

/// Limits on concurrent and waiting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyLimits {
    /// Maximum number of concurrent requests. Watches do not count.
    pub running: usize,
    /// Maximum number of concurrent requests of one caller.
    pub running_of_one: usize,
    /// Number of additional concurrent requests of privileged callers when all other slots are in
    /// use.
    pub reserve: usize,
    /// Maximum number of waiting requests of one caller.
    pub waiting: usize,
    /// Maximum number of waiting requests of all callers. The queues accept `waiting` additional
    /// requests of privileged callers.
    pub waiting_total: usize,
    /// Maximum number of watches of one caller.
    pub watches: usize,
    /// Maximum number of watches of all callers.
    pub watches_total: usize,
    /// Maximum time that a request waits for a slot.
    pub max_wait: Duration,
}

impl Default for ConcurrencyLimits {
    fn default() -> Self {
        Self {
            running: 64,
            running_of_one: 48,
            reserve: 16,
            waiting: 256,
            waiting_total: 8192,
            watches: 10_000,
            watches_total: 100_000,
            max_wait: Duration::from_secs(15),
        }
    }
}

/// The request queues of all callers. Clones share the queues.
#[derive(Debug, Clone)]
pub struct Fair {
    bounds: ConcurrencyLimits,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    /// Number of running requests per caller.
    running_by: BTreeMap<Arc<str>, usize>,
    waiting: usize,
    queues: BTreeMap<QueueKey, VecDeque<oneshot::Sender<Slot>>>,
    /// The callers with waiting requests, in round-robin order.
    turns: VecDeque<QueueKey>,
    watches: usize,
    watches_by: BTreeMap<Arc<str>, usize>,
}

/// A slot of a running request. When the slot is dropped, a waiting request receives the slot.
#[derive(Debug)]
pub struct Slot {
    /// The queues to return the slot to. `None` after the slot was returned.
    fair: Option<Fair>,
    caller: Arc<str>,
}

/// The priority class of a caller. The class determines the available slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Requests of this class use no reserved slots.
    Usual,
    /// Requests of this class may use reserved slots. The embedding program's controllers therefore
    /// run even if all other slots are in use.
    Reserved,
}

impl Priority {
    /// Returns the number of slots for this class.
    const fn room(self, bounds: ConcurrencyLimits) -> usize {
        match self {
            Self::Usual => bounds.running,
            Self::Reserved => bounds.running + bounds.reserve,
        }
    }

    /// Returns the maximum number of waiting requests for this class.
    const fn waiting(self, bounds: ConcurrencyLimits) -> usize {
        match self {
            Self::Usual => bounds.waiting_total,
            Self::Reserved => bounds.waiting_total + bounds.waiting,
        }
    }
}

/// The key of a queue: one caller and class. One user name may send requests of both classes. The
/// field order sorts reserved queues last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct QueueKey {
    priority: Priority,
    caller: Arc<str>,
}

/// A slot of a watch, returned on drop.
#[derive(Debug)]
pub struct WatchSlot {
    state: Arc<Mutex<State>>,
    caller: Arc<str>,
}

/// Returns the 429 response, with kube-apiserver's message and delay.
fn refused() -> ApiError {
    ApiError::too_many_requests("Too many requests, please try again later.", 1)
}

impl Fair {
    /// Creates empty queues with these limits.
    pub fn new(bounds: ConcurrencyLimits) -> Self {
        Self {
            bounds,
            state: Arc::default(),
        }
    }

    /// Waits for a slot.
    ///
    /// # Errors
    ///
    /// Returns 429 if too many requests of the caller wait, or after the timeout.
    pub async fn enter(&self, caller: &str, priority: Priority) -> Result<Slot, ApiError> {
        let turn = match self.slot_or_queue(caller, priority)? {
            Entry::Slot(slot) => return Ok(slot),
            Entry::Waiting(turn) => turn,
        };
        // The sender always sends, unless the whole state is dropped.
        match tokio::time::timeout(self.bounds.max_wait, turn).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) | Err(_) => Err(refused()),
        }
    }

    fn slot_or_queue(&self, caller: &str, priority: Priority) -> Result<Entry, ApiError> {
        let mut state = self.state.lock();
        let turn = QueueKey {
            priority,
            caller: caller.into(),
        };
        if state.may_run(&turn, self.bounds) {
            return Ok(Entry::Slot(self.slot(&mut state, turn.caller)));
        }
        if state.is_full_for(&turn, self.bounds) {
            state.remove_disconnected();
            if state.is_full_for(&turn, self.bounds) {
                return Err(refused());
            }
        }
        let (sender, slot) = oneshot::channel();
        state.queue(turn, sender);
        Ok(Entry::Waiting(slot))
    }

    fn slot(&self, state: &mut State, caller: Arc<str>) -> Slot {
        state.running += 1;
        *state.running_by.entry(Arc::clone(&caller)).or_default() += 1;
        Slot {
            fair: Some(self.clone()),
            caller,
        }
    }

    /// Assigns free slots to waiting requests of classes that may use them.
    fn admit_waiting(&self) {
        loop {
            let (slot, next) = {
                let mut state = self.state.lock();
                let Some((caller, next)) = state.next(self.bounds) else {
                    return;
                };
                (self.slot(&mut state, caller), next)
            };
            if let Err(mut unused) = next.send(slot) {
                // The request was dropped: return the slot and offer it again.
                if let Some(fair) = unused.fair.take() {
                    fair.state.lock().leave(&unused.caller);
                }
            }
        }
    }

    /// Takes a slot for a watch.
    ///
    /// # Errors
    ///
    /// Returns 429 if the caller or all callers together have too many watches.
    pub fn watch(&self, caller: &str) -> Result<WatchSlot, ApiError> {
        let mut state = self.state.lock();
        let own = state.watches_by.get(caller).copied().unwrap_or(0);
        if own >= self.bounds.watches || state.watches >= self.bounds.watches_total {
            return Err(refused());
        }
        let caller: Arc<str> = caller.into();
        *state.watches_by.entry(Arc::clone(&caller)).or_default() += 1;
        state.watches += 1;
        Ok(WatchSlot {
            state: Arc::clone(&self.state),
            caller,
        })
    }

    /// Returns the numbers of running requests, waiting requests and watches, for metrics.
    pub fn load(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (state.running, state.waiting, state.watches)
    }
}

enum Entry {
    Slot(Slot),
    Waiting(oneshot::Receiver<Slot>),
}

impl State {
    fn is_full_for(&self, turn: &QueueKey, bounds: ConcurrencyLimits) -> bool {
        let own = self.queues.get(turn).map_or(0, VecDeque::len);
        own >= bounds.waiting || self.waiting >= turn.priority.waiting(bounds)
    }

    fn queue(&mut self, turn: QueueKey, sender: oneshot::Sender<Slot>) {
        self.waiting += 1;
        if let Some(queue) = self.queues.get_mut(&turn) {
            queue.push_back(sender);
            return;
        }
        self.turns.push_back(turn.clone());
        self.queues.insert(turn, VecDeque::from([sender]));
    }

    /// Reports whether one more request of this caller and class may run.
    fn may_run(&self, turn: &QueueKey, bounds: ConcurrencyLimits) -> bool {
        let own = self.running_by.get(&turn.caller).copied().unwrap_or(0);
        self.running < turn.priority.room(bounds) && own < bounds.running_of_one
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

    /// Removes and returns the oldest waiting request of the next caller that may run.
    fn next(&mut self, bounds: ConcurrencyLimits) -> Option<(Arc<str>, oneshot::Sender<Slot>)> {
        // This check avoids a search through thousands of queues when no slot is free for any of
        // them.
        let (last, _) = self.queues.last_key_value()?;
        if self.running >= last.priority.room(bounds) {
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

    /// Removes requests of disconnected clients from the queues.
    fn remove_disconnected(&mut self) {
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

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(fair) = self.fair.take() else { return };
        fair.state.lock().leave(&self.caller);
        fair.admit_waiting();
    }
}

impl Drop for WatchSlot {
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
