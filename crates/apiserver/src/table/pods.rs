//! Table cells of Pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{View, count, or};
use crate::json::{field, flag, list, text};

pub(super) fn pod(view: &View<'_>) -> Vec<Value> {
    let (spec, status) = (view.spec(), view.status());
    let mut shown = PodSummary::of(status, list(spec, "containers").len());
    shown.init_containers(spec, status);
    shown.containers(status);
    let phase = text(status, "phase");
    if view.is_deleting() && text(status, "reason") == "NodeLost" {
        "Unknown".clone_into(&mut shown.reason);
    } else if view.is_deleting() && !matches!(phase, "Succeeded" | "Failed") {
        "Terminating".clone_into(&mut shown.reason);
    }
    let restarts = match shown.last_restart {
        Some(last) if shown.restarts != 0 => {
            format!("{} ({} ago)", shown.restarts, view.since(&last.to_string()))
        }
        _ => shown.restarts.to_string(),
    };
    let ip = list(status, "podIPs")
        .first()
        .map_or("", |ip| text(ip, "ip"));
    vec![
        view.name(),
        format!("{}/{}", shown.ready, shown.total).into(),
        shown.reason.into(),
        restarts.into(),
        view.age(),
        or(ip, "<none>").into(),
        or(text(spec, "nodeName"), "<none>").into(),
        or(text(status, "nominatedNodeName"), "<none>").into(),
        gates(spec, status).into(),
    ]
}

struct PodSummary {
    reason: String,
    ready: usize,
    total: usize,
    restarts: i64,
    last_restart: Option<Timestamp>,
    /// The number of restarts of init containers with restart policy `Always`.
    sidecar_restarts: i64,
    sidecar_last: Option<Timestamp>,
    initializing: bool,
}

impl PodSummary {
    fn of(status: &Value, total: usize) -> Self {
        let phase = text(status, "phase");
        let mut reason = or(text(status, "reason"), phase).to_owned();
        let gated = list(status, "conditions").iter().any(|condition| {
            text(condition, "type") == "PodScheduled"
                && text(condition, "reason") == "SchedulingGated"
        });
        if gated {
            "SchedulingGated".clone_into(&mut reason);
        }
        Self {
            reason,
            ready: 0,
            total,
            restarts: 0,
            last_restart: None,
            sidecar_restarts: 0,
            sidecar_last: None,
            initializing: false,
        }
    }

    fn init_containers(&mut self, spec: &Value, status: &Value) {
        let sidecars: BTreeMap<&str, bool> = list(spec, "initContainers")
            .iter()
            .map(|one| (text(one, "name"), text(one, "restartPolicy") == "Always"))
            .collect();
        self.total += sidecars.values().filter(|sidecar| **sidecar).count();
        for (index, one) in list(status, "initContainerStatuses").iter().enumerate() {
            let sidecar = sidecars.get(text(one, "name")).copied().unwrap_or_default();
            let finished = last_finish(one);
            self.restarts += count(one, "restartCount");
            self.last_restart = self.last_restart.max(finished);
            if sidecar {
                self.sidecar_restarts += count(one, "restartCount");
                self.sidecar_last = self.sidecar_last.max(finished);
            }
            let terminated = field(field(one, "state"), "terminated");
            let waiting = text(field(field(one, "state"), "waiting"), "reason");
            if !terminated.is_null() && count(terminated, "exitCode") == 0 {
                continue;
            }
            if sidecar && flag(one, "started") {
                self.ready += usize::from(flag(one, "ready"));
                continue;
            }
            self.reason = if !terminated.is_null() {
                format!("Init:{}", ended(terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", list(spec, "initContainers").len())
            };
            self.initializing = true;
            break;
        }
    }

    fn containers(&mut self, status: &Value) {
        if self.initializing && !has_condition(status, "Initialized") {
            return;
        }
        self.restarts = self.sidecar_restarts;
        self.last_restart = self.sidecar_last;
        let (mut running, mut failed) = (false, String::new());
        for one in list(status, "containerStatuses").iter().rev() {
            self.restarts += count(one, "restartCount");
            self.last_restart = self.last_restart.max(last_finish(one));
            let state = field(one, "state");
            let waiting = text(field(state, "waiting"), "reason");
            let terminated = field(state, "terminated");
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.reason);
            } else if !terminated.is_null() {
                self.reason = ended(terminated);
                if count(terminated, "exitCode") != 0 {
                    self.reason.clone_into(&mut failed);
                }
            } else if flag(one, "ready") && !field(state, "running").is_null() {
                running = true;
                self.ready += 1;
            }
        }
        if self.reason == "Completed" {
            if running && has_condition(status, "Ready") {
                "Running".clone_into(&mut self.reason);
            } else if !failed.is_empty() {
                self.reason = failed;
            } else if running {
                "NotReady".clone_into(&mut self.reason);
            }
        }
    }
}

fn ended(terminated: &Value) -> String {
    let (reason, signal) = (text(terminated, "reason"), count(terminated, "signal"));
    match (reason, signal) {
        ("", 0) => format!("ExitCode:{}", count(terminated, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn last_finish(container: &Value) -> Option<Timestamp> {
    let terminated = field(field(container, "lastState"), "terminated");
    text(terminated, "finishedAt").parse().ok()
}

fn has_condition(status: &Value, kind: &str) -> bool {
    list(status, "conditions")
        .iter()
        .any(|condition| text(condition, "type") == kind && text(condition, "status") == "True")
}

fn gates(spec: &Value, status: &Value) -> String {
    let gates = list(spec, "readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates
        .iter()
        .filter(|gate| has_condition(status, text(gate, "conditionType")))
        .count();
    format!("{open}/{}", gates.len())
}
