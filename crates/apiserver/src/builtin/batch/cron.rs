//! Validation of CronJobs.

use serde_json::Value;

use super::job_spec;
use crate::json::{field, flag, number, text};
use crate::schema::Path;
use crate::schema::findings::Findings;

/// IANA time zone names, one per line.
const TIME_ZONES: &str = include_str!("../../../schemas/time-zones.txt");

pub(crate) fn validate(spec: &Value, at: &Path<'_>, found: &mut Findings) {
    let under = at.child("schedule");
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        found.required(&under, "");
    } else {
        if let Err(wrong) = cron_fields(schedule) {
            found.invalid(&under, schedule, wrong);
        }
        if schedule.contains("TZ") {
            let message = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            found.invalid(&under, schedule, message);
        }
    }
    if let Some(zone) = spec.get("timeZone").and_then(Value::as_str) {
        let under = at.child("timeZone");
        if zone.is_empty() {
            found.invalid(&under, zone, "timeZone must be nil or non-empty string");
        } else if zone.eq_ignore_ascii_case("Local") {
            let message = "timeZone must be an explicit time zone as defined in \
                        https://www.iana.org/time-zones";
            found.invalid(&under, zone, message);
        } else if !TIME_ZONES.lines().any(|known| known == zone) {
            found.invalid(&under, zone, format!("unknown time zone {zone}"));
        }
    }
    let known = ["Allow", "Forbid", "Replace"];
    let name = "concurrencyPolicy";
    found.one_of(&at.child(name), text(spec, name), &known);
    for name in [
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ] {
        found.not_negative(&at.child(name), number(spec, name));
    }
    let under = at.child("jobTemplate");
    let job = field(field(spec, "jobTemplate"), "spec");
    let inner = under.child("spec");
    job_spec(job, &inner, found);
    if flag(job, "manualSelector") {
        found.not_supported(&inner.child("manualSelector"), true, &["nil", "false"]);
    }
}

/// Validates a cron schedule with the messages of robfig/cron, which Kubernetes uses.
fn cron_fields(schedule: &str) -> Result<(), String> {
    if let Some(word) = schedule.strip_prefix('@') {
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ];
        return if known.contains(&word) || word.starts_with("every ") {
            Ok(())
        } else {
            Err(format!("unrecognized descriptor: {schedule}"))
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let bounds: [(u32, u32, &[&str]); 5] = [
        (0, 59, &[]),
        (0, 23, &[]),
        (1, 31, &[]),
        (1, 12, &months),
        (0, 6, &days),
    ];
    for (text, (least, most, words)) in fields.iter().zip(bounds) {
        for part in text.split(',') {
            cron_part(part, least, most, words)?;
        }
    }
    Ok(())
}

fn cron_part(part: &str, least: u32, most: u32, words: &[&str]) -> Result<(), String> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (part, None),
    };
    let number = |text: &str| -> Result<u32, String> {
        let named = words
            .iter()
            .position(|word| word.eq_ignore_ascii_case(text));
        if let Some(at) = named.and_then(|at| u32::try_from(at).ok()) {
            return Ok(at + least);
        }
        text.parse().map_err(|_| {
            format!(
                "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
            )
        })
    };
    let (start, end) = match range.split_once('-') {
        _ if range == "*" || range == "?" => (least, most),
        Some((start, end)) => (number(start)?, number(end)?),
        None => (number(range)?, number(range)?),
    };
    if let Some(step) = step
        && number(step)? == 0
    {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {part}"
        ));
    }
    if end > most {
        return Err(format!(
            "end of range ({end}) above maximum ({most}): {part}"
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {part}"
        ));
    }
    Ok(())
}
