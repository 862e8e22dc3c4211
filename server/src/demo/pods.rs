//! Follows the running pods of Drover's workloads in a simulated cluster. The pods run no programs, so
//! the server's process runs the programs of the running pods.

use std::collections::BTreeMap;

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A running pod of an agent or a node agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunningPod {
    pub(super) uid: String,
    pub(super) node: String,
    /// Name of the pod's service account.
    pub(super) account: String,
}

/// The running pods of a namespace, by name.
pub(super) type RunningPods = BTreeMap<String, RunningPod>;

/// Runs `program` with the running pods of a namespace, until `program` ends or `stop` is cancelled.
pub(super) async fn follow<F: Future<Output = ()>>(
    client: &Client,
    namespace: &str,
    stop: &CancellationToken,
    program: impl FnOnce(watch::Receiver<RunningPods>) -> F,
) {
    let running = watch::Sender::new(RunningPods::new());
    tokio::select! {
        () = program(running.subscribe()) => {}
        () = watch_pods(client, namespace, &running) => {}
        () = stop.cancelled() => {}
    }
}

/// Publishes the running pods of a namespace until the future is dropped.
async fn watch_pods(client: &Client, namespace: &str, running: &watch::Sender<RunningPods>) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let events = watcher(pods, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    let mut listed = RunningPods::new();
    loop {
        // After an error, the watch starts again.
        let Ok(event) = events.try_next().await else {
            continue;
        };
        let Some(event) = event else { return };
        match event {
            Event::Init => listed.clear(),
            Event::InitApply(pod) => listed.extend(running_pod(&pod)),
            Event::InitDone => publish(running, |pods| pods.clone_from(&listed)),
            Event::Apply(pod) => publish(running, |pods| {
                pods.remove(&pod.name_any());
                pods.extend(running_pod(&pod));
            }),
            Event::Delete(pod) => publish(running, |pods| {
                pods.remove(&pod.name_any());
            }),
        }
    }
}

fn publish(running: &watch::Sender<RunningPods>, change: impl FnOnce(&mut RunningPods)) {
    running.send_if_modified(|pods| {
        let before = pods.clone();
        change(pods);
        *pods != before
    });
}

/// Returns the name and the values of a pod, or `None` if the pod is not running.
fn running_pod(pod: &Pod) -> Option<(String, RunningPod)> {
    let phase = pod.status.as_ref()?.phase.as_deref()?;
    if phase != "Running" || pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let spec = pod.spec.as_ref()?;
    let running = RunningPod {
        uid: pod.uid()?,
        node: spec.node_name.clone()?,
        account: spec.service_account_name.clone()?,
    };
    Some((pod.name_any(), running))
}
