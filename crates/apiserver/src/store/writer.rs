//! The writer thread.
//!
//! The thread commits waiting changes in one transaction, and acknowledges the changes after the
//! transaction is durable. If space runs out or the disk fails, all changes of the transaction
//! fail. The thread attempts later changes nevertheless.

pub(super) mod checkpoint;
pub(super) mod compact;
pub(super) mod order;
pub(super) mod schedule;
pub(super) mod size_limit;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use rusqlite::{Connection, TransactionBehavior, ffi};
use tokio::sync::oneshot;

use self::checkpoint::WriterCheckpoints;
use self::compact::{Retention, Step};
use self::order::{Waiting, WriterCommand};
use self::schedule::CompactionSchedule;
use self::size_limit::{SizeLimit, SpaceUse, is_full};
use super::change::Outcome;
use super::error::CommitError;
use super::event::Event;
use super::feed::Feed;
use super::layout::{self, Floors, Header};
use super::replay;

/// Maximum number of changes per transaction.
const MAX_BATCH_CHANGES: usize = 512;

/// Approximate maximum size of a transaction in bytes. The disk writes a transaction of this size
/// in a few milliseconds.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Minimum interval between attempts to free space or to reopen a failed database.
const RETRY: Duration = Duration::from_millis(500);

/// Maximum number of attempts to free space for one change.
const MAX_ROOM_ATTEMPTS: usize = 8;

/// Maximum number of rows that a compaction step deletes if the step has its own transaction.
const STEP_ROWS: usize = 512;

/// The state of the writer thread; see the module documentation.
pub(super) struct Writer {
    pub(super) conn: Connection,
    /// Opens a new connection to the database.
    pub(super) reopen: Box<dyn Fn() -> rusqlite::Result<Connection> + Send>,
    pub(super) orders: Receiver<WriterCommand>,
    pub(super) feed: Arc<Feed>,
    pub(super) floors: Arc<RwLock<Floors>>,
    pub(super) retention: Retention,
    /// The size of the history in bytes.
    pub(super) history: u64,
    pub(super) growth: WriterCheckpoints,
    pub(super) tasks: Tasks,
    pub(super) size_limit: SizeLimit,
}

/// The pending work of the writer, except changes.
pub(super) struct Tasks {
    /// An order from the queue that did not fit into the batch.
    next: Option<WriterCommand>,
    /// The revision up to which callers requested the compaction of the history.
    forced: u64,
    forced_done: Vec<(u64, oneshot::Sender<u64>)>,
    schedule: CompactionSchedule,
    /// True if a step reached its deadline before it had returned all free pages to the disk.
    shrinking: bool,
    /// The time of the last failed attempt to free space.
    no_room: Option<Instant>,
    moved_log: Option<Instant>,
    /// The time and error of a transaction that failed with an unknown outcome.
    uncertain: Option<(Instant, Arc<rusqlite::Error>)>,
}

impl Tasks {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next: None,
            forced: 0,
            forced_done: Vec::new(),
            schedule: CompactionSchedule::new(now),
            shrinking: false,
            no_room: None,
            moved_log: None,
            uncertain: None,
        }
    }
}

/// The result of a transaction.
struct TransactionResult {
    outcomes: Vec<Outcome>,
    revision: u64,
    /// The size of the history in bytes after the transaction.
    history: u64,
    step: Option<Step>,
}

impl Writer {
    /// Executes orders until all senders are dropped, and then returns the connection.
    pub(super) fn run(mut self) -> Connection {
        loop {
            match self.next_order() {
                Ok(WriterCommand::Commit(first)) => {
                    let batch = self.gather(first);
                    self.commit(batch);
                }
                Ok(WriterCommand::Compact { to, done }) => {
                    self.tasks.forced = self.tasks.forced.max(to);
                    self.tasks.forced_done.push((to, done));
                    self.tasks.schedule.force();
                }
                Err(RecvTimeoutError::Timeout) => self.idle(),
                Err(RecvTimeoutError::Disconnected) => return self.conn,
            }
            self.answer_forced();
            self.growth.run_pending(&self.conn);
        }
    }

    /// Waits for an order while no other work is pending.
    fn next_order(&mut self) -> Result<WriterCommand, RecvTimeoutError> {
        if let Some(order) = self.tasks.next.take() {
            return Ok(order);
        }
        // A failed database is retried, and a running checkpoint needs the writer.
        let tends = self.tasks.uncertain.is_some() || self.growth.is_moving();
        let rest = self.tasks.schedule.rest(Instant::now());
        let soonest = rest
            .into_iter()
            .chain(tends.then_some(schedule::EVERY))
            .min();
        match soonest {
            Some(rest) => self.orders.recv_timeout(rest),
            None => self
                .orders
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// Collects a batch: this change and the changes that wait in the queue.
    fn gather(&mut self, first: Waiting) -> Vec<Waiting> {
        let mut bytes = first.change.weight();
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH_CHANGES && bytes < MAX_BATCH_BYTES {
            match self.orders.try_recv() {
                Ok(WriterCommand::Commit(next)) => {
                    bytes += next.change.weight();
                    batch.push(next);
                }
                Ok(other) => {
                    self.tasks.next = Some(other);
                    break;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        batch
    }

    fn commit(&mut self, batch: Vec<Waiting>) {
        if let Err(error) = self.ensure_certain() {
            return refuse(batch, &error);
        }
        self.tasks.schedule.changing(Instant::now());
        match self.attempt(&batch) {
            Ok(written) => self.answer(batch, written),
            Err(error) if is_full(&error) => self.commit_separately(batch),
            Err(error) => refuse(batch, &CommitError::Broken(self.record_uncertain(error))),
        }
    }

    /// Commits the changes one at a time. Retries each change while compaction can free space for
    /// it.
    fn commit_separately(&mut self, batch: Vec<Waiting>) {
        for waiting in batch {
            let one = vec![waiting];
            let mut result = self.attempt(&one);
            for _ in 0..MAX_ROOM_ATTEMPTS {
                match &result {
                    Err(error) if is_full(error) && self.make_room() => result = self.attempt(&one),
                    _ => break,
                }
            }
            match result {
                Ok(written) => self.answer(one, written),
                Err(error) if is_full(&error) => refuse(one, &CommitError::Full),
                Err(error) => refuse(one, &CommitError::Broken(self.record_uncertain(error))),
            }
        }
    }

    /// Runs one transaction. An error means that the transaction made no change, or that the
    /// outcome is unknown.
    fn attempt(&mut self, batch: &[Waiting]) -> rusqlite::Result<TransactionResult> {
        let before = self.feed.revision();
        let now = compact::now_ms();
        let floors = self.floors.read().clone();
        let shrinks = batch.iter().all(|waiting| waiting.change.deletes());
        let need = if shrinks {
            SpaceUse::Shrink
        } else {
            SpaceUse::Grow
        };
        self.size_limit.limit(&self.conn, need)?;
        let transaction = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut written = TransactionResult {
            outcomes: Vec::with_capacity(batch.len()),
            revision: before,
            history: self.history,
            step: None,
        };
        for waiting in batch {
            let outcome = waiting
                .change
                .make(&transaction, written.revision + 1, now)?;
            if let Outcome::Made(event) = &outcome {
                written.revision += 1;
                written.history += compact::bytes_of(event);
            }
            written.outcomes.push(outcome);
        }
        if written.revision > before {
            layout::set_meta(&transaction, "revision", written.revision)?;
        }
        if self.tasks.schedule.is_due() && (batch.is_empty() || written.revision > before) {
            // The step deletes more rows than were added, so that the history shrinks under any
            // load.
            let rows = if batch.is_empty() {
                STEP_ROWS
            } else {
                batch.len() * 2 + 64
            };
            let forced = self.tasks.forced;
            let previous = (written.revision, written.history);
            let shrinking = self.tasks.shrinking;
            let step =
                self.retention
                    .step(&transaction, &floors, previous, forced, rows, shrinking)?;
            written.history = written.history.saturating_sub(step.cut_bytes);
            written.step = Some(step);
        }
        self.feed.commit_begins(written.revision);
        transaction.commit()?;
        Ok(written)
    }

    /// Publishes the events of a transaction, then acknowledges the changes.
    fn answer(&mut self, batch: Vec<Waiting>, written: TransactionResult) {
        let bytes = batch.iter().map(|waiting| waiting.change.weight()).sum();
        let step = written.step.as_ref();
        let cut = step.map_or(0, |step| step.cut + step.pages);
        self.growth.wrote(batch.len() + cut, bytes);
        let changed = written.revision > self.feed.revision();
        match written.step {
            Some(step) => {
                let next = step.next;
                self.tasks.schedule.stepped(Instant::now(), step.more, next);
                let shrank = step.pages > 0;
                self.tasks.shrinking = step.more && (shrank || self.tasks.shrinking);
                *self.floors.write() = step.floors;
            }
            None if changed => self.tasks.schedule.changed(Instant::now()),
            None => {}
        }
        self.history = written.history;
        if changed && self.history > self.retention.history_bytes {
            self.tasks.schedule.force();
        }
        let mut events = Vec::new();
        let answers: Vec<_> = written
            .outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Outcome::Made(event) => {
                    let revision = event.revision();
                    events.push(event);
                    Ok(revision)
                }
                Outcome::Same(revision) => Ok(revision),
                Outcome::Conflict(there) => Err(CommitError::Conflict(there)),
                Outcome::Unmet => Err(CommitError::Unmet),
            })
            .collect();
        self.publish(events, written.revision);
        for (waiting, answer) in batch.into_iter().zip(answers) {
            // The caller may have dropped the future.
            waiting.answer.send(answer).ok();
        }
    }

    fn publish(&self, events: Vec<Event>, revision: u64) {
        if !events.is_empty() {
            self.feed.publish(events, revision);
        }
    }

    /// Compacts old history while the writer is idle.
    fn idle(&mut self) {
        let now = Instant::now();
        if self.ensure_certain().is_err() {
            return self.tasks.schedule.failed(now);
        }
        self.tasks.schedule.wait_ended(now);
        if self.tasks.schedule.is_due() {
            self.step();
        }
    }

    /// Runs a compaction step in its own transaction; returns true if the step succeeded.
    fn step(&mut self) -> bool {
        match self.attempt(&[]) {
            Ok(written) => {
                self.answer(Vec::new(), written);
                true
            }
            Err(error) => {
                self.tasks.schedule.failed(Instant::now());
                if is_full(&error) {
                    tracing::warn!("cannot compact the history of the store: no disk space");
                } else {
                    self.record_uncertain(error);
                }
                false
            }
        }
    }

    fn answer_forced(&mut self) {
        if self.tasks.forced_done.is_empty() {
            return;
        }
        let floor = self.floors.read().exactly("");
        for (to, done) in std::mem::take(&mut self.tasks.forced_done) {
            if floor >= to {
                done.send(floor).ok();
            } else {
                self.tasks.forced_done.push((to, done));
                self.tasks.schedule.force();
            }
        }
    }

    /// Frees space: restarts the write-ahead log, and compacts half of the remaining history.
    /// Returns false if no space was freed.
    fn make_room(&mut self) -> bool {
        if !elapsed(self.tasks.no_room, RETRY) {
            return false;
        }
        if elapsed(self.tasks.moved_log, RETRY) {
            self.tasks.moved_log = Some(Instant::now());
            tracing::warn!("no disk space for the store; compacting the history");
            checkpoint::restart(&self.conn);
        }
        let compacted_to = match compact::middle(&self.conn) {
            Ok(Some(middle)) => {
                self.tasks.forced = self.tasks.forced.max(middle);
                self.tasks.schedule.force();
                self.step()
            }
            Ok(None) | Err(_) => false,
        };
        self.tasks.no_room = (!compacted_to).then(Instant::now);
        compacted_to
    }

    fn record_uncertain(&mut self, error: rusqlite::Error) -> Arc<rusqlite::Error> {
        tracing::error!(%error, "failed to write the store");
        let error = Arc::new(error);
        self.tasks.uncertain = Some((Instant::now(), Arc::clone(&error)));
        error
    }

    /// Reads the committed state from a new connection after a failed transaction.
    fn ensure_certain(&mut self) -> Result<(), CommitError> {
        let Some((since, error)) = &self.tasks.uncertain else {
            return Ok(());
        };
        if since.elapsed() < RETRY {
            return Err(CommitError::Broken(Arc::clone(error)));
        }
        if let Err(error) = self.recover() {
            return Err(CommitError::Broken(self.record_uncertain(error)));
        }
        self.tasks.uncertain = None;
        tracing::info!("store is writable again");
        Ok(())
    }

    fn recover(&mut self) -> rusqlite::Result<()> {
        let conn = (self.reopen)()?;
        let header = Header::read(&conn)?;
        let known = self.feed.revision();
        if header.revision < known {
            // Another file has replaced the database. Continuing would reuse revisions.
            let cause = ffi::Error::new(ffi::SQLITE_CORRUPT);
            let text = format!(
                "the store's revision went back from {known} to {}",
                header.revision
            );
            return Err(rusqlite::Error::SqliteFailure(cause, Some(text)));
        }
        let missed = replay::missed(&conn, known, header.revision).map_err(|error| {
            let cause = ffi::Error::new(ffi::SQLITE_CORRUPT);
            rusqlite::Error::SqliteFailure(cause, Some(error.to_string()))
        })?;
        self.history = compact::bytes(&conn)?;
        self.conn = conn;
        self.size_limit.reset();
        *self.floors.write() = header.floors;
        self.publish(missed, header.revision);
        Ok(())
    }
}

fn refuse(batch: Vec<Waiting>, error: &CommitError) {
    for waiting in batch {
        // The caller may have dropped the future.
        waiting.answer.send(Err(error.clone())).ok();
    }
}

fn elapsed(since: Option<Instant>, least: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= least)
}
