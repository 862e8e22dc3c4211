//! Objects on disk: SQLite, one writer, many readers, and watches from memory.
//!
//! Invariants:
//! - A change is answered when it is durable (WAL, `synchronous=FULL`), and not before.
//! - Revisions only grow: over compaction, restarts, failed writes and restores.
//! - No reader and no watcher ever makes the writer wait.
//! - A watch leaves nothing out. If it cannot go on without a gap, it ends.

mod change;
mod check;
mod copy;
mod error;
mod event;
mod feed;
mod layout;
mod lock;
mod options;
mod pins;
mod read;
mod readers;
mod replay;
mod space;
mod stored;
mod threads;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard, WaitForCancellationFutureOwned};

pub use change::{Change, Expect, Require, Write};
pub use check::Report;
pub use copy::Over;
pub use error::{CommitError, CopyError, ListError, OpenError, StoreError, WatchEnd, WatchError};
pub use event::{Batch, Event, Notice};
pub use options::{Durability, StoreOptions};
pub use read::{At, List, Page, Rest};
pub use stored::{Malformed, Stored};
pub use watch::Watch;

use change::Checked;
use feed::Feed;
use layout::{Floors, Role};
use lock::Lock;
use pins::{Pin, Pins};
use threads::Threads;
use writer::checkpoint::Growth;
use writer::order::{Order, Waiting};
use writer::room::Room;
use writer::{Tasks, Writer};

/// KiB of changes that may wait for the writer.
const WAITING_KIB: u32 = 64 << 10;

/// How long a change waits to get into the writer's queue.
const PATIENCE: Duration = Duration::from_secs(30);

/// An open store; clones share it. It closes when the last clone is dropped, which waits for
/// changes under way; watches end then.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    options: StoreOptions,
    epoch: u64,
    feed: Arc<Feed>,
    floors: Arc<RwLock<Floors>>,
    pins: Pins,
    slots: Arc<Semaphore>,
    // Dropped in this order: the writer ends when it can have no more orders, then the threads are
    // waited for, then the lock is given back.
    orders: Sender<Order>,
    threads: Threads,
    _lock: Lock,
    // The very last: whoever waits for it may open the store again.
    closed: CancellationToken,
    _closes: DropGuard,
}

/// Figures for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// The last revision.
    pub revision: u64,
    /// The oldest revision that a watch can begin at.
    pub floor: u64,
    /// How many watch.
    pub watchers: usize,
    /// The database's size in bytes, without the write-ahead log.
    pub bytes: u64,
    /// Bytes of it that are free.
    pub free_bytes: u64,
}

impl Store {
    /// Opens the store at `path`, makes it if there is none, and migrates it from the schema of an
    /// older program. Blocks for the time of some disk accesses.
    ///
    /// # Errors
    /// As [`OpenError`] says; nothing is changed then.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let lock = Lock::take(path)?;
        lock::create_private(path)?;
        let failed = |source| OpenError::Database {
            path: path.to_owned(),
            source,
        };
        let mut conn = options.connect(path, Role::Write).map_err(failed)?;
        let header = layout::migrate(&mut conn, path)?;
        if space::convert(&mut conn, path, options.vfs.as_deref()) {
            conn = options.connect(path, Role::Write).map_err(failed)?;
        }
        let history = writer::compact::bytes(&conn).map_err(failed)?;
        lock::sync_folder(path).map_err(|source| OpenError::File {
            path: path.to_owned(),
            source,
        })?;
        let feed = Arc::new(Feed::new(options.bounds(), header.revision));
        let floors = Arc::new(RwLock::new(header.floors));
        let retention = options.retention();
        let pins = retention.pins.clone();
        let (orders, queue) = channel();
        let threads = Threads::start(path, &options, Arc::clone(&feed), |checkpoints| Writer {
            conn,
            orders: queue,
            feed: Arc::clone(&feed),
            floors: Arc::clone(&floors),
            retention,
            history,
            growth: Growth::new(checkpoints),
            tasks: Tasks::new(Instant::now()),
            room: Room::new(options.max_bytes),
            reopen: {
                let (path, options) = (path.to_owned(), options.clone());
                Box::new(move || options.connect(&path, Role::Write))
            },
        })?;
        let closed = CancellationToken::new();
        Ok(Self {
            inner: Arc::new(Inner {
                _closes: closed.clone().drop_guard(),
                closed,
                path: path.to_owned(),
                epoch: header.epoch,
                feed,
                floors,
                pins,
                slots: Arc::new(Semaphore::new(WAITING_KIB as usize)),
                orders,
                threads,
                options,
                _lock: lock,
            }),
        })
    }

    /// Resolves once the store is closed: when the last clone is gone, and its lock with it.
    pub fn closed(&self) -> WaitForCancellationFutureOwned {
        self.inner.closed.clone().cancelled_owned()
    }

    /// The last revision that is durable.
    pub fn revision(&self) -> u64 {
        self.inner.feed.revision()
    }

    /// How often this store was restored from a backup, plus one.
    pub fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// One object as it is now.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let key = key.to_owned();
        self.inner
            .threads
            .points
            .read(move |conn| read::get(conn, &key))
            .await
    }

    /// The revision of one object, without its value.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn revision_of(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let key = key.to_owned();
        self.inner
            .threads
            .points
            .read(move |conn| Ok(read::revision(conn, &key)?))
            .await
    }

    /// Objects by the order of their keys, all as of one revision.
    ///
    /// # Errors
    /// As [`ListError`] says.
    pub async fn list(&self, list: List) -> Result<Page, ListError> {
        self.inner
            .threads
            .scans
            .read(move |conn| read::list(conn, &list))
            .await
    }

    /// Makes a change, if what is there is what it expects; answers with its revision once it is
    /// durable. If the caller goes away, the change may still be made.
    ///
    /// # Errors
    /// As [`CommitError`] says.
    pub async fn commit(&self, change: Change) -> Result<u64, CommitError> {
        self.commit_requiring(change, Vec::new()).await
    }

    /// As [`Self::commit`], if other objects are as they were seen when the change is made.
    ///
    /// # Errors
    /// As [`CommitError`] says.
    pub async fn commit_requiring(
        &self,
        change: Change,
        requires: Vec<Require>,
    ) -> Result<u64, CommitError> {
        let change = Checked::try_from(change)?.requiring(requires);
        let kib = u32::try_from(change.weight() / 1024 + 1).unwrap_or(WAITING_KIB);
        let slots = Arc::clone(&self.inner.slots);
        let acquired = slots.acquire_many_owned(kib.min(WAITING_KIB));
        let slot = match timeout(PATIENCE, acquired).await {
            Ok(slot) => slot.map_err(|_| CommitError::Closed)?,
            Err(_) => return Err(CommitError::Busy),
        };
        let (answer, answered) = oneshot::channel();
        self.order(Order::Commit(Waiting {
            change,
            answer,
            _slot: slot,
        }))?;
        answered.await.map_err(|_| CommitError::Closed)?
    }

    fn order(&self, order: Order) -> Result<(), CommitError> {
        let orders = &self.inner.orders;
        orders.send(order).map_err(|_| CommitError::Closed)
    }

    /// Watches changes after `from` of keys that begin with `prefix`.
    ///
    /// # Errors
    /// As [`WatchError`] says.
    pub fn watch(&self, prefix: impl Into<Arc<str>>, from: u64) -> Result<Watch, WatchError> {
        self.begin(prefix.into(), from, None)
    }

    /// As [`Self::watch`], and history that this watch has not told yet does not grow too old for
    /// it. The limits on the number and the bytes of changes still end it.
    ///
    /// # Errors
    /// As [`WatchError`] says.
    pub fn watch_pinned(
        &self,
        prefix: impl Into<Arc<str>>,
        from: u64,
    ) -> Result<Watch, WatchError> {
        // Before the look at the floor, or it could rise in between.
        let pin = self.inner.pins.pin(from);
        self.begin(prefix.into(), from, Some(pin))
    }

    fn begin(&self, prefix: Arc<str>, from: u64, pin: Option<Pin>) -> Result<Watch, WatchError> {
        let current = self.revision();
        if from > current {
            return Err(WatchError::Future { current });
        }
        let floor = self.inner.floors.read().of(&prefix);
        if from < floor {
            return Err(WatchError::Compacted { floor });
        }
        Watch::begin(
            prefix,
            from,
            Arc::clone(&self.inner.feed),
            Arc::clone(&self.inner.threads.scans),
            self.inner.options.progress_every,
            pin,
        )
        .ok_or(WatchError::Closed)
    }

    /// Cuts the history off so that it begins at `to`, or at the last revision if that is less;
    /// this happens by itself as history grows old. Answers with the floor when it is done.
    ///
    /// # Errors
    /// As [`CommitError`] says.
    pub async fn compact(&self, to: u64) -> Result<u64, CommitError> {
        let to = to.min(self.revision());
        let (done, answered) = oneshot::channel();
        self.order(Order::Compact { to, done })?;
        answered.await.map_err(|_| CommitError::Closed)
    }

    /// Copies the store as it is now to a new file, while it goes on being written; answers with
    /// the revision of the copy.
    ///
    /// # Errors
    /// As [`CopyError`] says; there is no file then.
    pub async fn backup(&self, to: &Path) -> Result<u64, CopyError> {
        let (from, to) = (self.inner.path.clone(), to.to_owned());
        let vfs = self.inner.options.vfs.clone();
        let path = to.clone();
        tokio::task::spawn_blocking(move || copy::backup(&from, vfs.as_deref(), &to))
            .await
            .unwrap_or_else(|failed| {
                Err(CopyError::File {
                    path,
                    source: failed.into(),
                })
            })
    }

    /// As [`Self::backup`], of a store that another process may have open. Blocks.
    ///
    /// # Errors
    /// As [`CopyError`] says; there is no file then.
    pub fn backup_of(from: &Path, to: &Path) -> Result<u64, CopyError> {
        copy::backup(from, None, to)
    }

    /// Makes a store at `to` from a backup, and answers with its revision, which is far above
    /// everything that was handed out before: revisions from before are answered as compacted.
    /// Blocks.
    ///
    /// # Errors
    /// As [`CopyError`] says, above all if the store at `to` is open, or if there is one and
    /// `over` does not say that it is to be replaced. Nothing is changed then.
    pub fn restore(from: &Path, to: &Path, over: Over) -> Result<u64, CopyError> {
        copy::restore(from, to, over)
    }

    /// Checks a store, which may be open here or elsewhere, or a backup. Blocks for as long as it
    /// takes to read all of it.
    ///
    /// # Errors
    /// As [`OpenError`] says, if it cannot be read at all.
    pub fn check(path: &Path) -> Result<Report, OpenError> {
        check::check(path)
    }

    /// Figures for metrics.
    ///
    /// # Errors
    /// As [`StoreError`] says.
    pub async fn figures(&self) -> Result<Figures, StoreError> {
        let (page, pages, free) = self
            .inner
            .threads
            .points
            .read(|conn| {
                let pragma = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
                Ok::<_, StoreError>((
                    pragma("page_size")?.cast_unsigned(),
                    pragma("page_count")?.cast_unsigned(),
                    pragma("freelist_count")?.cast_unsigned(),
                ))
            })
            .await?;
        Ok(Figures {
            revision: self.revision(),
            floor: self.inner.floors.read().highest(),
            watchers: self.inner.feed.watchers(),
            bytes: page * pages,
            free_bytes: page * free,
        })
    }
}
