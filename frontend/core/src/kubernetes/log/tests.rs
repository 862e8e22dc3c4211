use proptest::prelude::*;

use super::*;
use crate::find::Find;

fn texts(log: &Log) -> Vec<&str> {
    log.lines()
        .iter()
        .map(|line| line.entry.text.as_str())
        .collect()
}

fn stamped(second: u32, text: &str) -> Vec<u8> {
    format!("2026-11-22T10:00:{second:02}.123456789Z {text}").into_bytes()
}

#[test]
fn log_line_is_parsed_to_timestamp_and_text_without_escape_sequences() {
    let line =
        Entry::read(b"2026-11-22T10:00:01.5Z \x1b[1;31mERROR\x1b[0m it\tis \x1b]0;title\x07bad\r");
    assert_eq!(line.text, "ERROR it        is bad");
    assert_eq!(line.at, "2026-11-22T10:00:01.5Z".parse().ok());
    assert_eq!(line.level, Level::Error);
    let red = Style {
        color: Some(Color::Red),
        bold: true,
    };
    assert_eq!(line.styles, [(0, red), (5, Style::default())]);
    let without = Entry::read(b"unable to retrieve container logs");
    assert_eq!(
        (without.at, without.text.as_str()),
        (None, "unable to retrieve container logs")
    );
}

#[test]
fn all_ansi_colors_are_parsed_and_incomplete_sequences_are_removed() {
    let color = |code: &str| {
        let line = Entry::read(format!("\u{1b}[{code}mx").as_bytes());
        assert_eq!(line.text, "x", "{code}");
        line.styles.first().and_then(|(_, style)| style.color)
    };
    assert_eq!(color("92"), Some(Color::Green));
    assert_eq!(color("38;5;196"), Some(Color::Red));
    assert_eq!(color("38;2;10;20;200"), Some(Color::Blue));
    assert_eq!(color("48;5;1;33"), Some(Color::Yellow));
    assert_eq!(color("999999"), None);
    for broken in [
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}[31",
        "\u{1b}]0;never ends",
        "\u{1b}(B",
    ] {
        assert_eq!(Entry::read(broken.as_bytes()).text, "", "{broken:?}");
    }
    assert_eq!(
        Entry::read(b"50%\r100%\x07").text,
        "50%\u{240d}100%\u{2407}"
    );
    // Bidirectional control characters are shown as symbols.
    assert_eq!(Entry::read("a\u{202e}b".as_bytes()).text, "a\u{fffd}b");
}

#[test]
fn log_level_is_detected_from_the_line() {
    for (line, expected) in [
        ("E1122 10:04:05.123456 1 main.go:1] x", Level::Error),
        ("W1122 10:04:05.123456 1 main.go:1] x", Level::Warning),
        ("I1122 10:04:05.123456 1 ERROR in a text", Level::Plain),
        ("level=error msg=\"x\"", Level::Error),
        ("time=1 level=info msg=\"error: x\"", Level::Plain),
        (r#"{"level":"warn","msg":"x"}"#, Level::Warning),
        (r#"{"level":50,"msg":"x"}"#, Level::Error),
        ("[debug] x", Level::Debug),
        ("2026-11-22 10:00:00 WARN x", Level::Warning),
        ("panic: runtime error", Level::Error),
        ("GET /error 200", Level::Plain),
        ("50 errors were mended", Level::Plain),
        ("", Level::Plain),
        ("Ü", Level::Plain),
    ] {
        assert_eq!(Level::of(line), expected, "{line}");
    }
}

#[test]
fn long_log_line_is_truncated_with_a_note() {
    let line = Entry::read("ü".repeat(500_000).as_bytes());
    assert!(line.text.len() < 33 * 1024);
    assert!(line.text.contains("more bytes of this line"));
}

#[test]
fn log_line_segments_mark_search_matches_and_colors() {
    let line = Entry::read(b"\x1b[31mred\x1b[0m and red");
    let find = Find::new("D A");
    let segments = line.segments(0..line.text.len(), &find);
    let shown: Vec<(&str, bool, bool)> = segments
        .iter()
        .map(|it| (it.text, it.style.color.is_some(), it.is_found))
        .collect();
    assert_eq!(
        shown,
        [
            ("re", true, false),
            ("d", true, true),
            (" a", false, true),
            ("nd red", false, false)
        ]
    );
    let part = line.segments(1..3, &Find::default());
    assert_eq!(part.len(), 1);
    assert_eq!(part[0].text, "ed");
}

#[test]
fn log_keeps_the_newest_lines_up_to_the_limit() {
    let mut log = Log::default();
    log.find(Find::new("line 1"));
    for number in 0..MAX_LINES + 3 {
        log.push(format!("line {number}").as_bytes());
    }
    assert_eq!((log.lines().len(), log.dropped()), (MAX_LINES, 3));
    assert_eq!(log.lines()[0].number, 3);
    let found = log.lines().iter().filter(|line| line.is_found).count();
    assert_eq!(log.found(), found, "dropped lines are not counted");
}

#[test]
fn paused_log_does_not_change_and_loses_no_lines() {
    let mut log = Log::default();
    log.push(b"a");
    log.pause(true);
    log.push(b"b");
    log.note("It was cut.");
    assert_eq!((texts(&log), log.waiting()), (vec!["a"], 2));
    assert_eq!(log.text(false), "a\nb\n");
    log.pause(false);
    assert_eq!(
        (texts(&log), log.waiting()),
        (vec!["a", "b", "It was cut."], 0)
    );
}

#[test]
fn downloaded_log_contains_container_lines_and_no_notes_of_the_ui() {
    let mut log = Log::default();
    log.push(b"a");
    log.note("The container ended and will be started again.");
    log.push(b"b");
    assert_eq!(texts(&log).len(), 3);
    assert_eq!((log.text(false), log.missing()), ("a\nb\n".to_owned(), 0));
}

#[test]
fn downloaded_log_states_the_number_of_missing_lines() {
    let mut log = Log::default();
    log.push(b"a");
    log.pause(true);
    let mut number = 0;
    let mut push = |log: &mut Log, lines: usize| {
        for _ in 0..lines {
            log.push(format!("line {number}").as_bytes());
            number += 1;
        }
    };
    push(&mut log, MAX_LINES);
    assert!(log.text(false).starts_with("a\nline 0\n"));
    push(&mut log, 1);
    assert!(log.text(false).starts_with("a\nline 1\n"));
    assert_eq!(log.missing(), 1);
    push(&mut log, 1_233);
    let text = log.text(false);
    assert!(text.starts_with("a\nline 1234\n"));
    assert_eq!(
        (text.lines().count(), log.missing()),
        (1 + MAX_LINES, 1_234)
    );
    log.pause(false);
    assert!(log.text(false).starts_with("line 1234\n"));
    assert_eq!((log.lines().len(), log.dropped()), (MAX_LINES, 1_235));
}

#[test]
fn log_lines_are_consecutive_after_a_pause() {
    let mut log = Log::default();
    log.find(Find::new("short"));
    log.push(b"short");
    log.pause(true);
    // The lines stay below the line limit and exceed the byte limit.
    let wide = "x".repeat(32 * 1024);
    for _ in 0..1_000 {
        log.push(wide.as_bytes());
    }
    assert!(log.waiting() < 1_000);
    log.pause(false);
    let lines = log.lines();
    assert_eq!(lines.len() as u64 + log.dropped(), 1_001);
    let (first, last) = (lines.front().unwrap(), lines.back().unwrap());
    assert_eq!(last.number - first.number + 1, lines.len() as u64);
    assert_eq!(log.found(), 0);
}

#[test]
fn resumed_log_has_no_duplicate_and_no_missing_lines() {
    let mut log = Log::default();
    for line in [
        stamped(1, "a"),
        stamped(2, "b"),
        stamped(2, "b"),
        stamped(2, "c"),
    ] {
        log.push(&line);
    }
    log.note("cut");
    let mut position = log.resume_position().unwrap();
    assert_eq!(position.since().to_string(), "2026-11-22T10:00:02Z");
    // The server resends the whole second, with one new `b`.
    for line in [
        stamped(2, "b"),
        stamped(2, "b"),
        stamped(2, "c"),
        stamped(2, "b"),
        stamped(3, "d"),
    ] {
        log.push_new(&line, Some(&mut position));
    }
    assert_eq!(texts(&log), ["a", "b", "b", "c", "cut", "b", "d"]);
    assert_eq!(Log::default().resume_position(), None);
}

#[test]
fn resumed_log_omits_shown_lines_if_one_second_has_more_lines_than_the_limit() {
    let mut log = Log::default();
    for number in 0..MAX_LINES + 5 {
        let nanos = 1_000 + number;
        log.push(format!("2026-11-22T10:00:02.{nanos:09}Z {number}").as_bytes());
    }
    let mut position = log.resume_position().unwrap();
    let mut again = |number: usize| {
        let nanos = 1_000 + number;
        let line = format!("2026-11-22T10:00:02.{nanos:09}Z {number}");
        log.push_new(line.as_bytes(), Some(&mut position))
    };
    assert!(!again(0) && !again(4) && !again(5) && !again(MAX_LINES + 4));
    assert!(again(MAX_LINES + 5));
}

fn request() -> LogRequest {
    LogRequest {
        cluster: "berlin".to_owned(),
        namespace: "shop".to_owned(),
        pod: "web-0".to_owned(),
        container: "web".to_owned(),
        previous: false,
        follow: true,
        since: Since::of_key("1h"),
        tail: 100,
    }
}

#[test]
fn log_request_contains_the_selected_options() {
    let start =
        "/k8s/clusters/berlin/api/v1/namespaces/shop/pods/web-0/log?container=web&timestamps=true";
    let request = request();
    assert_eq!(
        request.path(None),
        format!("{start}&follow=true&sinceSeconds=3600&tailLines=100")
    );
    let mut log = Log::default();
    log.push(&stamped(2, "a"));
    let position = log.resume_position();
    assert_eq!(
        request.path(position.as_ref()),
        format!("{start}&follow=true&sinceTime=2026-11-22T10%3A00%3A02Z")
    );
    let over = LogRequest {
        previous: true,
        since: Since::of_key("?"),
        ..request
    };
    assert_eq!(
        over.path(None),
        format!("{start}&previous=true&tailLines=100")
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_converted_to_printable_log_lines(raw in prop::collection::vec(any::<u8>(), 0..80), wanted in "\\PC{0,2}") {
        let line = Entry::read(&raw);
        prop_assert!(!line.text.chars().any(char::is_control), "{:?}", line.text);
        let find = Find::new(&wanted);
        for columns in [1, 7, 80] {
            let parts = crate::rows::parts(&line.text, columns);
            let shown: String = parts
                .into_iter()
                .flat_map(|part| line.segments(part, &find))
                .map(|segment| segment.text)
                .collect();
            prop_assert_eq!(&shown, &line.text);
        }
    }

    #[test]
    fn arbitrary_escape_sequences_are_removed(text in "[\u{1b}\\[\\];m0-9a-c:?\u{9b}\u{7}]{0,40}") {
        let line = Entry::read(text.as_bytes());
        let escape = line.text.contains('\u{1b}');
        prop_assert!(!escape);
    }
}

fn line_of(source: &LogSource, second: u8, text: &str) -> Entry {
    let raw = format!("2026-11-22T10:00:{second:02}Z {text}");
    Log::read(raw.as_bytes(), source, None).unwrap()
}

#[test]
fn lines_of_many_containers_are_ordered_by_time() {
    let (a, b) = (LogSource::of("a", "app", 0), LogSource::of("b", "app", 0));
    let mut log = Log::default();
    log.merge(vec![
        line_of(&a, 1, "a1"),
        line_of(&a, 5, "a5"),
        line_of(&b, 3, "b3"),
    ]);
    assert_eq!(texts(&log), ["a1", "b3", "a5"]);
    log.note("a note behind a5");
    // The lines of a slow container arrive late.
    log.merge(vec![line_of(&b, 4, "b4"), line_of(&b, 6, "b6")]);
    assert_eq!(
        texts(&log),
        ["a1", "b3", "b4", "a5", "a note behind a5", "b6"]
    );
    let numbers: Vec<u64> = log.lines().iter().map(|line| line.number).collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{numbers:?}"
    );
    assert_eq!(
        log.text(false),
        "a/app a1\nb/app b3\nb/app b4\na/app a5\nb/app b6\n"
    );
}

#[test]
fn line_without_a_time_stays_behind_the_previous_line_of_its_container() {
    let (a, b) = (LogSource::of("a", "app", 0), LogSource::of("b", "app", 0));
    let part = |source: &LogSource, text: &str| Log::read(text.as_bytes(), source, None).unwrap();
    let mut log = Log::default();
    log.merge(vec![
        line_of(&a, 5, "a5"),
        part(&a, "part of a5"),
        line_of(&b, 3, "b3"),
        line_of(&b, 7, "b7"),
    ]);
    assert_eq!(texts(&log), ["b3", "a5", "part of a5", "b7"]);
    log.merge(vec![part(&a, "last part of a5"), line_of(&b, 6, "b6")]);
    assert_eq!(
        texts(&log),
        ["b3", "a5", "part of a5", "last part of a5", "b6", "b7"]
    );
}

#[test]
fn late_lines_of_a_paused_log_are_ordered_when_the_log_continues() {
    let (a, b) = (LogSource::of("a", "app", 0), LogSource::of("b", "app", 0));
    let mut log = Log::default();
    log.merge(vec![line_of(&a, 1, "a1"), line_of(&a, 5, "a5")]);
    log.pause(true);
    log.merge(vec![line_of(&a, 7, "a7")]);
    log.merge(vec![line_of(&b, 4, "b4"), line_of(&b, 6, "b6")]);
    assert_eq!(
        texts(&log),
        ["a1", "a5"],
        "the shown lines of a paused log do not move"
    );
    assert_eq!(log.missing(), 0);
    log.pause(false);
    assert_eq!(texts(&log), ["a1", "b4", "a5", "b6", "a7"]);
}

#[test]
fn stream_of_each_container_resumes_at_its_own_last_line() {
    let (a, b) = (LogSource::of("a", "app", 0), LogSource::of("b", "app", 0));
    let mut log = Log::default();
    log.merge(vec![line_of(&a, 1, "same"), line_of(&b, 9, "same")]);
    let mut position = log.resume_position_of(Some(&a)).unwrap();
    let new = |second: u8, position: &mut ResumePosition| {
        let raw = format!("2026-11-22T10:00:{second:02}Z same");
        Log::read(raw.as_bytes(), &a, Some(position)).is_some()
    };
    assert!(!new(1, &mut position));
    assert!(new(2, &mut position));
    assert_eq!(
        log.resume_position_of(Some(&LogSource::of("c", "app", 0))),
        None
    );
}

#[test]
fn filter_hides_lines_from_the_view_the_search_and_the_download() {
    let a = LogSource::of("a", "app", 0);
    let mut log = Log::default();
    log.find(Find::new("disk"));
    log.filter(LineFilter::new(MinLevel::Warning, None));
    let lines = ["INFO disk ok", "WARN disk slow", "ERROR disk broken"];
    log.merge(
        lines
            .iter()
            .zip(1..)
            .map(|(text, at)| line_of(&a, at, text))
            .collect(),
    );
    assert_eq!((log.hidden(), log.found()), (1, 2));
    assert_eq!(
        log.text(false),
        "a/app WARN disk slow\na/app ERROR disk broken\n"
    );
    let broken = std::sync::Arc::new(|line: &str| line.ends_with("broken"));
    log.filter(LineFilter::new(MinLevel::All, Some(broken)));
    assert_eq!((log.hidden(), log.found()), (2, 1));
    log.filter(LineFilter::default());
    assert_eq!((log.hidden(), log.found()), (0, 3));
}
