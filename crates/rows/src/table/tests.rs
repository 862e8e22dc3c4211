//! Tests of Tables.

use std::cmp::Ordering;
use std::sync::Arc;

use super::*;
use crate::order::{Order, Sorting};
use crate::{Query, Row, Severity};

const PAGE: &str = r#"{"kind":"Table","metadata":{"resourceVersion":"7","continue":"next",
    "remainingItemCount":3},"columnDefinitions":[{"name":"Name","type":"string","priority":0},
    {"name":"Ready","type":"string","priority":1}],"rows":[{"cells":["web",true],"object":
    {"metadata":{"name":"web","namespace":"shop","creationTimestamp":"2026-01-01T00:00:00Z",
    "labels":{"app":"web"},"managedFields":[{"manager":"x"}]}}},{"cells":[null,12]}]}"#;

#[test]
fn page_of_a_table_contains_rows_columns_and_the_next_page() {
    let mut reader = TableReader::default();
    let page = reader.page(PAGE.as_bytes()).unwrap();
    assert_eq!(page.version.as_deref(), Some("7"));
    assert_eq!(
        (page.next.as_deref(), page.remaining),
        (Some("next"), Some(3))
    );
    let (key, content) = &page.rows[0];
    assert_eq!((&*key.0, &*key.1), ("shop", "web"));
    assert_eq!(content.cells, ["web", "True"]);
    assert_eq!(content.labels, [("app".to_owned(), "web".to_owned())]);
    assert!(content.created.is_some());
    assert_eq!(page.rows[1].1.cells, ["", "12"]);
    let wide: Vec<_> = reader.columns().iter().map(|it| it.wide).collect();
    assert_eq!(wide, [false, true]);
}

#[test]
fn rows_of_pods_contain_their_images() {
    let page = r#"{"columnDefinitions":[{"name":"Name","type":"string"}],"rows":[{"cells":["web",
        "a cell without a column"],"object":{"metadata":{"name":"web"},"spec":{"containers":[
        {"name":"a","image":"nginx:1"},{"name":"b","image":"nginx:1"}],"initContainers":[
        {"name":"c","image":"busybox"}]},"status":{"conditions":[{"type":"Ready","status":
        "False"}]}}},{"cells":["old"],"object":{"metadata":{"name":"old"}}}]}"#;
    let mut reader = TableReader::new(Include::Pods);
    let rows = reader.page(page.as_bytes()).unwrap().rows;
    let cells: Vec<_> = rows.iter().map(|(_, row)| row.cells.clone()).collect();
    assert_eq!(cells, [["web", "nginx:1,busybox"], ["old", ""]]);
    let column = reader.columns().last().unwrap();
    assert_eq!((column.key.as_str(), column.wide), ("images", true));
    assert!(
        rows[0].1.notes.is_empty(),
        "the conditions of a pod are no notes"
    );
    let long = "x".repeat(3_000);
    let page = page.replace("busybox", &long);
    let row = &reader.page(page.as_bytes()).unwrap().rows[0].1;
    assert!(row.cells[1].len() < 2_000);
}

#[test]
fn rows_of_events_contain_exact_times_and_the_severity_of_their_type() {
    let page = r#"{"columnDefinitions":[{"name":"Last Seen","type":"string"},{"name":"Type","type":
        "string"},{"name":"Object","type":"string"},{"name":"Count","type":"integer"}],"rows":[
        {"cells":["5h","Warning","pod/web",null],"object":{"metadata":{"name":"web.1","namespace":
        "shop"},"involvedObject":{"kind":"Pod","name":"web"},"firstTimestamp":
        "2026-01-01T00:00:00Z","lastTimestamp":"2026-01-01T00:00:01Z","series":{"count":7,
        "lastObservedTime":"2026-01-01T00:00:09.5Z"}}},{"cells":["1m","Normal","node/a",1],
        "object":{"metadata":{"name":"a.1"},"eventTime":"2026-01-01T00:00:20Z"}}]}"#;
    let mut reader = TableReader::new(Include::Events);
    let rows = reader.page(page.as_bytes()).unwrap().rows;
    let now = jiff::Timestamp::UNIX_EPOCH;
    let row =
        |content: RowContent| Row::new("berlin".into(), Arc::clone(reader.columns()), content, now);
    let rows: Vec<Row> = rows.into_iter().map(|(_, content)| row(content)).collect();
    let cells: Vec<_> = rows
        .iter()
        .map(|row| row.cells().collect::<Vec<_>>())
        .collect();
    assert_eq!(
        cells[0],
        ["2026-01-01T00:00:09.5Z", "Warning", "Pod/web", "7"]
    );
    assert_eq!(cells[1][0], "2026-01-01T00:00:20Z");
    let severities: Vec<_> = rows.iter().map(|row| row.severity).collect();
    assert_eq!(severities, [Severity::Degraded, Severity::Healthy]);
    assert_eq!(rows[0].severity_of(1), Some(Severity::Degraded));
    let newest = Sorting {
        order: Order::of_key("last-seen"),
        descending: false,
    };
    let keys = (newest.value(&rows[0]), newest.value(&rows[1]));
    let order = newest.compare((&keys.0, &rows[0]), (&keys.1, &rows[1]));
    assert_eq!(order, Ordering::Greater, "the newest event is first");
    for (filter, found) in [("type:warning", 1), ("object:pod/web", 1), ("type:x", 0)] {
        let query = Query::read(filter);
        let passing = rows.iter().filter(|row| query.passes(*row)).count();
        assert_eq!(passing, found, "{filter}");
    }
}

#[test]
fn long_cells_of_a_row_are_truncated() {
    let long = Value::from("ü".repeat(4_000));
    let cells = limited(vec![long; 20]);
    assert!(
        cells
            .iter()
            .all(|cell| cell.len() <= MAX_CELL + '…'.len_utf8())
    );
    assert!(cells.concat().len() <= MAX_CELLS + 20 * '…'.len_utf8());
}

#[test]
fn repeated_columns_share_one_allocation() {
    let mut reader = TableReader::default();
    reader.page(PAGE.as_bytes()).unwrap();
    let first = Arc::clone(reader.columns());
    reader.page(PAGE.as_bytes()).unwrap();
    assert!(Arc::ptr_eq(&first, reader.columns()));
}

#[test]
fn watch_events_are_parsed() {
    let mut reader = TableReader::default();
    let mut event = |text: &str| reader.event(text.as_bytes());
    let row = r#"{"metadata":{},"rows":[{"cells":["a"],"object":{"metadata":
        {"name":"a","resourceVersion":"8"}}}]}"#;
    let put = event(&format!(r#"{{"type":"ADDED","object":{row}}}"#)).unwrap();
    assert!(matches!(put, TableEvent::Put(key, _, Some(version))
        if &*key.1 == "a" && version == "8"));
    let deleted = event(&format!(r#"{{"type":"DELETED","object":{row}}}"#)).unwrap();
    assert!(matches!(deleted, TableEvent::Deleted(key, _) if &*key.1 == "a"));
    let bookmark =
        event(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"},"rows":[]}}"#);
    assert!(matches!(bookmark.unwrap(), TableEvent::Bookmark(Some(version)) if version == "9"));
    let failed = event(r#"{"type":"ERROR","object":{"code":410,"message":"too old"}}"#);
    assert!(matches!(failed.unwrap(), TableEvent::Failed(410, _)));
    assert!(event("{}").is_err() && event("[").is_err());
}

#[test]
fn event_with_invalid_values_does_not_hide_other_events() {
    let page = r#"{"columnDefinitions":[{"name":"Last Seen","type":"string"},{"name":"Count","type":
        "string"},{"name":"Object","type":"string"}],"rows":[{"cells":["5s","1","pod/web"],"object":
        {"metadata":{"name":"a","creationTimestamp":"10000-01-01T00:00:00Z"},"count":-1,
        "lastTimestamp":"10000-01-01T00:00:00Z","involvedObject":{"kind":"Pod","name":"web"}}},
        {"cells":["6s","1","pod/db"],"object":{"metadata":{"name":"b"},"count":4}}]}"#;
    let mut reader = TableReader::new(Include::Events);
    let rows = reader.page(page.as_bytes()).unwrap().rows;
    assert_eq!(rows[0].1.cells, ["5s", "1", "Pod/web"]);
    assert_eq!(rows[1].1.cells[1], "4");
}

#[test]
fn kind_filter_of_an_event_applies_to_the_kind_of_its_object() {
    let page = r#"{"columnDefinitions":[{"name":"Object","type":"string"}],"rows":[{"cells":
        ["pod/node-exporter"],"object":{"metadata":{"name":"a"}}}]}"#;
    let mut reader = TableReader::default();
    let (_, content) = reader.page(page.as_bytes()).unwrap().rows.remove(0);
    let columns = Columns::clone(reader.columns());
    let row = Row::new("a".into(), columns, content, jiff::Timestamp::UNIX_EPOCH);
    assert!(Query::read("kind:pod").passes(&row));
    assert!(!Query::read("kind:node").passes(&row));
}

#[test]
fn table_of_a_hostile_cluster_uses_little_memory() {
    let columns = vec![r#"{"name":"","type":""}"#; 5_000].join(",");
    let cells = vec!["1"; 5_000].join(",");
    let page = |rows: &[&str]| {
        let rows = rows.join(",");
        format!(r#"{{"columnDefinitions":[{columns}],"rows":[{rows}]}}"#)
    };
    let mut reader = TableReader::new(Include::Pods);
    let full = format!(r#"{{"cells":[{cells}],"object":{{"metadata":{{"name":"a"}}}}}}"#);
    let row = &reader.page(page(&[&full]).as_bytes()).unwrap().rows[0].1;
    assert_eq!(row.cells.len(), MAX_COLUMNS + 1, "with the images");
    assert_eq!(reader.columns().len(), MAX_COLUMNS + 1);

    let long = "a".repeat(MAX_NAME + 1);
    let named = format!(r#"{{"object":{{"metadata":{{"name":"{long}"}}}}}}"#);
    assert_eq!(
        reader.page(page(&[&named]).as_bytes()).unwrap().rows.len(),
        0
    );

    let many = page(&vec![r#"{"object":{}}"#; MAX_ROWS + 1]);
    let refused = reader.page(many.as_bytes());
    assert!(matches!(refused, Err(TableError::TooManyRows)));
}
