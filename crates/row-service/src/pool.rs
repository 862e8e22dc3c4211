//! All sources, shared between pages.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use drover_history::HistoryStore;
use drover_proxy::{AccessKey, Proxy};
use drover_rows::protocol::{ListProblem, ListSpec};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::budget::{Budget, Reservation};
use crate::clusters::{Clusters, Credential, problem};
use crate::reflect;
use crate::requests::Requests;
use crate::source::{Source, SourceHandle, SourceKey};
use crate::usage;

/// Time without a page after which a source ends. A page that reconnects within this time receives
/// its rows without a new list.
const IDLE: Duration = Duration::from_mins(1);
/// Interval of the search for sources without pages.
const SWEEP: Duration = Duration::from_secs(10);
/// Maximum number of pages of lists that the server reads from one cluster at the same time.
const PAGES_OF_CLUSTER: usize = 4;
/// Maximum number of sources of all pages.
const MAX_SOURCES: usize = 20_000;

/// All sources. Clones share the sources.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    clusters: Arc<dyn Clusters>,
    sources: Mutex<HashMap<SourceKey, Running>>,
    pages: Mutex<HashMap<Arc<str>, Weak<Semaphore>>>,
    budget: Arc<Budget>,
    history: HistoryStore,
    stop: CancellationToken,
}

/// A source, and the guard that ends its task.
struct Running {
    source: Arc<Source>,
    _task: DropGuard,
}

impl Pool {
    pub(crate) fn new(
        proxy: Arc<Proxy>,
        memory: usize,
        history: HistoryStore,
        stop: CancellationToken,
    ) -> Self {
        Self::with_history(Arc::new(proxy), memory, history, stop)
    }

    /// Creates the sources of clusters, without a history.
    #[cfg(test)]
    pub(crate) fn over(
        clusters: Arc<dyn Clusters>,
        memory: usize,
        stop: CancellationToken,
    ) -> Self {
        Self::with_history(clusters, memory, HistoryStore::new(0), stop)
    }

    fn with_history(
        clusters: Arc<dyn Clusters>,
        memory: usize,
        history: HistoryStore,
        stop: CancellationToken,
    ) -> Self {
        Self(Arc::new(Inner {
            clusters,
            sources: Mutex::default(),
            pages: Mutex::default(),
            budget: Budget::new(memory),
            history,
            stop,
        }))
    }

    /// Ends sources without pages. Never returns.
    pub(crate) async fn run(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.sweep();
        }
    }

    fn sweep(&self) {
        let mut sources = self.0.sources.lock();
        let is_idle = |source: &Source| source.idle_since().is_some_and(|at| at.elapsed() > IDLE);
        let ended: Vec<Running> = sources
            .extract_if(|_, running| is_idle(&running.source))
            .map(|(_, running)| running)
            .collect();
        drop(sources);
        // Freeing many rows takes time, so the lock is released before.
        drop(ended);
    }

    /// Returns the memory of all rows and sorted lists in bytes.
    #[cfg(test)]
    pub(crate) fn used_memory(&self) -> usize {
        self.0.budget.used()
    }

    /// Returns memory for the sorted list of a page.
    pub(crate) fn reservation(&self) -> Reservation {
        Reservation::empty(&self.0.budget)
    }

    /// Returns the identity of a page in a cluster, if the page has access to the cluster.
    pub(crate) async fn identity(
        &self,
        credential: &Credential,
        cluster: &str,
    ) -> Result<AccessKey, ListProblem> {
        let path = format!("/k8s/clusters/{cluster}/version");
        self.0.clusters.identity(credential, &path).await
    }

    /// Adds a page to a source, and starts the source if it does not exist.
    pub(crate) fn attach(
        &self,
        key: SourceKey,
        credential: Arc<Credential>,
        changed: Arc<Notify>,
    ) -> Result<SourceHandle, ListProblem> {
        let mut sources = self.0.sources.lock();
        if let Some(running) = sources.get(&key) {
            return Ok(running.source.attach(credential, changed));
        }
        if sources.len() >= MAX_SOURCES {
            let message = "the server has reached its maximum number of lists; close other pages, \
                           or try again in a minute";
            return Err(problem(503, "TooManyLists", message));
        }
        let source = Source::new(key.clone(), Arc::clone(&self.0.budget));
        let handle = source.attach(credential, changed);
        let stop = self.0.stop.child_token();
        let pages = self.pages_of(&source.key.cluster);
        let requests = || {
            let (source, clusters) = (Arc::clone(&source), Arc::clone(&self.0.clusters));
            let history = self.0.history.clone();
            Requests::new(source, history, clusters, Arc::clone(&pages))
        };
        let (listing, measuring) = (reflect::run(requests()), usage::run(requests()));
        let task = async { tokio::join!(listing, measuring) };
        tokio::spawn(stop.clone().run_until_cancelled_owned(task));
        let running = Running {
            source,
            _task: stop.drop_guard(),
        };
        sources.insert(key, running);
        Ok(handle)
    }
}

impl Pool {
    /// Returns the limit of pages of a cluster.
    fn pages_of(&self, cluster: &Arc<str>) -> Arc<Semaphore> {
        let mut pages = self.0.pages.lock();
        pages.retain(|_, limit| limit.strong_count() > 0);
        if let Some(limit) = pages.get(cluster).and_then(Weak::upgrade) {
            return limit;
        }
        let limit = Arc::new(Semaphore::new(PAGES_OF_CLUSTER));
        pages.insert(Arc::clone(cluster), Arc::downgrade(&limit));
        limit
    }
}

/// Returns the path of a list in a cluster.
pub(crate) fn path(list: &ListSpec, cluster: &str, namespace: Option<&str>) -> String {
    let root = if list.api_version.contains('/') {
        "apis"
    } else {
        "api"
    };
    let place = match namespace {
        Some(namespace) => format!("namespaces/{namespace}/"),
        None => String::new(),
    };
    let ListSpec {
        api_version,
        plural,
        ..
    } = list;
    format!("/k8s/clusters/{cluster}/{root}/{api_version}/{place}{plural}")
}

#[cfg(test)]
mod tests;
