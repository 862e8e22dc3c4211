//! Modal dialogs with the `<dialog>` element. The element traps the focus and closes on Escape.

use drover_ui_core::messages::t;
use leptos::html;
use leptos::prelude::*;

use crate::button::{Button, Weight};
use crate::field::unique;
use crate::icon::Icon;

/// Shows a modal dialog. The content exists only while the dialog is open.
#[component]
pub fn Dialog(
    /// True while the dialog is open.
    open: RwSignal<bool>,
    /// The title of the dialog.
    #[prop(into)]
    title: String,
    /// True to block the Escape key.
    #[prop(optional, into)]
    held: Signal<bool>,
    /// The content of the dialog.
    children: ChildrenFn,
) -> impl IntoView {
    let (node, id) = (NodeRef::<html::Dialog>::new(), unique("dialog"));
    let heading = id.clone();
    follow(node, open);
    let cancel = move |event: web_sys::Event| {
        if held.get_untracked() {
            event.prevent_default();
        }
    };
    // Browsers always close a dialog on the second Escape, so the component opens the dialog again.
    let closed = move |_| match node.get_untracked() {
        Some(dialog) if held.get_untracked() && open.get_untracked() => drop(dialog.show_modal()),
        _ => open.set(false),
    };
    let closed_by = move || if held.get() { "none" } else { "closerequest" };
    let close = move || {
        view! {
            <Button weight=Weight::Quiet icon=Icon::Close on_press=move |()| open.set(false)>
                <span class="visually-hidden">{t().buttons.close()}</span>
            </Button>
        }
    };
    view! {
        <dialog
            class="dialog"
            node_ref=node
            aria-labelledby=id
            closedby=closed_by
            on:cancel=cancel
            on:close=closed
        >
            <header class="dialog-head">
                <h2 id=heading>{title}</h2>
                {move || (!held.get()).then(close)}
            </header>
            {move || open.get().then(|| children())}
        </dialog>
    }
}

/// Opens and closes the modal dialog when the signal changes.
pub fn follow(node: NodeRef<html::Dialog>, open: RwSignal<bool>) {
    Effect::new(move || {
        let Some(dialog) = node.get() else { return };
        match (open.get(), dialog.open()) {
            // The element is attached and closed, so `show_modal` cannot fail.
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
}
