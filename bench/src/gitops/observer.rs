//! Follows the bundles and the bundle deployments on the hub.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use drover_api::fleet::{Bundle, BundleDeployment};
use futures::TryStreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Timeout of each wait.
const TIMEOUT: Duration = Duration::from_mins(5);

/// The deployments did not reach a state in time.
#[derive(Debug, thiserror::Error)]
#[error("timed out after {seconds} s while waiting until {state}: {counts:?}", seconds = TIMEOUT.as_secs())]
pub(crate) struct TimedOut {
    state: &'static str,
    counts: Counts,
}

/// The numbers of objects on the hub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    listed: u32,
    deployments: usize,
    /// Bundle deployments whose agent has applied the desired deployment, and whose objects are ready.
    ready: usize,
    bundles: usize,
    /// Bundles whose status reports that all clusters are ready.
    reported: usize,
    /// The number of clusters in the statuses of all bundles.
    targets: i64,
}

/// The time from a start until the deployments were ready.
pub(super) struct Elapsed {
    /// Time until the last agent reported a ready deployment.
    pub(super) ready: Duration,
    /// Time until the status of each bundle reports that all clusters are ready.
    pub(super) reported: Duration,
}

/// Follows the hub until the value is dropped.
pub(super) struct Observer {
    counts: watch::Receiver<Counts>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Observer {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Observer {
    /// Starts to follow the hub, and waits for the first list.
    pub(super) async fn start(client: &Client) -> Result<Self, TimedOut> {
        let sender = watch::Sender::new(Counts::default());
        let counts = sender.subscribe();
        let deployments = sender.clone();
        let tasks = [
            tokio::spawn(follow(
                Api::<BundleDeployment>::all(client.clone()),
                is_ready,
                move |list| {
                    deployments.send_modify(|counts| {
                        counts.listed |= 1;
                        counts.deployments = list.len();
                        counts.ready = list.values().filter(|ready| **ready).count();
                    });
                },
            )),
            tokio::spawn(follow(
                Api::<Bundle>::all(client.clone()),
                clusters,
                move |list| {
                    sender.send_modify(|counts| {
                        counts.listed |= 2;
                        counts.bundles = list.len();
                        counts.reported = list.values().flatten().count();
                        counts.targets = list.values().flatten().sum();
                    });
                },
            )),
        ];
        let observer = Self { counts, tasks };
        observer
            .until("the hub is listed", |counts| counts.listed == 3)
            .await?;
        Ok(observer)
    }

    /// Waits until each of `bundles` bundles is ready in each of `clusters` clusters.
    pub(super) async fn until_ready(
        &self,
        start: Instant,
        bundles: u32,
        clusters: u32,
    ) -> Result<Elapsed, TimedOut> {
        let (bundles, targets) = (bundles as usize, i64::from(bundles) * i64::from(clusters));
        let expected = bundles * clusters as usize;
        let ready = |counts: &Counts| counts.deployments == expected && counts.ready == expected;
        self.until("all deployments are ready", ready).await?;
        let ready = start.elapsed();
        let reported = |counts: &Counts| counts.reported == bundles && counts.targets == targets;
        self.until("all bundles report ready clusters", reported)
            .await?;
        Ok(Elapsed {
            ready,
            reported: start.elapsed(),
        })
    }

    /// Waits until no bundle and no bundle deployment exists.
    pub(super) async fn until_deleted(&self) -> Result<(), TimedOut> {
        let deleted = |counts: &Counts| counts.deployments == 0 && counts.bundles == 0;
        self.until("all bundles are deleted", deleted).await
    }

    async fn until(
        &self,
        state: &'static str,
        is_reached: impl Fn(&Counts) -> bool,
    ) -> Result<(), TimedOut> {
        let mut counts = self.counts.clone();
        let waited = tokio::time::timeout(TIMEOUT, counts.wait_for(is_reached)).await;
        if matches!(waited, Ok(Ok(_))) {
            return Ok(());
        }
        drop(waited);
        let counts = *self.counts.borrow();
        Err(TimedOut { state, counts })
    }
}

/// Follows the objects of a kind, and passes the state of each object to `publish` after each change.
async fn follow<K, S>(
    api: Api<K>,
    state: impl Fn(&K) -> S,
    publish: impl Fn(&BTreeMap<(String, String), S>),
) where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + 'static,
{
    let mut objects = BTreeMap::new();
    let key = |object: &K| (object.namespace().unwrap_or_default(), object.name_any());
    let mut events = Box::pin(watcher(api, watcher::Config::default()).default_backoff());
    let mut is_listed = false;
    loop {
        match events.try_next().await {
            Ok(Some(Event::Apply(object) | Event::InitApply(object))) => {
                objects.insert(key(&object), state(&object));
            }
            Ok(Some(Event::Delete(object))) => drop(objects.remove(&key(&object))),
            Ok(Some(Event::Init)) => {
                objects.clear();
                is_listed = false;
            }
            Ok(Some(Event::InitDone)) => is_listed = true,
            Ok(None) => return,
            // The watcher continues after an error, with a backoff.
            Err(_) => {}
        }
        if is_listed {
            publish(&objects);
        }
    }
}

/// Reports whether the agent has applied the desired deployment, and its objects are ready.
pub(super) fn is_ready(deployment: &BundleDeployment) -> bool {
    let desired = &deployment.spec.deployment_id;
    let status = deployment.status.as_ref();
    !desired.is_empty()
        && status.is_some_and(|status| status.ready && status.applied_deployment_id == *desired)
}

/// Returns the number of clusters of a bundle, if the status reports that all clusters are ready.
fn clusters(bundle: &Bundle) -> Option<i64> {
    let status = bundle.status.as_ref()?;
    let summary = &status.summary;
    let is_current = Some(status.observed_generation) == bundle.metadata.generation;
    (is_current && summary.desired_ready > 0 && summary.ready == summary.desired_ready)
        .then_some(summary.desired_ready)
}
