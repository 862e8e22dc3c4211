//! The columns of the list of projects.

use std::cmp::Ordering;

use drover_api::rest::ProjectView;
use drover_ui_core::project::{screen, title};
use drover_ui_core::readiness::Readiness;
use drover_ui_core::token::ago;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use crate::clock::{Clock, in_full};
use crate::screens::cluster::path_of;
use crate::screens::members::tone;

/// By name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "name",
    descending: false,
};

/// A project, with how it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProjectRow {
    /// The project.
    pub(super) project: ProjectView,
    /// How it stands.
    pub(super) readiness: Readiness,
}

impl Row for ProjectRow {
    fn key(&self) -> String {
        self.project.uid.clone()
    }
}

type Order = fn(&ProjectRow, &ProjectRow) -> Ordering;
type Cell = fn(&ProjectRow) -> AnyView;

/// All of them.
pub(super) fn columns() -> Vec<Column<ProjectRow>> {
    let all: [(&str, &str, &str, Option<Order>, Cell); 5] = [
        ("name", "Name", "col-person", Some(by_name), name),
        (
            "state",
            "State",
            "col-standing",
            Some(by_standing),
            standing,
        ),
        ("cluster", "Cluster", "col-scope", Some(by_cluster), cluster),
        (
            "namespaces",
            "Namespaces",
            "col-rights",
            Some(by_size),
            namespaces,
        ),
        ("made", "Made", "col-time", Some(by_birth), made),
    ];
    all.map(|(key, heading, class, order, cell)| Column {
        key,
        heading,
        class,
        order,
        cell,
    })
    .into()
}

fn by_name(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    title(&a.project).cmp(title(&b.project))
}

fn by_standing(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    a.readiness.standing.cmp(&b.readiness.standing)
}

fn by_cluster(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    a.project.cluster.cmp(&b.project.cluster)
}

/// The largest first.
fn by_size(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    let size = |row: &ProjectRow| row.project.own_namespaces.len();
    size(b).cmp(&size(a))
}

/// The youngest first.
fn by_birth(a: &ProjectRow, b: &ProjectRow) -> Ordering {
    b.project.created_at.cmp(&a.project.created_at)
}

fn name(row: &ProjectRow) -> AnyView {
    let project = &row.project;
    let described = project.description.clone().unwrap_or_default();
    view! {
        <div class="two">
            <a class="cut" href=screen(&project.name)>{title(project).to_owned()}</a>
            <span class="soft cut" title=described.clone()>{described.clone()}</span>
        </div>
    }
    .into_any()
}

fn standing(row: &ProjectRow) -> AnyView {
    let Readiness {
        standing,
        words,
        why,
    } = row.readiness.clone();
    let why = why.unwrap_or_default();
    view! {
        <div class="two">
            <Badge tone=tone(standing) words=words/>
            <span class="soft cut" title=why.clone()>{why.clone()}</span>
        </div>
    }
    .into_any()
}

fn cluster(row: &ProjectRow) -> AnyView {
    let name = row.project.cluster.clone();
    view! { <a class="cut" href=path_of(&name)>{name.clone()}</a> }.into_any()
}

fn namespaces(row: &ProjectRow) -> AnyView {
    let own = row.project.own_namespaces.len();
    let listed = row.project.namespaces.len();
    let words = if own == listed {
        own.to_string()
    } else {
        format!("{own} of {listed}")
    };
    view! { <span class="cut">{words}</span> }.into_any()
}

fn made(row: &ProjectRow) -> AnyView {
    let (clock, at) = (expect_context::<Clock>(), row.project.created_at);
    view! { <span class="cut" title=in_full(at)>{move || ago(at, clock.now())}</span> }.into_any()
}
