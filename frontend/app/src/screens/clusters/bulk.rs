//! Actions on several objects of a list: the bar, and the dialog with plan, progress and results.

mod form;
mod plan;
mod run;

use std::sync::Arc;

use drover_ui_core::action::{Action, ObjectKey, bulk_actions};
use drover_ui_core::kind::Kind;
use drover_ui_core::messages::t;
use drover_ui_core::selection::{MAX_SELECTED, Selection};
use drover_ui_kit::button::{Button, Weight};
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::notice::Skeleton;
use leptos::prelude::*;

use crate::unsaved::UnsavedGuard;
use form::BulkForm;
use run::BulkRun;

/// An action on objects of one kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BulkRequest {
    pub(crate) action: Action,
    pub(crate) keys: Arc<[ObjectKey]>,
}

impl BulkRequest {
    /// Creates the request for the selected rows.
    pub(crate) fn of_selection(action: Action, selection: &Selection) -> Self {
        Self {
            action,
            keys: selection.keys().filter_map(ObjectKey::parse).collect(),
        }
    }
}

/// Shows the buttons for the actions on the selected objects.
#[component]
pub(crate) fn BulkButtons(
    kind: Kind,
    selection: RwSignal<Selection>,
    chosen: RwSignal<Option<BulkRequest>>,
) -> impl IntoView {
    let missing = Signal::derive(move || {
        let is_large = selection.with(Selection::len) > MAX_SELECTED;
        is_large.then(|| t().bulk.too_many(MAX_SELECTED))
    });
    let buttons = bulk_actions(kind).into_iter().map(|action| {
        let weight = match action {
            Action::Delete => Weight::Danger,
            _ => Weight::Plain,
        };
        let press = move |()| {
            let request = selection.with_untracked(|it| BulkRequest::of_selection(action, it));
            chosen.set(Some(request));
        };
        view! { <Button weight=weight missing=missing on_press=press>{action.words()}</Button> }
    });
    buttons.collect_view()
}

/// Shows the dialog of the chosen action. `on_done` runs after the action succeeded for all objects.
#[component]
pub(crate) fn BulkDialogs(
    kind: Kind,
    chosen: RwSignal<Option<BulkRequest>>,
    #[prop(into)] on_done: Callback<()>,
) -> impl IntoView {
    move || {
        let request = chosen.get()?;
        Some(view! { <BulkDialog kind=kind request=request chosen=chosen on_done=on_done/> })
    }
}

#[component]
fn BulkDialog(
    kind: Kind,
    request: BulkRequest,
    chosen: RwSignal<Option<BulkRequest>>,
    on_done: Callback<()>,
) -> impl IntoView {
    let open = RwSignal::new(true);
    // A closed dialog aborts its requests and frees the objects.
    Effect::new(move || {
        if !open.get() {
            chosen.set(None);
        }
    });
    let count = request.keys.len();
    let noun = if count == 1 { kind.name } else { kind.heading };
    let title = t().bulk.title(verb(request.action), count, noun);
    let run = BulkRun::new(kind, request);
    run.read();
    let running = Memo::new(move |_| run.is_running());
    expect_context::<UnsavedGuard>().ask_while(running);
    view! {
        <Dialog open=open title=title held=running>
            {move || match run.objects() {
                Some(objects) => view! { <BulkForm run=run objects=objects open=open on_done=on_done/> }.into_any(),
                None => view! {
                    <div class="dialog-body"><p role="status">{t().bulk.reading()}</p><Skeleton lines=6/></div>
                }
                .into_any(),
            }}
        </Dialog>
    }
}

/// Returns the label of an action without the ellipsis of the menu.
fn verb(action: Action) -> &'static str {
    action.words().trim_end_matches('…')
}
