//! The bounded queue between requests and the writer.
//!
//! A request waits for space in the queue *before* it is forwarded, and later adds its records
//! without waiting. If the writer is slow, new requests wait and are eventually refused. Requests
//! in flight can always add their records. The queue is bounded, in records and in bytes, by its
//! capacity plus two records per request in flight. Unauthenticated requests do not wait for space.
//! The queue counts these requests, see [`unauthenticated`](super::unauthenticated).

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::Record;
use super::unauthenticated::{Disposition, Tally, UnauthenticatedCounts};

/// Time for which the writer collects further records after the first record. The writer then wakes
/// up less often and writes more bytes at a time.
const BATCH_DELAY: Duration = Duration::from_millis(10);

/// A record or a count, which becomes one line of the log.
pub(super) enum Line {
    Record(Record),
    Tally(Tally),
}

impl Line {
    fn size(&self) -> usize {
        match self {
            Self::Record(record) => record.size(),
            Self::Tally(_) => size_of::<Self>(),
        }
    }

    /// Appends the line to `out` as one JSON object.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        match self {
            Self::Record(record) => record.write_json(out),
            Self::Tally(tally) => serde_json::to_writer(out, tally),
        }
    }
}

/// Size of the queue above which new requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of records.
    pub records: usize,
    /// Maximum size of all records, in bytes.
    pub bytes: usize,
}

struct State {
    lines: Vec<Line>,
    bytes: usize,
    unauthenticated: UnauthenticatedCounts,
    added: u64,
    written: u64,
    writer_sleeps: bool,
    closed: bool,
}

impl State {
    fn push(&mut self, line: Line) {
        self.bytes += line.size();
        self.lines.push(line);
        self.added += 1;
    }

    fn push_tallies(&mut self, tallies: Vec<Tally>) {
        for tally in tallies {
            self.push(Line::Tally(tally));
        }
    }

    fn has_room(&self, capacity: Capacity) -> bool {
        self.lines.len() < capacity.records && self.bytes < capacity.bytes
    }
}

pub(super) struct Queue {
    capacity: Capacity,
    state: Mutex<State>,
    filled: Condvar,
    drained: Notify,
}

impl Queue {
    pub(super) fn new(capacity: Capacity) -> Self {
        let state = State {
            lines: Vec::new(),
            bytes: 0,
            unauthenticated: UnauthenticatedCounts::new(Instant::now()),
            added: 0,
            written: 0,
            writer_sleeps: false,
            closed: false,
        };
        Self {
            capacity,
            state: Mutex::new(state),
            filled: Condvar::new(),
            drained: Notify::new(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.state.lock().has_room(self.capacity)
    }

    pub(super) async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if self.has_room() {
                return;
            }
            drained.await;
        }
    }

    /// Adds a record without waiting. If the record has no user, the queue may only count the
    /// record and not store it.
    pub(super) fn add(&self, record: Record) {
        let mut state = self.state.lock();
        let fate = if record.subject.person.is_none() {
            let room = state.has_room(self.capacity);
            state.unauthenticated.handle(record, Instant::now(), room)
        } else {
            Disposition::Whole(record)
        };
        match fate {
            Disposition::Whole(record) => state.push(Line::Record(record)),
            // The first count changes the time of the writer's next wake-up.
            Disposition::Counted { first: true } => {}
            Disposition::Counted { first: false } => return,
        }
        if std::mem::take(&mut state.writer_sleeps) {
            self.filled.notify_one();
        }
    }

    /// Waits for lines and removes all lines from the queue. Returns `None` if the queue is closed
    /// and empty. Blocks the calling thread.
    pub(super) fn take(&self) -> Option<Vec<Line>> {
        let mut state = self.state.lock();
        loop {
            let now = Instant::now();
            let due = if state.closed {
                state.unauthenticated.drain(now)
            } else {
                state.unauthenticated.due(now)
            };
            state.push_tallies(due);
            if !state.lines.is_empty() {
                break;
            }
            if state.closed {
                return None;
            }
            state.writer_sleeps = true;
            match state.unauthenticated.next_due() {
                None => self.filled.wait(&mut state),
                Some(due) => drop(self.filled.wait_until(&mut state, due)),
            }
            state.writer_sleeps = false;
        }
        if !state.closed {
            drop(state);
            std::thread::sleep(BATCH_DELAY);
            state = self.state.lock();
        }
        let lines = std::mem::take(&mut state.lines);
        state.bytes = 0;
        drop(state);
        self.drained.notify_waiters();
        Some(lines)
    }

    pub(super) fn wrote(&self, count: usize) {
        self.state.lock().written += count as u64;
        self.drained.notify_waiters();
    }

    /// Waits until all earlier records and counts are written.
    pub(super) async fn flushed(&self) {
        let goal = {
            let mut state = self.state.lock();
            let counted = state.unauthenticated.drain(Instant::now());
            state.push_tallies(counted);
            if std::mem::take(&mut state.writer_sleeps) {
                self.filled.notify_one();
            }
            state.added
        };
        loop {
            let drained = self.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if self.state.lock().written >= goal {
                return;
            }
            drained.await;
        }
    }

    /// Returns the number of waiting lines, and true if unauthenticated requests are being counted.
    pub(super) fn holds(&self) -> (usize, bool) {
        let state = self.state.lock();
        (
            state.lines.len(),
            state.unauthenticated.next_due().is_some(),
        )
    }

    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        self.filled.notify_one();
    }
}
