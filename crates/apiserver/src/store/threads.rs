//! The writer and reader threads of a store.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::error::OpenError;
use super::feed::Feed;
use super::layout::Role;
use super::options::StoreOptions;
use super::readers::Lane;
use super::writer::Writer;
use super::writer::checkpoint::Checkpoints;

/// The threads of a store. Dropping the value joins the threads. The writer thread ends when all
/// order senders are dropped, so senders must be dropped first.
#[derive(Debug)]
pub(super) struct Threads {
    pub(super) points: Arc<Lane>,
    pub(super) scans: Arc<Lane>,
    feed: Arc<Feed>,
    checkpoints: Arc<Checkpoints>,
    writer: Option<JoinHandle<Connection>>,
    others: Vec<JoinHandle<()>>,
}

impl Threads {
    pub(super) fn start(
        path: &Path,
        options: &StoreOptions,
        feed: Arc<Feed>,
        writer: impl FnOnce(Arc<Checkpoints>) -> Writer,
    ) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Database {
            path: path.to_owned(),
            source,
        };
        let reader = |_| options.connect(path, Role::Read);
        let lanes = Lanes::new(options.readers);
        let readers: Vec<Connection> = (0..lanes.readers)
            .map(reader)
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let mover = options.connect(path, Role::Write).map_err(failed)?;
        let checkpoints = Arc::new(Checkpoints::default());
        let writer = writer(Arc::clone(&checkpoints));
        let mut threads = Self {
            points: lanes.points,
            scans: lanes.scans,
            feed,
            checkpoints,
            writer: None,
            others: Vec::new(),
        };
        threads
            .spawn_all(readers, mover, writer)
            .map_err(|source| OpenError::File {
                path: path.to_owned(),
                source,
            })?;
        Ok(threads)
    }

    fn spawn_all(
        &mut self,
        readers: Vec<Connection>,
        mover: Connection,
        writer: Writer,
    ) -> std::io::Result<()> {
        let for_single = readers.len().div_ceil(2);
        for (number, conn) in readers.into_iter().enumerate() {
            let (name, lane) = if number < for_single {
                ("store-get", Arc::clone(&self.points))
            } else {
                ("store-list", Arc::clone(&self.scans))
            };
            self.spawn(name, move || lane.serve(&conn))?;
        }
        let feed = Arc::clone(&self.feed);
        self.spawn("store-feed", move || feed.dispatch())?;
        let checkpoints = Arc::clone(&self.checkpoints);
        self.spawn("store-checkpoint", move || checkpoints.serve(&mover))?;
        let thread = thread::Builder::new().name("store-write".to_owned());
        self.writer = Some(thread.spawn(move || writer.run())?);
        Ok(())
    }

    fn spawn(&mut self, name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let handle = thread::Builder::new().name(name.to_owned()).spawn(body)?;
        self.others.push(handle);
        Ok(())
    }
}

/// The lanes for reads, with their number of threads.
struct Lanes {
    points: Arc<Lane>,
    scans: Arc<Lane>,
    readers: usize,
}

impl Lanes {
    /// Creates two lanes with `readers` threads each, or a single lane for one reader.
    fn new(readers: usize) -> Self {
        let points: Arc<Lane> = Arc::default();
        match readers {
            0 | 1 => Self {
                scans: Arc::clone(&points),
                points,
                readers: 1,
            },
            each => Self {
                points,
                scans: Arc::default(),
                readers: 2 * each,
            },
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The readers run until the writer has finished.
        let written = self.writer.take().and_then(join);
        self.points.close();
        self.scans.close();
        self.feed.close();
        self.checkpoints.close();
        for handle in self.others.drain(..) {
            join(handle);
        }
        // The last closed connection moves the log into the database file, which read-only
        // connections cannot do.
        drop(written);
    }
}

fn join<T>(handle: JoinHandle<T>) -> Option<T> {
    let ended = handle.join();
    if ended.is_err() {
        tracing::error!("a thread of the store panicked");
    }
    ended.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_scans_share_one_queue_in_a_store_with_one_reader() {
        for (requested, threads, one_lane) in [(0, 1, true), (1, 1, true), (2, 4, false)] {
            let lanes = Lanes::new(requested);
            assert_eq!(lanes.readers, threads);
            assert_eq!(Arc::ptr_eq(&lanes.points, &lanes.scans), one_lane);
        }
    }
}
