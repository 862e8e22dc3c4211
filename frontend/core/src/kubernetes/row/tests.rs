//! Tests of table rows.

use std::sync::Arc;

use super::*;
use crate::column::Column;
use crate::search::Query;

fn columns(names: &[(&str, &str)]) -> Columns {
    let columns = names.iter();
    columns
        .map(|(name, kind)| Column::new((*name).to_owned(), kind, String::new(), false))
        .collect()
}

fn row(columns: &Columns, cells: &[&str]) -> Arc<Row> {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let name = cells[0].clone();
    let row = Row::new(Arc::clone(columns), cells, name, Some("shop".to_owned()));
    Arc::new(row.made(Some(at(0)), at(1_000)))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn pods() -> Columns {
    columns(&[
        ("Name", "string"),
        ("Ready", "string"),
        ("Status", "string"),
        ("Restarts", "string"),
        ("Age", "string"),
    ])
}

fn names(rows: &[Arc<Row>]) -> Vec<&str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

#[test]
fn pod_row_has_the_severity_of_its_status() {
    let pods = pods();
    for (ready, status, severity, tones) in [
        (
            "1/1",
            "Running",
            Severity::Healthy,
            (None, Severity::Healthy),
        ),
        (
            "1/2",
            "Running",
            Severity::Degraded,
            (Some(Severity::Degraded), Severity::Healthy),
        ),
        (
            "0/1",
            "CrashLoopBackOff",
            Severity::Failing,
            (None, Severity::Failing),
        ),
        ("0/1", "Completed", Severity::Idle, (None, Severity::Idle)),
        (
            "0/1",
            "Pending",
            Severity::Degraded,
            (Some(Severity::Degraded), Severity::Degraded),
        ),
    ] {
        let row = row(&pods, &["web", ready, status, "0", "1m"]);
        assert_eq!(row.severity, severity, "{status}");
        let reported = (row.severity_of(1), row.severity_of(2).unwrap());
        assert_eq!(reported, tones, "{status}");
        assert_eq!(row.severity_of(0), None);
    }
}

#[test]
fn table_rows_of_nodes_workloads_and_other_kinds_have_a_severity() {
    let deployments = columns(&[
        ("Name", "string"),
        ("Ready", "string"),
        ("Up-to-date", "string"),
    ]);
    assert_eq!(
        row(&deployments, &["a", "0/3", "1"]).severity,
        Severity::Failing
    );
    assert_eq!(
        row(&deployments, &["a", "2/3", "3"]).severity,
        Severity::Degraded
    );
    assert_eq!(
        row(&deployments, &["a", "0/0", "0"]).severity,
        Severity::Idle
    );
    let sets = columns(&[
        ("Name", "string"),
        ("Desired", "integer"),
        ("Ready", "integer"),
    ]);
    let set = row(&sets, &["a", "3", "2"]);
    assert_eq!(set.severity, Severity::Degraded);
    assert_eq!(set.severity_of(2), Some(Severity::Degraded));
    let jobs = columns(&[
        ("Name", "string"),
        ("Status", "string"),
        ("Duration", "string"),
    ]);
    assert_eq!(
        row(&jobs, &["a", "Running", "5s"]).severity,
        Severity::Progressing
    );
    assert_eq!(
        row(&jobs, &["a", "Failed", "5s"]).severity,
        Severity::Failing
    );
    let cron_jobs = columns(&[("Name", "string"), ("Suspend", "boolean")]);
    assert_eq!(row(&cron_jobs, &["a", "True"]).severity, Severity::Idle);
    assert_eq!(row(&cron_jobs, &["a", "False"]).severity, Severity::Healthy);
}

#[test]
fn ages_in_table_cells_increase_with_time() {
    let pod = row(&pods(), &["web", "1/1", "Running", "3 (5m ago)", "16m"]);
    assert_eq!(pod.text(4, at(1_000)), "16m");
    assert_eq!(
        pod.text(4, at(4_000)),
        "66m",
        "the age advances from the creation time"
    );
    assert_eq!(pod.text(3, at(1_000)), "3 (5m ago)");
    assert_eq!(pod.text(3, at(1_600)), "3 (15m ago)");
    assert_eq!(pod.text(9, at(0)), "", "a missing cell is empty");
    let jobs = columns(&[
        ("Name", "string"),
        ("Status", "string"),
        ("Duration", "string"),
    ]);
    let running = row(&jobs, &["a", "Running", "5s"]);
    assert_eq!(running.text(2, at(1_060)), "65s");
    let done = row(&jobs, &["a", "Complete", "5s"]);
    assert_eq!(done.text(2, at(1_060)), "5s");
}

#[test]
fn table_rows_are_sorted_by_the_type_of_the_selected_column() {
    let pods = pods();
    let rows = vec![
        row(&pods, &["web-10", "2/3", "Running", "10", "1m"]),
        row(&pods, &["web-9", "10/10", "Running", "9 (3d ago)", "1m"]),
        row(&pods, &["api", "0/1", "Error", "0", "1m"]),
    ];
    let by = |order, descending| {
        let rows = sort(&rows, order, descending);
        names(&rows).join(" ")
    };
    assert_eq!(by(Order::Trouble, false), "api web-10 web-9");
    assert_eq!(by(Order::Namespace, false), "api web-9 web-10");
    assert_eq!(by(Order::Column(0), true), "web-10 web-9 api");
    assert_eq!(by(Order::Column(1), false), "api web-10 web-9");
    assert_eq!(by(Order::Column(2), true), "web-9 web-10 api");
    assert_eq!(by(Order::Column(3), false), "api web-9 web-10");
    assert_eq!(
        by(Order::Column(7), false),
        "api web-9 web-10",
        "an unknown column falls back to the name"
    );
}

#[test]
fn table_filter_matches_text_labels_and_states() {
    let pod = row(&pods(), &["web", "0/1", "CrashLoopBackOff", "3", "16m"]);
    let labels = vec![("app".to_owned(), "Web".to_owned())];
    let pod = (*pod).clone().labelled(labels);
    for (text, found) in [
        ("WEB backoff", true),
        ("shop", true),
        ("app=We", true),
        ("app=web", false),
        ("state:fail", true),
        ("-state:failing", false),
        ("namespace:shop", true),
        ("namespace:sho", false),
        ("nginx:1", false),
    ] {
        assert_eq!(Query::read(text).passes(&pod), found, "{text}");
    }
}
