//! The list of identity providers, for administrators.

mod actions;
mod change;
mod columns;
mod connection_test;
mod form;
mod one;

use drover_api::rest::{AuthProviderView, List as Page, SettingView};
use drover_ui_core::messages::Noun;
use drover_ui_core::messages::t;
use drover_ui_core::problem::Problem;
use drover_ui_core::provider::{passes, readiness};
use drover_ui_core::rights::RequiredRight;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use drover_ui_kit::notice::{EmptyReason, EmptyState};
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::command::origin;
use crate::live::listing::Listing;
use crate::screens::list::{Contents, ListKind, ListScreen, NeedsRight, View};
use crate::screens::title::title;
use crate::session::Session;
use columns::{BY_DEFAULT, ProviderRow, columns};
use form::CreateProvider;
pub(crate) use one::ProviderPage;

const PATH: &str = "/v1/auth-providers";
const SCREEN: &str = "/providers";

/// The kind of the listed objects, and the number of placeholder lines during loading.
const PROVIDERS: ListKind = ListKind {
    noun: Noun::IdentityProviders,
    lines: 4,
};

/// Returns the server URL from the settings. The value is the origin of the page until the settings
/// are loaded.
fn server_url() -> RwSignal<String> {
    let session = expect_context::<Session>();
    let url = RwSignal::new(origin());
    spawn_local(async move {
        let answer: Result<Page<SettingView>, Problem> = session.get("/v1/settings").await;
        let settings = answer.map(|page| page.items).unwrap_or_default();
        let mut settings = settings.into_iter();
        if let Some(told) = settings.find(|setting| setting.name == "server-url") {
            // The screen can be disposed before the response arrives.
            let _ = url.try_set(told.in_effect);
        }
    });
    url
}

/// Shows the list of identity providers.
#[component]
pub(crate) fn Providers() -> impl IntoView {
    title(t().lists.heading(PROVIDERS.noun));
    if expect_context::<Session>().rights().may_list_providers {
        view! { <Managed/> }.into_any()
    } else {
        view! { <NeedsRight noun=Noun::IdentityProviders needs=RequiredRight::ListProviders/> }
            .into_any()
    }
}

#[component]
fn Managed() -> impl IntoView {
    let listing = Listing::<AuthProviderView>::follow(PATH);
    let view = View::of_url(SCREEN, &columns(), BY_DEFAULT, Vec::new());
    let rows = move || {
        let items = listing.items().unwrap_or_default();
        let rows = items.iter().map(|provider| ProviderRow {
            readiness: readiness(provider),
            provider: provider.clone(),
        });
        rows.collect()
    };
    let passing = |typed: String| move |row: &ProviderRow| passes(&row.provider, &typed);
    let contents = Contents::new(listing, view, columns(), rows, passing);
    let may = expect_context::<Session>().is_administrator();
    let make = move || {
        view! {
            <Button missing=RequiredRight::Administer.unless(may) weight=Weight::Primary icon=Icon::Plus on_press=move |()| view.making.set(true)>
                {t().providers.create()}
            </Button>
        }
    };
    view! {
        <ListScreen kind=PROVIDERS contents=contents command="drover provider list" action=make empty=NoProviders/>
        <CreateProvider open=view.making/>
    }
}

#[component]
fn NoProviders() -> impl IntoView {
    view! {
        <EmptyState
            reason=EmptyReason::Empty
            title=t().providers.empty()
            advice=t().providers.empty_advice()
        />
    }
}
