//! The states and overview fields of Jobs and CronJobs.

use serde_json::Value;

use super::overview::{FactValue, Facts, ObjectState, Section};
use super::workload::{images, number};
use super::{Object, Reference, read};
use crate::age::age;
use crate::cluster::words;
use crate::messages::t;
use drover_rows::Severity;

fn condition<'a>(job: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = read::list(job, "/status/conditions").iter();
    conditions.find(|one| {
        read::text(one, "/type") == Some(kind) && read::text(one, "/status") == Some("True")
    })
}

/// Returns the state of a job: severity, text, and cause with the next step.
pub(crate) fn object_state(job: &Object) -> ObjectState {
    let job = job.value();
    if condition(job, "Complete").is_some() {
        return ObjectState::of(Severity::Healthy, t().workloads.complete());
    }
    if let Some(failed) = condition(job, "Failed") {
        let reason = read::text(failed, "/reason").unwrap_or_default();
        let message = read::text(failed, "/message").unwrap_or_default();
        let cause = format!("{}. {message}", words(reason));
        return ObjectState::of(Severity::Failing, t().workloads.failed())
            .because(cause.trim_start_matches(". "));
    }
    if condition(job, "Suspended").is_some() || read::is_true(job, "/spec/suspend") {
        return ObjectState::of(Severity::Degraded, t().workloads.suspended())
            .because(t().conditions.suspended());
    }
    let (done, active) = (
        read::count(job, "/status/succeeded"),
        read::count(job, "/status/active"),
    );
    let desired = read::number(job, "/spec/completions");
    let words = match (active, desired) {
        (0, _) => t().workloads.waiting_for_pods().to_owned(),
        (_, Some(desired)) => t().workloads.job_running(done, desired),
        (active, None) => t().workloads.job_running_parallel(active),
    };
    let failures = read::count(job, "/status/failed");
    if failures == 0 {
        return ObjectState::of(Severity::Progressing, words);
    }
    let limit = read::number(job, "/spec/backoffLimit").unwrap_or(6);
    let cause = t().workloads.job_failures(failures, limit);
    ObjectState::of(Severity::Degraded, words).because(cause)
}

/// Returns the overview fields of a Job.
pub(crate) fn sections(job: &Object) -> Vec<Section> {
    let job = job.value();
    let status = |name: &str| Some(read::count(job, &format!("/status/{name}")).to_string());
    let (began, ended) = (
        read::time(job, "/status/startTime"),
        read::time(job, "/status/completionTime"),
    );
    let took = began.zip(ended).map(|(began, ended)| age(began, ended));
    let numbers = Facts::default()
        .text(t().workloads.completions(), Some(completions(job)))
        .text(t().workloads.active(), status("active"))
        .text(t().workloads.failed_pods(), status("failed"))
        .at(t().workloads.started(), began)
        .at(t().workloads.completed(), ended)
        .text(t().workloads.duration(), took);
    let more = Facts::default()
        .text(
            t().workloads.parallelism(),
            number(job, "/spec/parallelism"),
        )
        .text(
            t().workloads.backoff_limit(),
            number(job, "/spec/backoffLimit"),
        )
        .text(
            t().workloads.active_deadline(),
            seconds(job, "/spec/activeDeadlineSeconds"),
        )
        .text(
            t().workloads.ttl_after_finished(),
            seconds(job, "/spec/ttlSecondsAfterFinished"),
        )
        .codes(t().workloads.images(), images(job, "/spec/template/spec"));
    vec![numbers.under(t().workloads.runs()), more.under("Job")]
}

fn completions(job: &Value) -> String {
    let done = read::count(job, "/status/succeeded");
    match read::number(job, "/spec/completions") {
        Some(desired) => t().workloads.done_of(done, desired),
        None => t().workloads.done_first_success(done),
    }
}

fn seconds(job: &Value, pointer: &str) -> Option<String> {
    read::number(job, pointer).map(|seconds| t().durations.seconds(seconds))
}

/// Returns the state of a cron job: severity, text, and cause with the next step.
pub(crate) fn cron_state(cron: &Object) -> ObjectState {
    let cron = cron.value();
    if read::is_true(cron, "/spec/suspend") {
        return ObjectState::of(Severity::Degraded, t().workloads.suspended())
            .because(t().workloads.cron_suspended());
    }
    match read::list(cron, "/status/active").len() {
        0 => ObjectState::of(Severity::Healthy, t().workloads.scheduled()),
        jobs => ObjectState::of(Severity::Progressing, t().workloads.jobs_running(jobs)),
    }
}

/// Returns the overview fields of a CronJob.
pub(crate) fn cron_sections(cron: &Object) -> Vec<Section> {
    let value = cron.value();
    let of = |pointer| read::owned(value, pointer);
    let active = read::list(value, "/status/active").iter();
    let active: Vec<Reference> = active
        .filter_map(|job| {
            let name = read::text(job, "/name")?;
            Some(Reference::to("batch/v1", "Job", cron.namespace(), name))
        })
        .collect();
    let never = || FactValue::Text(t().labels.never().to_owned());
    let ran = |pointer| Some(read::time(value, pointer).map_or_else(never, FactValue::At));
    let runs = Facts::default()
        .codes(
            t().workloads.schedule(),
            of("/spec/schedule").into_iter().collect(),
        )
        .text(
            t().workloads.time_zone(),
            Some(
                of("/spec/timeZone")
                    .unwrap_or_else(|| t().workloads.cluster_time_zone().to_owned()),
            ),
        )
        .put(t().workloads.last_run(), ran("/status/lastScheduleTime"))
        .put(
            t().workloads.last_success(),
            ran("/status/lastSuccessfulTime"),
        )
        .links(t().workloads.running_jobs(), active);
    let more = Facts::default()
        .text(
            t().workloads.concurrency_policy(),
            of("/spec/concurrencyPolicy").map(concurrency),
        )
        .text(
            t().workloads.starting_deadline(),
            seconds(value, "/spec/startingDeadlineSeconds"),
        )
        .text(
            t().workloads.successful_history(),
            number(value, "/spec/successfulJobsHistoryLimit"),
        )
        .text(
            t().workloads.failed_history(),
            number(value, "/spec/failedJobsHistoryLimit"),
        )
        .codes(
            t().workloads.images(),
            images(value, "/spec/jobTemplate/spec/template/spec"),
        );
    vec![runs.under(t().workloads.runs()), more.under("CronJob")]
}

fn concurrency(policy: String) -> String {
    match policy.as_str() {
        "Allow" => t().workloads.concurrency_allow().to_owned(),
        "Forbid" => t().workloads.concurrency_forbid().to_owned(),
        "Replace" => t().workloads.concurrency_replace().to_owned(),
        _ => policy,
    }
}
