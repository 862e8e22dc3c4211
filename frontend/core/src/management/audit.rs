//! The queries of the audit log, and the texts for audit records.

mod query;

use drover_api::rest::{AuditList, AuditOutcome, AuditSource, AuditView};
use jiff::{SignedDuration, Timestamp};

use crate::lifetime;
use crate::messages::t;
use crate::shell;
use crate::url::segment;
pub use query::suggestions;

/// The number of records per page.
pub const PAGE_SIZE: usize = 200;
/// The number of records after which the search pauses.
pub const MIN_RECORDS: usize = 100;
/// The maximum number of pages per search. A page reads several megabytes of the log.
pub const MAX_PARTS: usize = 25;

/// The value of the verb filter for all writes.
pub const CHANGES: &str = "changes";
/// The value of the verb filter for all requests.
pub const ANY: &str = "any";

/// The filter as entered. An empty field matches all records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The exact user name.
    pub user: String,
    /// The exact name of the cluster.
    pub cluster: String,
    /// A verb such as `get` or `delete`, [`CHANGES`], or [`ANY`].
    pub verb: String,
    /// The outcome, spelled as in audit records.
    pub outcome: String,
    /// The HTTP status code.
    pub code: String,
    /// A part of the request path.
    pub path: String,
    /// The name of the changed user, cluster, token or setting.
    pub object: String,
    /// The start time: a timestamp or an age such as `2h`.
    pub since: String,
    /// The end time: a timestamp or an age such as `2h`.
    pub until: String,
}

impl Filter {
    /// Returns the filter's fields with their names in URLs and in the API.
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

    /// Reports whether the filter matches all records.
    pub fn is_empty(&self) -> bool {
        self.said().next().is_none()
    }

    /// Returns a filter that matches all records.
    pub fn all() -> Self {
        Self {
            verb: ANY.to_owned(),
            ..Self::default()
        }
    }

    /// Sets the verb filter to [`CHANGES`] if the filter has no verb.
    #[must_use]
    pub fn or_changes(mut self) -> Self {
        if self.verb.is_empty() {
            CHANGES.clone_into(&mut self.verb);
        }
        self
    }

    /// Sets the verb filter to [`ANY`] if the filter has no verb. A URL without a verb means
    /// [`CHANGES`].
    #[must_use]
    pub fn or_any(mut self) -> Self {
        if self.verb.is_empty() {
            ANY.clone_into(&mut self.verb);
        }
        self
    }

    /// Returns the filter's fields that are not empty.
    fn said(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = self.parts().into_iter();
        parts.filter(|part| !part.1.is_empty() && *part != ("verb", ANY))
    }

    /// Replaces ages with absolute times, so that all pages use the same times.
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

    /// Returns the request path of a page.
    pub fn question(&self, after: Option<&str>) -> String {
        let limit = PAGE_SIZE.to_string();
        let text = self.said();
        let after = after.map(|after| ("continue", after));
        let parts = text.chain([("limit", limit.as_str())]).chain(after);
        let parts: Vec<_> = parts
            .map(|(name, value)| format!("{name}={}", segment(value)))
            .collect();
        format!("/v1/audit?{}", parts.join("&"))
    }

    /// Returns the equivalent command. Absolute times become ages.
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

/// Parses a timestamp or an age.
fn time(text: &str, now: Timestamp) -> Option<Timestamp> {
    let Some(seconds) = lifetime::parse(text) else {
        return text.parse().ok();
    };
    let ago = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
    // An age beyond the time range means the earliest time.
    Some(now.checked_sub(ago).unwrap_or(Timestamp::UNIX_EPOCH))
}

fn ago(text: &str, now: Timestamp) -> String {
    match text.parse::<Timestamp>() {
        Ok(at) => format!("{}s", now.duration_since(at).as_secs().max(0)),
        Err(_) => text.to_owned(),
    }
}

/// Returns the error of an entered time. Returns `None` for an empty or valid time.
fn time_error(text: &str) -> Option<String> {
    let wrong = !text.is_empty() && time(text, Timestamp::UNIX_EPOCH).is_none();
    wrong.then(|| t().audit.time_help().to_owned())
}

/// Returns the text for an outcome.
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

/// The severity of an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeSeverity {
    /// The request succeeded or is in progress.
    Fine,
    /// Drover or the cluster rejected the request.
    Refused,
    /// The request failed.
    Failed,
    /// The client aborted the request.
    Left,
}

/// Returns the severity of a record.
pub const fn weight(record: &AuditView) -> OutcomeSeverity {
    match (record.outcome, record.code) {
        (AuditOutcome::UpstreamGone, _) | (_, Some(500..)) => OutcomeSeverity::Failed,
        (AuditOutcome::Refused | AuditOutcome::Revoked, _) | (_, Some(400..)) => {
            OutcomeSeverity::Refused
        }
        (AuditOutcome::ClientGone, _) => OutcomeSeverity::Left,
        (AuditOutcome::Open | AuditOutcome::Complete, _) => OutcomeSeverity::Fine,
    }
}

/// Returns the path and the object, or the number of summarized requests.
pub fn subject_text(record: &AuditView) -> String {
    let path = record.path.as_deref().unwrap_or_default();
    match (&record.object, record.count) {
        (_, Some(count)) => t().audit.unauthenticated(count),
        (Some(object), None) => format!("{path} ({object})"),
        (None, None) => path.to_owned(),
    }
}

/// Returns status code and outcome: `403 refused`.
pub fn end(record: &AuditView) -> String {
    let words = outcome(record.outcome);
    match record.code {
        Some(code) => format!("{code} {words}"),
        None => words.to_owned(),
    }
}

/// Returns the duration of the request: `12 ms`, `3 min`.
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

/// Returns the non-empty fields of a record with their labels.
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

/// The result of a search in the audit log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditResults {
    /// The found records, newest first.
    pub records: Vec<AuditView>,
    /// The continue token of the next page; `None` after the last page.
    pub older: Option<String>,
    /// The time of the oldest stored record.
    pub kept_since: Option<Timestamp>,
    /// The storage of the records: memory or log file.
    pub source: Option<AuditSource>,
    /// The number of lines that are not valid records.
    pub unreadable: u64,
}

impl AuditResults {
    /// Adds a page of records.
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
