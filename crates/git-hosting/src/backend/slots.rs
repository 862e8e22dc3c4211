//! Concurrency limits: of all requests, and of the requests of one caller.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of requests that wait for a slot, as a multiple of the slots.
const WAITING: usize = 4;

/// The reason why a request gets no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum SlotsFull {
    /// The caller has the maximum number of concurrent requests.
    #[error("the caller has too many concurrent git requests")]
    Caller,
    /// No slot became free before the timeout, or too many requests wait.
    #[error("the server has too many concurrent git requests")]
    All,
}

/// The slots for concurrent requests. Clones share the slots.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    per_caller: usize,
    callers: Arc<Mutex<HashMap<Box<str>, usize>>>,
}

/// A slot for one request. Dropping the value frees the slot.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
    _caller: CallerCount,
}

#[derive(Debug)]
struct CallerCount {
    caller: Box<str>,
    callers: Arc<Mutex<HashMap<Box<str>, usize>>>,
}

impl Drop for CallerCount {
    fn drop(&mut self) {
        let mut callers = self.callers.lock();
        if let Some(count) = callers.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                callers.remove(&self.caller);
            }
        }
    }
}

impl Slots {
    pub(crate) fn new(all: usize, per_caller: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(all)),
            waiting: Arc::new(Semaphore::new(all * WAITING)),
            per_caller,
            callers: Arc::default(),
        }
    }

    /// Waits for a slot at most for the duration `wait`.
    pub(crate) async fn acquire(&self, caller: &str, wait: Duration) -> Result<Slot, SlotsFull> {
        let counted = self.count(caller)?;
        let _waiting = self.waiting.try_acquire().map_err(|_| SlotsFull::All)?;
        let acquiring = Arc::clone(&self.free).acquire_owned();
        match tokio::time::timeout(wait, acquiring).await {
            Ok(Ok(permit)) => Ok(Slot {
                _permit: permit,
                _caller: counted,
            }),
            Ok(Err(_)) | Err(_) => Err(SlotsFull::All),
        }
    }

    fn count(&self, caller: &str) -> Result<CallerCount, SlotsFull> {
        let mut callers = self.callers.lock();
        let count = callers.entry(caller.into()).or_default();
        if *count >= self.per_caller {
            return Err(SlotsFull::Caller);
        }
        *count += 1;
        Ok(CallerCount {
            caller: caller.into(),
            callers: Arc::clone(&self.callers),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn slots_of_one_caller_do_not_block_other_callers() {
        let slots = Slots::new(3, 2);
        let first = slots.acquire("ann", WAIT).await.unwrap();
        let _second = slots.acquire("ann", WAIT).await.unwrap();
        assert_eq!(
            slots.acquire("ann", WAIT).await.unwrap_err(),
            SlotsFull::Caller
        );
        let _other = slots.acquire("bob", WAIT).await.unwrap();
        assert_eq!(
            slots.acquire("eve", WAIT).await.unwrap_err(),
            SlotsFull::All
        );
        drop(first);
        slots.acquire("ann", WAIT).await.unwrap();
        assert_eq!(
            slots.callers.lock().len(),
            2,
            "callers without a request are forgotten"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn request_waits_until_a_slot_is_free() {
        let slots = Slots::new(1, 1);
        let first = slots.acquire("ann", WAIT).await.unwrap();
        let waiting = slots.acquire("bob", WAIT);
        let freeing = async {
            tokio::time::sleep(WAIT / 2).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(waiting, freeing);
        assert!(second.is_ok());
    }
}
