use serde_json::json;

use super::*;

fn record(fields: &serde_json::Value) -> AuditView {
    let mut record = json!({
        "time": "2026-11-22T10:00:00Z", "stage": "end", "outcome": "complete", "durationMs": 12.4,
    });
    let value = fields.as_object().unwrap().clone();
    record.as_object_mut().unwrap().extend(value);
    serde_json::from_value(record).unwrap()
}

fn now() -> Timestamp {
    "2026-11-22T12:00:00Z".parse().unwrap()
}

#[test]
fn audit_request_contains_the_filter_with_fixed_times() {
    let typed = Filter {
        user: "ann".to_owned(),
        path: "/v1/users".to_owned(),
        since: "2h".to_owned(),
        ..Filter::default()
    };
    let requested = typed.at(now());
    assert_eq!(
        requested.question(None),
        "/v1/audit?user=ann&path=%2Fv1%2Fusers&since=2026-11-22T10%3A00%3A00Z&limit=200"
    );
    assert!(requested.question(Some("a b")).ends_with("&continue=a%20b"));
    assert_eq!(requested.at(Timestamp::UNIX_EPOCH), requested);
    assert_eq!(Filter::default().question(None), "/v1/audit?limit=200");
}

#[test]
fn audit_request_selects_changes_by_default() {
    let bare = Filter::default().or_changes();
    assert_eq!(bare.question(None), "/v1/audit?verb=changes&limit=200");
    assert_eq!(bare.command(now()), "drover audit --verb=changes");
    let all = Filter {
        verb: ANY.to_owned(),
        ..Filter::default()
    };
    assert_eq!(all.clone().or_changes(), all);
    assert_eq!(all.question(None), "/v1/audit?limit=200");
    assert_eq!(all.command(now()), "drover audit");
    assert!(all.is_empty() && !bare.is_empty());
    assert_eq!(Filter::default().or_any(), all);
    assert!(
        all.parts().contains(&("verb", ANY)),
        "the URL contains the verb"
    );
}

#[test]
fn audit_cli_command_contains_the_selected_filters() {
    let typed = Filter {
        cluster: "berlin".to_owned(),
        outcome: "clientGone".to_owned(),
        since: "2026-11-22T11:00:00Z".to_owned(),
        until: "10m".to_owned(),
        ..Filter::default()
    };
    assert_eq!(
        typed.command(now()),
        "drover audit --cluster=berlin --outcome=clientGone --since=3600s --until=10m"
    );
    assert!(Filter::default().is_empty() && !typed.is_empty());
}

#[test]
fn time_of_the_audit_filter_is_an_age_or_a_timestamp() {
    for (text, good) in [
        ("", true),
        ("7d", true),
        ("2026-11-22T10:00:00Z", true),
        ("2026-11-22T10:00:00+01:00", true),
        ("yesterday", false),
        ("10", false),
    ] {
        assert_eq!(time_error(text).is_none(), good, "{text}");
        let is_valid = Filter::read(&format!("since:{text}")).is_ok();
        assert_eq!(is_valid, good && !text.is_empty(), "{text}");
    }
}

#[test]
fn audit_record_shows_request_and_outcome() {
    let created = record(&json!({
        "user": "ann", "method": "POST", "path": "/v1/users/{name}", "object": "eve",
        "code": 204, "source": "192.0.2.7", "userUid": "u-1",
    }));
    assert_eq!(subject_text(&created), "/v1/users/{name} (eve)");
    assert_eq!(
        (end(&created).as_str(), weight(&created)),
        ("204 complete", OutcomeSeverity::Fine)
    );
    let facts = facts(&created);
    assert!(facts.contains(&("Source", "192.0.2.7".to_owned())));
    assert!(facts.contains(&("User UID", "u-1".to_owned())));
    assert!(!facts.iter().any(|(name, _)| *name == "Cluster"));
    let strangers = record(&json!({ "count": 40, "outcome": "refused", "code": 401 }));
    assert_eq!(subject_text(&strangers), "40 unauthenticated requests");
    for (outcome, code, expected) in [
        ("complete", 403, OutcomeSeverity::Refused),
        ("complete", 502, OutcomeSeverity::Failed),
        ("refused", 503, OutcomeSeverity::Failed),
        ("upstreamGone", 200, OutcomeSeverity::Failed),
        ("revoked", 200, OutcomeSeverity::Refused),
        ("clientGone", 200, OutcomeSeverity::Left),
        ("open", 200, OutcomeSeverity::Fine),
    ] {
        let ended = record(&json!({ "outcome": outcome, "code": code }));
        assert_eq!(weight(&ended), expected, "{outcome} {code}");
    }
}

#[test]
fn audit_record_duration_is_shown_in_milliseconds_seconds_or_minutes() {
    for (ms, expected) in [(12.4, "12 ms"), (1500.0, "1.5 s"), (600_000.0, "10 min")] {
        assert_eq!(lasted(&record(&json!({ "durationMs": ms }))), expected);
    }
}

#[test]
fn empty_pages_of_the_audit_log_are_skipped() {
    let list = |items: Vec<AuditView>, more: Option<&str>| AuditList {
        items,
        continue_token: more.map(str::to_owned),
        kept_since: Some(now()),
        source: AuditSource::File,
        unreadable: 1,
    };
    let mut reading = AuditResults::default();
    reading.take(list(vec![record(&json!({}))], Some("1")));
    reading.take(list(Vec::new(), Some("2")));
    assert_eq!(
        (reading.records.len(), reading.older.as_deref()),
        (1, Some("2"))
    );
    reading.take(list(vec![record(&json!({}))], None));
    assert_eq!((reading.records.len(), reading.older.as_deref()), (2, None));
    assert_eq!(
        (reading.unreadable, reading.source),
        (3, Some(AuditSource::File))
    );
}
