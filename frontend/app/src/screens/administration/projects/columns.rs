//! The columns of the list of projects.

use std::cmp::Ordering;

use drover_api::rest::ProjectView;
use drover_ui_core::messages::t;
use drover_ui_core::project::{screen, title};
use drover_ui_core::readiness::Readiness;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use crate::screens::cells::{self, time, two};
use drover_ui_core::cluster::screen as cluster_screen;

/// The default order: by name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "name",
    descending: false,
};

/// A row of the list of projects.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProjectRow {
    pub(super) project: ProjectView,
    pub(super) readiness: Readiness,
}

impl Row for ProjectRow {
    fn key(&self) -> String {
        self.project.uid.clone()
    }
}

/// Returns the columns of the list of projects.
pub(super) fn columns() -> Vec<Column<ProjectRow>> {
    vec![
        Column::new("name", t().labels.name(), "col-subject", name).by(by_name),
        Column::new("state", t().labels.state(), "col-status", status).by(by_status),
        Column::new("cluster", t().labels.cluster(), "col-scope", cluster).by(by_cluster),
        Column::new(
            "namespaces",
            t().labels.namespaces(),
            "col-rights",
            namespaces,
        )
        .by(by_size),
        Column::new("made", t().labels.created(), "col-time", made).by(by_birth),
    ]
}

fn by_name(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    title(&a.project).cmp(title(&b.project))
}

fn by_status(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    a.readiness.status.cmp(&b.readiness.status)
}

fn by_cluster(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    a.project.cluster.cmp(&b.project.cluster)
}

/// Sorts by number of namespaces, most namespaces first.
fn by_size(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    let size = |row: &ProjectRow| row.project.own_namespaces.len();
    size(b).cmp(&size(a))
}

/// Sorts by creation time, newest first.
fn by_birth(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    b.project.created_at.cmp(&a.project.created_at)
}

fn name(row: &ProjectRow) -> AnyView {
    let project = &row.project;
    let link =
        view! { <a class="truncate" href=screen(&project.name)>{title(project).to_owned()}</a> };
    two(link, project.description.as_deref().unwrap_or_default())
}

fn status(row: &ProjectRow) -> AnyView {
    cells::status(&row.readiness)
}

fn cluster(row: &ProjectRow) -> AnyView {
    let name = row.project.cluster.clone();
    view! { <a class="truncate" href=cluster_screen(&name)>{name.clone()}</a> }.into_any()
}

fn namespaces(row: &ProjectRow) -> AnyView {
    let own = row.project.own_namespaces.len();
    let listed = row.project.namespaces.len();
    let words = if own == listed {
        own.to_string()
    } else {
        t().projects.namespaces_ready(own, listed)
    };
    view! { <span class="truncate">{words}</span> }.into_any()
}

fn made(row: &ProjectRow) -> AnyView {
    time(row.project.created_at)
}
