//! The forms that change labels and taints.

use drover_ui_core::action::{
    Change, InvalidPair, labels_of_text, labels_text, taints_of_text, taints_text,
};
use drover_ui_core::messages::t;
use drover_ui_kit::field::TextArea;
use leptos::prelude::*;

use super::form::{ActionForm, ChangeForm};

/// The number of visible lines.
const LINES: u32 = 8;

/// Shows the form that changes the labels of an object.
#[component]
pub(super) fn LabelsForm(dialog: ActionForm) -> impl IntoView {
    let text = RwSignal::new(dialog.object.with_value(labels_text));
    let parsed = Memo::new(move |_| text.with(|text| labels_of_text(text)));
    let change = Signal::derive(move || parsed.get().ok().map(Change::Labels));
    view! {
        <ChangeForm dialog=dialog change=change>
            <TextArea
                label=t().labels.labels()
                value=text
                help=t().actions.labels_help()
                error=Signal::derive(move || error(&parsed.get()))
                lines=LINES
            />
        </ChangeForm>
    }
}

/// Shows the form that changes the taints of a node.
#[component]
pub(super) fn TaintsForm(dialog: ActionForm) -> impl IntoView {
    let text = RwSignal::new(dialog.object.with_value(taints_text));
    let parsed = Memo::new(move |_| {
        text.with(|text| {
            dialog
                .object
                .with_value(|object| taints_of_text(text, object))
        })
    });
    let change = Signal::derive(move || parsed.get().ok().map(Change::Taints));
    view! {
        <ChangeForm dialog=dialog change=change>
            <p>{t().actions.taints_effect()}</p>
            <TextArea
                label=t().actions.taints()
                value=text
                help=t().actions.taints_help()
                error=Signal::derive(move || error(&parsed.get()))
                lines=LINES
            />
        </ChangeForm>
    }
}

fn error<T>(parsed: &Result<T, InvalidPair>) -> Option<String> {
    parsed.as_ref().err().map(|error| error.words().to_owned())
}
