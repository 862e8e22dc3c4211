//! Dialogs: the browser's own, which keeps the focus inside and closes on Escape.

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
    /// What is in it.
    children: ChildrenFn,
) -> impl IntoView {
    let (node, id) = (NodeRef::<html::Dialog>::new(), unique("dialog"));
    let heading = id.clone();
    follow(node, open);
    view! {
        <dialog class="dialog" node_ref=node aria-labelledby=id on:close=move |_| open.set(false)>
            <header class="dialog-head">
                <h2 id=heading>{title}</h2>
                <Button weight=Weight::Quiet icon=Icon::Close on_press=move |()| open.set(false)>
                    <span class="unseen">"Close"</span>
                </Button>
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
