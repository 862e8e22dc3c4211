//! The one thread that writes.
//!
//! Changes that wait are made in one transaction and made durable together. Each is answered
//! after that, never before. If space runs out, or the disk fails, each change is told so, and the
//! next is tried again.

pub(super) mod checkpoint;
pub(super) mod compact;
pub(super) mod looks;
pub(super) mod order;
pub(super) mod room;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use rusqlite::{Connection, TransactionBehavior, ffi};
use tokio::sync::oneshot;

use self::checkpoint::Growth;
use self::compact::{Retention, Step};
use self::looks::Looks;
use self::order::{Order, Waiting};
use self::room::{Need, Room, is_full};
use super::change::Outcome;
use super::error::CommitError;
use super::event::Event;
use super::feed::Feed;
use super::layout::{self, Floors, Header};
use super::replay;

/// Changes in one transaction.
const BATCH: usize = 512;

/// Bytes in one transaction, about: what takes the disk some milliseconds.
const BATCH_BYTES: usize = 4 << 20;

/// The least time between two attempts at making room, or at reopening a broken database.
const RETRY: Duration = Duration::from_millis(500);

/// How often room is made for one change.
const ROOM_TRIES: usize = 8;

/// Rows cut off in a transaction of their own.
const STEP_ROWS: usize = 512;

/// See the module.
pub(super) struct Writer {
    pub(super) conn: Connection,
    /// Opens another connection.
    pub(super) reopen: Box<dyn Fn() -> rusqlite::Result<Connection> + Send>,
    pub(super) orders: Receiver<Order>,
    pub(super) feed: Arc<Feed>,
    pub(super) floors: Arc<RwLock<Floors>>,
    pub(super) retention: Retention,
    /// The bytes of history there are.
    pub(super) history: u64,
    pub(super) growth: Growth,
    pub(super) tasks: Tasks,
    pub(super) room: Room,
}

/// What the writer has to see to.
pub(super) struct Tasks {
    /// An order taken from the queue that did not fit into the batch.
    next: Option<Order>,
    /// Somebody wants the history cut off here.
    forced: u64,
    forced_done: Vec<(u64, oneshot::Sender<u64>)>,
    looks: Looks,
    /// When making room was of no use.
    no_room: Option<Instant>,
    moved_log: Option<Instant>,
    /// A transaction failed with an unknown outcome: when, and why.
    unsure: Option<(Instant, Arc<rusqlite::Error>)>,
}

impl Tasks {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next: None,
            forced: 0,
            forced_done: Vec::new(),
            looks: Looks::new(now),
            no_room: None,
            moved_log: None,
            unsure: None,
        }
    }
}

/// What a transaction did.
struct Written {
    outcomes: Vec<Outcome>,
    revision: u64,
    /// Bytes of history after it.
    history: u64,
    step: Option<Step>,
}

impl Writer {
    /// Serves orders until there can be none any more, then gives its connection back.
    pub(super) fn run(mut self) -> Connection {
        loop {
            match self.next_order() {
                Ok(Order::Commit(first)) => {
                    let batch = self.gather(first);
                    self.commit(batch);
                }
                Ok(Order::Compact { to, done }) => {
                    self.tasks.forced = self.tasks.forced.max(to);
                    self.tasks.forced_done.push((to, done));
                    self.tasks.looks.force();
                }
                Err(RecvTimeoutError::Timeout) => self.idle(),
                Err(RecvTimeoutError::Disconnected) => return self.conn,
            }
            self.answer_forced();
            self.growth.tend(&self.conn);
        }
    }

    /// Waits for an order, as long as there is nothing else to do.
    fn next_order(&mut self) -> Result<Order, RecvTimeoutError> {
        if let Some(order) = self.tasks.next.take() {
            return Ok(order);
        }
        // A database that failed is tried again, and a checkpoint under way gets the writer's part.
        let tends = self.tasks.unsure.is_some() || self.growth.is_moving();
        let rest = self.tasks.looks.rest(Instant::now());
        let soonest = rest.into_iter().chain(tends.then_some(looks::EVERY)).min();
        match soonest {
            Some(rest) => self.orders.recv_timeout(rest),
            None => self
                .orders
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// The change and those that wait behind it.
    fn gather(&mut self, first: Waiting) -> Vec<Waiting> {
        let mut bytes = first.change.weight();
        let mut batch = vec![first];
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            match self.orders.try_recv() {
                Ok(Order::Commit(next)) => {
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
        if let Err(error) = self.be_sure() {
            return refuse(batch, &error);
        }
        self.tasks.looks.changing(Instant::now());
        match self.attempt(&batch) {
            Ok(written) => self.answer(batch, written),
            Err(error) if is_full(&error) => self.commit_what_fits(batch),
            Err(error) => refuse(batch, &CommitError::Broken(self.doubt(error))),
        }
    }

    /// Tries the changes one by one, each again while history can make room for it.
    fn commit_what_fits(&mut self, batch: Vec<Waiting>) {
        for waiting in batch {
            let one = vec![waiting];
            let mut result = self.attempt(&one);
            for _ in 0..ROOM_TRIES {
                match &result {
                    Err(error) if is_full(error) && self.make_room() => result = self.attempt(&one),
                    _ => break,
                }
            }
            match result {
                Ok(written) => self.answer(one, written),
                Err(error) if is_full(&error) => refuse(one, &CommitError::Full),
                Err(error) => refuse(one, &CommitError::Broken(self.doubt(error))),
            }
        }
    }

    /// One transaction; an error means that nothing was made, or that nobody knows.
    fn attempt(&mut self, batch: &[Waiting]) -> rusqlite::Result<Written> {
        let before = self.feed.revision();
        let now = compact::now_ms();
        let floors = self.floors.read().clone();
        let shrinks = batch.iter().all(|waiting| waiting.change.deletes());
        let need = if shrinks { Need::Shrink } else { Need::Grow };
        self.room.limit(&self.conn, need)?;
        let transaction = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut written = Written {
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
        if self.tasks.looks.is_due() && (batch.is_empty() || written.revision > before) {
            // More than was added, so that the history shrinks under whatever load.
            let rows = if batch.is_empty() {
                STEP_ROWS
            } else {
                batch.len() * 2 + 64
            };
            let forced = self.tasks.forced;
            let held = (written.revision, written.history);
            let step = self
                .retention
                .step(&transaction, &floors, held, forced, rows)?;
            written.history = written.history.saturating_sub(step.cut_bytes);
            written.step = Some(step);
        }
        transaction.commit()?;
        Ok(written)
    }

    /// Tells watchers, then the makers.
    fn answer(&mut self, batch: Vec<Waiting>, written: Written) {
        let bytes = batch.iter().map(|waiting| waiting.change.weight()).sum();
        let step = written.step.as_ref();
        let cut = step.map_or(0, |step| step.cut + step.pages);
        self.growth.wrote(batch.len() + cut, bytes);
        let changed = written.revision > self.feed.revision();
        match written.step {
            Some(step) => {
                let next = step.next;
                self.tasks.looks.stepped(Instant::now(), step.more, next);
                *self.floors.write() = step.floors;
            }
            None if changed => self.tasks.looks.changed(Instant::now()),
            None => {}
        }
        self.history = written.history;
        if changed && self.history > self.retention.history_bytes {
            self.tasks.looks.force();
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
            // Whoever made it may have gone away.
            waiting.answer.send(answer).ok();
        }
    }

    fn publish(&self, events: Vec<Event>, revision: u64) {
        if !events.is_empty() {
            self.feed.publish(events, revision);
        }
    }

    /// Takes off old history when there is nothing else to do.
    fn idle(&mut self) {
        let now = Instant::now();
        if self.be_sure().is_err() {
            return self.tasks.looks.failed(now);
        }
        self.tasks.looks.woke(now);
        if self.tasks.looks.is_due() {
            self.step();
        }
    }

    /// One step of compaction in a transaction of its own; true if it was made.
    fn step(&mut self) -> bool {
        match self.attempt(&[]) {
            Ok(written) => {
                self.answer(Vec::new(), written);
                true
            }
            Err(error) => {
                self.tasks.looks.failed(Instant::now());
                if is_full(&error) {
                    tracing::warn!("no space is left to compact the history");
                } else {
                    self.doubt(error);
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
                self.tasks.looks.force();
            }
        }
    }

    /// Space has run out: starts the log of writes anew, and cuts off half of the history that is
    /// left. False if that is of no use.
    fn make_room(&mut self) -> bool {
        if !elapsed(self.tasks.no_room, RETRY) {
            return false;
        }
        if elapsed(self.tasks.moved_log, RETRY) {
            self.tasks.moved_log = Some(Instant::now());
            tracing::warn!("no space is left for the store; cutting off history");
            checkpoint::restart(&self.conn);
        }
        let made = match compact::middle(&self.conn) {
            Ok(Some(middle)) => {
                self.tasks.forced = self.tasks.forced.max(middle);
                self.tasks.looks.force();
                self.step()
            }
            Ok(None) | Err(_) => false,
        };
        self.tasks.no_room = (!made).then(Instant::now);
        made
    }

    fn doubt(&mut self, error: rusqlite::Error) -> Arc<rusqlite::Error> {
        tracing::error!(%error, "the store cannot be written");
        let error = Arc::new(error);
        self.tasks.unsure = Some((Instant::now(), Arc::clone(&error)));
        error
    }

    /// After a failure, reads from a new connection what is really there.
    fn be_sure(&mut self) -> Result<(), CommitError> {
        let Some((since, error)) = &self.tasks.unsure else {
            return Ok(());
        };
        if since.elapsed() < RETRY {
            return Err(CommitError::Broken(Arc::clone(error)));
        }
        if let Err(error) = self.recover() {
            return Err(CommitError::Broken(self.doubt(error)));
        }
        self.tasks.unsure = None;
        tracing::info!("the store can be written again");
        Ok(())
    }

    fn recover(&mut self) -> rusqlite::Result<()> {
        let conn = (self.reopen)()?;
        let header = Header::read(&conn)?;
        let known = self.feed.revision();
        if header.revision < known {
            // Somebody put another file in its place. Going on would give revisions out twice.
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
        self.room.reset();
        *self.floors.write() = header.floors;
        self.publish(missed, header.revision);
        Ok(())
    }
}

fn refuse(batch: Vec<Waiting>, error: &CommitError) {
    for waiting in batch {
        // Whoever made it may have gone away.
        waiting.answer.send(Err(error.clone())).ok();
    }
}

fn elapsed(since: Option<Instant>, least: Duration) -> bool {
    since.is_none_or(|since| since.elapsed() >= least)
}
