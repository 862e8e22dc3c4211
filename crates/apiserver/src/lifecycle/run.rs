//! Runs controllers: one task reads the feed for all, each controller has workers of its own.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::feed::Observed;
use super::queue::Queue;
use super::{Hub, ObjectPath};
use crate::access::IssueError;
use crate::status::ApiError;

/// Keys that may wait at one controller before the feed does.
const CAPACITY: usize = 10_000;
const WORKERS: usize = 2;
/// No reconciliation takes longer; one that would is tried again.
const RECONCILE_TIMEOUT: Duration = Duration::from_mins(1);

/// Why a reconciliation has to be tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReconcileError {
    #[error("cannot read {path}")]
    Read {
        path: Box<ObjectPath>,
        #[source]
        source: Box<ApiError>,
    },
    #[error("cannot write {path}")]
    Write {
        path: Box<ObjectPath>,
        #[source]
        source: Box<ApiError>,
    },
    #[error("cannot list {resource} in {namespace:?}")]
    List {
        resource: String,
        namespace: String,
        #[source]
        source: Box<ApiError>,
    },
    #[error("no resource {kind} of {api_version} is served")]
    UnknownKind { api_version: String, kind: String },
    #[error("some content could not be deleted: {0}")]
    Content(String),
    #[error("cannot issue a token for a Secret")]
    Issue(#[source] IssueError),
    #[error("it took longer than {} s", RECONCILE_TIMEOUT.as_secs())]
    Timeout,
}

impl ReconcileError {
    pub(super) fn list(resource: &str, namespace: Option<&str>) -> impl FnOnce(ApiError) -> Self {
        let resource = resource.to_owned();
        let namespace = namespace.unwrap_or_default().to_owned();
        |error| Self::List {
            resource,
            namespace,
            source: Box::new(error),
        }
    }

    pub(super) fn read(path: &ObjectPath) -> impl FnOnce(ApiError) -> Self {
        let path = Box::new(path.clone());
        |error| Self::Read {
            path,
            source: Box::new(error),
        }
    }

    pub(super) fn write(path: &ObjectPath) -> impl FnOnce(ApiError) -> Self {
        let path = Box::new(path.clone());
        |error| Self::Write {
            path,
            source: Box::new(error),
        }
    }
}

/// What a reconciliation that went well leaves to do.
pub(super) type Next = Option<Duration>;

/// Keeps one kind of thing as it should be.
pub(super) trait Controller: Send + Sync + 'static {
    /// What it works on.
    type Key: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// For logs.
    const NAME: &'static str;

    /// Takes note of a change; tells what to look at because of it.
    fn observe(&self, observed: &Observed) -> Vec<Self::Key>;

    /// Looks at one thing as it is now and makes it what it should be; may be called at any time
    /// and again. Tells when to look again by itself.
    fn reconcile<'a>(
        &'a self,
        key: &'a Self::Key,
        also: &'a (dyn Fn(Self::Key) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>>;
}

/// Looks at everything of its kind from time to time.
pub(super) trait Sweep: Send + Sync + 'static {
    /// For logs.
    const NAME: &'static str;
    /// From the end of one to the start of the next.
    const EVERY: Duration;

    /// Looks at everything once.
    fn sweep(&self) -> BoxFuture<'_, Result<(), ReconcileError>>;
}

type Feed = Box<dyn for<'a> Fn(&'a Observed) -> BoxFuture<'a, ()> + Send + Sync>;

/// Controllers that run together.
pub(super) struct Controllers {
    hub: Arc<dyn Hub>,
    shutdown: CancellationToken,
    feeds: Vec<Feed>,
    tasks: JoinSet<()>,
}

impl Controllers {
    pub(super) fn new(hub: Arc<dyn Hub>, shutdown: CancellationToken) -> Self {
        Self {
            hub,
            shutdown,
            feeds: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts a controller's workers.
    pub(super) fn add<C: Controller>(&mut self, controller: C) {
        let controller = Arc::new(controller);
        let queue = Arc::new(Queue::new(CAPACITY));
        for _ in 0..WORKERS {
            let (controller, queue) = (Arc::clone(&controller), Arc::clone(&queue));
            let shutdown = self.shutdown.clone();
            self.tasks.spawn(async move {
                tokio::select! {
                    () = shutdown.cancelled() => {}
                    () = work(&*controller, &queue) => {}
                }
            });
        }
        self.feeds.push(Box::new(move |observed| {
            let keys = controller.observe(observed);
            let queue = Arc::clone(&queue);
            Box::pin(async move {
                for key in keys {
                    queue.push(key).await;
                }
            })
        }));
    }

    /// Starts a sweep.
    pub(super) fn sweep<S: Sweep>(&mut self, sweep: S) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = sweep_forever(&sweep) => {}
            }
        });
    }

    /// Reads the feed until the shutdown, then waits for the workers.
    pub(super) async fn run(mut self) {
        let mut feed = self.hub.observe();
        let shutdown = self.shutdown.clone();
        let observe = async {
            while let Some(observed) = feed.next().await {
                for feed in &self.feeds {
                    feed(&observed).await;
                }
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = observe => {}
        }
        self.shutdown.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn work<C: Controller>(controller: &C, queue: &Queue<C::Key>) {
    let also = |key| queue.push_now(key);
    loop {
        let key = queue.pop().await;
        let reconcile = controller.reconcile(&key, &also);
        let outcome = tokio::time::timeout(RECONCILE_TIMEOUT, reconcile)
            .await
            .unwrap_or(Err(ReconcileError::Timeout));
        match outcome {
            Ok(next) => queue.done(&key, next),
            Err(error) => {
                let again = queue.failed(&key);
                report(C::NAME, &error, &key, again);
            }
        }
    }
}

/// A conflict or a vanished object is the ordinary way in which changes meet.
fn report(controller: &str, error: &ReconcileError, key: &dyn Debug, again: Duration) {
    let ordinary = matches!(
        error,
        ReconcileError::Write { source, .. } if matches!(source.code.as_u16(), 404 | 409)
    );
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let cause = cause.unwrap_or_default();
    if ordinary {
        tracing::debug!(controller, ?key, ?again, cause, "{error}; trying again");
    } else {
        tracing::warn!(controller, ?key, ?again, cause, "{error}; trying again");
    }
}

async fn sweep_forever<S: Sweep>(sweep: &S) {
    loop {
        if let Err(error) = sweep.sweep().await {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(controller = S::NAME, cause, "{error}");
        }
        tokio::time::sleep(S::EVERY).await;
    }
}
