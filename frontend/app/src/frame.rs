//! The frame around each screen: navigation, user menu and command palette.

mod scrolled;

use drover_ui_core::messages::t;
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::icon::{Icon, Picture};
use drover_ui_kit::menu::{Item, Menu};
use drover_ui_kit::rich::rich;
use drover_ui_kit::theme::{Theme, ThemeChoice};
use drover_ui_kit::toast::Toasts;
use leptos::prelude::*;
use leptos_router::components::A;
use leptos_router::hooks::use_location;
use wasm_bindgen::JsCast as _;
use web_sys::{FocusOptions, HtmlElement};

use crate::brand::Brand;
use crate::chunk::Pending;
use crate::live::Clusters;
use crate::pages::{Page, navigation};
use crate::palette::{Palette, PaletteOpen};
use crate::session::{Session, display_name, sign_out};
use crate::unsaved::{UnsavedDialog, UnsavedGuard};

/// Shows the frame around a screen.
#[component]
pub(crate) fn Frame(children: Children) -> impl IntoView {
    Clusters::provide();
    Pending::provide();
    let (guard, palette) = (UnsavedGuard::within_router(), PaletteOpen::provide());
    let everywhere = RwSignal::new(false);
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
                <nav aria-label=t().frame.navigation()>
                    <Navigation/>
                </nav>
                <div class="rail-foot"><PersonMenu everywhere=everywhere/></div>
            </header>
            <main class="main" id="main" tabindex="-1">{children()}</main>
        </div>
        <ScreenAnnouncement/>
        <SignOutEverywhere open=everywhere/>
        <Palette/>
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
    }
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
    let (session, themes) = (expect_context::<Session>(), expect_context::<ThemeChoice>());
    let toasts = expect_context::<Toasts>();
    let guard = expect_context::<UnsavedGuard>();
    let once = |icon, words: &str, on_choose| Item {
        icon,
        words: words.to_owned(),
        checked: None,
        on_choose,
        weight: Weight::Plain,
        missing: None,
    };
    let mut items: Vec<Item> = Theme::ALL
        .into_iter()
        .map(|theme| Item {
            icon: theme.icon(),
            words: theme.words().to_owned(),
            checked: Some(Signal::derive(move || themes.current() == theme)),
            on_choose: Callback::new(move |()| themes.choose(theme)),
            weight: Weight::Plain,
            missing: None,
        })
        .collect();
    let go = |path: &'static str| Callback::new(move |()| guard.go(path));
    let (tokens, change) = (go("/tokens"), go("/password"));
    let leave = Callback::new(move |()| guard.before(move || sign_out(session, toasts, false)));
    let leave_all = Callback::new(move |()| everywhere.set(true));
    items.push(once(Icon::Key, t().frame.tokens(), tokens));
    // Drover cannot change passwords of identity providers.
    if session.provider().is_none() {
        items.push(once(Icon::Lock, t().frame.change_password(), change));
    }
    items.push(once(Icon::SignOut, t().frame.sign_out(), leave));
    items.push(once(
        Icon::SignOut,
        t().frame.sign_out_everywhere_menu(),
        leave_all,
    ));
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
