//! Job and CronJob.

mod cron;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::pod::{self, validation};
use super::{apps, rbac};
use crate::json::put;
use crate::json::{default, field, flag, list, make, number, object, text, texts};
use crate::names;
use crate::schema::Path;
use crate::schema::findings::Findings;

const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
/// Maximum length of a CronJob's name. The names of its Jobs have eleven more characters.
const MAX_CRON_NAME_LENGTH: usize = 52;

pub(crate) fn fill(kind: &str, value: &mut Value) {
    if kind == "Job" {
        return fill_job(value);
    }
    let Some(spec) = make(value, "spec") else {
        return;
    };
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    if let Some(template) = make(spec, "jobTemplate")
        .and_then(|template| make(template, "spec"))
        .and_then(|spec| make(spec, "template"))
    {
        pod::fill_template(template);
    }
}

fn fill_job(job: &mut Value) {
    label_as_template(job);
    let Some(spec) = make(job, "spec") else {
        return;
    };
    if field(spec, "completions").is_null() && field(spec, "parallelism").is_null() {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let per_index = !field(spec, "backoffLimitPerIndex").is_null();
    default(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    let policy = match field(spec, "podFailurePolicy") {
        Value::Null => "TerminatingOrFailed",
        _ => "Failed",
    };
    default(spec, "podReplacementPolicy", policy);
    default(spec, "manualSelector", false);
    if let Some(template) = make(spec, "template") {
        pod::fill_template(template);
    }
}

/// Adds the generated labels and selector to a new Job.
pub(crate) fn generate_selector(job: &mut Value) {
    if !flag(field(job, "spec"), "manualSelector") {
        select_by_uid(job);
    }
    // After decoding, a Job without labels has the labels of its template.
    label_as_template(job);
}

fn label_as_template(job: &mut Value) {
    let template = field(field(job, "spec"), "template");
    let labels = field(field(template, "metadata"), "labels").clone();
    if labels.is_object()
        && let Some(metadata) = make(job, "metadata")
        && object(metadata, "labels").is_none_or(serde_json::Map::is_empty)
    {
        put(metadata, "labels", Some(labels));
    }
}

fn select_by_uid(job: &mut Value) {
    let metadata = field(job, "metadata");
    let name = text(metadata, "name").to_owned();
    let uid = text(metadata, "uid").to_owned();
    let Some(spec) = make(job, "spec") else {
        return;
    };
    if let Some(labels) = make(spec, "template")
        .and_then(|template| make(template, "metadata"))
        .and_then(|metadata| make(metadata, "labels"))
    {
        for label in NAME_LABELS {
            default(labels, label, name.as_str());
        }
        for label in UID_LABELS {
            default(labels, label, uid.as_str());
        }
    }
    if let Some(labels) = make(spec, "selector").and_then(|selector| make(selector, "matchLabels"))
    {
        default(labels, UID_LABELS[1], uid);
    }
}

/// Validates a new Job or CronJob.
pub(crate) fn validate(kind: &str, value: &Value, found: &mut Findings) {
    if kind == "Job" {
        generated_selector(value, found);
    }
    checked(kind, value, found);
}

/// Checks that the selector of a Job is the generated selector, unless `manualSelector` is set.
fn generated_selector(job: &Value, found: &mut Findings) {
    let spec = field(job, "spec");
    if flag(spec, "manualSelector") {
        return;
    }
    let metadata = field(job, "metadata");
    let (uid, name) = (text(metadata, "uid"), text(metadata, "name"));
    let desired = UID_LABELS
        .map(|label| (label, uid))
        .into_iter()
        .chain(NAME_LABELS.map(|label| (label, name)));
    let at = Path::new("spec");
    let at = at.child("template");
    let at = at.child("metadata");
    let at = at.child("labels");
    let labels = field(field(field(spec, "template"), "metadata"), "labels");
    for (label, desired) in desired.clone() {
        let message = format!("must be '{desired}'");
        match labels.get(label).and_then(Value::as_str) {
            None => found.required(&at.key(label), message),
            Some(set) if set != desired => found.invalid(&at.key(label), labels.clone(), message),
            Some(_) => {}
        }
    }
    let expected: BTreeMap<&str, &str> = desired.collect();
    let selector = field(spec, "selector");
    if !chooses(selector, &expected) {
        let at = Path::new("spec");
        let message = "`selector` not auto-generated";
        found.invalid(&at.child("selector"), selector.clone(), message);
    }
}

fn chooses(selector: &Value, labels: &BTreeMap<&str, &str>) -> bool {
    let equal = object(selector, "matchLabels")
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key.as_str()).copied() == value.as_str());
    equal
        && list(selector, "matchExpressions").iter().all(|one| {
            let set = labels.get(text(one, "key")).copied();
            let within = set.is_some_and(|set| texts(one, "values").any(|value| value == set));
            match text(one, "operator") {
                "In" => within,
                "NotIn" => !within,
                "Exists" => set.is_some(),
                "DoesNotExist" => set.is_none(),
                _ => true,
            }
        })
}

fn checked(kind: &str, value: &Value, found: &mut Findings) {
    let at = Path::new("spec");
    let spec = field(value, "spec");
    if kind == "Job" {
        job(spec, &at, found);
        return indexed_name(value, found);
    }
    cron::validate(spec, &at, found);
    let name = text(field(value, "metadata"), "name");
    if name.len() > MAX_CRON_NAME_LENGTH {
        let at = Path::new("metadata");
        found.invalid(
            &at.child("name"),
            name,
            "must be no more than 52 characters",
        );
    }
}

fn job(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    job_spec(spec, at, found);
    let under = at.child("selector");
    let selector = field(spec, "selector");
    if selector.is_null() {
        return found.required(&under, "");
    }
    rbac::label_selector(selector, &under, found);
    let labels = field(field(field(spec, "template"), "metadata"), "labels");
    if !apps::matches(selector, labels) {
        let at = at.child("template");
        let at = at.child("metadata");
        let message = "`selector` does not match template `labels`";
        found.invalid(&at.child("labels"), labels.clone(), message);
    }
}

fn job_spec(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    for name in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        found.not_negative(&at.child(name), number(spec, name));
    }
    let mode = text(spec, "completionMode");
    found.maybe_one_of(
        &at.child("completionMode"),
        mode,
        &["NonIndexed", "Indexed"],
    );
    if mode == "Indexed" {
        if field(spec, "completions").is_null() {
            let message = "when completion mode is Indexed";
            found.required(&at.child("completions"), message);
        }
    } else {
        for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(set) = number(spec, name) {
                found.invalid(&at.child(name), set, "requires indexed completion mode");
            }
        }
        if let Some(policy) = spec.get("successPolicy") {
            let message = "requires indexed completion mode";
            found.invalid(&at.child("successPolicy"), policy.clone(), message);
        }
    }
    let policies = ["Failed", "TerminatingOrFailed"];
    let name = "podReplacementPolicy";
    found.maybe_one_of(&at.child(name), text(spec, name), &policies);
    let under = at.child("template");
    let template = field(spec, "template");
    validation::template(template, &[], &under, found);
    let at = under.child("spec");
    let at = at.child("restartPolicy");
    let policy = text(field(template, "spec"), "restartPolicy");
    match policy {
        "Always" | "" => found.required(&at, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" | "Never" => {
            if policy == "OnFailure" && !field(spec, "podFailurePolicy").is_null() {
                let message = "only \"Never\" is supported when podFailurePolicy is specified";
                found.invalid(&at, policy, message);
            }
        }
        other => found.not_supported(&at, other, &["OnFailure", "Never"]),
    }
}

pub(crate) fn validate_update(kind: &str, new: &Value, old: &Value, found: &mut Findings) {
    checked(kind, new, found);
    if kind != "Job" {
        return;
    }
    let at = Path::new("spec");
    let (spec, before) = (field(new, "spec"), field(old, "spec"));
    for name in [
        "completions",
        "selector",
        "template",
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        let suspended = flag(before, "suspend") && name == "template";
        let elastic = name == "completions"
            && text(spec, "completionMode") == "Indexed"
            && field(spec, "completions") == field(spec, "parallelism");
        if !suspended && !elastic {
            found.immutable(&at.child(name), field(spec, name), field(before, name));
        }
    }
}

/// Validates the name of an indexed Job's last pod.
fn indexed_name(job: &Value, found: &mut Findings) {
    let spec = field(job, "spec");
    let count = number(spec, "completions").unwrap_or_default();
    if text(spec, "completionMode") != "Indexed" || count <= 0 {
        return;
    }
    let name = text(field(job, "metadata"), "name");
    let longest = format!("{name}-{}", count - 1);
    if !names::dns_label(&longest).is_empty() {
        let message = format!("will not able to create pod with invalid DNS label: {longest}");
        let at = Path::new("metadata");
        found.invalid(&at.child("name"), json!(name), message);
    }
}
