//! Tests of reading a log in a temporary directory or in memory.

use std::fmt::Write as _;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use crate::tests::{file, record};
use crate::{Audit, Outcome};
use drover_telemetry::Metrics;

/// Returns a line as the writer writes it, for request `number`. The request arrived `number`
/// seconds after midnight.
fn line(number: u32) -> String {
    let (minute, second) = (number / 60 % 60, number % 60);
    format!(
        r#"{{"time":"2026-11-22T10:{minute:02}:{second:02}Z","stage":"end","id":"a-{number:x}","source":"192.0.2.1","user":"ann","userUid":"u","token":"t","actingAs":null,"cluster":"shop","clusterUid":"c","verb":"get","method":"GET","path":"/api/v1/pods/p{number}","outcome":"complete","code":200,"reason":null,"bytesIn":0,"bytesOut":7,"durationMs":1.5}}"#
    )
}

fn lines(numbers: std::ops::Range<u32>) -> String {
    numbers.fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}", line(number));
        text
    })
}

fn page_request(limit: usize, after: Option<&str>) -> PageRequest {
    PageRequest {
        filter: Filter::default(),
        limit,
        after: after.map(|after| after.parse().unwrap()),
    }
}

fn ids(page: &AuditList) -> Vec<String> {
    let ids = page.items.iter().filter_map(|item| item.id.clone());
    ids.collect()
}

/// Returns the IDs of these requests, latest first.
fn latest(numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.rev().map(|n| format!("a-{n:x}")).collect()
}

fn second(second: &str) -> Option<Timestamp> {
    format!("2026-11-22T10:00:{second}Z").parse().ok()
}

fn files(folder: &TempDir) -> Files {
    Files::new(folder.path().join("log"), 3)
}

#[tokio::test]
async fn written_audit_record_is_read_with_every_field() {
    let folder = TempDir::new().unwrap();
    let audit = Audit::open(&file(&folder, 1 << 20, 1), &Metrics::new()).unwrap();
    audit.add(record(&audit));
    let mut stranger = record(&audit);
    Arc::make_mut(&mut stranger.subject).person = None;
    (stranger.outcome, stranger.code) = (Outcome::Refused, Some(401));
    for _ in 0..3 {
        audit.add(stranger.clone());
    }
    audit.flush().await;
    let page = audit
        .reader()
        .read("u", page_request(10, None))
        .await
        .unwrap();
    assert_eq!((page.source, page.unreadable), (AuditSource::File, 0));
    assert_eq!(
        page.kept_since,
        Some("1970-01-01T00:00:00.003Z".parse().unwrap())
    );
    let [tally, whole, ann] = &*page.items else {
        panic!("{page:?}")
    };
    assert_eq!((tally.count, tally.code), (Some(2), Some(401)));
    assert_eq!((&tally.id, &tally.verb), (&None, &None));
    assert_eq!((whole.count, &whole.user), (None, &None));
    assert_eq!(ann.user.as_deref(), Some("ann\n{\"stage\":\"end\"}"));
    assert_eq!(ann.path.as_deref(), Some("/api?token=(hidden)"));
    assert_eq!((ann.bytes_in, ann.bytes_out), (Some(1), Some(2)));
}

#[test]
fn audit_log_pages_are_complete_while_the_log_grows_and_rotates() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("log.2"), lines(0..3)).unwrap();
    std::fs::write(at("log.1"), lines(3..6)).unwrap();
    std::fs::write(at("log"), lines(6..9)).unwrap();
    let files = files(&folder);
    let first = files.read(&page_request(2, None)).unwrap();
    assert_eq!(ids(&first), latest(7..9));
    assert_eq!(
        first.kept_since,
        Some("2026-11-22T10:00:00.0015Z".parse().unwrap())
    );

    std::fs::write(at("log"), lines(6..12)).unwrap();
    std::fs::rename(at("log.2"), at("log.3")).unwrap();
    std::fs::rename(at("log.1"), at("log.2")).unwrap();
    std::fs::rename(at("log"), at("log.1")).unwrap();
    std::fs::write(at("log"), lines(12..14)).unwrap();
    let (mut seen, mut next) = (ids(&first), first.continue_token);
    while let Some(after) = next {
        let page = files.read(&page_request(2, Some(&after))).unwrap();
        assert!(!page.items.is_empty(), "an empty page is the last page");
        seen.extend(ids(&page));
        next = page.continue_token;
    }
    assert_eq!(seen, latest(0..9));
}

#[test]
fn page_request_at_a_deleted_audit_record_returns_an_error() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("log"), lines(0..3)).unwrap();
    let files = files(&folder);
    let after = files
        .read(&page_request(1, None))
        .unwrap()
        .continue_token
        .unwrap();
    // The files are truncated, then deleted. The last position is in the memory of another process.
    std::fs::write(at("log"), lines(0..1)).unwrap();
    let cut = files.read(&page_request(1, Some(&after)));
    assert!(matches!(cut, Err(ReadAuditError::Gone)), "{cut:?}");
    std::fs::write(at("log"), lines(5..9)).unwrap();
    let gone = files.read(&page_request(1, Some(&after)));
    assert!(matches!(gone, Err(ReadAuditError::Gone)), "{gone:?}");
    let memory = files.read(&page_request(1, Some("m-1-1")));
    assert!(matches!(memory, Err(ReadAuditError::Gone)), "{memory:?}");
}

#[test]
fn invalid_audit_log_lines_are_skipped_and_counted() {
    let folder = TempDir::new().unwrap();
    let long = format!("{{\"time\":\"{}\"}}", "x".repeat(300_000));
    let text = format!(
        "{}{{\"time\":\"2026-1\n{}{long}\n\n{}{}",
        lines(0..2),
        lines(2..4),
        lines(4..6),
        // The line is only partly written.
        &line(6)[..40],
    );
    std::fs::write(folder.path().join("log"), text).unwrap();
    let files = files(&folder);
    let page = files.read(&page_request(10, None)).unwrap();
    assert_eq!(ids(&page), latest(0..6));
    assert_eq!(
        page.unreadable, 3,
        "the file has a broken, a long and an empty line"
    );
    // Read one record per page as well.
    let (mut seen, mut next) = (Vec::new(), None);
    loop {
        let page = files.read(&page_request(1, next.as_deref())).unwrap();
        seen.extend(ids(&page));
        next = page.continue_token;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(seen, latest(0..6));
}

#[test]
fn each_audit_page_request_reads_limited_bytes_and_continues_after_the_previous_page() {
    let folder = TempDir::new().unwrap();
    let many = 60_000;
    let text = lines(0..many).replace("\"user\":\"ann\"", "\"user\":\"bob\"");
    assert!(text.len() > 2 * 8 * 1024 * 1024);
    let text = format!("{}{text}", lines(0..1));
    std::fs::write(folder.path().join("log"), &text).unwrap();
    let mut ask = page_request(500, None);
    ask.filter.user = Some("ann".to_owned());
    let (mut pages, mut found) = (0, Vec::new());
    loop {
        let page = files(&folder).read(&ask).unwrap();
        pages += 1;
        found.extend(ids(&page));
        let Some(next) = page.continue_token else {
            break;
        };
        ask.after = Some(next.parse().unwrap());
    }
    assert_eq!(found, latest(0..1));
    assert_eq!(pages, text.len().div_ceil(8 * 1024 * 1024));
}

#[test]
fn each_audit_filter_returns_only_matching_records() {
    let folder = TempDir::new().unwrap();
    let other = line(1)
        .replace("\"ann\"", "\"bob\"")
        .replace("\"shop\"", "\"mill\"")
        .replace("\"get\"", "\"delete\"")
        .replace("\"complete\"", "\"refused\"")
        .replace("200", "403")
        .replace("\"path\"", "\"object\":\"x\",\"path\"");
    let text = format!("{}\n{other}\n{}\n", line(0), line(2));
    std::fs::write(folder.path().join("log"), text).unwrap();
    let cases: [(fn(&mut Filter), _); 14] = [
        (|_| {}, 0..3),
        (|filter| filter.user = Some("bob".to_owned()), 1..2),
        (|filter| filter.user = Some("bo".to_owned()), 0..0),
        (|filter| filter.cluster = Some("mill".to_owned()), 1..2),
        (|filter| filter.object = Some("x".to_owned()), 1..2),
        (|filter| filter.path = Some("pods/p1".to_owned()), 1..2),
        (|filter| filter.verb = Some(Verbs::One(Verb::Delete)), 1..2),
        (|filter| filter.verb = Some(Verbs::Changes), 1..2),
        (|filter| filter.outcome = Some(AuditOutcome::Refused), 1..2),
        (|filter| filter.code = Some(403), 1..2),
        (|filter| filter.since = second("01"), 1..3),
        (|filter| filter.until = second("01"), 0..2),
        (
            |filter| (filter.since, filter.until) = (second("01"), second("01")),
            1..2,
        ),
        (
            |filter| (filter.user, filter.code) = (Some("bob".to_owned()), Some(200)),
            0..0,
        ),
    ];
    for (narrow, found) in cases {
        let mut expected = page_request(10, None);
        narrow(&mut expected.filter);
        let page = files(&folder).read(&expected).unwrap();
        assert_eq!(ids(&page), latest(found), "{expected:?}");
        assert_eq!(page.continue_token, None);
    }
}

#[test]
fn search_with_since_filter_continues_past_a_long_stream_and_stops_at_older_records() {
    let folder = TempDir::new().unwrap();
    let stream = line(0)
        .replace("a-0", "a-stream")
        .replace("\"durationMs\":1.5", "\"durationMs\":1500000");
    // The last line is invalid JSON, which detects a search that continues too far.
    let text = format!("{{\n{}{stream}\n{}", lines(0..900), lines(1500..1510));
    std::fs::write(folder.path().join("log"), text).unwrap();
    let mut ask = page_request(500, None);
    ask.filter.since = "2026-11-22T10:14:50Z".parse().ok();
    let page = files(&folder).read(&ask).unwrap();
    let mut found = latest(1500..1510);
    found.extend(latest(890..900));
    assert_eq!(ids(&page), found);
    assert_eq!((page.unreadable, page.continue_token), (0, None));
}

#[test]
fn audit_memory_keeps_latest_records_and_reports_dropped_records() {
    let recent = Recent::default();
    recent.keep(lines(0..5).as_bytes());
    let first = recent.read(&page_request(2, None)).unwrap();
    assert_eq!(
        (ids(&first), first.source),
        (latest(3..5), AuditSource::Memory)
    );
    recent.keep(lines(5..6).as_bytes());
    let after = first.continue_token.unwrap();
    let second = recent.read(&page_request(5, Some(&after))).unwrap();
    assert_eq!((ids(&second), second.continue_token), (latest(0..3), None));

    recent.keep(lines(6..10_004).as_bytes());
    let newest = recent.read(&page_request(1, None)).unwrap();
    assert_eq!(
        newest.kept_since,
        Some("2026-11-22T10:00:04.0015Z".parse().unwrap())
    );
    let elsewhere = Recent::default();
    elsewhere.keep(lines(0..5).as_bytes());
    for (memory, after) in [
        (&recent, &after),
        (&elsewhere, &newest.continue_token.unwrap()),
    ] {
        let gone = memory.read(&page_request(1, Some(after)));
        assert!(matches!(gone, Err(ReadAuditError::Gone)), "{gone:?}");
    }
}

#[test]
fn size_of_audit_records_in_memory_is_limited() {
    let recent = Recent::default();
    let long = line(0).replace(
        "\"reason\":null",
        &format!("\"reason\":\"{}\"", "x".repeat(1 << 20)),
    );
    for _ in 0..20 {
        recent.keep(long.as_bytes());
    }
    let page = recent.read(&page_request(500, None)).unwrap();
    assert_eq!(page.items.len(), 7);
}

#[tokio::test]
async fn audit_records_are_read_from_memory_if_the_log_destination_is_unreadable() {
    let nothing = Destination::File {
        path: "/dev/null".into(),
        max_bytes: u64::MAX,
        keep: 0,
    };
    let audit = Audit::open(&nothing, &Metrics::new()).unwrap();
    audit.add(record(&audit));
    audit.flush().await;
    let page = audit
        .reader()
        .read("u", page_request(10, None))
        .await
        .unwrap();
    assert_eq!((page.items.len(), page.source), (1, AuditSource::Memory));
}

#[test]
fn audit_reader_skips_and_counts_directories_and_pipes() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("log"), lines(2..4)).unwrap();
    std::fs::write(at("log.3"), lines(0..2)).unwrap();
    let rest_of = |page: &AuditList| page.continue_token.clone();
    // No process writes to the pipe, so a blocking open would wait without a limit.
    let pipe = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, at("log.1"), pipe, mode, 0).unwrap();
    for other in [
        &(|| std::fs::create_dir(at("log.2")).unwrap()) as &dyn Fn(),
        &|| drop(std::os::unix::net::UnixListener::bind(at("log.2")).unwrap()),
    ] {
        other();
        let page = files(&folder).read(&page_request(3, None)).unwrap();
        assert_eq!((ids(&page), page.unreadable), (latest(1..4), 2));
        let page = files(&folder)
            .read(&page_request(3, rest_of(&page).as_deref()))
            .unwrap();
        assert_eq!((ids(&page), page.unreadable), (latest(0..1), 0));
        let _ = std::fs::remove_dir(at("log.2")).or_else(|_| std::fs::remove_file(at("log.2")));
    }
}

#[tokio::test]
async fn concurrent_audit_log_reads_are_limited_per_user_and_in_total() {
    let reader = Reader::new(Source::Memory(Recent::default()));
    let turn = |user: &str| reader.turns.take(user).unwrap();
    let turns = ["ann", "b", "c", "d"].map(turn);
    let read_as = async |user| reader.read(user, page_request(1, None)).await;
    assert!(matches!(
        read_as("ann").await,
        Err(ReadAuditError::AlreadyReading)
    ));
    assert!(matches!(read_as("eve").await, Err(ReadAuditError::Busy)));
    drop(turns);
    assert!(read_as("eve").await.is_ok() && read_as("ann").await.is_ok());
}
