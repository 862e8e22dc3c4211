//! Tokens: one's own, and for administrators everybody's.

mod columns;
mod create;
mod delete;
mod view;

use std::sync::Arc;

use drover_api::kinds::TokenPurpose;
use drover_api::rest::TokenView;
use drover_ui_core::selection::Selection;
use drover_ui_core::token::{PURPOSES, passes, purpose};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::{Checkbox, SearchField};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::command::SameCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::gate::Gate;
use crate::live::listing::Listing;
use crate::screens::list::{ChosenBar, Refused, What, counted, forget_gone, in_sight};
use crate::screens::title::title;
use columns::{TokenRow, columns};
use create::CreateToken;
use delete::{DeleteTokens, Ending};
use view::View;

type Rows = Memo<Arc<Vec<TokenRow>>>;

/// The screen.
#[component]
pub(crate) fn Tokens() -> impl IntoView {
    title("Tokens");
    let gate = expect_context::<Gate>();
    let listing = Listing::<TokenView>::follow("/v1/tokens");
    let everybodys = gate.is_administrator();
    let view = View::of_url(everybodys);
    let selection = RwSignal::new(Selection::default());
    let ending = Ending::provide();
    let rows = rows(gate, listing, view);
    let shown = shown(rows, view);
    forget_gone(rows, selection);
    let freshness = Signal::derive(move || listing.freshness());
    view! {
        <div class="page">
            <header class="page-head">
                <h1>"Tokens"</h1>
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                <div class="home-filter">
                    <SearchField label="Filter tokens" hint="description, cluster, id" value=view.text/>
                </div>
                <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                    "Make a token"
                </Button>
            </header>
            <StaleBanner freshness=freshness shown=Signal::derive(move || listing.items().is_some())/>
            <div class="row">
                <Tally label="Filter by purpose" counts=counts(rows) chosen=view.purpose/>
                {everybodys.then(|| view! { <Checkbox label="Mine only" checked=view.mine/> })}
            </div>
            <ChosenBar selection=selection in_sight=in_sight(shown, selection)>
                <Button weight=Weight::Danger icon=Icon::Trash
                    on_press=move |()| ending.ask(chosen(rows, selection))>
                    "Delete…"
                </Button>
            </ChosenBar>
            <List listing=listing rows=rows shown=shown view=view selection=selection/>
            <footer class="page-foot">
                <SameCommand line="drover token list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
        <CreateToken open=view.making listing=listing/>
        <DeleteTokens ending=ending listing=listing selection=selection/>
    }
}

fn rows(gate: Gate, listing: Listing<TokenView>, view: View) -> Rows {
    Memo::new(move |_| {
        let here = gate.session().map(|session| session.me.token.id);
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|token| TokenRow {
            here: here.as_ref() == Some(&token.id),
            token: token.clone(),
        });
        Arc::new(sorted(rows.collect(), &columns(true), view.sorting.get()))
    })
}

fn shown(rows: Rows, view: View) -> Rows {
    let gate = expect_context::<Gate>();
    Memo::new(move |_| {
        let (typed, purpose, mine) = (view.text.get(), view.purpose.get(), view.mine.get());
        let me = gate.session().map(|session| session.me.username);
        let rows = rows.get();
        let passing = rows.iter().filter(|row| {
            purpose.is_none_or(|purpose| row.token.purpose == purpose)
                && (!mine || me.as_ref() == Some(&row.token.username))
                && passes(&row.token, &typed)
        });
        Arc::new(passing.cloned().collect())
    })
}

fn counts(rows: Rows) -> Signal<Vec<Count<TokenPurpose>>> {
    Signal::derive(move || {
        let of = |(key, _): (TokenPurpose, _)| Count {
            key,
            words: purpose(key),
            tone: None,
            count: rows.with(|rows| rows.iter().filter(|row| row.token.purpose == key).count()),
        };
        PURPOSES.map(of).into()
    })
}

/// The chosen ones, shown or not.
fn chosen(rows: Rows, selection: RwSignal<Selection>) -> Vec<TokenRow> {
    let chosen = |row: &&TokenRow| selection.with_untracked(|it| it.contains(&row.token.id));
    rows.with_untracked(|rows| rows.iter().filter(chosen).cloned().collect())
}

#[component]
fn List(
    listing: Listing<TokenView>,
    rows: Rows,
    shown: Rows,
    view: View,
    selection: RwSignal<Selection>,
) -> impl IntoView {
    let everybodys = expect_context::<Gate>().is_administrator();
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(listing.items().is_some(), listing.freshness(), all, some)
    });
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=8/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem things="tokens"/> }.into_any(),
                What::Empty => view! { <NoTokens/> }.into_any(),
                What::NoMatch => view! { <NoMatch view=view/> }.into_any(),
                What::Rows => view! {
                    <Table
                        label="Tokens"
                        columns=columns(everybodys)
                        rows=shown
                        sorting=view.sorting
                        selection=selection
                    />
                }.into_any(),
            }}
        </div>
    }
}

#[component]
fn NoTokens() -> impl IntoView {
    view! {
        <Nothing
            why=Absence::Empty
            title="No tokens"
            advice="Programs sign in with a token. Make one here, or on the command line."
        >
            <Code label="Command" text="drover token create --description 'backup job'".to_owned()/>
        </Nothing>
    }
}

#[component]
fn NoMatch(view: View) -> impl IntoView {
    view! {
        <Nothing why=Absence::NoMatch title="No token fits" advice="Fewer words, or another purpose, show more.">
            <Button on_press=move |()| view.show_all()>"Show all tokens"</Button>
        </Nothing>
    }
}
