//! Moving the write-ahead log's pages into the database file, off the writer's way.
//!
//! A thread of its own does the bulk (`PASSIVE`, which lets the writer go on appending). What was
//! appended meanwhile is little; the writer itself moves that and starts the log anew, between
//! two transactions.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

/// Pages in the log at which a checkpoint begins: 4 MiB.
const PAGES: u64 = 1024;

/// How long the writer waits for readers that still read the log.
const READERS: Duration = Duration::from_millis(5);

/// Shared by the writer and the checkpoint's thread.
#[derive(Debug, Default)]
pub(in crate::store) struct Checkpoints {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    /// The thread is to move the bulk.
    Bulk,
    /// The writer is to move the rest.
    Rest,
    Closed,
}

/// The writer's side.
#[derive(Debug)]
pub(in crate::store) struct Growth {
    checkpoints: Arc<Checkpoints>,
    /// About how many pages are in the log.
    pages: u64,
}

impl Growth {
    /// What is in the log at the start is unknown; a first checkpoint soon does no harm.
    pub(in crate::store) fn new(checkpoints: Arc<Checkpoints>) -> Self {
        Self {
            checkpoints,
            pages: PAGES,
        }
    }

    /// A transaction wrote about so many bytes with so many changes.
    pub(in crate::store) fn wrote(&mut self, changes: usize, bytes: usize) {
        // Each change touches about one page of each of three trees, and its value's own pages.
        self.pages += 2 + (changes * 3 + bytes / 4096) as u64;
    }

    /// Whether the writer has a part to do soon.
    pub(in crate::store) fn is_moving(&self) -> bool {
        matches!(*self.checkpoints.state.lock(), State::Bulk | State::Rest)
    }

    /// Does the writer's part, if there is one; called between transactions.
    pub(in crate::store) fn tend(&mut self, conn: &Connection) {
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

/// Moves what is left and starts the log anew; false if readers are in the way.
pub(in crate::store) fn restart(conn: &Connection) -> bool {
    let done = conn
        .busy_timeout(READERS)
        .and_then(|()| checkpoint(conn, "RESTART"));
    if let Err(error) = conn.busy_timeout(crate::store::layout::BUSY) {
        tracing::warn!(%error, "cannot set the busy timeout");
    }
    match done {
        Ok(done) => done,
        Err(error) => {
            // Nothing is lost: the log keeps what could not be moved.
            tracing::warn!(%error, "checkpoint failed");
            false
        }
    }
}

/// True if nothing was in the way.
fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<bool> {
    conn.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        row.get::<_, i64>(0).map(|busy| busy == 0)
    })
}

impl Checkpoints {
    /// Moves the bulk whenever it is told to; the body of a thread.
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
                tracing::warn!(%error, "checkpoint failed");
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
