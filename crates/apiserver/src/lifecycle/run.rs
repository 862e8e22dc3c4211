//! Runs controllers on the shared runtime. One task reads the feed for all controllers.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use drover_reconcile::{
    Action, Attempt, Backoff, LeaderGate, Metrics, Options, Reconciler, Trigger,
};
use futures::StreamExt;
use futures::future::BoxFuture;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::feed::Observed;
use super::{Hub, ObjectPath};
use crate::access::IssueError;
use crate::status::ApiError;

/// Maximum number of ready keys of one controller. The server stops reading the feed while a
/// controller exceeds this number.
const CAPACITY: usize = 10_000;
const CONCURRENCY: usize = 2;
/// Timeout of one reconciliation.
const RECONCILE_TIMEOUT: Duration = Duration::from_mins(1);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(20), Duration::from_mins(5));

/// The reason why a reconciliation failed. The runtime retries a failed reconciliation.
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
    #[error("cannot find a resource for {api_version} {kind}")]
    UnknownKind { api_version: String, kind: String },
    #[error("cannot delete all content of the namespace: {cause}", cause = .0)]
    Content(String),
    #[error("cannot issue a token for a Secret")]
    Issue(#[source] IssueError),
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

/// The delay until the next reconciliation. `None` if only a change starts the next reconciliation.
pub(super) type Next = Option<Duration>;

/// A controller of the server.
pub(super) trait Controller: Send + Sync + 'static {
    /// The key that identifies a reconciliation, such as the path of an object.
    type Key: Clone + Eq + Hash + Debug + Send + Sync + 'static;

    /// Name of the controller in logs.
    const NAME: &'static str;

    /// Receives an element of the feed. Returns the keys to reconcile.
    fn observe(&self, observed: &Observed) -> Vec<Self::Key>;

    /// Reconciles one key. Implementations are idempotent. Returns the delay until the next
    /// reconciliation.
    fn reconcile<'a>(
        &'a self,
        key: &'a Self::Key,
        also: &'a (dyn Fn(Self::Key) + Send + Sync),
    ) -> BoxFuture<'a, Result<Next, ReconcileError>>;
}

/// A periodic task.
pub(super) trait Sweep: Send + Sync + 'static {
    /// Name of the task in logs.
    const NAME: &'static str;
    /// Interval from the end of a run to the start of the next run.
    const EVERY: Duration;

    /// Runs the task once.
    fn sweep(&self) -> BoxFuture<'_, Result<(), ReconcileError>>;
}

type Feed = Box<dyn for<'a> Fn(&'a Observed) -> BoxFuture<'a, ()> + Send + Sync>;

/// The running controllers.
pub(super) struct Controllers {
    hub: Arc<dyn Hub>,
    metrics: Metrics,
    shutdown: CancellationToken,
    feeds: Vec<Feed>,
    tasks: JoinSet<()>,
}

impl Controllers {
    pub(super) fn new(hub: Arc<dyn Hub>, metrics: Metrics, shutdown: CancellationToken) -> Self {
        Self {
            hub,
            metrics,
            shutdown,
            feeds: Vec::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Starts a controller.
    pub(super) fn add<C: Controller>(&mut self, controller: C) {
        let controller = Arc::new(controller);
        let trigger = Trigger::new(options(C::NAME), &self.metrics);
        let reconciler = FeedReconciler {
            controller: Arc::clone(&controller),
            trigger: trigger.clone(),
        };
        self.start(drover_reconcile::Controller::new(
            trigger.clone(),
            reconciler,
        ));
        self.feeds.push(Box::new(move |observed| {
            let keys = controller.observe(observed);
            let trigger = trigger.clone();
            Box::pin(async move {
                for key in keys {
                    trigger.enqueue_when_room(key).await;
                }
            })
        }));
    }

    /// Starts a periodic task.
    pub(super) fn sweep<S: Sweep>(&mut self, sweep: S) {
        let trigger = Trigger::new(options(S::NAME), &self.metrics);
        let controller = drover_reconcile::Controller::new(trigger, SweepReconciler(sweep));
        self.start(controller.at_start(|| vec![()]));
    }

    fn start<R: Reconciler>(&mut self, controller: drover_reconcile::Controller<R>) {
        let running = controller.run(LeaderGate::always_open(), self.shutdown.clone());
        self.tasks.spawn(running);
    }

    /// Reads the feed until the shutdown, then waits for the controllers.
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

fn options(name: &'static str) -> Options {
    Options {
        concurrency: CONCURRENCY,
        timeout: Some(RECONCILE_TIMEOUT),
        backoff: BACKOFF,
        capacity: CAPACITY,
        ..Options::new(name)
    }
}

/// Adapts a controller of the server to the shared runtime. The feed provides the keys.
struct FeedReconciler<C: Controller> {
    controller: Arc<C>,
    trigger: Trigger<C::Key>,
}

impl<C: Controller> Reconciler for FeedReconciler<C> {
    type Key = C::Key;
    type Error = ReconcileError;

    async fn reconcile(&self, key: &C::Key, _: &Attempt) -> Result<Action, ReconcileError> {
        let also = |key| self.trigger.enqueue(key);
        let next = self.controller.reconcile(key, &also).await?;
        Ok(next.map_or(Action::await_change(), Action::requeue))
    }

    /// Reports whether the error is an expected race: a conflict, or a missing object.
    fn is_expected(&self, error: &ReconcileError) -> bool {
        matches!(
            error,
            ReconcileError::Write { source, .. } if matches!(source.code.as_u16(), 404 | 409)
        )
    }
}

/// Adapts a periodic task to a controller with a single key.
struct SweepReconciler<S>(S);

impl<S: Sweep> Reconciler for SweepReconciler<S> {
    type Key = ();
    type Error = ReconcileError;

    async fn reconcile(&self, (): &(), _: &Attempt) -> Result<Action, ReconcileError> {
        self.0.sweep().await?;
        Ok(Action::requeue(S::EVERY))
    }
}
