//! Tests of sources.

use std::collections::HashSet;

use drover_rows::Column;

use super::content::{MAX_CHANGES, MAX_CHANGES_BYTES};
use super::*;
use crate::testing::key;

fn columns() -> Columns {
    let column = |name: &str| Column::new(name.to_owned(), "string", String::new(), false);
    ["Name", "Status"].map(column).into()
}

fn content(name: &str, status: &str) -> (Key, RowContent) {
    let content = RowContent {
        name: name.to_owned(),
        cells: vec![name.to_owned(), status.to_owned()],
        ..RowContent::default()
    };
    (("".into(), name.into()), content)
}

fn put(source: &Source, columns: &Columns, name: &str, status: &str) {
    let (key, content) = content(name, status);
    source.put(columns, key, content, Timestamp::UNIX_EPOCH);
}

fn names(news: News) -> Vec<String> {
    let mut names: Vec<String> = match news {
        News::All(items) => items
            .iter()
            .map(|item| item.row.name().to_owned())
            .collect(),
        News::Changes(changes) => {
            let name = |change: Change| {
                let (sign, item) = match (change.new, change.old) {
                    (Some(new), _) => ('+', new),
                    (None, Some(old)) => ('-', old),
                    (None, None) => return "?".to_owned(),
                };
                format!("{sign}{}", item.row.name())
            };
            changes.into_iter().map(name).collect()
        }
    };
    names.sort();
    names
}

#[test]
fn page_receives_the_changes_after_its_revision() {
    let source = Source::new(key("a", "/pods"), Budget::new(1 << 20));
    let columns = columns();
    put(&source, &columns, "web", "Running");
    let first = source.read(None);
    assert_eq!(names(first.news), ["web"]);
    put(&source, &columns, "web", "Running");
    assert_eq!(
        source.read(Some(first.revision)).revision,
        first.revision,
        "an equal row"
    );
    put(&source, &columns, "web", "Error");
    put(&source, &columns, "api", "Running");
    source.delete(&content("web", "").0);
    let next = source.read(Some(first.revision));
    assert_eq!(names(next.news), ["+api", "+web", "-web"]);
}

#[test]
fn page_that_missed_more_changes_than_stored_receives_all_rows() {
    let source = Source::new(key("a", "/pods"), Budget::new(1 << 20));
    let columns = columns();
    let seen = source.read(None).revision;
    for number in 0..MAX_CHANGES {
        put(
            &source,
            &columns,
            &format!("p{}", number % 3),
            &number.to_string(),
        );
    }
    assert!(matches!(source.read(Some(seen)).news, News::Changes(_)));
    put(&source, &columns, "p0", "last");
    assert_eq!(names(source.read(Some(seen)).news), ["p0", "p1", "p2"]);
}

#[test]
fn complete_list_removes_rows_that_no_longer_exist() {
    let source = Source::new(key("a", "/pods"), Budget::new(1 << 20));
    let columns = columns();
    let rows = vec![content("a", "x"), content("b", "x")];
    source.add_page(&columns, rows, Timestamp::UNIX_EPOCH);
    let listed = source.add_page(&columns, vec![content("b", "x")], Timestamp::UNIX_EPOCH);
    source.keep(&HashSet::from_iter(listed));
    assert_eq!(names(source.read(None).news), ["b"]);
}

#[test]
fn rows_above_the_memory_limit_are_dropped_and_the_list_is_truncated() {
    let budget = Budget::new(2_000);
    let columns = columns();
    let source = Source::new(key("a", "/pods"), Arc::clone(&budget));
    for number in 0..100 {
        put(&source, &columns, &format!("pod-{number}"), "Running");
    }
    let reading = source.read(None);
    assert!(reading.truncated && reading.rows > 0 && reading.rows < 100);
    assert!(budget.used() <= 2_000);
    // A row that grows above the limit is also dropped.
    put(&source, &columns, "pod-0", &"x".repeat(4_000));
    assert_eq!(source.read(None).rows, reading.rows - 1);
    assert!(!source.dropped_rows_fit());
    for number in 0..100 {
        source.delete(&content(&format!("pod-{number}"), "").0);
    }
    assert!(!source.read(None).truncated, "no dropped row exists");
    drop((reading, source));
    assert_eq!(budget.used(), 0, "the memory of an ended source is free");
}

#[test]
fn list_is_complete_when_a_dropped_row_fits_again() {
    let budget = Budget::new(2_000);
    let (columns, source) = (
        columns(),
        Source::new(key("a", "/pods"), Arc::clone(&budget)),
    );
    put(&source, &columns, "small", "Running");
    put(&source, &columns, "large", &"x".repeat(1_200));
    let truncated = || source.read(None).truncated;
    assert!(truncated() && !source.dropped_rows_fit());
    source.delete(&content("small", "").0);
    assert!(
        truncated() && source.dropped_rows_fit(),
        "a new list is useful"
    );
    put(&source, &columns, "large", &"x".repeat(1_200));
    assert!(!truncated() && !source.dropped_rows_fit());
}

#[test]
fn refused_list_has_no_rows() {
    let source = Source::new(key("a", "/pods"), Budget::new(1 << 20));
    put(&source, &columns(), "web", "Running");
    source.set_state(SourceState::Live);
    let seen = source.read(None).revision;
    source.refuse(crate::clusters::problem(403, "Forbidden", "no role"));
    let reading = source.read(Some(seen));
    assert_eq!(
        (reading.rows, names(reading.news)),
        (0, vec!["-web".to_owned()])
    );
    assert!(matches!(reading.state, SourceState::Failed(_)));
}

#[test]
fn stored_changes_have_a_memory_limit() {
    let source = Source::new(key("a", "/pods"), Budget::new(1 << 30));
    let columns = columns();
    put(&source, &columns, "web", "");
    let seen = source.read(None).revision;
    let large = MAX_CHANGES_BYTES / 4;
    for number in 0..8 {
        put(
            &source,
            &columns,
            "web",
            &format!("{number}{}", "x".repeat(large)),
        );
    }
    assert!(source.state.lock().changes_bytes <= MAX_CHANGES_BYTES);
    assert_eq!(
        names(source.read(Some(seen)).news),
        ["web"],
        "the page receives all rows"
    );
}

#[test]
fn interrupted_source_with_rows_is_stale_and_without_rows_failed() {
    let source = Source::new(key("a", "/pods"), Budget::new(1 << 20));
    let problem = crate::clusters::problem(503, "", "away");
    source.set_problem(problem.clone(), Timestamp::UNIX_EPOCH);
    assert!(matches!(source.read(None).state, SourceState::Failed(_)));
    source.set_state(SourceState::Live);
    let later = Timestamp::from_second(9).unwrap();
    source.set_problem(problem.clone(), later);
    source.set_problem(problem, Timestamp::MAX);
    let state = source.read(None).state;
    assert!(matches!(state, SourceState::Stale { since, .. } if since == later));
}
