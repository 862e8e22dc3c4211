//! Creates the statuses of a pod's containers.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::decide::time;
use crate::hash::fnv1a;

/// The lifecycle state of a pod's first container. All containers of a pod have the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The container waits for its start.
    Waiting,
    /// The kubelet cannot pull the image.
    NoImage,
    /// The container runs.
    Running {
        /// Time at which the container started.
        since: Timestamp,
    },
    /// The container has ended and will be restarted.
    BackOff {
        /// Time at which the container ended.
        since: Timestamp,
    },
    /// The container has ended and will not be restarted.
    Ended,
}

impl State {
    pub(super) fn of(status: &ContainerStatus) -> Self {
        let Some(state) = &status.state else {
            return Self::Waiting;
        };
        if let Some(running) = &state.running {
            let since = running
                .started_at
                .as_ref()
                .map_or(Timestamp::MIN, |at| at.0);
            return Self::Running { since };
        }
        let reason = state.waiting.as_ref().and_then(|one| one.reason.as_deref());
        match reason {
            Some("CrashLoopBackOff") => {
                let last = status
                    .last_state
                    .as_ref()
                    .and_then(|last| last.terminated.as_ref());
                let since = last.and_then(|last| last.finished_at.as_ref());
                Self::BackOff {
                    since: since.map_or(Timestamp::MIN, |at| at.0),
                }
            }
            Some("ImagePullBackOff") => Self::NoImage,
            _ if state.terminated.is_some() => Self::Ended,
            _ => Self::Waiting,
        }
    }
}

fn each(pod: &Pod, status: impl Fn(&mut Value)) -> Vec<Value> {
    let spec = pod.spec.as_ref();
    let containers = spec.map_or(&[][..], |spec| spec.containers.as_slice());
    let statuses = containers.iter().map(|container| {
        let image = container.image.as_deref().unwrap_or_default();
        let mut value = json!({
            "name": container.name, "image": image, "imageID": "", "ready": false,
            "started": false, "restartCount": 0, "lastState": {},
        });
        status(&mut value);
        value
    });
    statuses.collect()
}

fn identify(pod: &Pod, status: &mut Value) {
    let name = status["name"].as_str().unwrap_or_default();
    let seed = format!("{}/{name}", pod.uid().unwrap_or_default());
    let words = (0..8).map(|part| format!("{:08x}", fnv1a(&format!("{seed}/{part}"))));
    let id: String = words.collect();
    status["containerID"] = format!("simulated://{id}").into();
    status["imageID"] =
        format!("simulated/{}", status["image"].as_str().unwrap_or_default()).into();
}

pub(super) fn waiting(pod: &Pod, reason: &str, message: &str) -> Vec<Value> {
    each(pod, |status| {
        status["state"] = json!({"waiting": {"reason": reason}});
        if !message.is_empty() {
            status["state"]["waiting"]["message"] = message.into();
        }
    })
}

pub(super) fn running(
    pod: &Pod,
    restarts: i32,
    last: &Value,
    since: Timestamp,
    ready: bool,
) -> Vec<Value> {
    each(pod, |status| {
        identify(pod, status);
        status["state"] = json!({"running": {"startedAt": time(since)}});
        if last.is_object() {
            status["lastState"] = last.clone();
        }
        status["restartCount"] = restarts.into();
        status["started"] = true.into();
        status["ready"] = ready.into();
    })
}

pub(super) fn terminated(code: i32, since: Timestamp, now: Timestamp) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    json!({"terminated": {
        "exitCode": code, "reason": reason, "startedAt": time(since), "finishedAt": time(now),
    }})
}

pub(super) fn backing_off(pod: &Pod, restarts: i32, ended: &Value) -> Vec<Value> {
    each(pod, |status| {
        identify(pod, status);
        let message = "back-off restarting failed container";
        status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}});
        status["lastState"] = ended.clone();
        status["restartCount"] = restarts.into();
    })
}

pub(super) fn ended(pod: &Pod, restarts: i32, ended: &Value) -> Vec<Value> {
    each(pod, |status| {
        identify(pod, status);
        status["state"] = ended.clone();
        status["restartCount"] = restarts.into();
    })
}

/// Returns the statuses of init containers. Init containers complete immediately.
pub(super) fn initialised(pod: &Pod, now: Timestamp) -> Value {
    let spec = pod.spec.as_ref();
    let containers = spec.and_then(|spec| spec.init_containers.as_ref());
    let Some(containers) = containers else {
        return Value::Null;
    };
    let known = pod
        .status
        .as_ref()
        .and_then(|status| status.init_container_statuses.as_ref());
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        return json!(known);
    }
    let done = containers.iter().map(|container| {
        json!({
            "name": container.name, "image": container.image.as_deref().unwrap_or_default(),
            "imageID": "", "ready": true, "started": false, "restartCount": 0, "lastState": {},
            "state": terminated(0, now, now),
        })
    });
    done.collect::<Vec<_>>().into()
}

/// Returns the IP address of a pod. The UID of the pod determines the address.
pub(super) fn address(pod: &Pod) -> String {
    let known = pod.status.as_ref().and_then(|status| status.pod_ip.clone());
    known.unwrap_or_else(|| {
        let [_, a, b, c] = fnv1a(&pod.uid().unwrap_or_default()).to_be_bytes();
        format!("10.{}.{b}.{}", 64 + a % 64, 1 + c % 254)
    })
}

/// Returns the IP address of a node.
pub(crate) fn host_address(node: &str) -> String {
    let [_, _, b, c] = fnv1a(node).to_be_bytes();
    format!("172.30.{b}.{}", 1 + c % 254)
}
