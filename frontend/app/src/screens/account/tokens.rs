//! The list of the user's tokens. Administrators see the tokens of all users.

mod columns;
mod create;
mod delete;

use drover_api::kinds::TokenPurpose;
use drover_api::rest::TokenView;
use drover_ui_core::messages::{Noun, t};
use drover_ui_core::selection::Selection;
use drover_ui_core::token::{PURPOSES, passes, purpose};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::code::Code;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use drover_ui_kit::tally::{Count, Tally};
use leptos::prelude::*;

use crate::live::listing::Listing;
use crate::screens::list::{
    ChosenBar, Contents, Filter, ListKind, ListScreen, Rows, View, forget_gone, in_sight,
};
use crate::screens::title::title;
use crate::session::Session;
use columns::{BY_DEFAULT, TokenRow, columns};
use create::CreateToken;
use delete::{DeleteTokens, TokenDeletion};

const SCREEN: &str = "/tokens";

/// The kind of the listed objects, and the number of placeholder lines during loading.
const TOKENS: ListKind = ListKind {
    noun: Noun::Tokens,
    lines: 8,
};

/// The filters next to the text filter.
#[derive(Clone, Copy, Debug)]
struct TokenFilters {
    /// The token purpose that the filter selects; `None` for all purposes.
    purpose: RwSignal<Option<TokenPurpose>>,
    /// True if the list shows only the user's own tokens.
    mine: RwSignal<bool>,
}

/// Shows the list of tokens.
#[component]
pub(crate) fn Tokens() -> impl IntoView {
    title(t().lists.heading(TOKENS.noun));
    let listing = Listing::<TokenView>::follow("/v1/tokens");
    let everybodys = expect_context::<Session>().rights().may_list_tokens;
    let (purpose, mine) = (RwSignal::new(None), RwSignal::new(false));
    let filters = vec![
        Filter::one_of("purpose", purpose, PURPOSES),
        Filter::only("whose", "mine", mine),
    ];
    let view = View::of_url(SCREEN, &columns(everybodys), BY_DEFAULT, filters);
    let contents = contents(listing, view, everybodys, TokenFilters { purpose, mine });
    let (rows, shown) = (contents.rows, contents.shown);
    let selection = RwSignal::new(Selection::default());
    let ending = TokenDeletion::provide();
    forget_gone(rows, selection);
    let make = move || {
        view! {
            <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                {t().tokens.create()}
            </Button>
        }
    };
    view! {
        <ListScreen kind=TOKENS contents=contents command="drover token list" action=make empty=NoTokens selection=selection>
            <div class="row">
                <Tally label=t().tokens.filter_by_purpose() counts=counts(rows) chosen=purpose/>
                {everybodys.then(|| view! { <Checkbox label=t().tokens.mine_only() checked=mine/> })}
            </div>
            <ChosenBar selection=selection in_sight=in_sight(shown, selection)>
                <Button weight=Weight::Danger icon=Icon::Trash
                    on_press=move |()| ending.ask(chosen(rows, selection))>
                    {t().buttons.delete_menu()}
                </Button>
            </ChosenBar>
        </ListScreen>
        <CreateToken open=view.making listing=listing/>
        <DeleteTokens ending=ending listing=listing selection=selection/>
    }
}

fn contents(
    listing: Listing<TokenView>,
    view: View,
    everybodys: bool,
    chosen: TokenFilters,
) -> Contents<TokenRow> {
    let session = expect_context::<Session>();
    let rows = move || {
        let here = session.view().map(|view| view.me.token.id);
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|token| TokenRow {
            here: here.as_ref() == Some(&token.id),
            token: token.clone(),
        });
        rows.collect()
    };
    let passing = move |typed: String| {
        let (purpose, mine) = (chosen.purpose.get(), chosen.mine.get());
        let me = session.view().map(|view| view.me.username);
        move |row: &TokenRow| {
            purpose.is_none_or(|purpose| row.token.purpose == purpose)
                && (!mine || me.as_ref() == Some(&row.token.username))
                && passes(&row.token, &typed)
        }
    };
    Contents::new(listing, view, columns(everybodys), rows, passing)
}

fn counts(rows: Rows<TokenRow>) -> Signal<Vec<Count<TokenPurpose>>> {
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

/// Returns the selected tokens, including tokens that the filter hides.
fn chosen(rows: Rows<TokenRow>, selection: RwSignal<Selection>) -> Vec<TokenRow> {
    let chosen = |row: &&TokenRow| selection.with_untracked(|it| it.contains(&row.token.id));
    rows.with_untracked(|rows| rows.iter().filter(chosen).cloned().collect())
}

#[component]
fn NoTokens() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().tokens.empty()
            advice=t().tokens.empty_advice()
        >
            <Code label=t().labels.command() text="drover token create --description 'backup job'".to_owned()/>
        </EmptyState>
    }
}
