//! The guard against the loss of unsaved changes.

mod history;

use std::sync::Arc;

use drover_ui_core::messages::t;
use drover_ui_core::unsaved::{HistoryAction, HistoryGuard, HistoryStep, LinkClick};
use drover_ui_kit::confirm::Confirm;
use js_sys::Function;
use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_location, use_navigate};
use wasm_bindgen::JsCast as _;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::convert::FromWasmAbi;
use web_sys::{Element, Event, EventTarget, HtmlAnchorElement, MouseEvent};

/// A navigation that leaves the screen.
type PendingNavigation = Arc<dyn Fn() + Send + Sync>;

/// The unsaved changes of the screen, and the navigation that waits for a confirmation.
#[derive(Clone, Copy)]
pub(crate) struct UnsavedGuard {
    /// True if the screen has unsaved changes; `None` if no screen is guarded.
    changed: RwSignal<Option<Memo<bool>>>,
    /// The navigation that waits for a confirmation.
    pending: StoredValue<Option<PendingNavigation>>,
    /// True while the dialog is open.
    asking: RwSignal<bool>,
    /// The state of the guard in the browser's history.
    history: StoredValue<HistoryGuard>,
    /// The router's location and navigation function.
    navigation: StoredValue<Option<Navigation>>,
}

/// The router's location and navigation function.
#[derive(Clone, Copy)]
struct Navigation {
    pathname: Memo<String>,
    search: Memo<String>,
    navigate: Callback<(String, NavigateOptions)>,
}

impl UnsavedGuard {
    /// Listens to links and history events. Call the function before the router is created, because
    /// `popstate` listeners run in the order of registration.
    pub(crate) fn provide() {
        let guard = Self {
            changed: RwSignal::new(None),
            pending: StoredValue::new(None),
            asking: RwSignal::new(false),
            history: StoredValue::new(HistoryGuard::new(history::place())),
            navigation: StoredValue::new(None),
        };
        let page = || window().into();
        listen_first(page(), "click", move |event| guard.by_link(&event));
        listen_first(page(), "popstate", move |event| guard.by_history(&event));
        if let Some(navigation) = history::navigation() {
            listen_first(navigation, "currententrychange", move |event: Event| {
                // The guard can still be undoing a step.
                if history::is_new(&event) {
                    guard
                        .history
                        .update_value(|guard| guard.entry_changed(history::place()));
                }
            });
        }
        provide_context(guard);
    }

    /// Connects the guard to the router.
    pub(crate) fn within_router() -> Self {
        let guard = expect_context::<Self>();
        let (navigate, here) = (use_navigate(), use_location());
        guard.navigation.set_value(Some(Navigation {
            pathname: here.pathname,
            search: here.search,
            navigate: Callback::new(move |(path, options): (String, _)| navigate(&path, options)),
        }));
        guard
    }

    /// Guards the screen while `changed` is true.
    pub(crate) fn ask_while(self, changed: Memo<bool>) {
        self.changed.set(Some(changed));
        // The guard adds the listener late, because `beforeunload` listeners disable the
        // back-forward cache.
        let closing = window_event_listener(leptos::ev::beforeunload, move |event| {
            if untrack(move || self.would_lose()) {
                event.prevent_default();
            }
        });
        on_cleanup(move || closing.remove());
    }

    /// Navigates to a path. If the screen has unsaved changes, the user must confirm first.
    pub(crate) fn go(self, path: &str) {
        let path = path.to_owned();
        self.before(move || {
            if let Some(navigation) = self.navigation.get_value() {
                navigation
                    .navigate
                    .run((path.clone(), NavigateOptions::default()));
            }
        });
    }

    /// Runs an action that leaves the screen. If the screen has unsaved changes, the user must
    /// confirm first.
    pub(crate) fn before(self, pending: impl Fn() + Send + Sync + 'static) {
        if untrack(move || self.would_lose()) {
            self.pending.set_value(Some(Arc::new(pending)));
            self.asking.set(true);
        } else {
            pending();
        }
    }

    /// Reports whether the screen has unsaved changes. Subscribes the caller to the value.
    fn would_lose(self) -> bool {
        let changed = self.changed.get();
        changed.and_then(|changed| changed.try_get()) == Some(true)
    }

    /// Blocks the navigation of a link until the user confirms.
    fn by_link(self, event: &MouseEvent) {
        if !untrack(move || self.would_lose()) {
            return;
        }
        if let Some(path) = followed(event) {
            event.prevent_default();
            self.go(&path);
        }
    }

    /// Undoes a history step until the user confirms.
    fn by_history(self, event: &Event) {
        let navigation = self.navigation.get_value();
        let stays = navigation.is_none_or(|navigation| {
            let pathname = window().location().pathname().ok();
            pathname == Some(navigation.pathname.get_untracked())
        });
        let step = HistoryStep {
            index: history::place(),
            stays,
            has_changes: untrack(move || self.would_lose()),
        };
        let mut action = HistoryAction::Pass;
        self.history.update_value(|guard| action = guard.step(step));
        if action == HistoryAction::Pass {
            return;
        }
        // The router must not receive the event.
        event.stop_immediate_propagation();
        match (action, navigation) {
            (HistoryAction::Ask(step), _) => self.before(move || self.step_confirmed(step)),
            (HistoryAction::Undo(step), _) if history::step(step) => {}
            (_, Some(navigation)) => {
                self.history.update_value(HistoryGuard::undo_refused);
                self.put_back(navigation);
            }
            (_, None) => {}
        }
    }

    /// Moves in the history after the user's confirmation.
    fn step_confirmed(self, step: i32) {
        let accepted = history::step(step);
        self.history.update_value(|guard| guard.confirmed(accepted));
    }

    /// Restores the screen with a new history entry. The guard uses the method if the browser does
    /// not report the history index.
    fn put_back(self, navigation: Navigation) {
        let gone = window().location();
        let (path, search) = (gone.pathname(), gone.search());
        let gone = path.unwrap_or_default() + &search.unwrap_or_default();
        let (pathname, search) = (
            navigation.pathname.get_untracked(),
            navigation.search.get_untracked(),
        );
        let here = match search.as_str() {
            "" => pathname,
            search => format!("{pathname}?{search}"),
        };
        if history::push(&here) {
            self.before(move || self.step_confirmed(-1));
            return;
        }
        // The URL shows the target until the user answers.
        self.before(move || {
            let instead = NavigateOptions {
                replace: true,
                ..NavigateOptions::default()
            };
            navigation.navigate.run((gone.clone(), instead));
        });
    }

    fn leave(self) {
        self.asking.set(false);
        if let Some(pending) = self.pending.try_update_value(Option::take).flatten() {
            pending();
        }
    }
}

/// Returns the target of a click on a link, if the link opens a different screen of the page.
fn followed(event: &MouseEvent) -> Option<String> {
    let at = event.target()?.dyn_into::<Element>().ok()?;
    let link = at.closest("a[href]").ok()??;
    let link = link.dyn_into::<HtmlAnchorElement>().ok()?;
    let here = window().location();
    let click = LinkClick {
        button: event.button(),
        modified: event.meta_key() || event.alt_key() || event.ctrl_key() || event.shift_key(),
        origins: (&here.origin().ok()?, &link.origin()),
        paths: (&here.pathname().ok()?, &link.pathname()),
        rel: &link.rel(),
        target: &link.target(),
        downloads: link.has_attribute("download"),
    };
    let path = format!("{}{}{}", link.pathname(), link.search(), link.hash());
    click.leaves_screen().then_some(path)
}

/// Adds a capturing listener until the reactive owner is cleaned up.
pub(crate) fn listen_first<E: FromWasmAbi + 'static>(
    at: EventTarget,
    name: &'static str,
    hear: impl Fn(E) + 'static,
) {
    let hear = Closure::<dyn Fn(E)>::new(hear).into_js_value();
    let hears = StoredValue::new_local((at, hear.unchecked_into::<Function>()));
    hears.with_value(|(at, hear)| {
        // Without the listener, the page does not ask for a confirmation.
        let _ = at.add_event_listener_with_callback_and_bool(name, hear, true);
    });
    on_cleanup(move || {
        hears.with_value(|(at, hear)| {
            let _ = at.remove_event_listener_with_callback_and_bool(name, hear, true);
        });
    });
}

/// Shows the confirmation dialog.
#[component]
pub(crate) fn UnsavedDialog(guard: UnsavedGuard) -> impl IntoView {
    let pathname = use_location().pathname;
    Effect::new(move |_| {
        // A screen that navigates without the user needs no confirmation.
        pathname.track();
        guard.asking.set(false);
    });
    Effect::new(move |_| {
        // The dialog closes when the changes are saved or reverted.
        if !guard.would_lose() {
            guard.asking.set(false);
        }
    });
    view! {
        <Confirm
            open=guard.asking
            title=t().frame.leave_title()
            verb=t().frame.leave()
            keep=t().frame.stay()
            on_confirm=move |()| guard.leave()
        >
            <p>{t().frame.leave_effect()}</p>
        </Confirm>
    }
}
