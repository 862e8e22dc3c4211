//! The frame around each screen: navigation, user menu and command palette.

mod cluster;
mod scrolled;

use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::choice::{Stored as _, options};
use drover_ui_kit::density::Density;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::language::PageLanguage;
use drover_ui_kit::menu::{Item, Menu};
use drover_ui_kit::rich::rich;
use drover_ui_kit::theme::Theme;
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;
use wasm_bindgen::JsCast as _;
use web_sys::{FocusOptions, HtmlElement};

use crate::brand::Brand;
use crate::chunk::{LazyParts, Pending};
use crate::keys::{KeysDialog, KeysHelp};
use crate::live::Clusters;
use crate::namespace::ChosenNamespace;
use crate::pages::{Page, navigation};
use crate::palette::{PageActions, Palette, PaletteOpen};
use crate::rows::RowConnection;
use crate::saved_views::SavedViews;
use crate::served_kinds::ServedKinds;
use crate::session::preferences::PreferenceSync;
use crate::session::{Session, display_name, sign_out};
use crate::terminals::Terminals;
use crate::unsaved::{UnsavedDialog, UnsavedGuard};
use cluster::ClusterNavigation;

/// Shows the frame around a screen.
#[component]
pub(crate) fn Frame(children: Children) -> impl IntoView {
    Clusters::provide();
    PreferenceSync::provide();
    SavedViews::provide();
    RowConnection::provide();
    ServedKinds::provide();
    let cluster = expect_context::<ServedKinds>().cluster;
    let namespace = ChosenNamespace::provide();
    Pending::provide();
    let has_terminals = Terminals::provide().has_any();
    let dock = expect_context::<LazyParts>().dock;
    let (guard, palette) = (UnsavedGuard::within_router(), PaletteOpen::provide());
    PageActions::provide();
    let everywhere = RwSignal::new(false);
    KeysHelp::provide();
    scrolled::keep();
    let skip = move |event: web_sys::MouseEvent| {
        // The router would treat the link as a navigation.
        event.prevent_default();
        focus_main(false);
    };
    view! {
        <div class="frame">
            <a class="skip" href="#main" on:click=skip>{t().frame.skip()}</a>
            <header class="rail">
                <a class="brand" href="/" aria-label=t().frame.brand()><Brand/></a>
                <button type="button" class="palette-button" aria-haspopup="dialog" on:click=move |_| palette.open()>
                    <Picture icon=Icon::Search/>
                    <span>{t().frame.go_to()}</span>
                    <kbd>{modifier()} "K"</kbd>
                </button>
                {move || match cluster.get() {
                    Some(cluster) => view! { <ClusterNavigation cluster=cluster namespace=namespace/> }.into_any(),
                    None => view! { <nav aria-label=t().frame.navigation()><Navigation/></nav> }.into_any(),
                }}
                <div class="rail-foot"><PersonMenu everywhere=everywhere/></div>
            </header>
            <main class="main" id="main" tabindex="-1">{children()}</main>
            <Show when=move || has_terminals.get()>{dock()}</Show>
        </div>
        <ScreenAnnouncement/>
        <SignOutEverywhere open=everywhere/>
        <Palette/>
        <KeysDialog/>
        <UnsavedDialog guard=guard/>
    }
}

/// Announces a new screen to screen readers, and moves the focus to the screen. The browser
/// otherwise loses the focus when the page removes the pressed link.
#[component]
fn ScreenAnnouncement() -> impl IntoView {
    let pathname = use_location().pathname;
    let pending = expect_context::<Pending>();
    let words = RwSignal::new(String::new());
    let announced = StoredValue::new(pathname.get_untracked());
    Effect::new(move |_| {
        let path = pathname.get();
        // The effect runs again when the chunk of the screen is loaded.
        if pending.is_pending() || announced.with_value(|announced| *announced == path) {
            return;
        }
        // The screen is rendered in the next frame.
        request_animation_frame(move || {
            if untrack(|| pending.is_pending()) {
                return;
            }
            if announced.try_set_value(path).is_none() {
                let _ = words.try_set(document().title());
                focus_screen();
            }
        });
    });
    view! { <p class="visually-hidden" role="status">{words}</p> }
}

/// Focuses the screen, unless the focus is in the screen or in a dialog.
fn focus_screen() {
    let within = document()
        .active_element()
        .and_then(|at| at.closest("main, dialog[open]").ok().flatten());
    if within.is_none() {
        focus_main(true);
    }
}

/// Focuses the main element.
fn focus_main(prevent_scroll: bool) {
    let main = document().get_element_by_id("main");
    let main = main.and_then(|main| main.dyn_into::<HtmlElement>().ok());
    if let Some(main) = main {
        let options = FocusOptions::new();
        options.set_prevent_scroll(prevent_scroll);
        // A failed focus has no effect.
        let _ = main.focus_with_options(&options);
    }
}

/// Shows links to the pages that the user's permissions allow.
#[component]
fn Navigation() -> impl IntoView {
    let session = expect_context::<Session>();
    let permissions = Memo::new(move |_| {
        let me = session.view().map(|view| view.me);
        me.map(|me| (me.rights, me.administrator))
            .unwrap_or_default()
    });
    let offered = move || {
        permissions.track();
        navigation(session)
    };
    let link = |page: Page| {
        let label = page.navigation.map(|(_, label)| label);
        view! {
            <li><A href=page.path exact=page.path == "/"><Picture icon=page.icon/><span>{label}</span></A></li>
        }
    };
    view! {
        <ul><For each=offered key=|page| page.path children=link/></ul>
        <p class="rail-heading rail-everywhere">{t().navigation.everywhere()}</p>
        <ul>{EVERYWHERE.into_iter().map(list_of_all_clusters).collect_view()}</ul>
    }
}

/// The kinds whose lists of all clusters are in the navigation.
const EVERYWHERE: [Kind; 6] = [
    Kind::PODS,
    Kind::DEPLOYMENTS,
    Kind::STATEFUL_SETS,
    Kind::JOBS,
    Kind::SERVICES,
    Kind::NODES,
];

fn list_of_all_clusters(kind: Kind) -> impl IntoView {
    view! { <li><A href=kind.everywhere_screen()><span class="truncate">{kind.heading}</span></A></li> }
}

/// Returns the name of the modifier key in the keyboard shortcut of the palette.
fn modifier() -> &'static str {
    let agent = window().navigator().user_agent().unwrap_or_default();
    if agent.contains("Mac") {
        "⌘ "
    } else {
        "Ctrl "
    }
}

#[component]
fn PersonMenu(everywhere: RwSignal<bool>) -> impl IntoView {
    let session = expect_context::<Session>();
    let toasts = expect_context::<Toasts>();
    let guard = expect_context::<UnsavedGuard>();
    let looks = options::<Theme>().chain(options::<Density>());
    let mut items: Vec<Item> = looks.chain(languages(guard)).collect();
    let go = |path: &'static str| move || guard.go(path);
    let leave = move || guard.before(move || sign_out(session, toasts, false));
    let leave_all = move || everywhere.set(true);
    let help = expect_context::<KeysHelp>();
    let show_keys = move || help.open();
    items.push(Item::action(Icon::Info, t().keys.menu(), show_keys));
    items.push(Item::action(Icon::Key, t().frame.tokens(), go("/tokens")));
    let forwards = Item::action(Icon::Globe, t().forwards.title(), go("/port-forwards"));
    items.push(forwards);
    // Drover cannot change passwords of identity providers.
    if session.provider().is_none() {
        let words = t().frame.change_password();
        items.push(Item::action(Icon::Lock, words, go("/password")));
    }
    items.push(Item::action(Icon::SignOut, t().frame.sign_out(), leave));
    let words = t().frame.sign_out_everywhere_menu();
    items.push(Item::action(Icon::SignOut, words, leave_all));
    let name = move || {
        let view = session.view();
        view.as_ref().map(display_name).unwrap_or_default()
    };
    view! {
        <Menu label=t().frame.user_menu() items=items>
            <Picture icon=Icon::Person/>
            <span>{name}</span>
        </Menu>
    }
}

/// Returns the menu items for the languages. The choice of a language loads the page again.
fn languages(guard: UnsavedGuard) -> impl Iterator<Item = Item> {
    let preferences = expect_context::<PreferenceSync>();
    options::<PageLanguage>()
        .zip(PageLanguage::ALL)
        .map(move |(item, language)| {
            let choose = move || preferences.choose_language(*language);
            let on_choose = Callback::new(move |()| guard.before(choose));
            Item { on_choose, ..item }
        })
}

#[component]
fn SignOutEverywhere(open: RwSignal<bool>) -> impl IntoView {
    let (session, toasts) = (expect_context::<Session>(), expect_context::<Toasts>());
    let guard = expect_context::<UnsavedGuard>();
    let go = move |()| {
        open.set(false);
        guard.before(move || sign_out(session, toasts, true));
    };
    view! {
        <Dialog open=open title=t().frame.sign_out_everywhere_title()>
            <div class="dialog-body">
                <p>{rich(t().frame.sign_out_everywhere_effect())}</p>
                <div class="dialog-foot">
                    <Button on_press=move |()| open.set(false)>{t().frame.stay_signed_in()}</Button>
                    <Button weight=Weight::Danger on_press=go>{t().frame.sign_out_everywhere()}</Button>
                </div>
            </div>
        </Dialog>
    }
}
