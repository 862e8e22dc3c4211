//! Users, for people who may see them.

mod columns;
mod create;
mod deeds;
mod link;
mod one;
mod password;

use drover_api::kinds::IdentityState;
use drover_api::rest::UserView;
use drover_ui_core::messages::Noun;
use drover_ui_core::rights::Needs;
use drover_ui_core::user::{Standing, passes};
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::gate::Gate;
use crate::live::listing::Listing;
use crate::screens::list::{Contents, Filter, ListScreen, NeedsRight, Rows, Things, View};
use crate::screens::title::title;
use columns::{BY_DEFAULT, UserRow, columns};
use create::CreateUser;
use deeds::{DeedDialog, Deeds};
pub(crate) use one::UserPage;

const PATH: &str = "/v1/users";
const SCREEN: &str = "/users";

/// What is listed.
const USERS: Things = Things {
    noun: Noun::Users,
    lines: 6,
};

/// What a standing means for who looks at it.
const fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Disabled => Tone::Neutral,
        Standing::MustChange => Tone::Busy,
        Standing::Enabled => Tone::Good,
    }
}

/// What it means that a provider said this last.
const fn state_tone(state: IdentityState) -> Tone {
    match state {
        IdentityState::Confirmed => Tone::Good,
        IdentityState::Refused => Tone::Bad,
        IdentityState::Unreachable => Tone::Warning,
    }
}

/// The screen.
#[component]
pub(crate) fn Users() -> impl IntoView {
    title("Users");
    if expect_context::<Gate>().rights().may_list_users {
        view! { <Managed/> }.into_any()
    } else {
        view! { <NeedsRight noun=Noun::Users needs=Needs::ListUsers/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let listing = Listing::<UserView>::follow(PATH);
    let chosen = RwSignal::new(None);
    let words = Standing::ALL.map(|it| (it, it.key()));
    let filters = vec![Filter::one_of("state", chosen, words)];
    let view = View::of_url(SCREEN, &columns(), BY_DEFAULT, filters);
    let deeds = Deeds::provide();
    let contents = contents(listing, view, chosen);
    let may = expect_context::<Gate>().rights().may_create_users;
    let make = move || {
        view! {
            <Button missing=Needs::CreateUsers.unless(may) weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                "Make a user"
            </Button>
        }
    };
    // Whoever looks is a user, so an empty list and one without a match are the same.
    view! {
        <ListScreen things=USERS contents=contents command="drover user list" action=make>
            <Tally label="Filter by state" counts=counts(contents.rows) chosen=chosen/>
        </ListScreen>
        <CreateUser open=view.making listing=listing/>
        <DeedDialog deeds=deeds listing=listing/>
    }
}

fn contents(
    listing: Listing<UserView>,
    view: View,
    chosen: RwSignal<Option<Standing>>,
) -> Contents<UserRow> {
    let gate = expect_context::<Gate>();
    let rows = move || {
        let me = gate.session().map(|session| session.me.username);
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
            chosen.is_none_or(|standing| Standing::of(&row.user) == standing)
                && passes(&row.user, &typed)
        }
    };
    Contents::new(listing, view, columns(), rows, passing)
}

fn counts(rows: Rows<UserRow>) -> Signal<Vec<Count<Standing>>> {
    Signal::derive(move || {
        let of = |key: Standing| Count {
            key,
            words: key.words(),
            tone: Some(tone(key)),
            count: rows.with(|rows| {
                rows.iter()
                    .filter(|row| Standing::of(&row.user) == key)
                    .count()
            }),
        };
        Standing::ALL.map(of).into()
    })
}
