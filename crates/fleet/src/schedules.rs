//! Opens and closes the deployment windows of clusters, as Schedules define them.
//!
//! A cluster can be in several Schedules, so one reconciliation evaluates all Schedules of a namespace. The
//! state depends only on the objects and the time, so a new leader continues where the last leader stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drover_api::fleet::{FleetCluster, Schedule, ScheduleStatus};
use drover_gitops::schedule::{DEFAULT_LOCATION, ScheduleError, Window, Windows};
use drover_gitops::states::ready_condition;
use drover_gitops::targeting::{ClusterFacts, ClusterMatcher, Groups, SelectorError};
use drover_hub::HubError;
use drover_reconcile::{Action, Attempt, Reconciler, Trigger};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use thiserror::Error;

use crate::mirror::Key;
use crate::world::World;
use crate::writes::{now, write_status};

/// Maximum number of concurrent writes.
const WRITES: usize = 16;
/// Maximum time until the next evaluation, because the clock of the server can change.
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// Maximum number of names in the status of a Schedule.
const MAX_NAMES: usize = 10_000;

/// The reason why a Schedule opens no window.
#[derive(Debug, Error)]
enum InvalidSchedule {
    #[error("spec.location: {0:?} is not the name of a time zone, for example Europe/Berlin")]
    Location(String),
    #[error("spec.{0}")]
    Schedule(#[from] ScheduleError),
    #[error("spec.targets.clusters[{index}]: {source}")]
    Target { index: usize, source: SelectorError },
}

/// The controller of Schedules. The key is a namespace.
#[derive(Clone)]
pub(crate) struct Schedules {
    pub(crate) client: Client,
    pub(crate) world: World,
}

/// The flags of a cluster.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    scheduled: bool,
    active: bool,
}

impl Flags {
    fn of(cluster: &FleetCluster) -> Self {
        let status = cluster.status.as_ref();
        status.map_or_else(Self::default, |status| Self {
            scheduled: status.scheduled,
            active: status.active_schedule,
        })
    }

    fn to_json(self) -> Value {
        json!({ "scheduled": self.scheduled, "activeSchedule": self.active })
    }
}

impl Schedules {
    /// Returns the namespaces with Schedules, or with clusters that were in a Schedule.
    pub(crate) fn namespaces(world: &World) -> Vec<String> {
        let schedules = world.schedules.all();
        let clusters = world.clusters.all();
        let members = clusters.iter().filter(|it| Flags::of(it).scheduled);
        let namespaces = schedules.iter().filter_map(|it| it.namespace());
        let namespaces: BTreeSet<String> = namespaces
            .chain(members.filter_map(|it| it.namespace()))
            .collect();
        namespaces.into_iter().collect()
    }

    /// Enqueues namespaces after each change that concerns a Schedule.
    pub(crate) fn connect(world: &World, trigger: &Trigger<String>) {
        let enqueue = trigger.clone();
        world.schedules.listen(move |change| {
            let spec = |it: &Option<Arc<Schedule>>| it.as_ref().map(|it| it.spec.clone());
            if spec(&change.before) != spec(&change.after) {
                enqueue.enqueue(change.key.namespace.clone());
            }
        });
        let (enqueue, seen) = (trigger.clone(), world.clone());
        world.clusters.listen(move |change| {
            let state = |it: &Option<Arc<FleetCluster>>| {
                it.as_ref().map(|it| (it.labels().clone(), Flags::of(it)))
            };
            let is_changed = state(&change.before) != state(&change.after);
            if is_changed && has_schedules(&seen, &change.key) {
                enqueue.enqueue(change.key.namespace.clone());
            }
        });
        let (enqueue, seen) = (trigger.clone(), world.clone());
        world.groups.listen(move |change| {
            if has_schedules(&seen, &change.key) {
                enqueue.enqueue(change.key.namespace.clone());
            }
        });
    }

    async fn write_schedule(
        &self,
        schedule: &Schedule,
        status: &ScheduleStatus,
    ) -> Result<(), HubError> {
        let key = Key::of(schedule);
        let schedules = Api::<Schedule>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the status of a Schedule";
        let before = schedule.status.as_ref();
        let written = write_status(operation, &schedules, &key.name, before, status).await?;
        if let Some(written) = written {
            self.world.schedules.observe(written);
        }
        Ok(())
    }

    async fn write_cluster(&self, cluster: &FleetCluster, flags: Flags) -> Result<(), HubError> {
        let key = Key::of(cluster);
        let clusters = Api::<FleetCluster>::namespaced(self.client.clone(), &key.namespace);
        let operation = "write the deployment window of a Fleet Cluster";
        // Other controllers write the other fields.
        let (before, after) = (Flags::of(cluster).to_json(), flags.to_json());
        let written = write_status(operation, &clusters, &key.name, Some(&before), &after).await?;
        if let Some(written) = written {
            self.world.clusters.observe(written);
        }
        Ok(())
    }
}

impl Reconciler for Schedules {
    type Key = String;
    type Error = HubError;

    async fn reconcile(&self, namespace: &String, _: &Attempt) -> Result<Action, HubError> {
        let time = Timestamp::now();
        let mut schedules = self.world.schedules.in_namespace(namespace);
        schedules.retain(|it| it.metadata.deletion_timestamp.is_none());
        let clusters = self.world.clusters.in_namespace(namespace);
        let groups = Groups::new(self.world.groups.in_namespace(namespace));
        let mut flags: BTreeMap<String, Flags> = BTreeMap::new();
        let mut next: Option<Timestamp> = None;
        for schedule in &schedules {
            let evaluated = evaluate(schedule, &clusters, &groups, time);
            for name in &evaluated.names {
                let flags = flags.entry(name.clone()).or_default();
                flags.scheduled = true;
                flags.active |= evaluated.is_active();
            }
            let change = evaluated.window.as_ref().ok().map(Window::next_change);
            next = next.into_iter().chain(change).min();
            self.write_schedule(schedule, &evaluated.status(schedule))
                .await?;
        }
        let writes = clusters.iter().filter_map(|cluster| {
            let flags = flags.get(&cluster.name_any()).copied().unwrap_or_default();
            (Flags::of(cluster) != flags).then(|| self.write_cluster(cluster, flags))
        });
        // Collected, because a lazy iterator of futures over borrowed closures is not Send.
        let writes: Vec<_> = writes.collect();
        stream::iter(writes)
            .buffer_unordered(WRITES)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(next.map_or_else(Action::await_change, |next| Action::requeue(wait(next))))
    }
}

/// A Schedule at one time.
struct Evaluated {
    window: Result<Window, InvalidSchedule>,
    /// Names of the clusters.
    names: Vec<String>,
}

impl Evaluated {
    fn is_active(&self) -> bool {
        let window = self.window.as_ref();
        window.is_ok_and(|window| window.active_until.is_some())
    }

    fn status(self, schedule: &Schedule) -> ScheduleStatus {
        let mut status = schedule.status.clone().unwrap_or_default();
        status.active = self.is_active();
        let message = match &self.window {
            Ok(window) => {
                status.next_start_time = Some(Time(window.next_start));
                String::new()
            }
            Err(error) => {
                status.next_start_time = None;
                format!("{error}. Until then, the clusters receive no new deployments")
            }
        };
        ready_condition(&mut status.conditions, &message, &now());
        status.matching_clusters = self.names;
        status.matching_clusters.truncate(MAX_NAMES);
        status
    }
}

/// Evaluates a Schedule. A Schedule that is not valid keeps its clusters, and its window stays closed.
fn evaluate(
    schedule: &Schedule,
    clusters: &[Arc<FleetCluster>],
    groups: &Groups,
    time: Timestamp,
) -> Evaluated {
    let mut matchers = Vec::new();
    let mut invalid = None;
    for (index, target) in schedule.spec.targets.clusters.iter().enumerate() {
        match ClusterMatcher::of_git_target(target) {
            Ok(matcher) => matchers.push(matcher),
            Err(source) => invalid = Some(InvalidSchedule::Target { index, source }),
        }
    }
    let is_selected = |cluster: &&Arc<FleetCluster>| {
        let members = groups.of(cluster);
        let groups: Vec<_> = members.iter().map(|member| member.as_group()).collect();
        let facts = ClusterFacts::of(cluster, &groups);
        matchers.iter().any(|it| it.matches_any_group(&facts))
    };
    let selected = clusters.iter().filter(is_selected);
    Evaluated {
        names: selected.map(|cluster| cluster.name_any()).collect(),
        window: invalid.map_or_else(|| window(schedule, time), Err),
    }
}

fn window(schedule: &Schedule, time: Timestamp) -> Result<Window, InvalidSchedule> {
    let location = match &*schedule.spec.location {
        "" => DEFAULT_LOCATION,
        location => location,
    };
    let zone = TimeZone::get(location);
    let zone = zone.map_err(|_| InvalidSchedule::Location(location.to_owned()))?;
    Ok(Windows::new(&schedule.spec, zone)?.at(time)?)
}

/// Returns the time until `next`.
fn wait(next: Timestamp) -> Duration {
    let wait = next.duration_since(Timestamp::now());
    Duration::try_from(wait)
        .unwrap_or_default()
        .clamp(Duration::from_millis(1), LONGEST_WAIT)
}

fn has_schedules(world: &World, key: &Key) -> bool {
    !world.schedules.in_namespace(&key.namespace).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(location: &str, target: &Value) -> Schedule {
        let object = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Schedule",
            "metadata": { "name": "nightly", "namespace": "fleet-default" },
            "spec": {
                "schedule": "0 0 22 * * ?", "duration": "2h", "location": location,
                "targets": { "clusters": [target] },
            },
        });
        serde_json::from_value(object).unwrap()
    }

    fn clusters() -> Vec<Arc<FleetCluster>> {
        let object = json!({
            "apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
            "metadata": {
                "name": "c1", "namespace": "fleet-default", "labels": { "env": "prod" },
            },
        });
        vec![Arc::new(serde_json::from_value(object).unwrap())]
    }

    fn at(schedule: &Schedule, time: &str) -> Evaluated {
        evaluate(
            schedule,
            &clusters(),
            &Groups::new(Vec::new()),
            time.parse().unwrap(),
        )
    }

    #[test]
    fn time_zone_data_is_part_of_the_program() {
        let selector = json!({ "clusterSelector": { "matchLabels": { "env": "prod" } } });
        let schedule = schedule("Europe/Berlin", &selector);
        let evaluated = at(&schedule, "2026-06-01T20:30:00Z");
        assert_eq!(evaluated.names, ["c1"]);
        assert!(evaluated.is_active());
        assert!(!at(&schedule, "2026-06-01T22:30:00Z").is_active());
        let bundled = jiff_bundled_names();
        assert!(bundled > 400, "{bundled} names");
    }

    fn jiff_bundled_names() -> usize {
        jiff::tz::TimeZoneDatabase::bundled().available().count()
    }

    #[test]
    fn invalid_schedule_keeps_its_clusters_and_stays_closed() {
        let schedule = schedule("Nowhere/Town", &json!({ "clusterName": "c1" }));
        let evaluated = at(&schedule, "2026-06-01T20:30:00Z");
        assert_eq!(evaluated.names, ["c1"]);
        assert!(!evaluated.is_active());
        let status = evaluated.status(&schedule);
        assert_eq!(status.conditions[0].status, "False");
        assert!(status.conditions[0].message.contains("spec.location"));
    }
}
