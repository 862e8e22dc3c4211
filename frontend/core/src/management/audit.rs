//! The audit log as it is asked for, and its records in words.

use drover_api::rest::{AuditList, AuditOutcome, AuditSource, AuditView};
use jiff::{SignedDuration, Timestamp};

use crate::lifetime;
use crate::messages::t;
use crate::shell;
use crate::url::segment;

/// Records that are asked for at once.
pub const PAGE_SIZE: usize = 200;
/// Records with which a question is answered; those before them come on demand.
pub const MIN_RECORDS: usize = 100;
/// Parts of the log that a question reads at most: each is some megabytes.
pub const MAX_PARTS: usize = 25;

/// The verb that stands for all that are not reads.
pub const CHANGES: &str = "changes";
/// The verb that stands for all, reads included.
pub const ANY: &str = "any";

/// Which records, as it is typed; empty texts say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Name of whoever asked.
    pub user: String,
    /// Name of the cluster.
    pub cluster: String,
    /// Such as `get` or `delete`; [`CHANGES`], or [`ANY`].
    pub verb: String,
    /// How it ended, as records have it.
    pub outcome: String,
    /// Status code of the answer.
    pub code: String,
    /// Part of the path.
    pub path: String,
    /// Name of the user, cluster, token or setting that it was about.
    pub object: String,
    /// From when on: a time, or how long ago.
    pub since: String,
    /// Until when: a time, or how long ago.
    pub until: String,
}

impl Filter {
    /// What is said, each by the name that URLs and the server have for it.
    pub fn parts(&self) -> [(&'static str, &str); 9] {
        [
            ("user", &self.user),
            ("cluster", &self.cluster),
            ("verb", &self.verb),
            ("outcome", &self.outcome),
            ("code", &self.code),
            ("path", &self.path),
            ("object", &self.object),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }

    /// Whether everything passes.
    pub fn is_empty(&self) -> bool {
        self.said().next().is_none()
    }

    /// The same where no verb is named: changes only.
    #[must_use]
    pub fn or_changes(mut self) -> Self {
        if self.verb.is_empty() {
            CHANGES.clone_into(&mut self.verb);
        }
        self
    }

    /// The parts that leave records out.
    fn said(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = self.parts().into_iter();
        parts.filter(|part| !part.1.is_empty() && *part != ("verb", ANY))
    }

    /// Whether it can be asked for.
    pub fn is_ready(&self) -> bool {
        let code = self.code.is_empty() || self.code.parse::<u16>().is_ok();
        let times = [&self.since, &self.until];
        code && times.iter().all(|time| complaint_of_time(time).is_none())
    }

    /// The same with times that stay while page after page is read.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let fixed = |text: &str| {
            let at = time(text, now).map(|time| time.to_string());
            at.unwrap_or_else(|| text.to_owned())
        };
        Self {
            since: fixed(&self.since),
            until: fixed(&self.until),
            ..self.clone()
        }
    }

    /// Where it is asked for, from the newest on or from where a page ended.
    pub fn question(&self, after: Option<&str>) -> String {
        let limit = PAGE_SIZE.to_string();
        let said = self.said();
        let after = after.map(|after| ("continue", after));
        let parts = said.chain([("limit", limit.as_str())]).chain(after);
        let parts: Vec<_> = parts
            .map(|(name, value)| format!("{name}={}", segment(value)))
            .collect();
        format!("/v1/audit?{}", parts.join("&"))
    }

    /// The command that asks for the same, which takes times by how long ago they are.
    pub fn command(&self, now: Timestamp) -> String {
        let mut line = "drover audit".to_owned();
        for (name, value) in self.said() {
            let value = match name {
                "since" | "until" => ago(value, now),
                _ => value.to_owned(),
            };
            line = format!("{line} --{name}={}", shell::word(&value));
        }
        line
    }
}

/// A time as it is typed: how long ago, or itself.
fn time(text: &str, now: Timestamp) -> Option<Timestamp> {
    let Some(seconds) = lifetime::parse(text) else {
        return text.parse().ok();
    };
    let ago = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
    // What is longer ago than time goes back is any time.
    Some(now.checked_sub(ago).unwrap_or(Timestamp::UNIX_EPOCH))
}

fn ago(text: &str, now: Timestamp) -> String {
    match text.parse::<Timestamp>() {
        Ok(at) => format!("{}s", now.duration_since(at).as_secs().max(0)),
        Err(_) => text.to_owned(),
    }
}

/// What is wrong with a time before the server is asked; nothing while none is typed.
pub fn complaint_of_time(text: &str) -> Option<String> {
    let wrong = !text.is_empty() && time(text, Timestamp::UNIX_EPOCH).is_none();
    wrong.then(|| t().audit.time_help().to_owned())
}

/// How a request ended, in words.
pub fn outcome(outcome: AuditOutcome) -> &'static str {
    match outcome {
        AuditOutcome::Open => t().audit.open(),
        AuditOutcome::Complete => t().audit.complete(),
        AuditOutcome::Refused => t().audit.refused(),
        AuditOutcome::ClientGone => t().audit.client_gone(),
        AuditOutcome::UpstreamGone => t().audit.cluster_gone(),
        AuditOutcome::Revoked => t().audit.revoked(),
    }
}

/// What an end means for who looks for trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It went well, or goes on.
    Fine,
    /// It was not let through, or the cluster said no.
    Refused,
    /// Something failed.
    Failed,
    /// It was left.
    Left,
}

/// What the end of a record means.
pub const fn weight(record: &AuditView) -> Weight {
    match (record.outcome, record.code) {
        (AuditOutcome::UpstreamGone, _) | (_, Some(500..)) => Weight::Failed,
        (AuditOutcome::Refused | AuditOutcome::Revoked, _) | (_, Some(400..)) => Weight::Refused,
        (AuditOutcome::ClientGone, _) => Weight::Left,
        (AuditOutcome::Open | AuditOutcome::Complete, _) => Weight::Fine,
    }
}

/// What was done: to what it was about, or how many requests the record stands for.
pub fn what(record: &AuditView) -> String {
    let path = record.path.as_deref().unwrap_or_default();
    match (&record.object, record.count) {
        (_, Some(count)) => t().audit.unauthenticated(count),
        (Some(object), None) => format!("{path} ({object})"),
        (None, None) => path.to_owned(),
    }
}

/// How it ended in a few words: `403 refused`.
pub fn end(record: &AuditView) -> String {
    let words = outcome(record.outcome);
    match record.code {
        Some(code) => format!("{code} {words}"),
        None => words.to_owned(),
    }
}

/// How long it took: `12 ms`, `3 minutes`.
pub fn lasted(record: &AuditView) -> String {
    let ms = record.duration_ms.max(0.0);
    if ms < 1000.0 {
        return t().durations.milliseconds_rounded(ms);
    }
    if ms < 60_000.0 {
        return t().durations.seconds_rounded(ms / 1000.0);
    }
    t().durations.minutes_rounded(ms / 60_000.0)
}

/// Every field of a record that says something, each with its heading.
pub fn facts(record: &AuditView) -> Vec<(&'static str, String)> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<u64>| number.map(|it| it.to_string()).unwrap_or_default();
    let all = [
        (t().audit.time(), record.time.to_string()),
        (t().audit.duration(), lasted(record)),
        (t().audit.request(), text(&record.id)),
        (t().labels.user(), text(&record.user)),
        (t().audit.user_uid(), text(&record.user_uid)),
        (t().audit.token(), text(&record.token)),
        (t().audit.impersonated(), text(&record.acting_as)),
        (t().audit.source(), text(&record.source)),
        (t().labels.cluster(), text(&record.cluster)),
        (t().audit.cluster_uid(), text(&record.cluster_uid)),
        (t().access.verb(), text(&record.verb)),
        (t().audit.method(), text(&record.method)),
        (t().audit.path(), text(&record.path)),
        (t().audit.path_length(), number(record.path_bytes)),
        (t().access.object(), text(&record.object)),
        (t().audit.requests(), number(record.count)),
        (t().audit.outcome(), end(record)),
        (t().audit.reason(), text(&record.reason)),
        (t().audit.bytes_in(), number(record.bytes_in)),
        (t().audit.bytes_out(), number(record.bytes_out)),
    ];
    all.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// What was read, part by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The records, newest first.
    pub records: Vec<AuditView>,
    /// Where older ones begin; `None` if there are none.
    pub older: Option<String>,
    /// Since when all records are kept.
    pub kept_since: Option<Timestamp>,
    /// Where they are read from.
    pub source: Option<AuditSource>,
    /// Lines that are no records.
    pub unreadable: u64,
}

impl Reading {
    /// Adds what the server gave next.
    pub fn take(&mut self, list: AuditList) {
        self.records.extend(list.items);
        self.older = list.continue_token;
        self.kept_since = list.kept_since;
        self.source = Some(list.source);
        self.unreadable = self.unreadable.saturating_add(list.unreadable);
    }
}

#[cfg(test)]
mod tests;
