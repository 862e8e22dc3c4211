//! Dialogs: the browser's own, which keeps the focus inside and closes on Escape.

use drover_ui_core::messages::t;
use leptos::html;
use leptos::prelude::*;

use crate::button::{Button, Weight};
use crate::field::unique;
use crate::icon::Icon;

/// A dialog over the page; what is in it lives while it is open.
#[component]
pub fn Dialog(
    /// Whether it is open.
    open: RwSignal<bool>,
    /// What it is about.
    #[prop(into)]
    title: String,
    /// Whether Escape does not close it: what is in it must be used, or comes to an end by itself.
    #[prop(optional, into)]
    held: Signal<bool>,
    /// What is in it.
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
    // Browsers close a dialog on the second Escape whatever the page wants; then it opens again.
    let closed = move |_| match node.get_untracked() {
        Some(dialog) if held.get_untracked() && open.get_untracked() => drop(dialog.show_modal()),
        _ => open.set(false),
    };
    let closed_by = move || if held.get() { "none" } else { "closerequest" };
    let close = move || {
        view! {
            <Button weight=Weight::Quiet icon=Icon::Close on_press=move |()| open.set(false)>
                <span class="unseen">{t().buttons.close()}</span>
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

/// Opens and closes the element as the signal says. It is modal: the rest of the page waits.
pub fn follow(node: NodeRef<html::Dialog>, open: RwSignal<bool>) {
    Effect::new(move || {
        let Some(dialog) = node.get() else { return };
        match (open.get(), dialog.open()) {
            // It is in the page and not open, so the browser has nothing to refuse.
            (true, false) => drop(dialog.show_modal()),
            (false, true) => dialog.close(),
            _ => {}
        }
    });
}
