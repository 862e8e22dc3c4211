//! Simulates Jobs: creates pods until enough pods have succeeded or too many pods have failed.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::owned::{Owned, deletion_order, is_active, is_ready, owner, phase};
use super::template::{self, Name};
use super::{DecisionBuilder, count, time};
use crate::action::{Component, Severity};
use crate::annotations::Timing;
use crate::world::World;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Maximum backoff after failures of a Job's pods.
const MAX_BACKOFF: SignedDuration = SignedDuration::from_mins(6);
/// Maximum number of pods that one decision creates for a Job.
const BURST: i32 = 100;

pub(super) fn decide(
    world: &World,
    timing: &Timing,
    owned: &Owned<'_>,
    decision: &mut DecisionBuilder,
) {
    for job in world.jobs.iter() {
        let uid = job.metadata.uid.as_deref().unwrap_or_default();
        let pods = owned.get(uid).map_or(&[][..], Vec::as_slice);
        if job.metadata.deletion_timestamp.is_none() {
            Work::of(job, pods).reconcile(timing, decision);
        }
    }
}

struct Work<'w> {
    job: &'w Job,
    active: Vec<&'w Pod>,
    succeeded: Vec<&'w Pod>,
    failed: Vec<&'w Pod>,
    completions: Option<i32>,
    parallelism: i32,
    indexed: bool,
}

/// The final state of a Job: its condition, reason and message.
struct End {
    succeeded: bool,
    reason: &'static str,
    message: &'static str,
}

fn index(pod: &Pod) -> Option<i32> {
    pod.annotations().get(INDEX)?.parse().ok()
}

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod
        .status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref());
    statuses
        .into_iter()
        .flatten()
        .map(|status| status.restart_count)
        .sum()
}

fn ended_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let ends = statuses.iter().filter_map(|status| {
        let ended = status.state.as_ref()?.terminated.as_ref()?;
        Some(ended.finished_at.as_ref()?.0)
    });
    ends.max()
}

fn is_true(job: &Job, kinds: &[&str]) -> bool {
    let conditions = job
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| kinds.contains(&one.type_.as_str()) && one.status == "True")
}

impl<'w> Work<'w> {
    fn of(job: &'w Job, pods: &[&'w Pod]) -> Self {
        let spec = job.spec.as_ref();
        let with = |expected: &str| {
            let pods = pods.iter().copied();
            pods.filter(|pod| phase(pod) == expected)
                .collect::<Vec<_>>()
        };
        Self {
            job,
            active: pods.iter().copied().filter(|pod| is_active(pod)).collect(),
            succeeded: with("Succeeded"),
            failed: with("Failed"),
            completions: spec.and_then(|spec| spec.completions),
            parallelism: spec.and_then(|spec| spec.parallelism).unwrap_or(1),
            indexed: spec.and_then(|spec| spec.completion_mode.as_deref()) == Some("Indexed"),
        }
    }

    fn reconcile(&self, timing: &Timing, decision: &mut DecisionBuilder) {
        if is_true(self.job, &["Complete", "Failed"]) {
            return self.expire(decision);
        }
        let suspended = self.job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
        if suspended {
            self.delete_active(self.active.len(), decision);
            return self.status(None, true, decision);
        }
        if let Some(end) = self.end(decision) {
            self.delete_active(self.active.len(), decision);
            let (severity, reason) = if end.succeeded {
                (Severity::Normal, "Completed")
            } else {
                (Severity::Warning, end.reason)
            };
            if self.active.is_empty() {
                let message = if end.succeeded {
                    "Job completed"
                } else {
                    end.message
                };
                decision.emit_event_as(
                    Component::Controllers,
                    self.job,
                    severity,
                    reason,
                    message,
                    "",
                );
            }
            let end = Some(end).filter(|_| self.active.is_empty());
            return self.status(end.as_ref(), false, decision);
        }
        self.start(timing, decision);
        self.status(None, false, decision);
    }

    /// Deletes a finished Job after `ttlSecondsAfterFinished`.
    fn expire(&self, decision: &mut DecisionBuilder) {
        let spec = self.job.spec.as_ref();
        let Some(ttl) = spec.and_then(|spec| spec.ttl_seconds_after_finished) else {
            return;
        };
        let conditions = self
            .job
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_ref());
        let mut conditions = conditions.into_iter().flatten();
        let end = conditions.find(|one| matches!(one.type_.as_str(), "Complete" | "Failed"));
        let since = end.and_then(|end| end.last_transition_time.as_ref());
        if let Some(since) = since
            && decision.due_after(since.0, SignedDuration::from_secs(ttl.into()))
        {
            decision.delete(self.job, None);
        }
    }

    fn done(&self) -> i32 {
        if self.indexed {
            let indexes: BTreeSet<i32> =
                self.succeeded.iter().filter_map(|pod| index(pod)).collect();
            count(indexes.len())
        } else {
            count(self.succeeded.len())
        }
    }

    fn end(&self, decision: &mut DecisionBuilder) -> Option<End> {
        let spec = self.job.spec.as_ref()?;
        let limit = spec.backoff_limit.unwrap_or(6);
        let restarted: i32 = self.active.iter().map(|pod| restarts(pod)).sum();
        let failed = count(self.failed.len());
        if failed > limit || restarted > 0 && restarted >= limit {
            return Some(End {
                succeeded: false,
                reason: "BackoffLimitExceeded",
                message: "Job has reached the specified backoff limit",
            });
        }
        let started = self
            .job
            .status
            .as_ref()
            .and_then(|status| status.start_time.as_ref());
        if let (Some(started), Some(seconds)) = (started, spec.active_deadline_seconds)
            && decision.due_after(started.0, SignedDuration::from_secs(seconds))
        {
            return Some(End {
                succeeded: false,
                reason: "DeadlineExceeded",
                message: "Job was active longer than specified deadline",
            });
        }
        let enough = match self.completions {
            Some(expected) => self.done() >= expected,
            None => !self.succeeded.is_empty() && self.active.is_empty(),
        };
        enough.then_some(End {
            succeeded: true,
            reason: "CompletionsReached",
            message: "Reached expected number of succeeded pods",
        })
    }

    fn delete_active(&self, most: usize, decision: &mut DecisionBuilder) {
        for pod in deletion_order(self.active.clone()).into_iter().take(most) {
            decision.delete(pod, None);
            let message = format!("Deleted pod: {}", pod.name_any());
            decision.emit_event(self.job, "SuccessfulDelete", message);
        }
    }

    /// Creates pods up to `parallelism`. Waits for the backoff after failures.
    fn start(&self, timing: &Timing, decision: &mut DecisionBuilder) {
        let active = count(self.active.len());
        let expected = match self.completions {
            Some(completions) => self.parallelism.min(completions - self.done()),
            None if self.succeeded.is_empty() => self.parallelism,
            None => active,
        };
        if active > expected {
            let surplus = usize::try_from(active - expected).unwrap_or(0);
            return self.delete_active(surplus, decision);
        }
        if active == expected || !self.backoff_is_over(timing, decision) {
            return;
        }
        let mut free = self.free_indexes();
        for _ in 0..(expected - active).min(BURST) {
            self.create(free.next(), decision);
        }
    }

    fn backoff_is_over(&self, timing: &Timing, decision: &mut DecisionBuilder) -> bool {
        let Some(last) = self.failed.iter().filter_map(|pod| ended_at(pod)).max() else {
            return true;
        };
        let times = u32::try_from(self.failed.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = timing.backoff.saturating_mul(2_u32.saturating_pow(times));
        let pause =
            SignedDuration::try_from(pause).map_or(MAX_BACKOFF, |pause| pause.min(MAX_BACKOFF));
        decision.due_after(last, pause)
    }

    fn free_indexes(&self) -> impl Iterator<Item = i32> + use<> {
        let pods = self.active.iter().chain(&self.succeeded);
        let taken: BTreeSet<i32> = pods.filter_map(|pod| index(pod)).collect();
        let all = 0..self.completions.unwrap_or(0);
        all.filter(move |number| !taken.contains(number))
    }

    fn create(&self, number: Option<i32>, decision: &mut DecisionBuilder) {
        let Some(spec) = &self.job.spec else { return };
        let name = self.job.name_any();
        let (prefix, texts) = match number.filter(|_| self.indexed) {
            Some(number) => (
                format!("{name}-{number}-"),
                vec![(INDEX, number.to_string())],
            ),
            None => (format!("{name}-"), Vec::new()),
        };
        let namespace = self.job.namespace().unwrap_or_default();
        let mut pod = template::pod(
            &spec.template,
            &namespace,
            Name::Prefix(prefix),
            owner(self.job),
            &texts,
        );
        template::add(&mut pod["metadata"], "annotations", &texts);
        decision.create::<Pod>(pod);
    }

    fn status(&self, end: Option<&End>, suspended: bool, decision: &mut DecisionBuilder) {
        let old = self.job.status.clone().unwrap_or_default();
        let ready = self.active.iter().filter(|pod| is_ready(pod)).count();
        let now = [
            count(self.active.len()),
            count(ready),
            self.done().max(old.succeeded.unwrap_or(0)),
            count(self.failed.len()).max(old.failed.unwrap_or(0)),
        ];
        let fresh = old.start_time.is_none() && !suspended;
        let changes = suspended != is_true(self.job, &["Suspended"]);
        if significant_fields(&old) == now && end.is_none() && !fresh && !changes {
            return;
        }
        let started = match &old.start_time {
            Some(at) => json!(at),
            None if suspended => Value::Null,
            None => time(decision.now),
        };
        let mut status = json!({
            "active": now[0], "ready": now[1], "succeeded": now[2], "failed": now[3],
            "startTime": started, "terminating": 0, "uncountedTerminatedPods": {},
        });
        if self.indexed {
            status["completedIndexes"] = completed(&self.succeeded).into();
        }
        if end.is_some() || changes {
            status["conditions"] = conditions(&old, end, suspended, decision.now);
        }
        if end.is_some_and(|end| end.succeeded) {
            status["completionTime"] = time(decision.now);
        }
        decision.status(Component::Controllers, self.job, status);
    }
}

/// Returns the status fields whose change causes a status update of the Job.
fn significant_fields(status: &JobStatus) -> [i32; 4] {
    [status.active, status.ready, status.succeeded, status.failed].map(|n| n.unwrap_or(0))
}

fn conditions(old: &JobStatus, end: Option<&End>, suspended: bool, now: Timestamp) -> Value {
    let kept = |one: &&JobCondition| one.type_ != "Suspended";
    let mut all: Vec<Value> = old
        .conditions
        .iter()
        .flatten()
        .filter(kept)
        .map(|one| json!(one))
        .collect();
    let mut say = |kind: &str, status: &str, reason: &str, message: &str| {
        all.push(json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastProbeTime": time(now), "lastTransitionTime": time(now),
        }));
    };
    if suspended {
        say("Suspended", "True", "JobSuspended", "Job suspended");
    }
    if let Some(end) = end {
        let (first, last) = if end.succeeded {
            ("SuccessCriteriaMet", "Complete")
        } else {
            ("FailureTarget", "Failed")
        };
        say(first, "True", end.reason, end.message);
        say(last, "True", end.reason, end.message);
    }
    all.into()
}

/// Returns the completed indexes of an indexed Job, such as `0-3,5`.
fn completed(pods: &[&Pod]) -> String {
    let indexes: BTreeSet<i32> = pods.iter().filter_map(|pod| index(pod)).collect();
    let mut runs: Vec<(i32, i32)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let texts = runs.into_iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    texts.collect::<Vec<_>>().join(",")
}
