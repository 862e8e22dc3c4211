//! Identity providers, for administrators.

mod change;
mod columns;
mod deeds;
mod form;
mod one;
mod trial;
mod view;

use std::sync::Arc;

use drover_api::rest::{AuthProviderView, List as Page, SettingView};
use drover_ui_core::problem::Problem;
use drover_ui_core::provider::{passes, readiness};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::field::SearchField;
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{Absence, Nothing, Skeleton};
use drover_ui_kit::table::{Table, sorted};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::command::{SameCommand, origin};
use crate::freshness::{FreshnessMark, StaleBanner};
use crate::gate::Gate;
use crate::live::listing::Listing;
use crate::screens::list::{AdministratorsOnly, Refused, What, counted};
use crate::screens::title::title;
use columns::{ProviderRow, columns};
use form::CreateProvider;
pub(crate) use one::ProviderPage;
use view::View;

const PATH: &str = "/v1/auth-providers";
/// What the screens are for.
const DEED: &str = "manage identity providers";

type Rows = Memo<Arc<Vec<ProviderRow>>>;

/// The address at which people reach the server, as its settings say; the page's own until they do.
fn server_url() -> RwSignal<String> {
    let gate = expect_context::<Gate>();
    let url = RwSignal::new(origin());
    spawn_local(async move {
        let answer: Result<Page<SettingView>, Problem> = gate.get("/v1/settings").await;
        let settings = answer.map(|page| page.items).unwrap_or_default();
        let mut settings = settings.into_iter();
        if let Some(told) = settings.find(|setting| setting.name == "server-url") {
            // Somebody may have gone on already.
            let _ = url.try_set(told.in_effect);
        }
    });
    url
}

/// The screen.
#[component]
pub(crate) fn Providers() -> impl IntoView {
    title("Identity providers");
    if expect_context::<Gate>().is_administrator() {
        view! { <Managed/> }.into_any()
    } else {
        view! { <AdministratorsOnly deed=DEED/> }.into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let (listing, view) = (Listing::<AuthProviderView>::follow(PATH), View::of_url());
    let freshness = Signal::derive(move || listing.freshness());
    let rows: Rows = Memo::new(move |_| {
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|provider| ProviderRow {
            readiness: readiness(provider),
            provider: provider.clone(),
        });
        Arc::new(sorted(rows.collect(), &columns(), view.sorting.get()))
    });
    let shown: Rows = Memo::new(move |_| {
        let (rows, typed) = (rows.get(), view.text.get());
        let fits = rows.iter().filter(|row| passes(&row.provider, &typed));
        Arc::new(fits.cloned().collect())
    });
    view! {
        <div class="page">
            <header class="page-head">
                <h1>"Identity providers"</h1>
                <FreshnessMark freshness=freshness/>
                <span class="grow"></span>
                <div class="home-filter">
                    <SearchField label="Filter identity providers" hint="name, protocol, enabled" value=view.text/>
                </div>
                <Button weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                    "Set up a provider"
                </Button>
            </header>
            <StaleBanner freshness=freshness shown=Signal::derive(move || listing.items().is_some())/>
            <List listing=listing rows=rows shown=shown view=view/>
            <footer class="page-foot">
                <SameCommand line="drover provider list".to_owned()/>
                <span>{move || counted(shown.with(|it| it.len()), rows.with(|it| it.len()))}</span>
            </footer>
        </div>
        <CreateProvider open=view.making/>
    }
}

#[component]
fn List(listing: Listing<AuthProviderView>, rows: Rows, shown: Rows, view: View) -> impl IntoView {
    let what = Memo::new(move |_| {
        let (all, some) = (rows.with(|it| it.len()), shown.with(|it| it.len()));
        What::of(listing.items().is_some(), listing.freshness(), all, some)
    });
    view! {
        <div class="home-list">
            {move || match what.get() {
                What::Loading => view! { <Skeleton lines=4/> }.into_any(),
                What::Problem(problem) => view! { <Refused problem=problem things="identity providers"/> }.into_any(),
                What::Empty => view! {
                    <Nothing why=Absence::Empty title="No identity providers yet"
                        advice="People sign in with names and passwords of Drover's own. With an identity provider (OpenID Connect, GitHub, LDAP or Active Directory) they sign in as they do elsewhere, and its groups can be given roles."/>
                }.into_any(),
                What::NoMatch => view! {
                    <Nothing why=Absence::NoMatch title="No identity provider fits" advice="Fewer words show more.">
                        <Button on_press=move |()| view.show_all()>"Show all identity providers"</Button>
                    </Nothing>
                }.into_any(),
                What::Rows => view! {
                    <Table label="Identity providers" columns=columns() rows=shown sorting=view.sorting/>
                }.into_any(),
            }}
        </div>
    }
}
