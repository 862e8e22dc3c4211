//! The columns of the list of members.

use std::cmp::Ordering;

use drover_api::rest::MemberView;
use drover_ui_core::member::who;
use drover_ui_core::readiness::Readiness;
use drover_ui_core::token::ago;
use drover_ui_kit::badge::Badge;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use super::take::Taking;
use super::tone;
use crate::clock::{Clock, in_full};

/// By who it is.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "who",
    descending: false,
};

/// A member, with what is shown of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MemberRow {
    /// The member.
    pub(super) member: MemberView,
    /// What people call the role.
    pub(super) role: String,
    /// Whether the person may take it away.
    pub(super) may_take: bool,
    /// Whether the role counts.
    pub(super) readiness: Readiness,
}

impl Row for MemberRow {
    fn key(&self) -> String {
        self.member.id.clone()
    }

    fn name(&self) -> String {
        format!("{} from {}", self.role, who(&self.member))
    }
}

type Order = fn(&MemberRow, &MemberRow) -> Ordering;
type Cell = fn(&MemberRow) -> AnyView;

/// All of them.
pub(super) fn columns() -> Vec<Column<MemberRow>> {
    let all: [(&str, &str, &str, Option<Order>, Cell); 5] = [
        ("who", "Who", "col-person", Some(by_who), subject),
        ("role", "Role", "col-role", Some(by_role), role),
        ("state", "State", "col-ready", Some(by_standing), standing),
        ("given", "Given", "col-time", Some(by_age), given),
        ("take", "Take away", "col-deed", None, take),
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

fn by_who(a: &MemberRow, b: &MemberRow) -> Ordering {
    let of = |row: &MemberRow| (who(&row.member).to_owned(), row.role.clone());
    of(a).cmp(&of(b))
}

fn by_role(a: &MemberRow, b: &MemberRow) -> Ordering {
    a.role.cmp(&b.role).then_with(|| by_who(a, b))
}

fn by_standing(a: &MemberRow, b: &MemberRow) -> Ordering {
    a.readiness.standing.cmp(&b.readiness.standing)
}

/// The youngest first.
fn by_age(a: &MemberRow, b: &MemberRow) -> Ordering {
    b.member.created_at.cmp(&a.member.created_at)
}

fn two(first: AnyView, second: &str) -> AnyView {
    let (text, exact) = (second.to_owned(), second.to_owned());
    view! { <div class="two">{first}<span class="soft cut" title=exact>{text}</span></div> }
        .into_any()
}

fn subject(row: &MemberRow) -> AnyView {
    let name = who(&row.member).to_owned();
    let below = match &row.member.group {
        Some(_) => "everybody of this group".to_owned(),
        None => row.member.display_name.clone().unwrap_or_default(),
    };
    let name = view! { <b class="cut" title=name.clone()>{name.clone()}</b> };
    two(name.into_any(), &below)
}

fn role(row: &MemberRow) -> AnyView {
    let title = view! { <span class="cut">{row.role.clone()}</span> };
    let name = Some(&row.member.role).filter(|name| **name != row.role);
    two(title.into_any(), name.map_or("", String::as_str))
}

fn standing(row: &MemberRow) -> AnyView {
    let Readiness {
        standing,
        words,
        why,
    } = row.readiness.clone();
    let badge = view! { <Badge tone=tone(standing) words=words/> };
    two(badge.into_any(), &why.unwrap_or_default())
}

fn given(row: &MemberRow) -> AnyView {
    let (clock, at) = (expect_context::<Clock>(), row.member.created_at);
    view! { <span class="cut" title=in_full(at)>{move || ago(at, clock.now())}</span> }.into_any()
}

fn take(row: &MemberRow) -> AnyView {
    if !row.may_take {
        return ().into_any();
    }
    let (taking, row) = (expect_context::<Taking>(), row.clone());
    let label = format!("Take {} away", row.name());
    view! {
        <Button weight=Weight::Quiet icon=Icon::Trash on_press=move |()| taking.ask(row.clone())>
            <span class="unseen">{label}</span>
        </Button>
    }
    .into_any()
}
