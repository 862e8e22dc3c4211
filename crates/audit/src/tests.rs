//! Tests of the queue and the writer, with a file in a temporary directory.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use jiff::Timestamp;
use tempfile::TempDir;

use super::*;
use drover_access::verb::Verb;

pub(super) fn record(audit: &Audit) -> Record {
    let subject = Subject {
        id: audit.next_id(),
        received: Timestamp::UNIX_EPOCH,
        source: Some([127, 0, 0, 1].into()),
        person: Some(AuditCaller {
            name: "ann\n{\"stage\":\"end\"}".into(),
            uid: "u".into(),
            token: Some("t".into()),
            acting_as: None,
        }),
        cluster: None,
        object: None,
        verb: Verb::Get,
        method: Method::GET,
        target: RequestTarget::of("/api?token=secret"),
    };
    Record {
        subject: Arc::new(subject),
        stage: Stage::End,
        outcome: Outcome::Complete,
        code: Some(200),
        reason: None,
        bytes_in: 1,
        bytes_out: 2,
        duration: Duration::from_millis(3),
    }
}

fn capacity(records: usize) -> Capacity {
    Capacity {
        records,
        ..CAPACITY
    }
}

pub(super) fn file(folder: &TempDir, max_bytes: u64, keep: u32) -> Destination {
    Destination::File {
        path: folder.path().join("log"),
        max_bytes,
        keep,
    }
}

#[tokio::test]
async fn audit_record_with_arbitrary_content_is_one_line() {
    let folder = TempDir::new().unwrap();
    let audit = Audit::open(&file(&folder, 1 << 20, 1), &Metrics::new()).unwrap();
    audit.add(record(&audit));
    audit.flush().await;
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(text.lines().count(), 1);
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["user"], "ann\n{\"stage\":\"end\"}");
    assert_eq!(line["path"], "/api?token=(hidden)");
    assert_eq!(line["time"], "1970-01-01T00:00:00Z");
    assert_eq!(line["source"], "127.0.0.1");
}

#[tokio::test]
async fn audit_log_rotates_at_its_size_limit_and_deletes_the_oldest_file() {
    let folder = TempDir::new().unwrap();
    let audit = Audit::open(&file(&folder, 1, 2), &Metrics::new()).unwrap();
    for _ in 0..5 {
        audit.add(record(&audit));
        audit.flush().await;
    }
    drop(audit);
    let count = |name: &str| {
        std::fs::read_to_string(folder.path().join(name))
            .unwrap()
            .lines()
            .count()
    };
    assert_eq!((count("log.1"), count("log.2")), (1, 1));
    assert!(!folder.path().join("log.3").exists());
}

#[tokio::test]
async fn restarted_server_appends_to_the_audit_log() {
    let folder = TempDir::new().unwrap();
    for _ in 0..2 {
        let audit = Audit::open(&file(&folder, 1 << 20, 1), &Metrics::new()).unwrap();
        audit.add(record(&audit));
        audit.flush().await;
    }
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let ids: std::collections::BTreeSet<_> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 2, "ids of two starts differ: {text}");
}

#[test]
fn error_of_unopenable_audit_log_contains_the_fix() {
    let error = Audit::open(&Destination::named("/nowhere/at/all/log"), &Metrics::new());
    let text = error.err().unwrap().to_string();
    assert!(text.contains("name a file"), "{text}");
}

/// This test writes to `/dev/full`. Writes to `/dev/full` fail, like writes to a full disk.
#[tokio::test]
async fn requests_are_rejected_while_audit_records_cannot_be_written() {
    let metrics = Metrics::new();
    let full = Destination::File {
        path: "/dev/full".into(),
        max_bytes: u64::MAX,
        keep: 0,
    };
    let audit =
        Audit::with_limits(&full, &metrics, capacity(2), Duration::from_millis(50)).unwrap();
    let admitted = AtomicUsize::new(0);
    let refused = async {
        loop {
            match audit.admit().await {
                Ok(()) => {
                    admitted.fetch_add(1, Ordering::SeqCst);
                    audit.add(record(&audit));
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(AuditFull) => return,
            }
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), refused).await;
    waited.expect("requests are refused before long");
    // The writer holds one batch, and another batch waits.
    assert!(admitted.load(Ordering::SeqCst) <= 8);
    // The writer's thread may not have run before the first refusal.
    let reported = async {
        while audit.problem().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), reported).await;
    waited.expect("the writer reports the failed write");
    assert!(metrics.audit_write_errors.get() > 0 && metrics.audit_waits.get() > 0);
    // The queue still accepts records of requests in flight.
    audit.add(record(&audit));
}

#[tokio::test]
async fn waiting_requests_continue_when_the_audit_queue_has_free_space() {
    let folder = TempDir::new().unwrap();
    let destination = file(&folder, u64::MAX, 0);
    let audit =
        Audit::with_limits(&destination, &Metrics::new(), capacity(1), ADMIT_TIMEOUT).unwrap();
    for _ in 0..50 {
        audit.admit().await.unwrap();
        audit.add(record(&audit));
    }
    audit.flush().await;
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert_eq!(text.lines().count(), 50);
}

#[tokio::test]
async fn long_request_target_is_truncated_and_marked_in_audit_record() {
    let folder = TempDir::new().unwrap();
    let audit = Audit::open(&file(&folder, 1 << 20, 1), &Metrics::new()).unwrap();
    let long = format!("/api/{}?token=secret", "x".repeat(60_000));
    let mut long_record = record(&audit);
    let subject = Arc::make_mut(&mut long_record.subject);
    subject.target = RequestTarget::of(&long);
    subject.method = short_method(&"M".repeat(5000).parse().unwrap());
    audit.add(long_record);
    audit.flush().await;
    let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(text.len() < 3000, "{} bytes", text.len());
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["pathBytes"], long.len());
    assert!(line["path"].as_str().is_some_and(|path| path.len() == 2048));
}

#[tokio::test]
async fn size_of_queued_audit_records_is_limited() {
    let bytes = Capacity {
        records: 1_000_000,
        bytes: 3000,
    };
    let full = Destination::File {
        path: "/dev/full".into(),
        max_bytes: u64::MAX,
        keep: 0,
    };
    let admit_timeout = Duration::from_millis(50);
    let audit = Audit::with_limits(&full, &Metrics::new(), bytes, admit_timeout).unwrap();
    let refused = async {
        while audit.admit().await.is_ok() {
            let mut long = record(&audit);
            Arc::make_mut(&mut long.subject).target = RequestTarget::of(&"/".repeat(2000));
            audit.add(long);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), refused).await;
    waited.expect("requests are refused before long");
}

#[tokio::test]
async fn counts_of_rejected_unauthenticated_requests_are_written_without_further_requests() {
    let folder = TempDir::new().unwrap();
    let audit = Audit::open(&file(&folder, 1 << 20, 1), &Metrics::new()).unwrap();
    for _ in 0..1000 {
        let mut refused = record(&audit);
        Arc::make_mut(&mut refused.subject).person = None;
        (refused.outcome, refused.reason) = (Outcome::Refused, Some("NoIdentity"));
        refused.code = Some(401);
        audit.add(refused);
    }
    let counted = async {
        loop {
            let text = std::fs::read_to_string(folder.path().join("log")).unwrap();
            if text.lines().count() >= 2 {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let text = tokio::time::timeout(Duration::from_secs(20), counted).await;
    let text = text.expect("the writer writes the count");
    let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&line["count"], &line["code"]), (&999.into(), &401.into()));
    assert_eq!(
        (&line["source"], &line["reason"]),
        (&"127.0.0.1".into(), &"NoIdentity".into())
    );
}
