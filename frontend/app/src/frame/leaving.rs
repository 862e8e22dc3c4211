//! The question before the person leaves a screen, and what they changed on it is lost.

use std::sync::Arc;

use drover_ui_kit::confirm::Confirm;
use js_sys::Function;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::convert::FromWasmAbi;
use wasm_bindgen::prelude::JsValue;
use web_sys::{Element, Event, HtmlAnchorElement, MouseEvent};

/// What the person wants to do, for which the screen has to go.
type Wish = Arc<dyn Fn() + Send + Sync>;

/// Whether something would be lost, and what is wanted nevertheless.
#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    /// Whether what is shown was changed, as its screen says; a screen that is gone says nothing.
    changed: StoredValue<Option<Memo<bool>>>,
    /// What is done once the person says so.
    wish: StoredValue<Option<Wish>>,
    /// Whether they are asked.
    asking: RwSignal<bool>,
    /// Whether the next step in the history is one that they said yes to.
    agreed: StoredValue<bool>,
    /// Where the person is, and how they get elsewhere, once the router is there.
    way: StoredValue<Option<Way>>,
}

/// The router's part.
#[derive(Clone, Copy)]
struct Way {
    pathname: Memo<String>,
    search: Memo<String>,
    navigate: Callback<String>,
}

impl Leaving {
    /// Begins to see to links and the history, for all screens. The router has to come later: of the
    /// history, browsers tell in the order in which they were asked to, capture or not.
    pub(crate) fn provide() {
        let leaving = Self {
            changed: StoredValue::new(None),
            wish: StoredValue::new(None),
            asking: RwSignal::new(false),
            agreed: StoredValue::new(false),
            way: StoredValue::new(None),
        };
        hear_first("click", move |event: MouseEvent| leaving.by_link(&event));
        hear_first("popstate", move |event: Event| leaving.by_history(&event));
        provide_context(leaving);
    }

    /// The same, inside of the router.
    pub(super) fn within_router() -> Self {
        let leaving = expect_context::<Self>();
        let (navigate, here) = (use_navigate(), use_location());
        leaving.way.set_value(Some(Way {
            pathname: here.pathname,
            search: here.search,
            navigate: Callback::new(move |path: String| {
                navigate(&path, NavigateOptions::default());
            }),
        }));
        leaving
    }

    /// Asks from now on, while this is so and the screen that says it is there.
    pub(crate) fn ask_while(self, changed: Memo<bool>) {
        self.changed.set_value(Some(changed));
        // Only then, for a page that hears of this is not kept for the way back to it.
        let closing = window_event_listener(leptos::ev::beforeunload, move |event| {
            if self.would_lose() {
                event.prevent_default();
            }
        });
        on_cleanup(move || closing.remove());
    }

    /// Goes to a path, at once or when the person has said so.
    pub(crate) fn go(self, path: &str) {
        let path = path.to_owned();
        self.before(move || {
            if let Some(way) = self.way.get_value() {
                way.navigate.run(path.clone());
            }
        });
    }

    /// Does what takes the screen away, at once or when the person has said so.
    pub(crate) fn before(self, wish: impl Fn() + Send + Sync + 'static) {
        if self.would_lose() {
            self.wish.set_value(Some(Arc::new(wish)));
            self.asking.set(true);
        } else {
            wish();
        }
    }

    fn would_lose(self) -> bool {
        let changed = self.changed.get_value();
        changed.and_then(|changed| changed.try_get_untracked()) == Some(true)
    }

    /// Keeps a link from being followed until the person has said so.
    fn by_link(self, event: &MouseEvent) {
        if !self.would_lose() {
            return;
        }
        if let Some(path) = followed(event) {
            event.prevent_default();
            self.go(&path);
        }
    }

    /// Goes back to where the screen is, for the history has gone already.
    fn by_history(self, event: &Event) {
        let agreed = self.agreed.get_value();
        self.agreed.set_value(false);
        let Some(here) = self.way.get_value() else {
            return;
        };
        let (pathname, search) = (here.pathname.get_untracked(), here.search.get_untracked());
        let stays = window().location().pathname().ok().as_ref() == Some(&pathname);
        if agreed || stays || !self.would_lose() {
            return;
        }
        event.stop_immediate_propagation();
        let path = match search.as_str() {
            "" => pathname,
            search => format!("{pathname}?{search}"),
        };
        let history = window().history();
        // A browser that refuses shows another URL than the screen's until the person has answered.
        let _ = history
            .and_then(|history| history.push_state_with_url(&JsValue::NULL, "", Some(&path)));
        self.before(move || {
            self.agreed.set_value(true);
            // The step to where the history had gone.
            let _ = window().history().and_then(|history| history.back());
        });
    }

    fn leave(self) {
        self.asking.set(false);
        if let Some(wish) = self.wish.try_update_value(Option::take).flatten() {
            wish();
        }
    }
}

/// The path to which a click leads within the page, and away from this screen.
fn followed(event: &MouseEvent) -> Option<String> {
    let apart = event.meta_key() || event.alt_key() || event.ctrl_key() || event.shift_key();
    if event.button() != 0 || apart {
        return None;
    }
    let at = event.target()?.dyn_into::<Element>().ok()?;
    let link = at.closest("a[href]").ok()??;
    let link = link.dyn_into::<HtmlAnchorElement>().ok()?;
    let external = link
        .rel()
        .split_ascii_whitespace()
        .any(|it| it == "external");
    let here = window().location();
    let within = here.origin().ok()? == link.origin() && here.pathname().ok()? != link.pathname();
    let followed =
        within && !external && link.target().is_empty() && !link.has_attribute("download");
    followed.then(|| format!("{}{}{}", link.pathname(), link.search(), link.hash()))
}

/// Hears of an event before everything else on the page does, until the owner is gone.
fn hear_first<E: FromWasmAbi + 'static>(name: &'static str, hear: impl Fn(E) + 'static) {
    let hear = Closure::<dyn Fn(E)>::new(hear).into_js_value();
    let hear = StoredValue::new_local(hear.unchecked_into::<Function>());
    hear.with_value(|hear| {
        // A browser without it leaves without asking.
        let _ = window().add_event_listener_with_callback_and_bool(name, hear, true);
    });
    on_cleanup(move || {
        hear.with_value(|hear| {
            let _ = window().remove_event_listener_with_callback_and_bool(name, hear, true);
        });
    });
}

/// The question.
#[component]
pub(crate) fn LeaveQuestion(leaving: Leaving) -> impl IntoView {
    let pathname = use_location().pathname;
    Effect::new(move |_| {
        // A screen that went by itself, for what it did, leaves nothing to ask.
        pathname.track();
        leaving.asking.set(false);
    });
    view! {
        <Confirm
            open=leaving.asking
            title="Leave without saving?"
            verb="Leave without saving"
            keep="Stay here"
            on_confirm=move |()| leaving.leave()
        >
            <p>"What you changed here is not saved, and it cannot be brought back."</p>
        </Confirm>
    }
}
