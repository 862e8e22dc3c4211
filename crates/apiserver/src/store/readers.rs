//! Reader threads with bounded queues.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use super::error::StoreError;

/// Maximum number of waiting reads per lane.
const MAX_WAITING_READS: usize = 1024;

/// Maximum time that a read waits for space in the queue of a lane.
const TIMEOUT: Duration = Duration::from_secs(30);

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// A queue of reads with its threads.
pub(super) struct Lane {
    jobs: Mutex<Jobs>,
    wake: Condvar,
    slots: Arc<Semaphore>,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    closed: bool,
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            jobs: Mutex::default(),
            wake: Condvar::new(),
            slots: Arc::new(Semaphore::new(MAX_WAITING_READS)),
        }
    }
}

impl Lane {
    /// Runs reads until the lane is closed. This is the main function of a lane's threads.
    pub(super) fn serve(&self, conn: &Connection) {
        loop {
            let mut jobs = self.jobs.lock();
            let job = loop {
                if jobs.closed {
                    return;
                }
                match jobs.waiting.pop_front() {
                    Some(job) => break job,
                    None => self.wake.wait(&mut jobs),
                }
            };
            drop(jobs);
            job(conn);
        }
    }

    /// Runs a read on a thread of the lane. The lane skips the read if the caller drops the future
    /// before the read starts.
    pub(super) async fn read<T, E>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let slots = Arc::clone(&self.slots);
        let slot = match timeout(TIMEOUT, slots.acquire_owned()).await {
            Ok(Ok(slot)) => slot,
            Ok(Err(_)) => return Err(StoreError::Closed.into()),
            Err(_) => return Err(StoreError::Busy.into()),
        };
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |conn| {
            // The job owns the slot, because a read without a caller also occupies it.
            let _slot = slot;
            if !answer.is_closed() {
                // The caller may have dropped the future.
                answer.send(read(conn)).ok();
            }
        });
        {
            let mut jobs = self.jobs.lock();
            if jobs.closed {
                return Err(StoreError::Closed.into());
            }
            jobs.waiting.push_back(job);
        }
        self.wake.notify_one();
        answered
            .await
            .unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Ends the threads after the current reads. Waiting reads fail with [`StoreError::Closed`].
    pub(super) fn close(&self) {
        let mut jobs = self.jobs.lock();
        jobs.closed = true;
        jobs.waiting.clear();
        drop(jobs);
        self.slots.close();
        self.wake.notify_all();
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}
