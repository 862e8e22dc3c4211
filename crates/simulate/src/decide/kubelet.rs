//! Simulates kubelets: advances the lifecycle of each pod on its node.
//!
//! ```text
//!  bound ──► ContainerCreating ─► Running ─► Ready
//!                 │                  │ containers end
//!                 └► ImagePullBackOff├► Succeeded | Failed
//!                                    └► CrashLoopBackOff ─► Running, again
//! ```

pub(super) mod containers;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::owned::{condition, is_finished, is_terminating};
use super::{DecisionBuilder, time};
use crate::action::{Component, Severity};
use crate::annotations::{PodBehavior, PodFailure, Timing, node_fails};
use crate::world::World;

use containers::State;

/// Maximum backoff between the failure and the restart of a container.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(5);

pub(super) fn decide(world: &World, timing: &Timing, decision: &mut DecisionBuilder) {
    for pod in world.pods.iter() {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        let node = node.and_then(|name| world.nodes.get("", name));
        let Some(node) = node.filter(|node| !node_fails(node.metadata.annotations.as_ref())) else {
            continue;
        };
        let owners = pod.metadata.owner_references.iter().flatten();
        let of_job = owners.filter(|owner| owner.kind == "Job").count() > 0;
        let kept = BoundPod {
            pod,
            node: node.name_any(),
            behaviour: PodBehavior::read(pod.metadata.annotations.as_ref(), timing, of_job),
            backoff: SignedDuration::try_from(timing.backoff).unwrap_or(MAX_BACKOFF),
        };
        if is_terminating(pod) {
            kept.stop(decision);
        } else if !is_finished(pod) {
            kept.reconcile(decision);
        }
    }
}

/// A pod that is bound to a node, and its requested behavior.
struct BoundPod<'w> {
    pod: &'w Pod,
    node: String,
    behaviour: PodBehavior,
    backoff: SignedDuration,
}

impl BoundPod<'_> {
    fn stop(&self, decision: &mut DecisionBuilder) {
        let meta = &self.pod.metadata;
        let (Some(end), grace) = (
            meta.deletion_timestamp.as_ref(),
            meta.deletion_grace_period_seconds.unwrap_or(0),
        ) else {
            return;
        };
        let grace = SignedDuration::from_secs(grace.clamp(0, i32::MAX.into()));
        let remaining = self.behaviour.stop.min(grace) - grace;
        if is_finished(self.pod) || decision.due_after(end.0, remaining) {
            for container in &self.containers() {
                let message = format!("Stopping container {container}");
                self.event(Severity::Normal, "Killing", message, decision);
            }
            decision.delete(self.pod, Some(0));
        }
    }

    fn reconcile(&self, decision: &mut DecisionBuilder) {
        let Some(first) = self.statuses().first() else {
            return self.start_creating(decision);
        };
        let status = self.pod.status.as_ref();
        let taken_in = status.and_then(|status| status.start_time.as_ref());
        let taken_in = taken_in.map_or(decision.now, |time| time.0);
        match State::of(first) {
            State::Waiting if self.behaviour.failure == Some(PodFailure::ImagePull) => {
                self.fail_to_pull(decision);
            }
            State::Waiting if decision.due_after(taken_in, self.behaviour.start) => {
                self.run(0, None, decision);
            }
            State::Waiting | State::NoImage | State::Ended => {}
            State::Running { since } => self.while_running(first, since, decision),
            State::BackOff { since } => {
                if decision.due_after(since, self.pause(first.restart_count)) {
                    self.run(first.restart_count + 1, Some(first), decision);
                }
            }
        }
    }

    fn statuses(&self) -> &[ContainerStatus] {
        let status = self.pod.status.as_ref();
        status
            .and_then(|status| status.container_statuses.as_deref())
            .unwrap_or_default()
    }

    fn containers(&self) -> Vec<String> {
        let spec = self.pod.spec.as_ref();
        let containers = spec.map_or(&[][..], |spec| spec.containers.as_slice());
        containers
            .iter()
            .map(|container| container.name.clone())
            .collect()
    }

    /// Returns the backoff before a restart of a container. The backoff doubles with each restart.
    fn pause(&self, restarts: i32) -> SignedDuration {
        let times = restarts.clamp(0, 16).unsigned_abs();
        let factor = 2_i32.saturating_pow(times);
        self.backoff.saturating_mul(factor).min(MAX_BACKOFF)
    }

    fn event(
        &self,
        severity: Severity,
        reason: &'static str,
        message: impl Into<String>,
        decision: &mut DecisionBuilder,
    ) {
        decision.emit_event_as(
            Component::Kubelet,
            self.pod,
            severity,
            reason,
            message,
            &self.node,
        );
    }

    fn status(
        &self,
        phase: &str,
        ready: Ready,
        containers: Vec<Value>,
        decision: &mut DecisionBuilder,
    ) {
        let address = containers::address(self.pod);
        let mut status = json!({
            "phase": phase,
            "conditions": self.conditions(ready, phase, decision.now),
            "hostIP": containers::host_address(&self.node),
            "hostIPs": [{"ip": containers::host_address(&self.node)}],
        });
        status["containerStatuses"] = containers.into();
        if self
            .pod
            .status
            .as_ref()
            .is_none_or(|status| status.start_time.is_none())
        {
            status["startTime"] = time(decision.now);
        }
        if !matches!(ready, Ready::NotStarted) {
            status["podIP"] = address.as_str().into();
            status["podIPs"] = json!([{"ip": address}]);
            status["initContainerStatuses"] = containers::initialised(self.pod, decision.now);
        }
        decision.status(Component::Kubelet, self.pod, status);
    }

    fn start_creating(&self, decision: &mut DecisionBuilder) {
        let containers = containers::waiting(self.pod, "ContainerCreating", "");
        self.status("Pending", Ready::NotStarted, containers, decision);
    }

    fn fail_to_pull(&self, decision: &mut DecisionBuilder) {
        let reason = "Back-off pulling image: simulated by annotation";
        let containers = containers::waiting(self.pod, "ImagePullBackOff", reason);
        self.status("Pending", Ready::NotStarted, containers, decision);
        let failed = "Failed to pull image: simulated by annotation";
        self.event(Severity::Warning, "Failed", failed, decision);
        self.event(Severity::Warning, "BackOff", reason, decision);
    }

    fn run(&self, restarts: i32, before: Option<&ContainerStatus>, decision: &mut DecisionBuilder) {
        let last = before.and_then(|before| before.last_state.clone());
        let now = decision.now;
        let containers = containers::running(self.pod, restarts, &json!(last), now, false);
        self.status("Running", Ready::No, containers, decision);
        for container in &self.containers() {
            let normal = Severity::Normal;
            if restarts == 0 {
                let message =
                    format!("Container image of {container} is simulated: nothing is pulled");
                self.event(normal, "Pulled", message, decision);
            }
            self.event(
                normal,
                "Created",
                format!("Container created: {container}"),
                decision,
            );
            self.event(
                normal,
                "Started",
                format!("Container started: {container}"),
                decision,
            );
        }
    }

    fn while_running(
        &self,
        first: &ContainerStatus,
        since: Timestamp,
        decision: &mut DecisionBuilder,
    ) {
        if let Some(run) = self.behaviour.run
            && decision.due_after(since, run)
        {
            return self.end(first, since, decision);
        }
        let never = matches!(
            self.behaviour.failure,
            Some(PodFailure::NotReady | PodFailure::Crash)
        );
        let said_so = condition(self.pod, "Ready").is_some();
        if !never && !said_so && decision.due_after(since, self.behaviour.ready) {
            let last = &json!(first.last_state);
            let containers = containers::running(self.pod, first.restart_count, last, since, true);
            self.status("Running", Ready::Yes, containers, decision);
        }
    }

    /// Updates the status after a pod's containers have ended. Restarts the containers after a
    /// backoff if the restart policy requires a restart.
    fn end(&self, first: &ContainerStatus, since: Timestamp, decision: &mut DecisionBuilder) {
        let code = self.behaviour.exit_code;
        let policy = self
            .pod
            .spec
            .as_ref()
            .and_then(|spec| spec.restart_policy.as_deref());
        let again = match policy {
            Some("Never") => false,
            Some("OnFailure") => code != 0,
            _ => true,
        };
        let ended = containers::terminated(code, since, decision.now);
        if again {
            let containers = containers::backing_off(self.pod, first.restart_count, &ended);
            self.status("Running", Ready::No, containers, decision);
            let message = "Back-off restarting failed container";
            self.event(Severity::Warning, "BackOff", message, decision);
        } else {
            let phase = if code == 0 { "Succeeded" } else { "Failed" };
            let containers = containers::ended(self.pod, first.restart_count, &ended);
            self.status(phase, Ready::No, containers, decision);
        }
    }

    fn conditions(&self, ready: Ready, phase: &str, now: Timestamp) -> Value {
        let started = !matches!(ready, Ready::NotStarted);
        let is_ready = matches!(ready, Ready::Yes);
        let reason = match phase {
            "Succeeded" => "PodCompleted",
            _ => "ContainersNotReady",
        };
        let all = [
            ("PodReadyToStartContainers", started, ""),
            ("Initialized", started, ""),
            ("Ready", is_ready, reason),
            ("ContainersReady", is_ready, reason),
            ("PodScheduled", true, ""),
        ];
        let condition = |(kind, holds, reason): (&str, bool, &str)| {
            let since = self.since(kind, holds);
            let mut condition = json!({
                "type": kind, "status": if holds { "True" } else { "False" },
                "lastTransitionTime": since.map_or_else(|| time(now), time),
                "lastProbeTime": null,
            });
            if !holds && !reason.is_empty() {
                condition["reason"] = reason.into();
            }
            condition
        };
        all.map(condition).to_vec().into()
    }

    /// Returns the transition time of a condition. Returns `None` if the status of the condition
    /// differs from `holds`.
    fn since(&self, kind: &str, holds: bool) -> Option<Timestamp> {
        let status = self.pod.status.as_ref()?;
        let mut conditions = status.conditions.iter().flatten();
        let known = conditions.find(|one| one.type_ == kind)?;
        let same = (known.status == "True") == holds;
        let since = known.last_transition_time.as_ref().filter(|_| same)?;
        Some(since.0)
    }
}

/// The readiness of a pod's containers.
#[derive(Clone, Copy)]
enum Ready {
    NotStarted,
    No,
    Yes,
}
