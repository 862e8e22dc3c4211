//! The list of users, for callers with permission to list users.

mod actions;
mod columns;
mod create;
mod link;
mod one;
mod password;

use drover_api::kinds::IdentityState;
use drover_api::rest::UserView;
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::rights::RequiredRight;
use drover_ui_core::user::{AccountState, passes};
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::live::listing::Listing;
use crate::screens::list::{Contents, Filter, ListKind, ListScreen, NeedsRight, Rows, View};
use crate::screens::title::title;
use crate::session::Session;
use actions::{ActionDialog, Actions};
use columns::{BY_DEFAULT, UserRow, columns};
use create::CreateUser;
pub(crate) use one::UserPage;

const PATH: &str = "/v1/users";
const SCREEN: &str = "/users";

/// The kind of the listed objects, and the number of placeholder lines during loading.
const USERS: ListKind = ListKind {
    noun: Noun::Users,
    lines: 6,
};

/// Returns the badge color for an account state.
const fn tone(account_state: AccountState) -> Tone {
    match account_state {
        AccountState::Disabled => Tone::Neutral,
        AccountState::MustChange => Tone::Busy,
        AccountState::Enabled => Tone::Good,
    }
}

/// Returns the badge color for an identity state.
const fn state_tone(state: IdentityState) -> Tone {
    match state {
        IdentityState::Confirmed => Tone::Good,
        IdentityState::Refused => Tone::Bad,
        IdentityState::Unreachable => Tone::Warning,
    }
}

/// Shows the list of users.
#[component]
pub(crate) fn Users() -> impl IntoView {
    title(t().lists.heading(USERS.noun));
    if expect_context::<Session>().rights().may_list_users {
        view! { <Managed/> }.into_any()
    } else {
        view! { <NeedsRight noun=Noun::Users needs=RequiredRight::ListUsers/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let listing = Listing::<UserView>::follow(PATH);
    let chosen = RwSignal::new(None);
    let words = AccountState::ALL.map(|it| (it, it.key()));
    let filters = vec![Filter::one_of("state", chosen, words)];
    let view = View::of_url(SCREEN, &columns(), BY_DEFAULT, filters);
    let actions = Actions::provide();
    let contents = contents(listing, view, chosen);
    let may = expect_context::<Session>().rights().may_create_users;
    let make = move || {
        view! {
            <Button missing=RequiredRight::CreateUsers.unless(may) weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                {t().users.create()}
            </Button>
        }
    };
    // The list contains the current user, so only a filter can make it empty.
    view! {
        <ListScreen kind=USERS contents=contents command="drover user list" action=make>
            <Tally label=t().labels.filter_by_state() counts=counts(contents.rows) chosen=chosen/>
        </ListScreen>
        <CreateUser open=view.making listing=listing/>
        <ActionDialog actions=actions listing=listing/>
    }
}

fn contents(
    listing: Listing<UserView>,
    view: View,
    chosen: RwSignal<Option<AccountState>>,
) -> Contents<UserRow> {
    let session = expect_context::<Session>();
    let rows = move || {
        let me = session.view().map(|view| view.me.username);
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|user| UserRow {
            oneself: me.as_ref() == Some(&user.name),
            user: user.clone(),
        });
        rows.collect()
    };
    let passing = move |typed: String| {
        let chosen = chosen.get();
        move |row: &UserRow| {
            chosen.is_none_or(|account_state| AccountState::of(&row.user) == account_state)
                && passes(&row.user, &typed)
        }
    };
    Contents::new(listing, view, columns(), rows, passing)
}

fn counts(rows: Rows<UserRow>) -> Signal<Vec<Count<AccountState>>> {
    Signal::derive(move || {
        let of = |key: AccountState| Count {
            key,
            words: key.words(),
            tone: Some(tone(key)),
            count: rows.with(|rows| {
                rows.iter()
                    .filter(|row| AccountState::of(&row.user) == key)
                    .count()
            }),
        };
        AccountState::ALL.map(of).into()
    })
}
