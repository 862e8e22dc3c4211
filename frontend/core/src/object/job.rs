//! Jobs and CronJobs: what is done, what runs, what comes next.

use serde_json::Value;

use super::overview::{Facts, Section, Verdict, Worth};
use super::workload::{images, number};
use super::{Object, Reference, read};
use crate::age::age;
use crate::cluster::words;
use crate::severity::Severity;

fn condition<'a>(job: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut conditions = read::list(job, "/status/conditions").iter();
    conditions.find(|one| {
        read::text(one, "/type") == Some(kind) && read::text(one, "/status") == Some("True")
    })
}

/// How a job is.
pub(crate) fn verdict(job: &Object) -> Verdict {
    let job = job.value();
    if condition(job, "Complete").is_some() {
        return Verdict::of(Severity::Healthy, "complete");
    }
    if let Some(failed) = condition(job, "Failed") {
        let reason = read::text(failed, "/reason").unwrap_or_default();
        let message = read::text(failed, "/message").unwrap_or_default();
        let why = format!("{}. {message}", words(reason));
        return Verdict::of(Severity::Failing, "failed").because(why.trim_start_matches(". "));
    }
    if condition(job, "Suspended").is_some() || read::is_true(job, "/spec/suspend") {
        return Verdict::of(Severity::Degraded, "suspended")
            .because("It waits until somebody sets suspend to false.");
    }
    let (done, active) = (
        read::count(job, "/status/succeeded"),
        read::count(job, "/status/active"),
    );
    let wanted = read::number(job, "/spec/completions");
    let words = match (active, wanted) {
        (0, _) => "waiting for its pods".to_owned(),
        (_, Some(wanted)) => format!("running: {done} of {wanted} done"),
        (active, None) => format!("running: {active} at once"),
    };
    let failures = read::count(job, "/status/failed");
    if failures == 0 {
        return Verdict::of(Severity::Progressing, words);
    }
    let limit = read::number(job, "/spec/backoffLimit").unwrap_or(6);
    let why =
        format!("{failures} of its pods failed; it gives up after {limit}. Their logs say why.");
    Verdict::of(Severity::Degraded, words).because(why)
}

/// What is known of a job.
pub(crate) fn sections(job: &Object) -> Vec<Section> {
    let job = job.value();
    let status = |name: &str| Some(read::count(job, &format!("/status/{name}")).to_string());
    let (began, ended) = (
        read::time(job, "/status/startTime"),
        read::time(job, "/status/completionTime"),
    );
    let took = began.zip(ended).map(|(began, ended)| age(began, ended));
    let numbers = Facts::default()
        .text("Completions", Some(completions(job)))
        .text("Active", status("active"))
        .text("Failed", status("failed"))
        .at("Started", began)
        .at("Completed", ended)
        .text("Took", took);
    let more = Facts::default()
        .text("At once", number(job, "/spec/parallelism"))
        .text("Gives up after failures", number(job, "/spec/backoffLimit"))
        .text("May take", seconds(job, "/spec/activeDeadlineSeconds"))
        .text(
            "Kept after its end",
            seconds(job, "/spec/ttlSecondsAfterFinished"),
        )
        .codes("Images", images(job, "/spec/template/spec"));
    vec![numbers.under("Runs"), more.under("Job")]
}

fn completions(job: &Value) -> String {
    let done = read::count(job, "/status/succeeded");
    match read::number(job, "/spec/completions") {
        Some(wanted) => format!("{done} of {wanted}"),
        None => format!("{done}; the first success completes it"),
    }
}

fn seconds(job: &Value, pointer: &str) -> Option<String> {
    read::number(job, pointer).map(|seconds| format!("{seconds} s"))
}

/// How a cron job is.
pub(crate) fn cron_verdict(cron: &Object) -> Verdict {
    let cron = cron.value();
    if read::is_true(cron, "/spec/suspend") {
        return Verdict::of(Severity::Degraded, "suspended")
            .because("It starts nothing until somebody sets suspend to false.");
    }
    match read::list(cron, "/status/active").len() {
        0 => Verdict::of(Severity::Healthy, "waiting for its time"),
        1 => Verdict::of(Severity::Progressing, "1 job runs"),
        more => Verdict::of(Severity::Progressing, format!("{more} jobs run")),
    }
}

/// What is known of a cron job.
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
    let never = || Worth::Text("never".to_owned());
    let ran = |pointer| Some(read::time(value, pointer).map_or_else(never, Worth::At));
    let runs = Facts::default()
        .codes("Schedule", of("/spec/schedule").into_iter().collect())
        .text(
            "Time zone",
            Some(of("/spec/timeZone").unwrap_or_else(|| "the cluster’s own".to_owned())),
        )
        .put("Last run", ran("/status/lastScheduleTime"))
        .put("Last success", ran("/status/lastSuccessfulTime"))
        .links("Running now", active);
    let more = Facts::default()
        .text(
            "While one still runs",
            of("/spec/concurrencyPolicy").map(concurrency),
        )
        .text(
            "May begin late by",
            seconds(value, "/spec/startingDeadlineSeconds"),
        )
        .text(
            "Successful jobs kept",
            number(value, "/spec/successfulJobsHistoryLimit"),
        )
        .text(
            "Failed jobs kept",
            number(value, "/spec/failedJobsHistoryLimit"),
        )
        .codes(
            "Images",
            images(value, "/spec/jobTemplate/spec/template/spec"),
        );
    vec![runs.under("Runs"), more.under("CronJob")]
}

fn concurrency(policy: String) -> String {
    match policy.as_str() {
        "Allow" => "the next starts beside it".to_owned(),
        "Forbid" => "the next is left out".to_owned(),
        "Replace" => "the next takes its place".to_owned(),
        _ => policy,
    }
}
