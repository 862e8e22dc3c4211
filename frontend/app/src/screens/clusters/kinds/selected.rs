//! The selected objects of a list, and the selection of all objects that match the filters.

use drover_rows::protocol::MAX_WINDOW;
use drover_ui_core::action::ObjectKey;
use drover_ui_core::kind::Kind;
use drover_ui_core::log::{LogSelection, MAX_STREAMS};
use drover_ui_core::messages::t;
use drover_ui_core::object::runs_pods;
use drover_ui_core::quantity::count;
use drover_ui_core::selection::{MAX_SELECTED, Selection};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::icon::Icon;
use leptos::prelude::*;

use super::object_table::Listed;
use super::view::View;
use crate::rows::{LiveList, RowConnection};
use crate::screens::bulk::{BulkButtons, BulkRequest};
use crate::screens::list::ChosenBar;
use crate::unsaved::UnsavedGuard;

/// Shows the number of selected objects and the actions.
#[component]
pub(super) fn Selected(
    listed: StoredValue<Listed>,
    live: LiveList,
    view: View,
    selection: RwSignal<Selection>,
    chosen: RwSignal<Option<BulkRequest>>,
) -> impl IntoView {
    let kind = listed.with_value(|listed| listed.kind);
    let is_selecting = RwSignal::new(false);
    let selected = Signal::derive(move || selection.with(Selection::len));
    let offer = Memo::new(move |_| {
        let (selected, matches) = (selected.get(), live.known.with(|known| known.shown));
        let text = count(matches as u64);
        if is_selecting.get() || selected >= matches.min(MAX_SELECTED) {
            None
        } else if matches > MAX_SELECTED {
            Some(t().bulk.select_first(MAX_SELECTED, &text))
        } else {
            Some(t().bulk.select_matching(&text))
        }
    });
    let all = move || {
        let words = offer.get()?;
        let press = move |()| is_selecting.set(true);
        Some(view! { <Button weight=Weight::Quiet on_press=press>{words}</Button> })
    };
    // The page does not know whether the filters hide selected objects outside the window.
    view! {
        <ChosenBar selection=selection in_sight=selected>
            <BulkButtons kind=kind selection=selection chosen=chosen/>
            {runs_pods(kind).then(|| view! { <LogsButton kind=kind selection=selection/> })}
            {all}
            {move || is_selecting.get().then(|| view! {
                <SelectAll listed=listed live=live view=view selection=selection is_selecting=is_selecting/>
            })}
        </ChosenBar>
    }
}

/// Shows the button that opens the log of the selected objects.
#[component]
fn LogsButton(kind: Kind, selection: RwSignal<Selection>) -> impl IntoView {
    let guard = expect_context::<UnsavedGuard>();
    let missing = Signal::derive(move || {
        let is_large = selection.with(Selection::len) > MAX_STREAMS;
        is_large.then(|| t().several_logs.too_many_selected(MAX_STREAMS))
    });
    let press = move |()| {
        let keys = selection.with_untracked(|selection| {
            let keys = selection.keys().filter_map(ObjectKey::parse);
            keys.collect::<Vec<_>>()
        });
        guard.go(&LogSelection::Objects { kind, keys }.screen());
    };
    view! { <Button icon=Icon::Lines missing=missing on_press=press>{t().several_logs.action()}</Button> }
}

/// Requests the first objects that match the filters, and selects them.
#[component]
fn SelectAll(
    listed: StoredValue<Listed>,
    live: LiveList,
    view: View,
    selection: RwSignal<Selection>,
    is_selecting: RwSignal<bool>,
) -> impl IntoView {
    let rows = expect_context::<RowConnection>();
    let wanted = live
        .known
        .with_untracked(|known| known.shown)
        .min(MAX_SELECTED);
    let windows = (0..wanted).step_by(MAX_WINDOW).map(|first| {
        let window = (first, MAX_WINDOW.min(wanted - first));
        let spec = Memo::new(move |_| view.spec(window));
        let list = listed.with_value(|listed| listed.spec.clone());
        (first, rows.subscribe(list, spec.into()))
    });
    let windows: Vec<_> = windows.collect();
    Effect::new(move || {
        let loaded = windows.iter().map(|(first, live)| keys(*first, *live));
        let loaded: Option<Vec<_>> = loaded.collect();
        if let Some(keys) = loaded {
            selection.update(|selection| {
                selection.clear();
                selection.set_all(keys.iter().flatten(), true);
            });
            is_selecting.set(false);
        }
    });
    view! { <span role="status">{t().bulk.selecting()}</span> }
}

/// Returns the keys of a window. Returns `None` before the rows have arrived. An error of the list
/// ends the selection with the rows so far.
fn keys(first: usize, live: LiveList) -> Option<Vec<String>> {
    let known = live.known.read();
    let keys: Vec<_> = known
        .window()
        .map(|(_, row)| ObjectKey::of_row(row).to_string())
        .take(MAX_SELECTED.saturating_sub(first))
        .collect();
    let expected = known.shown.saturating_sub(first).min(MAX_WINDOW);
    let expected = expected.min(MAX_SELECTED.saturating_sub(first));
    // The server moves the last window to the last rows, so that a window can begin earlier.
    let loaded = known.first..known.first + known.window().count();
    let is_loaded = loaded.start <= first && loaded.end >= first + expected;
    let is_complete = !known.sources.is_empty() && is_loaded;
    (is_complete || live.refused.with(Option::is_some)).then_some(keys)
}
