//! Storage of objects in SQLite: one writer, many readers, and watches from memory.
//!
//! Invariants:
//! - A change is acknowledged after it is durable (WAL, `synchronous=FULL`).
//! - Revisions only grow, across compaction, restarts, failed writes and restores.
//! - Readers and watchers never block the writer.
//! - A watch delivers all changes. A watch that cannot continue without a gap ends.

mod change;
mod check;
mod copy;
mod encoded;
mod error;
mod event;
mod fan_out;
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
pub use copy::Overwrite;
pub use encoded::{EncodedPage, ItemForm};
pub use error::{CommitError, CopyError, ListError, OpenError, StoreError, WatchEnd, WatchError};
pub use event::{Batch, Event, Notice, Round};
#[doc(hidden)]
pub use fan_out::FanOut;
pub use options::{Durability, StoreOptions};
pub use read::{At, List, Page, Rest};
pub use stored::{Malformed, Stored};
pub use watch::Watch;

use change::Checked;
use encoded::EncodedLists;
use feed::Feed;
use layout::{Floors, Role};
use lock::Lock;
use pins::{Pin, Pins};
use threads::Threads;
use writer::checkpoint::WriterCheckpoints;
use writer::order::{Waiting, WriterCommand};
use writer::size_limit::SizeLimit;
use writer::{Tasks, Writer};

/// Maximum size of the changes that wait for the writer, in KiB.
const MAX_WAITING_KIB: u32 = 64 << 10;

/// Timeout for space in the writer's queue.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An open store. Clones share the store. The store closes when the last clone is dropped. Closing
/// waits for changes in progress, and ends watches.
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
    lists: Arc<EncodedLists>,
    floors: Arc<RwLock<Floors>>,
    pins: Pins,
    slots: Arc<Semaphore>,
    // The drop order matters: the writer ends without senders, then the threads are joined, then
    // the lock is released.
    orders: Sender<WriterCommand>,
    threads: Threads,
    _lock: Lock,
    // This field is dropped last, because the store can be opened again afterwards.
    closed: CancellationToken,
    _closes: DropGuard,
}

/// Statistics of the store, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// The last revision that is durable on disk.
    pub revision: u64,
    /// The oldest revision that a watch can start at.
    pub floor: u64,
    /// The number of running watches.
    pub watchers: usize,
    /// The size of the database without the write-ahead log, in bytes.
    pub bytes: u64,
    /// The number of free bytes in the database.
    pub free_bytes: u64,
}

impl Store {
    /// Opens the store at `path`, creates it if missing, and migrates older schemas. Blocks the
    /// calling thread during disk accesses.
    ///
    /// # Errors
    ///
    /// See [`OpenError`]. A store that cannot be opened stays unchanged.
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
            growth: WriterCheckpoints::new(checkpoints),
            tasks: Tasks::new(Instant::now()),
            size_limit: SizeLimit::new(options.max_bytes),
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
                lists: Arc::new(EncodedLists::new(Arc::clone(&feed), options.list_bytes)),
                feed,
                floors,
                pins,
                slots: Arc::new(Semaphore::new(MAX_WAITING_KIB as usize)),
                orders,
                threads,
                options,
                _lock: lock,
            }),
        })
    }

    /// Resolves when the last clone is dropped and the lock is released.
    pub fn closed(&self) -> WaitForCancellationFutureOwned {
        self.inner.closed.clone().cancelled_owned()
    }

    /// Returns the last durable revision.
    pub fn revision(&self) -> u64 {
        self.inner.feed.revision()
    }

    /// Returns the number of restores from a backup, plus one.
    pub fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// Returns the path of the database file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Reads the current state of an object.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let key = key.to_owned();
        self.inner
            .threads
            .points
            .read(move |conn| read::get(conn, &key))
            .await
    }

    /// Reads the revision of an object. Does not read the value of the object.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub async fn revision_of(&self, key: &str) -> Result<Option<u64>, StoreError> {
        let key = key.to_owned();
        self.inner
            .threads
            .points
            .read(move |conn| Ok(read::revision(conn, &key)?))
            .await
    }

    /// Reads objects ordered by key, at a single revision.
    ///
    /// # Errors
    ///
    /// See [`ListError`].
    pub async fn list(&self, list: List) -> Result<Page, ListError> {
        self.inner
            .threads
            .scans
            .read(move |conn| read::list(conn, &list))
            .await
    }

    /// Reads a list like [`Self::list`], and encodes its objects as JSON. Returns `None` if an
    /// object does not have the form. Concurrent lists of the same objects share memory.
    ///
    /// # Errors
    ///
    /// See [`ListError`].
    pub async fn list_encoded(
        &self,
        list: List,
        form: ItemForm,
    ) -> Result<Option<EncodedPage>, ListError> {
        if let Some(page) = self.inner.lists.recall(&list, &form) {
            return Ok(Some(page));
        }
        let lists = Arc::clone(&self.inner.lists);
        let scans = &self.inner.threads.scans;
        let page = scans.read(move |conn| lists.list(conn, &list, &form)).await;
        self.inner.lists.expire();
        page
    }

    /// Commits a change if the object has the expected state. Returns the revision of the change
    /// after the change is durable. If the caller drops the future, the change may still be
    /// committed.
    ///
    /// # Errors
    ///
    /// See [`CommitError`].
    pub async fn commit(&self, change: Change) -> Result<u64, CommitError> {
        self.commit_requiring(change, Vec::new()).await
    }

    /// Commits a change like [`Self::commit`], if the objects in `requires` also have the required
    /// revisions.
    ///
    /// # Errors
    ///
    /// See [`CommitError`].
    pub async fn commit_requiring(
        &self,
        change: Change,
        requires: Vec<Require>,
    ) -> Result<u64, CommitError> {
        let change = Checked::try_from(change)?.requiring(requires);
        let kib = u32::try_from(change.weight() / 1024 + 1).unwrap_or(MAX_WAITING_KIB);
        let slots = Arc::clone(&self.inner.slots);
        let acquired = slots.acquire_many_owned(kib.min(MAX_WAITING_KIB));
        let slot = match timeout(TIMEOUT, acquired).await {
            Ok(slot) => slot.map_err(|_| CommitError::Closed)?,
            Err(_) => return Err(CommitError::Busy),
        };
        let (answer, answered) = oneshot::channel();
        self.order(WriterCommand::Commit(Waiting {
            change,
            answer,
            _slot: slot,
        }))?;
        answered.await.map_err(|_| CommitError::Closed)?
    }

    fn order(&self, order: WriterCommand) -> Result<(), CommitError> {
        let orders = &self.inner.orders;
        orders.send(order).map_err(|_| CommitError::Closed)
    }

    /// Watches changes after `from` of keys that start with `prefix`.
    ///
    /// # Errors
    /// See [`WatchError`].
    pub fn watch(&self, prefix: impl Into<Arc<str>>, from: u64) -> Result<Watch, WatchError> {
        self.begin(prefix.into(), from, None)
    }

    /// Watches changes like [`Self::watch`]. The store retains the history that this watch has not
    /// delivered yet, even if the history exceeds its maximum age. The store still ends the watch
    /// if the history exceeds the limit on the number or the size of changes.
    ///
    /// # Errors
    ///
    /// See [`WatchError`].
    pub fn watch_pinned(
        &self,
        prefix: impl Into<Arc<str>>,
        from: u64,
    ) -> Result<Watch, WatchError> {
        // The pin precedes the check of the floor, which could rise in between.
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

    /// Compacts the history up to the revision `to`, or up to the last revision if `to` is higher.
    /// Returns the oldest revision that remains available. The writer also compacts old history
    /// automatically.
    ///
    /// # Errors
    ///
    /// See [`CommitError`].
    pub async fn compact(&self, to: u64) -> Result<u64, CommitError> {
        let to = to.min(self.revision());
        let (done, answered) = oneshot::channel();
        self.order(WriterCommand::Compact { to, done })?;
        answered.await.map_err(|_| CommitError::Closed)
    }

    /// Copies the store to a new file while writes continue. Returns the revision of the copy.
    ///
    /// # Errors
    ///
    /// See [`CopyError`]. The store deletes an incomplete copy.
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

    /// Copies a store like [`Self::backup`]. A different process may have the store open. Blocks
    /// the calling thread.
    ///
    /// # Errors
    ///
    /// See [`CopyError`]. The store deletes an incomplete copy.
    pub fn backup_of(from: &Path, to: &Path) -> Result<u64, CopyError> {
        copy::backup(from, None, to)
    }

    /// Restores a backup to `to`. The new revision is far above all earlier revisions, so the store
    /// rejects watches and lists at earlier revisions as compacted. Blocks the calling thread.
    ///
    /// # Errors
    ///
    /// See [`CopyError`], for example if the store at `to` is open, or exists and `overwrite` does
    /// not allow its replacement. All files then stay unchanged.
    pub fn restore(from: &Path, to: &Path, overwrite: Overwrite) -> Result<u64, CopyError> {
        copy::restore(from, to, overwrite)
    }

    /// Checks an open or closed store, or a backup. Reads the whole file, and blocks the calling
    /// thread.
    ///
    /// # Errors
    ///
    /// See [`OpenError`], if the file cannot be read.
    pub fn check(path: &Path) -> Result<Report, OpenError> {
        check::check(path)
    }

    /// Returns statistics for metrics.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
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
