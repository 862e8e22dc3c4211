//! Starts worker processes, sends requests and checks the replies.

mod process;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::{Instant, timeout, timeout_at};

use self::process::Process;
use crate::cache::{self, GarbageReport};
use crate::error::GitError;
use crate::limits::Limits;
use crate::path::check_path;
use crate::request::{Reference, Reply, Request, Source};

/// The time that a worker has to report its own timeout.
const GRACE: Duration = Duration::from_secs(3);
/// Most requests of one worker process.
const MAX_REQUESTS: u32 = 1000;
/// The time after which [`Fetcher::close_idle`] ends an unused worker.
const IDLE_TIME: Duration = Duration::from_mins(1);

/// The settings of a [`Fetcher`].
#[derive(Clone, Debug)]
pub struct FetcherSettings {
    /// The program of the worker.
    pub program: PathBuf,
    /// The arguments with which the program calls [`worker_main`](crate::worker_main).
    pub arguments: Vec<OsString>,
    /// The folder of the cache.
    pub cache_dir: PathBuf,
    /// The limits of each request.
    pub limits: Limits,
    /// Most worker processes at the same time.
    pub max_workers: usize,
}

/// The files of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkout {
    /// The commit ID.
    pub commit: String,
    /// The content of each file by its path. Symbolic links are replaced with their files.
    pub files: BTreeMap<String, Bytes>,
    /// The files that are left out, with the reason. A caller that needs such a file fails with the
    /// reason.
    pub rejected: BTreeMap<String, GitError>,
    /// Bytes of packs that the server sent. Zero if the cache had the commit.
    pub received_bytes: u64,
}

/// Reads repositories with worker processes.
#[derive(Debug)]
pub struct Fetcher {
    settings: FetcherSettings,
    permits: Semaphore,
    /// Workers without a request.
    idle: Mutex<Vec<Process>>,
}

impl Fetcher {
    /// Creates a fetcher. The first request starts the first worker.
    pub fn new(settings: FetcherSettings) -> Self {
        Self {
            permits: Semaphore::new(settings.max_workers.max(1)),
            settings,
            idle: Mutex::new(Vec::new()),
        }
    }

    /// Returns the commit ID of each reference, with one request to the server for all of them. The
    /// outer error concerns the repository, and the inner errors concern one reference each.
    pub async fn resolve(
        &self,
        source: &Source,
        references: &[Reference],
    ) -> Result<Vec<Result<String, GitError>>, GitError> {
        let request = Request::Resolve {
            source: source.clone(),
            references: references.to_vec(),
            limits: self.settings.limits.clone(),
        };
        let (_permit, mut process) = self.start().await?;
        let deadline = Instant::now() + self.settings.limits.wall_time + GRACE;
        let commits = self.within(deadline, async {
            process.send(&request).await?;
            match process.reply().await? {
                Reply::Resolved { commits } if commits.len() == references.len() => Ok(Ok(commits)),
                Reply::Failed { error } => Ok(Err(error)),
                _ => Err(process::unexpected()),
            }
        });
        let commits = commits.await?;
        self.keep(process);
        commits
    }

    /// Returns the selected files of a commit. Each path names a file or a folder, and can contain
    /// `*`, `?` and `[a-z]`, which match within one name. Without paths, all files are selected.
    pub async fn fetch(
        &self,
        source: &Source,
        reference: &Reference,
        paths: &[String],
    ) -> Result<Checkout, GitError> {
        let (progress, _) = watch::channel(0);
        self.fetch_with_progress(source, reference, paths, &progress)
            .await
    }

    /// Works as [`Self::fetch`], and reports the received bytes of packs.
    pub async fn fetch_with_progress(
        &self,
        source: &Source,
        reference: &Reference,
        paths: &[String],
        progress: &watch::Sender<u64>,
    ) -> Result<Checkout, GitError> {
        let request = Request::Fetch {
            source: source.clone(),
            reference: reference.clone(),
            paths: paths.to_vec(),
            cache_dir: self.settings.cache_dir.clone(),
            limits: self.settings.limits.clone(),
        };
        let (_permit, mut process) = self.start().await?;
        let deadline = Instant::now() + self.settings.limits.wall_time + GRACE;
        // The process ends with this request, because its memory can have grown.
        self.within(deadline, async {
            process.send(&request).await?;
            self.receive(&mut process, progress).await
        })
        .await
    }

    async fn receive(
        &self,
        process: &mut Process,
        progress: &watch::Sender<u64>,
    ) -> Result<Checkout, GitError> {
        let limits = &self.settings.limits;
        let mut checkout = Checkout::default();
        let mut bytes = 0_u64;
        loop {
            match process.reply().await? {
                Reply::Progress { received_bytes } => {
                    progress.send_replace(received_bytes);
                }
                // The worker has checked the limits. A worker under the control of a hostile
                // repository has not.
                Reply::File { path, size } => {
                    check_path(&path, limits)?;
                    bytes = bytes.saturating_add(size);
                    let files = checkout.files.len() as u64;
                    if size > limits.file_bytes
                        || bytes > limits.total_bytes
                        || files >= limits.files
                    {
                        return Err(process::unexpected());
                    }
                    let content = process.content(size).await?;
                    checkout.files.insert(path, content);
                }
                Reply::Rejected { path, error } => {
                    check_path(&path, limits)?;
                    if checkout.rejected.len() as u64 >= limits.files {
                        return Err(GitError::limit("rejected files", limits.files));
                    }
                    checkout.rejected.insert(path, error);
                }
                Reply::Done {
                    commit,
                    received_bytes,
                } => {
                    checkout.commit = commit;
                    checkout.received_bytes = received_bytes;
                    return Ok(checkout);
                }
                Reply::Failed { error } => return Err(error),
                Reply::Resolved { .. } => return Err(process::unexpected()),
            }
        }
    }

    /// Removes the least recently used repositories from the cache until it has at most
    /// `max_bytes`. Keeps repositories that a worker uses.
    pub async fn collect_garbage(&self, max_bytes: u64) -> Result<GarbageReport, GitError> {
        let folder = self.settings.cache_dir.clone();
        tokio::task::spawn_blocking(move || cache::collect(&folder, max_bytes))
            .await
            .map_err(|error| GitError::cache("collect garbage", error))?
    }

    /// Ends the workers that had no request for a minute. Call this function regularly.
    pub fn close_idle(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|process| process.last_use.elapsed() < IDLE_TIME);
    }

    async fn within<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = Result<T, GitError>>,
    ) -> Result<T, GitError> {
        timeout_at(deadline, work).await.unwrap_or_else(|_| {
            Err(GitError::Timeout {
                seconds: self.settings.limits.wall_time.as_secs(),
            })
        })
    }

    /// Returns a worker, after at most the wall time of a request.
    async fn start(&self) -> Result<(SemaphorePermit<'_>, Process), GitError> {
        let wall_time = self.settings.limits.wall_time;
        let permit = timeout(wall_time, self.permits.acquire())
            .await
            .map_err(|_| GitError::Busy {
                seconds: wall_time.as_secs(),
            })?
            .map_err(|_| process::unexpected())?;
        while let Some(mut process) = self.take_idle() {
            if process.is_alive() {
                return Ok((permit, process));
            }
        }
        Ok((permit, Process::start(&self.settings)?))
    }

    fn take_idle(&self) -> Option<Process> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    fn keep(&self, mut process: Process) {
        process.last_use = std::time::Instant::now();
        if process.requests < MAX_REQUESTS {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(process);
        }
    }
}
