//! The columns of the list of members.

use std::cmp::Ordering;

use drover_api::rest::MemberView;
use drover_ui_core::member::{beside, subject_name};
use drover_ui_core::messages::t;
use drover_ui_core::readiness::Readiness;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use super::remove::Removal;
use crate::screens::cells::{self, time, two};

/// The default order: by subject.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "who",
    descending: false,
};

/// A row of the list of members.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MemberRow {
    pub(super) member: MemberView,
    /// The display name of the role.
    pub(super) role: String,
    /// True if the user can remove the member.
    pub(super) may_remove: bool,
    /// The readiness of the binding.
    pub(super) readiness: Readiness,
}

impl Row for MemberRow {
    fn key(&self) -> String {
        self.member.id.clone()
    }

    fn name(&self) -> String {
        t().members
            .membership(&self.role, subject_name(&self.member))
    }
}

/// Returns the columns of the list of members.
pub(super) fn columns() -> Vec<Column<MemberRow>> {
    vec![
        Column::new("who", t().labels.subject(), "col-subject", subject).by(by_who),
        Column::new("role", t().labels.role(), "col-role", role).by(by_role),
        Column::new("state", t().labels.state(), "col-ready", status).by(by_status),
        Column::new("given", t().members.granted(), "col-time", given).by(by_age),
        Column::new("take", t().buttons.remove(), "col-action", take),
    ]
}

fn by_who(a: &MemberRow, b: &MemberRow) -> Ordering {
    let of = |row: &MemberRow| (subject_name(&row.member).to_owned(), row.role.clone());
    of(a).cmp(&of(b))
}

fn by_role(a: &MemberRow, b: &MemberRow) -> Ordering {
    a.role.cmp(&b.role).then_with(|| by_who(a, b))
}

fn by_status(a: &MemberRow, b: &MemberRow) -> Ordering {
    a.readiness.status.cmp(&b.readiness.status)
}

/// Sorts by creation time, newest first.
fn by_age(a: &MemberRow, b: &MemberRow) -> Ordering {
    b.member.created_at.cmp(&a.member.created_at)
}

fn subject(row: &MemberRow) -> AnyView {
    let name = subject_name(&row.member).to_owned();
    let name = view! { <b class="truncate" title=name.clone()>{name.clone()}</b> };
    two(name, &beside(&row.member))
}

fn role(row: &MemberRow) -> AnyView {
    let title = view! { <span class="truncate">{row.role.clone()}</span> };
    let name = Some(&row.member.role).filter(|name| **name != row.role);
    two(title, name.map_or("", String::as_str))
}

fn status(row: &MemberRow) -> AnyView {
    cells::status(&row.readiness)
}

fn given(row: &MemberRow) -> AnyView {
    time(row.member.created_at)
}

fn take(row: &MemberRow) -> AnyView {
    if !row.may_remove {
        return ().into_any();
    }
    let (removal, row) = (expect_context::<Removal>(), row.clone());
    let label = t().members.remove(&row.name());
    view! {
        <Button weight=Weight::Quiet icon=Icon::Trash on_press=move |()| removal.ask(row.clone())>
            <span class="visually-hidden">{label}</span>
        </Button>
    }
    .into_any()
}
