//! A simulated cluster with a manual clock, for tests.

use std::time::Duration;

use drover_simulate::annotations::Timing;
use drover_simulate::clock::Clock;
use drover_simulate::{Cluster, ClusterOptions, Plan};
use jiff::{SignedDuration, Timestamp};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::await_condition;
use kube::{Client, ResourceExt};
use serde_json::Value;

/// Timeout of a test. Tests do not wait in real time.
const PATIENCE: Duration = Duration::from_mins(1);

/// A cluster with a manual clock, and the folder of its state.
pub(crate) struct Stage {
    pub(crate) cluster: Cluster,
    pub(crate) clock: Clock,
    pub(crate) folder: tempfile::TempDir,
}

/// Returns the current time, truncated to seconds like the times in statuses.
fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap()
}

impl Stage {
    pub(crate) async fn of(plan: Plan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::manual(now());
        let cluster = start(&folder, &clock, plan).await;
        Self {
            cluster,
            clock,
            folder,
        }
    }

    /// Restarts the cluster. The restarted cluster reads its state from the same file.
    pub(crate) async fn restart(self, plan: Plan) -> Self {
        self.cluster.stop().await;
        let cluster = start(&self.folder, &self.clock, plan).await;
        Self { cluster, ..self }
    }

    pub(crate) fn client(&self) -> Client {
        self.cluster.client()
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }

    pub(crate) fn api(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(group, "v1", kind);
        let resource = kube::api::ApiResource::from_gvk(&gvk);
        Api::namespaced_with(self.client(), "default", &resource)
    }

    pub(crate) async fn apply(&self, group: &str, object: &Value) {
        let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
        let api = self.api(group, kind.as_str().unwrap());
        let params = PatchParams::apply("test").force();
        let patch = Patch::Apply(object);
        api.patch(name.as_str().unwrap(), &params, &patch)
            .await
            .unwrap();
    }

    /// Waits until `holds` returns true. The argument of `holds` is the object, or `None` if the
    /// object does not exist.
    pub(crate) async fn until(
        &self,
        group: &str,
        kind: &str,
        name: &str,
        holds: impl Fn(Option<&Value>) -> bool,
    ) {
        let condition = |object: Option<&DynamicObject>| {
            holds(
                object
                    .map(|object| serde_json::to_value(object).unwrap())
                    .as_ref(),
            )
        };
        let waiting = await_condition(self.api(group, kind), name, condition);
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        if waited.is_err() {
            let is = self.api(group, kind).get_opt(name).await.unwrap();
            panic!("{kind} {name} did not reach the expected state: {is:#?}");
        }
    }

    /// Advances the clock until `holds` returns true for the object.
    pub(crate) async fn advance_until(
        &self,
        group: &str,
        kind: &str,
        name: &str,
        holds: impl Fn(Option<&Value>) -> bool,
    ) {
        let moving = async {
            loop {
                self.advance(1);
                // Wait until the simulation has decided and written before the next second of its
                // clock.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            () = self.until(group, kind, name, holds) => {}
            () = moving => {}
        }
    }

    pub(crate) async fn pods(&self) -> Vec<Value> {
        let pods = self
            .api("", "Pod")
            .list(&ListParams::default())
            .await
            .unwrap();
        let values = pods
            .items
            .iter()
            .map(|pod| serde_json::to_value(pod).unwrap());
        values.collect()
    }

    pub(crate) async fn pod_names(&self) -> Vec<String> {
        let pods = self
            .api("", "Pod")
            .list(&ListParams::default())
            .await
            .unwrap();
        pods.items.iter().map(ResourceExt::name_any).collect()
    }
}

async fn start(folder: &tempfile::TempDir, clock: &Clock, plan: Plan) -> Cluster {
    let mut options = ClusterOptions::new(folder.path().join("cluster.db"), plan);
    options.clock = clock.clone();
    options.timing = Timing {
        start: Duration::ZERO,
        ready: Duration::ZERO,
        stop: Duration::ZERO,
        ..Timing::default()
    };
    Cluster::start(options).await.unwrap()
}
