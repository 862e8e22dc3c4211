//! The bounded way from requests to the writer.
//!
//! A request asks for room *before* it is forwarded and adds its records later without waiting, so
//! nothing that happened can fail to be recorded: when the writer falls behind, new requests wait
//! and are at last refused, while those under way still find their place. What the queue holds is
//! bounded by its capacity plus two records for each request under way.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

use super::Record;

/// How long the writer lets records gather after the first: fewer wake-ups, larger writes.
const GATHER: Duration = Duration::from_millis(10);

#[derive(Default)]
struct State {
    records: Vec<Record>,
    added: u64,
    written: u64,
    writer_sleeps: bool,
    closed: bool,
}

pub(super) struct Queue {
    capacity: usize,
    state: Mutex<State>,
    filled: Condvar,
    drained: Notify,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            state: Mutex::new(State::default()),
            filled: Condvar::new(),
            drained: Notify::new(),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.state.lock().records.len() < self.capacity
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

    pub(super) fn add(&self, record: Record) {
        let mut state = self.state.lock();
        state.records.push(record);
        state.added += 1;
        if std::mem::take(&mut state.writer_sleeps) {
            self.filled.notify_one();
        }
    }

    /// Waits for records and takes them all; `None` once closed and empty. Blocks its thread.
    pub(super) fn take(&self) -> Option<Vec<Record>> {
        let mut state = self.state.lock();
        while state.records.is_empty() {
            if state.closed {
                return None;
            }
            state.writer_sleeps = true;
            self.filled.wait(&mut state);
        }
        if !state.closed {
            drop(state);
            std::thread::sleep(GATHER);
            state = self.state.lock();
        }
        let records = std::mem::take(&mut state.records);
        drop(state);
        self.drained.notify_waiters();
        Some(records)
    }

    pub(super) fn wrote(&self, count: usize) {
        self.state.lock().written += count as u64;
        self.drained.notify_waiters();
    }

    /// Waits until everything added before this call is written.
    pub(super) async fn flushed(&self) {
        let goal = self.state.lock().added;
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

    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        self.filled.notify_one();
    }
}
