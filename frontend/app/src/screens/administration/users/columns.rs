//! The columns of the list of users.

use std::cmp::Ordering;

use drover_api::rest::{UserRights, UserView};
use drover_ui_core::messages::t;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::url::segment;
use drover_ui_core::user::{AccountState, signs_in_with};
use drover_ui_kit::badge::{Badge, Tone};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::menu::{Item, Menu};
use drover_ui_kit::table::{Column, Row, Sorting};
use leptos::prelude::*;

use super::actions::{Action, Actions, Step};
use super::tone;
use crate::screens::cells::{time, time_or_never, two};

/// The default order: by name.
pub(super) const BY_DEFAULT: Sorting = Sorting {
    column: "name",
    descending: false,
};

/// A row of the list of users.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UserRow {
    pub(super) user: UserView,
    /// True for the current user.
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

/// Returns the columns of the list of users.
pub(super) fn columns() -> Vec<Column<UserRow>> {
    vec![
        Column::new("name", t().labels.name(), "col-subject", name).by(by_name),
        Column::new("rights", t().labels.permissions(), "col-rights", rights).by(by_rights),
        Column::new("state", t().labels.state(), "col-status", account_state).by(by_state),
        Column::new("by", t().users.signs_in_with(), "col-scope", way).by(by_way),
        Column::new("login", t().users.last_sign_in(), "col-time", login).by(by_login),
        Column::new("made", t().labels.created(), "col-time", made).by(by_birth),
        Column::new("actions", t().users.actions(), "col-menu", actions),
    ]
}

fn by_name(a: &UserRow, b: &UserRow) -> Ordering {
    a.user.name.cmp(&b.user.name)
}

/// Sorts administrators first.
fn by_rights(a: &UserRow, b: &UserRow) -> Ordering {
    b.user.administrator.cmp(&a.user.administrator)
}

fn by_state(a: &UserRow, b: &UserRow) -> Ordering {
    AccountState::of(&a.user).cmp(&AccountState::of(&b.user))
}

fn by_way(a: &UserRow, b: &UserRow) -> Ordering {
    signs_in_with(&a.user).cmp(&signs_in_with(&b.user))
}

/// Sorts by last sign-in, latest first. Users without a sign-in are last.
fn by_login(a: &UserRow, b: &UserRow) -> Ordering {
    b.user.last_login_at.cmp(&a.user.last_login_at)
}

/// Sorts by creation time, newest first.
fn by_birth(a: &UserRow, b: &UserRow) -> Ordering {
    b.user.created_at.cmp(&a.user.created_at)
}

fn name(row: &UserRow) -> AnyView {
    let screen = format!("/users/{}", segment(&row.user.name));
    let oneself = row
        .oneself
        .then(|| view! { <Badge tone=Tone::Busy words=t().users.you().to_owned()/> });
    let name = view! {
        <span class="with-badge"><a class="truncate" href=screen>{row.user.name.clone()}</a>{oneself}</span>
    };
    two(name, row.user.display_name.as_deref().unwrap_or_default())
}

fn rights(row: &UserRow) -> AnyView {
    if row.user.administrator {
        view! { <span class="truncate">{t().users.administrator()}</span> }.into_any()
    } else {
        view! { <span class="muted truncate">{t().users.by_roles()}</span> }.into_any()
    }
}

fn account_state(row: &UserRow) -> AnyView {
    let account_state = AccountState::of(&row.user);
    view! { <Badge tone=tone(account_state) words=account_state.words().to_owned()/> }.into_any()
}

fn way(row: &UserRow) -> AnyView {
    let words = signs_in_with(&row.user);
    view! { <span class="truncate" title=words.clone()>{words.clone()}</span> }.into_any()
}

fn login(row: &UserRow) -> AnyView {
    time_or_never(row.user.last_login_at)
}

fn made(row: &UserRow) -> AnyView {
    time(row.user.created_at)
}

/// Returns the menu with the actions on a user.
pub(super) fn actions(row: &UserRow) -> AnyView {
    let actions = expect_context::<Actions>();
    let user = &row.user;
    let office = if user.administrator {
        Step::RemoveAdministrator
    } else {
        Step::MakeAdministrator
    };
    let door = if user.enabled {
        Step::Disable
    } else {
        Step::Enable
    };
    let items = [
        (Icon::Person, Action::Rename),
        (Icon::Lock, Action::SetPassword),
        (Icon::Key, Action::Step(office)),
        (Icon::SignOut, Action::Step(Step::RevokeTokens)),
        (Icon::Offline, Action::Step(door)),
        (Icon::Trash, Action::Step(Step::Delete)),
    ];
    let items = items.map(|(icon, action)| {
        let row = row.clone();
        let missing = missing(action, row.user.rights);
        let item = Item::action(icon, action.words(), move || {
            actions.ask(action, row.clone());
        });
        match action {
            Action::Step(Step::Delete) => item.missing(missing).danger(),
            _ => item.missing(missing),
        }
    });
    let label = t().users.actions_of(&user.name);
    view! { <Menu label=label items=items.into()><span class="visually-hidden">{t().users.more()}</span></Menu> }
        .into_any()
}

/// Returns the permission that the current user lacks for an action.
fn missing(action: Action, rights: UserRights) -> Option<String> {
    match action {
        Action::Rename | Action::Step(Step::Disable | Step::Enable) => {
            RequiredRight::ChangeUser.unless(rights.may_change)
        }
        Action::SetPassword => RequiredRight::SetPassword.unless(rights.may_set_password),
        Action::Step(Step::RemoveAdministrator | Step::MakeAdministrator | Step::RevokeTokens) => {
            RequiredRight::Administer.unless(rights.may_administer)
        }
        Action::Step(Step::Delete) => RequiredRight::DeleteUser.unless(rights.may_delete),
    }
}
