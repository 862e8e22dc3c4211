//! The list of roles of both kinds.

use std::sync::Arc;

use drover_api::rest::{GlobalRoleView, RoleView};
use drover_ui_core::role::{Kind, Listed};
use drover_ui_kit::button::Button;
use drover_ui_kit::field::SearchField;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use leptos::prelude::*;

use super::columns::{BY_DEFAULT, RoleRow, columns};
use crate::command::SameCommand;
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::live::listing::Listing;
use crate::screens::address;
use crate::screens::list::{Refused, What, counted};
use crate::screens::title::title;

const SCREEN: &str = "/roles";

type Rows = Memo<Arc<Vec<RoleRow>>>;

/// The screen.
#[component]
pub(crate) fn Roles() -> impl IntoView {
    title("Roles");
    let templates = Listing::<RoleView>::follow(Kind::Template.path());
    // Who may not see global roles is shown the others.
    let globals = Listing::<GlobalRoleView>::follow(Kind::Global.path());
    let (typed, sorting) = (RwSignal::new(String::new()), RwSignal::new(BY_DEFAULT));
    address::read(SCREEN, move |of| {
        typed.set(of("q"));
        sorting.set(address::sorting(&of("sort"), &columns(), BY_DEFAULT));
    });
    address::keep(move || {
        let order = address::sorting_text(sorting.get(), BY_DEFAULT);
        address::path(SCREEN, &[("q", typed.get()), ("sort", order)])
    });
    let freshness = Signal::derive(move || templates.freshness());
    let rows: Rows = Memo::new(move |_| {
        let (templates, globals) = (templates.items(), globals.items());
        let templates = templates.iter().flat_map(|it| it.iter()).map(Listed::from);
        let globals = globals.iter().flat_map(|it| it.iter()).map(Listed::from);
        let rows = templates.chain(globals).map(RoleRow);
        Arc::new(sorted(rows.collect(), &columns(), sorting.get()))
    });
    let shown: Rows = Memo::new(move |_| {
        let (rows, typed) = (rows.get(), typed.get());
        let fits = rows.iter().filter(|row| row.0.passes(&typed));
        Arc::new(fits.cloned().collect())
    });
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(templates.items().is_some(), freshness.get(), all, some)
    });
    // Who can make one has at least the rights of one that there is.
    let may_make = move |kind| {
        rows.with(|rows| {
            rows.iter()
                .any(|it| it.0.kind == kind && it.0.rights.may_copy)
        })
    };
    let new = move |kind: Kind, words: &'static str| {
        move || {
            may_make(kind)
                .then(|| view! { <a class="button" href=kind.screen_of_new(None)>{words}</a> })
        }
    };
    let everywhere = move || {
        let known = globals.items().is_some();
        known
            .then(|| view! { <a class="button" href="/global-members">"Who has a global role"</a> })
    };
    view! {
        <div class="page">
            <header class="page-head">
                <h1>"Roles"</h1>
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                <div class="home-filter">
                    <SearchField label="Filter roles" hint="name, what it is for, place" value=typed/>
                </div>
            </header>
            <StaleBanner freshness=freshness shown=Signal::derive(move || templates.items().is_some())/>
            <nav class="row" aria-label="Of roles">
                {new(Kind::Template, "Make a role")}
                {new(Kind::Global, "Make a global role")}
                {everywhere}
            </nav>
            <div class="home-list">
                {move || match what.get() {
                    What::Loading => view! { <Skeleton lines=6/> }.into_any(),
                    What::Problem(problem) => view! { <Refused problem=problem things="roles"/> }.into_any(),
                    What::Empty => view! {
                        <Nothing why=Absence::Empty title="There are no roles"
                            advice="The server makes those of the start within seconds."/>
                    }.into_any(),
                    What::NoMatch => view! { <NoMatch typed=typed/> }.into_any(),
                    What::Rows => view! {
                        <Table label="Roles" columns=columns() rows=shown sorting=sorting/>
                    }.into_any(),
                }}
            </div>
            <footer class="page-foot">
                <SameCommand line="drover role list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
    }
}

#[component]
fn NoMatch(typed: RwSignal<String>) -> impl IntoView {
    view! {
        <Nothing why=Absence::NoMatch title="No role fits" advice="Fewer words show more.">
            <Button on_press=move |()| typed.set(String::new())>"Show all roles"</Button>
        </Nothing>
    }
}
