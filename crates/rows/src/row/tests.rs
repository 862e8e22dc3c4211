//! Tests of table rows.

use std::sync::Arc;

use super::*;
use crate::column::Column;
use crate::order::{Order, Sorting};
use crate::protocol::ViewSpec;
use crate::query::Query;
use crate::view::{Item, View};

fn columns(names: &[(&str, &str)]) -> Columns {
    let columns = names.iter();
    columns
        .map(|(name, kind)| Column::new((*name).to_owned(), kind, String::new(), false))
        .collect()
}

fn row(columns: &Columns, cells: &[&str]) -> Row {
    let content = RowContent {
        namespace: "shop".to_owned(),
        name: cells[0].to_owned(),
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        labels: vec![("app".to_owned(), "Web".to_owned())],
        created: Some(at(0)),
        ..RowContent::default()
    };
    Row::new("berlin".into(), Arc::clone(columns), content, at(1_000))
}

/// Formats the time between two moments in seconds.
fn seconds(from: Timestamp, now: Timestamp) -> String {
    format!("{}s", now.as_second() - from.as_second())
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
    let text = |row: &Row, place, now| row.text(place, at(now), seconds);
    assert_eq!(text(&pod, 4, 1_000), "1000s");
    assert_eq!(
        text(&pod, 4, 4_000),
        "4000s",
        "the age advances from the creation time"
    );
    assert_eq!(text(&pod, 3, 1_000), "3 (300s ago)");
    assert_eq!(text(&pod, 3, 1_600), "3 (900s ago)");
    assert_eq!(text(&pod, 9, 0), "", "a missing cell is empty");
    let jobs = columns(&[
        ("Name", "string"),
        ("Status", "string"),
        ("Duration", "string"),
    ]);
    let running = row(&jobs, &["a", "Running", "5s"]);
    assert_eq!(text(&running, 2, 1_060), "65s");
    let done = row(&jobs, &["a", "Complete", "5s"]);
    assert_eq!(text(&done, 2, 1_060), "5s");
}

#[test]
fn table_rows_are_sorted_by_the_type_of_the_selected_column() {
    let pods = pods();
    let rows = || {
        let rows = [
            row(&pods, &["web-10", "2/3", "Running", "10", "1m"]),
            row(&pods, &["web-9", "10/10", "Running", "9 (3d ago)", "1m"]),
            row(&pods, &["api", "0/1", "Error", "0", "1m"]),
        ];
        let rows = rows.into_iter().zip(0_u64..);
        rows.map(|(row, id)| {
            Arc::new(Item {
                id,
                version: 0,
                row,
            })
        })
        .collect::<Vec<_>>()
    };
    let by = |sort: &str, descending| {
        let spec = ViewSpec {
            sort: sort.to_owned(),
            descending,
            ..ViewSpec::default()
        };
        let view = View::new(&spec, &rows());
        let names: Vec<&str> = view.rows().iter().map(|item| item.row.name()).collect();
        names.join(" ")
    };
    assert_eq!(by("", false), "api web-10 web-9");
    assert_eq!(by("namespace", false), "api web-9 web-10");
    assert_eq!(by("name", true), "web-10 web-9 api");
    assert_eq!(by("ready", false), "api web-10 web-9");
    assert_eq!(by("status", true), "web-9 web-10 api");
    assert_eq!(by("restarts", false), "api web-9 web-10");
    assert_eq!(
        by("gone", false),
        "api web-9 web-10",
        "an unknown column falls back to the name"
    );
}

#[test]
fn rows_with_equal_natural_names_have_an_order() {
    let (left, right) = (row(&pods(), &["a-7"]), row(&pods(), &["a-007"]));
    let by = Sorting {
        order: Order::Column("name".to_owned()),
        descending: false,
    };
    let compare = |a: &Row, b: &Row| by.compare((&by.value(a), a), (&by.value(b), b));
    assert_eq!(compare(&left, &right), compare(&right, &left).reverse());
    assert_ne!(compare(&left, &right), Ordering::Equal);
}

#[test]
fn table_filter_matches_text_labels_and_states() {
    let pod = row(&pods(), &["web", "0/1", "CrashLoopBackOff", "3", "16m"]);
    for (text, found) in [
        ("WEB backoff", true),
        ("shop", true),
        ("berlin", true),
        ("cluster:berlin", true),
        ("cluster:paris", false),
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

#[test]
fn row_of_a_pod_with_its_labels_needs_less_than_600_bytes() {
    let pods = columns(&[
        ("Name", "string"),
        ("Ready", "string"),
        ("Status", "string"),
        ("Restarts", "string"),
        ("Age", "string"),
        ("IP", "string"),
        ("Node", "string"),
        ("Nominated Node", "string"),
        ("Readiness Gates", "string"),
    ]);
    let cells = [
        "payment-service-7d9f8b6c5d-x2x7k",
        "2/2",
        "Running",
        "3 (5d4h ago)",
        "12d",
        "10.244.131.27",
        "ip-10-0-131-27.eu-central-1.compute.internal",
        "<none>",
        "<none>",
    ];
    let labels = [
        ("app.kubernetes.io/name", "payment-service"),
        ("app.kubernetes.io/instance", "payment-service-prod"),
        ("pod-template-hash", "7d9f8b6c5d"),
        ("helm.sh/chart", "payment-service-2.14.0"),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let content = RowContent {
        namespace: "payments-production".to_owned(),
        name: cells[0].to_owned(),
        cells: cells.map(str::to_owned).to_vec(),
        labels: labels.to_vec(),
        created: Some(at(0)),
        ..RowContent::default()
    };
    let row = Row::new("frankfurt".into(), pods, content, at(0));
    assert!(row.bytes() < 600, "{} bytes", row.bytes());
}
