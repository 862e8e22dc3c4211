//! The columns of the list of roles.

use std::cmp::Ordering;

use drover_ui_core::messages::t;
use drover_ui_core::role::Listed;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use crate::screens::cells::two;

/// The default order: by scope, then by name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "place",
    descending: false,
};

/// A row of the list of roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoleRow(pub(super) Listed);

impl Row for RoleRow {
    fn key(&self) -> String {
        self.0.kind.screen(&self.0.name)
    }
}

/// Returns the columns of the list of roles.
pub(super) fn columns() -> Vec<Column<RoleRow>> {
    vec![
        Column::new("name", t().labels.name(), "col-role-name", name).by(by_name),
        Column::new("place", t().labels.scope(), "col-scope", place).by(by_place),
        Column::new("standing", t().labels.kind(), "col-scope", origin).by(by_origin),
        Column::new("bound", t().roles.bindings(), "col-time", bound).by(by_bound),
    ]
}

fn by_name(a: &RoleRow, b: &RoleRow) -> Ordering {
    a.0.title.cmp(&b.0.title)
}

fn by_place(a: &RoleRow, b: &RoleRow) -> Ordering {
    a.0.place.cmp(b.0.place).then_with(|| by_name(a, b))
}

fn by_origin(a: &RoleRow, b: &RoleRow) -> Ordering {
    a.0.origin().cmp(b.0.origin()).then_with(|| by_name(a, b))
}

/// Sorts by number of bindings, most bindings first.
fn by_bound(a: &RoleRow, b: &RoleRow) -> Ordering {
    b.0.bound.cmp(&a.0.bound).then_with(|| by_name(a, b))
}

fn name(row: &RoleRow) -> AnyView {
    let role = &row.0;
    let link =
        view! { <a class="truncate" href=role.kind.screen(&role.name)>{role.title.clone()}</a> };
    two(link, &role.description)
}

fn place(row: &RoleRow) -> AnyView {
    view! { <span class="truncate">{row.0.place}</span> }.into_any()
}

fn origin(row: &RoleRow) -> AnyView {
    view! { <span class="truncate">{row.0.origin()}</span> }.into_any()
}

fn bound(row: &RoleRow) -> AnyView {
    let bound = row.0.bound.map(|bound| bound.to_string());
    view! { <span class="truncate">{bound.unwrap_or_else(|| "–".to_owned())}</span> }.into_any()
}
