//! Implements `drover audit`.

use drover_api::rest::{AuditList, AuditView};
use jiff::Timestamp;

use crate::args::{AuditArgs, AuditFormat, DurationArg};
use crate::client::Client;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::encode_line;
use crate::table::{DASH, Table, or_dash, span};
use crate::terminal::{PrintError, notice, print};

/// Maximum number of records in one page.
const PAGE: usize = 500;

const HEADINGS: &[&str] = &[
    "TIME", "USER", "CLUSTER", "VERB", "REQUEST", "OUTCOME", "CODE",
];

/// Prints the records of the audit log that match the filters.
pub(crate) async fn run(args: &AuditArgs, environment: &Environment) -> Result<(), Failure> {
    let client = environment.client(&args.connection)?;
    let query = query(args, Timestamp::now());
    let mut remaining = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let (mut records, mut unreadable, mut next) = (Vec::new(), 0, None);
    let kept_since = loop {
        let page = page(&client, &query, remaining.min(PAGE), next.as_deref()).await?;
        remaining = remaining.saturating_sub(page.items.len());
        unreadable += page.unreadable;
        match args.format {
            AuditFormat::Json => print(&json(&page.items)?)?,
            AuditFormat::Table => records.extend(page.items),
        }
        next = page.continue_token;
        if next.is_none() || remaining == 0 {
            break page.kept_since;
        }
    };
    if args.format == AuditFormat::Table {
        match (&*records, kept_since) {
            ([], None) => notice("The audit log is empty."),
            ([], Some(since)) => {
                notice(&format!(
                    "No records match. The audit log begins at {since:.0}."
                ));
            }
            (records, _) => print(&table(records))?,
        }
    }
    if next.is_some() {
        notice(
            "More records may exist. Increase --limit, or use filters such as --since and --user.",
        );
    }
    if unreadable > 0 {
        notice(&format!(
            "Skipped {unreadable} lines or files of the audit log that cannot be parsed."
        ));
    }
    Ok(())
}

async fn page(
    client: &Client,
    query: &[(&str, String)],
    limit: usize,
    after: Option<&str>,
) -> Result<AuditList, Failure> {
    let limit = limit.to_string();
    let mut query: Vec<_> = query.iter().map(|(name, text)| (*name, &**text)).collect();
    query.push(("limit", &limit));
    query.extend(after.map(|after| ("continue", after)));
    Ok(client.get_with(&["v1", "audit"], &query).await?)
}

/// Converts the filters to query parameters. Converts an age, such as `2h`, to a timestamp.
fn query(args: &AuditArgs, now: Timestamp) -> Vec<(&'static str, String)> {
    let ago = |ago: Option<DurationArg>| {
        // An age beyond the range of a timestamp selects all records.
        let time = ago.map(|ago| now.checked_sub(ago.0).unwrap_or(Timestamp::UNIX_EPOCH));
        time.map(|time| time.to_string())
    };
    let code = args.code.map(|code| code.to_string());
    [
        ("user", args.user.clone()),
        ("cluster", args.cluster.clone()),
        ("verb", args.verb.clone()),
        ("outcome", args.outcome.clone()),
        ("code", code),
        ("path", args.path.clone()),
        ("object", args.object.clone()),
        ("since", ago(args.since)),
        ("until", ago(args.until)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

fn json(records: &[AuditView]) -> Result<String, PrintError> {
    records.iter().map(encode_line).collect()
}

fn table(records: &[AuditView]) -> String {
    let mut table = Table::new(HEADINGS);
    for record in records {
        let code = record.code.map(|code| code.to_string());
        table.row(&[
            format!("{:.0}", record.time),
            or_dash(record.user.as_deref()),
            or_dash(record.cluster.as_deref()),
            or_dash(record.verb.as_deref()),
            request(record),
            outcome(record),
            or_dash(code.as_deref()),
        ]);
    }
    table.render()
}

/// Returns the request's path and object, or the number of requests that the record summarizes.
fn request(record: &AuditView) -> String {
    match (&record.path, &record.object, record.count) {
        (_, _, Some(count)) => {
            let source = record.source.as_deref().unwrap_or("many networks");
            format!("{count} unauthenticated requests from {source}")
        }
        (Some(path), Some(object), None) => format!("{path} ({object})"),
        (Some(path), None, None) => path.clone(),
        (None, _, None) => DASH.to_owned(),
    }
}

/// Returns the outcome with its reason. If the record has no reason and the request took 10 s or
/// more, returns the outcome with the duration.
fn outcome(record: &AuditView) -> String {
    let outcome = record.outcome.as_str();
    match &record.reason {
        Some(reason) => format!("{outcome} ({reason})"),
        None if record.duration_ms >= 10_000.0 => {
            let lasted = std::time::Duration::try_from_secs_f64(record.duration_ms / 1e3);
            let lasted = lasted.unwrap_or_default().as_secs();
            format!("{outcome} after {}", span(lasted))
        }
        None => outcome.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn records() -> Vec<AuditView> {
        let records = json!([
            {
                "time": "2026-11-22T10:00:00.123Z", "stage": "end", "id": "a-1", "user": "ann",
                "cluster": "shop", "verb": "watch", "path": "/api/v1/pods?watch=true",
                "outcome": "revoked", "code": 200, "reason": "TokenGone", "durationMs": 61_000.0,
            },
            {
                "time": "2026-11-22T09:00:00Z", "stage": "end", "id": "a-2", "user": "bob",
                "verb": "delete", "path": "/v1/users/{name}", "object": "eve\u{1b}[2J",
                "outcome": "complete", "code": 204, "durationMs": 12_000.0,
            },
            {
                "time": "2026-11-22T08:00:00Z", "stage": "end", "source": "192.0.2.1",
                "outcome": "refused", "code": 401, "reason": "Unauthorized", "count": 7,
                "durationMs": 1000.0,
            },
        ]);
        serde_json::from_value(records).unwrap()
    }

    #[test]
    fn control_characters_in_audit_records_are_replaced() {
        insta::assert_snapshot!(table(&records()));
    }

    #[test]
    fn audit_record_is_printed_as_one_line_of_json() {
        let text = json(&records()).unwrap();
        let read = text.lines().map(|line| serde_json::from_str(line).unwrap());
        assert_eq!(read.collect::<Vec<AuditView>>(), records());
    }

    #[test]
    fn audit_filters_are_sent_as_query_parameters() {
        use crate::args::{ClientArgs, ClientCommand};
        use clap::Parser as _;
        let typed = "drover audit --user ann --verb delete --code 403 --since 1h --path pods";
        let args = ClientArgs::parse_from(typed.split(' '));
        let ClientCommand::Audit(args) = args.command else {
            panic!("{typed}")
        };
        let now = "2026-11-22T10:00:00Z".parse().unwrap();
        let requested: Vec<_> = query(&args, now)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            requested.join("&"),
            "user=ann&verb=delete&code=403&path=pods&since=2026-11-22T09:00:00Z"
        );
    }
}
