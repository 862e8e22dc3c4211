//! Keys that components handle while no text field has the focus.

use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, KeyboardEvent};

/// True if keys with a single character act, as a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleKeysOn(Signal<bool>);

impl SingleKeysOn {
    /// Provides the state as a context.
    pub(crate) fn provide(is_on: Signal<bool>) {
        provide_context(Self(is_on));
    }

    /// Returns a function that reports the current state. Without a context, the keys act.
    pub(crate) fn reader() -> impl Fn() -> bool + Copy + 'static {
        let context = use_context::<Self>();
        move || context.is_none_or(|Self(is_on)| is_on.get_untracked())
    }
}

/// Reports whether a key event belongs to a text field, a menu or a dialog.
pub(crate) fn is_typed(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|it| it.dyn_into::<Element>().ok());
    let taken =
        "input:not([type=checkbox]), textarea, select, dialog, [contenteditable], [role=menu]";
    target.is_some_and(|it| it.closest(taken).ok().flatten().is_some())
}
