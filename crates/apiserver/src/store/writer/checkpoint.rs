//! Checkpoints: moves pages of the write-ahead log into the database file without delaying the
//! writer.
//!
//! A separate thread moves most pages with a `PASSIVE` checkpoint, which does not block the writer.
//! Between two transactions, the writer moves the remaining pages, and restarts the log.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

/// Number of log pages above which a checkpoint starts: 4 MiB.
const PAGES: u64 = 1024;

/// Maximum time that a checkpoint waits for readers of the log.
const READERS: Duration = Duration::from_millis(5);

/// State shared by the writer and the checkpoint thread.
#[derive(Debug, Default)]
pub(in crate::store) struct Checkpoints {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// A checkpoint has begun, and the checkpoint thread moves most pages.
    Bulk,
    /// The checkpoint thread has finished, and the writer must move the remaining pages.
    Rest,
    Closed,
}

/// The checkpoint state of the writer.
#[derive(Debug)]
pub(in crate::store) struct WriterCheckpoints {
    checkpoints: Arc<Checkpoints>,
    /// The approximate number of pages in the log.
    pages: u64,
}

impl WriterCheckpoints {
    /// Creates the checkpoint state. The initial size of the log is unknown; an early checkpoint is
    /// harmless.
    pub(in crate::store) fn new(checkpoints: Arc<Checkpoints>) -> Self {
        Self {
            checkpoints,
            pages: PAGES,
        }
    }

    /// Records a transaction: the number of its changes, and its size in bytes.
    pub(in crate::store) fn wrote(&mut self, changes: usize, bytes: usize) {
        // Each change touches about one page in each of three trees, and the pages of its value.
        self.pages += 2 + (changes * 3 + bytes / 4096) as u64;
    }

    /// Reports whether the writer will have to move pages soon.
    pub(in crate::store) fn is_moving(&self) -> bool {
        matches!(*self.checkpoints.state.lock(), State::Bulk | State::Rest)
    }

    /// Runs the writer's step of a checkpoint if such a step is pending. Must run between
    /// transactions.
    pub(in crate::store) fn run_pending(&mut self, conn: &Connection) {
        let mut state = self.checkpoints.state.lock();
        match *state {
            State::Idle if self.pages >= PAGES => {
                *state = State::Bulk;
                self.checkpoints.wake.notify_one();
            }
            State::Rest => {
                *state = State::Idle;
                drop(state);
                self.pages = if restart(conn) { 0 } else { PAGES / 2 };
            }
            _ => {}
        }
    }
}

/// Moves the remaining pages and restarts the log. Returns false if readers prevent the restart.
pub(in crate::store) fn restart(conn: &Connection) -> bool {
    let done = conn
        .busy_timeout(READERS)
        .and_then(|()| checkpoint(conn, "RESTART"));
    if let Err(error) = conn.busy_timeout(crate::store::layout::BUSY) {
        tracing::warn!(%error, "failed to set the busy timeout");
    }
    match done {
        Ok(done) => done,
        Err(error) => {
            // No data is lost: the log keeps pages that could not be moved.
            tracing::warn!(%error, "checkpoint of the store's write-ahead log failed");
            false
        }
    }
}

/// Runs a checkpoint; returns true if it moved all pages.
fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<bool> {
    conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        row.get::<_, i64>(0).map(|busy| busy == 0)
    })
}

impl Checkpoints {
    /// Runs the requested checkpoints. This is the main function of the checkpoint thread.
    pub(in crate::store) fn serve(&self, conn: &Connection) {
        loop {
            let mut state = self.state.lock();
            loop {
                match *state {
                    State::Bulk => break,
                    State::Closed => return,
                    State::Idle | State::Rest => self.wake.wait(&mut state),
                }
            }
            drop(state);
            if let Err(error) = checkpoint(conn, "PASSIVE") {
                tracing::warn!(%error, "checkpoint of the store's write-ahead log failed");
            }
            let mut state = self.state.lock();
            if *state == State::Bulk {
                *state = State::Rest;
            }
        }
    }

    pub(in crate::store) fn close(&self) {
        *self.state.lock() = State::Closed;
        self.wake.notify_one();
    }
}
