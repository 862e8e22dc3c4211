//! The columns of the list of users.

use std::cmp::Ordering;

use drover_api::rest::UserView;
use drover_ui_core::token::ago;
use drover_ui_core::url::segment;
use drover_ui_core::user::{Standing, signs_in_with};
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::button::Weight;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::{Item, Menu};
use drover_ui_kit::table::{Column, Row, Sorting};
use jiff::Timestamp;
use leptos::prelude::*;

use super::deeds::{Deed, Deeds, Step};
use super::tone;
use crate::clock::{Clock, in_full};

/// By name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "name",
    descending: false,
};

/// A user, and whether it is who looks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UserRow {
    /// The user.
    pub(super) user: UserView,
    /// Whether they are looking at themselves.
    pub(super) oneself: bool,
}

impl Row for UserRow {
    fn key(&self) -> String {
        self.user.uid.clone()
    }

    fn name(&self) -> String {
        self.user.name.clone()
    }
}

type Order = fn(&UserRow, &UserRow) -> Ordering;
type Cell = fn(&UserRow) -> AnyView;

/// All of them.
pub(super) fn columns() -> Vec<Column<UserRow>> {
    let all: [(&str, &str, &str, Option<Order>, Cell); 7] = [
        ("name", "Name", "col-person", Some(by_name), name),
        ("rights", "Rights", "col-rights", Some(by_rights), rights),
        (
            "state",
            "State",
            "col-standing",
            Some(by_standing),
            standing,
        ),
        ("by", "Signs in with", "col-scope", Some(by_way), way),
        ("login", "Last sign-in", "col-time", Some(by_login), login),
        ("made", "Made", "col-time", Some(by_birth), made),
        ("deeds", "What can be done", "col-menu", None, deeds),
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

fn by_name(a: &UserRow, b: &UserRow) -> Ordering {
    a.user.name.cmp(&b.user.name)
}

/// Administrators first.
fn by_rights(a: &UserRow, b: &UserRow) -> Ordering {
    b.user.administrator.cmp(&a.user.administrator)
}

fn by_standing(a: &UserRow, b: &UserRow) -> Ordering {
    Standing::of(&a.user).cmp(&Standing::of(&b.user))
}

fn by_way(a: &UserRow, b: &UserRow) -> Ordering {
    signs_in_with(&a.user).cmp(&signs_in_with(&b.user))
}

/// Who signed in last first; who never did at the end.
fn by_login(a: &UserRow, b: &UserRow) -> Ordering {
    b.user.last_login_at.cmp(&a.user.last_login_at)
}

/// The youngest first.
fn by_birth(a: &UserRow, b: &UserRow) -> Ordering {
    b.user.created_at.cmp(&a.user.created_at)
}

fn name(row: &UserRow) -> AnyView {
    let shown = row.user.display_name.clone().unwrap_or_default();
    let screen = format!("/users/{}", segment(&row.user.name));
    let oneself = row
        .oneself
        .then(|| view! { <Badge tone=Tone::Busy words="you".to_owned()/> });
    view! {
        <div class="two">
            <span class="with-badge"><a class="cut" href=screen>{row.user.name.clone()}</a>{oneself}</span>
            <span class="soft cut" title=shown.clone()>{shown.clone()}</span>
        </div>
    }
    .into_any()
}

fn rights(row: &UserRow) -> AnyView {
    if row.user.administrator {
        view! { <span class="cut">"administrator"</span> }.into_any()
    } else {
        view! { <span class="soft cut">"what roles give"</span> }.into_any()
    }
}

fn standing(row: &UserRow) -> AnyView {
    let standing = Standing::of(&row.user);
    view! { <Badge tone=tone(standing) words=standing.words().to_owned()/> }.into_any()
}

fn way(row: &UserRow) -> AnyView {
    let words = signs_in_with(&row.user);
    view! { <span class="cut" title=words.clone()>{words.clone()}</span> }.into_any()
}

/// How long ago, with the whole time for who asks.
pub(super) fn time(at: Option<Timestamp>) -> AnyView {
    let clock = expect_context::<Clock>();
    match at {
        Some(at) => {
            view! { <span class="cut" title=in_full(at)>{move || ago(at, clock.now())}</span> }
                .into_any()
        }
        None => view! { <span class="soft">"never"</span> }.into_any(),
    }
}

fn login(row: &UserRow) -> AnyView {
    time(row.user.last_login_at)
}

fn made(row: &UserRow) -> AnyView {
    time(Some(row.user.created_at))
}

/// The menu of what can be done with a user.
pub(super) fn deeds(row: &UserRow) -> AnyView {
    let deeds = expect_context::<Deeds>();
    let user = &row.user;
    let office = if user.administrator {
        Step::TakeOffice
    } else {
        Step::GiveOffice
    };
    let door = if user.enabled {
        Step::Disable
    } else {
        Step::Enable
    };
    let items = [
        (Icon::Person, Deed::Rename),
        (Icon::Lock, Deed::SetPassword),
        (Icon::Key, Deed::Step(office)),
        (Icon::Offline, Deed::Step(door)),
        (Icon::Trash, Deed::Step(Step::Delete)),
    ];
    let items = items.map(|(icon, deed)| {
        let row = row.clone();
        Item {
            icon,
            words: deed.words().to_owned(),
            checked: None,
            on_choose: Callback::new(move |()| deeds.ask(deed, row.clone())),
            weight: match deed {
                Deed::Step(Step::Delete) => Weight::Danger,
                _ => Weight::Plain,
            },
        }
    });
    let label = format!("What can be done with {}", user.name);
    view! { <Menu label=label items=items.into()><span class="unseen">"More"</span></Menu> }
        .into_any()
}
