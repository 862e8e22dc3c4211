//! Users, for administrators.

mod columns;
mod create;
mod deeds;
mod link;
mod one;
mod password;
mod view;

use std::sync::Arc;

use drover_api::kinds::IdentityState;
use drover_api::rest::UserView;
use drover_ui_core::user::{Standing, passes};
use drover_ui_kit::badge::Tone;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::field::SearchField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::command::SameCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::gate::Gate;
use crate::live::listing::Listing;
use crate::screens::list::{AdministratorsOnly, Refused, What, counted};
use crate::screens::title::title;
use columns::{UserRow, columns};
use create::CreateUser;
use deeds::{DeedDialog, Deeds};
pub(crate) use one::UserPage;
use view::View;

const PATH: &str = "/v1/users";
/// What the screens are for.
const DEED: &str = "manage users";

type Rows = Memo<Arc<Vec<UserRow>>>;

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
    if expect_context::<Gate>().is_administrator() {
        view! { <Managed/> }.into_any()
    } else {
        view! { <AdministratorsOnly deed=DEED/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let listing = Listing::<UserView>::follow(PATH);
    let view = View::of_url();
    let deeds = Deeds::provide();
    let rows = rows(listing, view);
    let shown = shown(rows, view);
    let freshness = Signal::derive(move || listing.freshness());
    view! {
        <div class="page">
            <header class="page-head">
                <h1>"Users"</h1>
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                <div class="home-filter">
                    <SearchField label="Filter users" hint="name, login, provider, disabled" value=view.text/>
                </div>
                <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                    "Make a user"
                </Button>
            </header>
            <StaleBanner freshness=freshness shown=Signal::derive(move || listing.items().is_some())/>
            <Tally label="Filter by state" counts=counts(rows) chosen=view.standing/>
            <List listing=listing rows=rows shown=shown view=view/>
            <footer class="page-foot">
                <SameCommand line="drover user list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
        <CreateUser open=view.making listing=listing/>
        <DeedDialog deeds=deeds listing=listing/>
    }
}

fn rows(listing: Listing<UserView>, view: View) -> Rows {
    let gate = expect_context::<Gate>();
    Memo::new(move |_| {
        let me = gate.session().map(|session| session.me.username);
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|user| UserRow {
            oneself: me.as_ref() == Some(&user.name),
            user: user.clone(),
        });
        Arc::new(sorted(rows.collect(), &columns(), view.sorting.get()))
    })
}

fn shown(rows: Rows, view: View) -> Rows {
    Memo::new(move |_| {
        let (typed, standing) = (view.text.get(), view.standing.get());
        let rows = rows.get();
        let passing = rows.iter().filter(|row| {
            standing.is_none_or(|standing| Standing::of(&row.user) == standing)
                && passes(&row.user, &typed)
        });
        Arc::new(passing.cloned().collect())
    })
}

fn counts(rows: Rows) -> Signal<Vec<Count<Standing>>> {
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

#[component]
fn List(listing: Listing<UserView>, rows: Rows, shown: Rows, view: View) -> impl IntoView {
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(listing.items().is_some(), listing.freshness(), all, some)
    });
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=6/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem things="users"/> }.into_any(),
                // Whoever looks is a user, so an empty list and one without a match are the same.
                What::Empty | What::NoMatch => view! { <NoMatch view=view/> }.into_any(),
                What::Rows => view! {
                    <Table label="Users" columns=columns() rows=shown sorting=view.sorting/>
                }.into_any(),
            }}
        </div>
    }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    view! {
        <Nothing why=Absence::NoMatch title="No user fits" advice="Fewer words, or another state, show more.">
            <Button on_press=move |()| view.show_all()>"Show all users"</Button>
        </Nothing>
    }
}
