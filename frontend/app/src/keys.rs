//! The dialog with the keys of lists, and the switch for single-character keys.

use drover_ui_core::keys::{ListKey, Stroke};
use drover_ui_core::messages::t;
use drover_ui_kit::dialog::Dialog;
use drover_ui_kit::field::Checkbox;
use drover_ui_kit::single_keys::{SingleKeys, SingleKeysChoice};
use leptos::prelude::*;

/// True while the dialog is open, as a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeysHelp(RwSignal<bool>);

impl KeysHelp {
    /// Provides the state as a context.
    pub(crate) fn provide() {
        provide_context(Self(RwSignal::new(false)));
    }

    /// Opens the dialog.
    pub(crate) fn open(self) {
        self.0.set(true);
    }
}

/// Shows the dialog with all keys.
#[component]
pub(crate) fn KeysDialog() -> impl IntoView {
    let KeysHelp(open) = expect_context();
    view! {
        <Dialog open=open title=t().keys.title()>
            <Keys/>
        </Dialog>
    }
}

#[component]
fn Keys() -> impl IntoView {
    let choice = expect_context::<SingleKeysChoice>();
    let single = RwSignal::new(untrack(|| choice.current() == SingleKeys::On));
    Effect::new(move |before: Option<bool>| {
        let single = single.get();
        if before.is_some_and(|before| before != single) {
            choice.choose(if single {
                SingleKeys::On
            } else {
                SingleKeys::Off
            });
        }
        single
    });
    let rows = ListKey::ALL.iter().map(|(action, strokes)| {
        let keys = strokes.iter().copied().map(Stroke::words);
        let keys = keys.map(|key| view! { <kbd>{key}</kbd>" " }).collect_view();
        view! { <tr><th scope="row">{keys}</th><td>{action.words()}</td></tr> }
    });
    view! {
        <div class="dialog-body">
            <p>{t().keys.scope()}</p>
            <div class="stack">
                <Checkbox label=t().keys.single() checked=single/>
                <p class="field-note">{t().keys.single_help()}</p>
            </div>
            <table class="pairs">
                <thead><tr><th scope="col">{t().keys.keys()}</th><th scope="col">{t().keys.action()}</th></tr></thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
}
